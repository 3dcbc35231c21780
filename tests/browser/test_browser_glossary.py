"""A help leads to its word in the glossary, in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import settle, visit

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_a_help_leads_to_its_word_in_the_glossary(page: Page, app_url: str) -> None:
    visit(page, app_url, "split")
    settle(page)
    address = page.url
    measured_on = page.locator(".st-key-choose-on")
    measured_on.get_by_test_id("stTooltipHoverTarget").hover()
    with page.expect_popup() as opened:
        page.get_by_test_id("stTooltipContent").get_by_role("link", name="Glossary").click()
    glossary = opened.value
    expect(glossary.get_by_role("heading", name="Held out, new sentences")).to_be_in_viewport()
    expect(glossary).to_have_title(re.compile("Glossary"))
    expect(page).to_have_url(address)  # the page is as it was
