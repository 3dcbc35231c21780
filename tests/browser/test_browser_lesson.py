"""The class page in a real browser, as a pupil's phone shows it."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import Small, see, visit

pytestmark = pytest.mark.browser
STEPS = ("Train", "Explain", "Break", "Sum up")


@pytest.mark.slow
def test_a_pupil_walks_the_path_on_a_phone(page: Page, app_url: str, small: Small) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, app_url, "class", data=small.data)
    see(page, "Which of the two asks for the same?")
    page.locator(".st-key-round-0 label").nth(1).click()
    see(page.locator(".st-key-round-0"), "You")
    for step in STEPS:
        page.get_by_role("button", name=f"Next: {step}").click()
        expect(page.get_by_role("radio", name=step)).to_be_checked()
        page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollWidth <= 390")
    page.reload()
    see(page, "What was seen")
    page.get_by_text("Large type").click()
    expect(page.locator("html")).to_have_css("font-size", "24px")
    expect(page.locator(".st-key-bar")).to_be_hidden()
    page.get_by_role("button", name="Start again").click()
    see(page, "Which of the two asks for the same?")
