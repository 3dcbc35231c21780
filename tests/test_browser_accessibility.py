"""What people with a keyboard, or with little sight, need of every page: in a real browser, on the real app."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from conftest import PATIENCE_MS, settle
from playwright.sync_api import Browser, Page, expect
from small_run import small_run

pytestmark = pytest.mark.browser

RUN = "accessible"
PAGES = ("", "data", "train", "pretrain", "translations", "split", "bench", "encoders")
FOCUSED = "() => document.activeElement.matches('a, button') ? document.activeElement.innerText : ''"
MOST_TABS = 12
# axe's serious and critical findings: which rule, and where.
FINDINGS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
    .filter(found => ['serious', 'critical'].includes(found.impact))
    .map(found => [found.id, found.nodes.map(node => [node.html.slice(0, 200), node.failureSummary])])"""


@pytest.fixture(scope="module")
def run(runs_folder: Path) -> str:
    """The name of a finished run among the app's."""
    small_run(runs_folder, RUN)
    return RUN


@pytest.fixture(params=["light", "dark"])
def tab(request: pytest.FixtureRequest, browser: Browser, run: str) -> Iterator[Page]:
    """A fresh tab in one of the two themes."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme=request.param)
    context.add_init_script(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    yield context.new_page()
    context.close()


def test_axe_finds_nothing_serious_on_any_page(tab: Page, app_url: str) -> None:
    found = {}
    for path in PAGES:
        tab.goto(f"{app_url}/{path}")
        settle(tab)
        # What comes last must be looked at, too, such as maps that are laid out first.
        for unfinished in ("stSkeleton", "stProgress", "stSpinner"):
            expect(tab.get_by_test_id(unfinished)).to_have_count(0, timeout=3 * PATIENCE_MS)
        if violations := tab.evaluate(FINDINGS):
            found[path] = violations
    assert found == {}


def test_the_browser_and_the_bar_name_the_page(page: Page, app_url: str) -> None:
    for path, title, lab in (("data", "Data", "Lab"), ("split", "Split", "Lab: Split")):
        page.goto(f"{app_url}/{path}")
        expect(page).to_have_title(f"{title} - Emu")
        expect(page.get_by_role("button", name=lab, exact=True)).to_be_visible()


def test_few_tabs_lead_to_the_start_of_a_run(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/train")
    settle(page)
    page.get_by_role("button", name="Start the run").wait_for()
    presses = 0
    while not (focused := page.evaluate(FOCUSED)).endswith("Start the run") and presses <= MOST_TABS:
        if focused == "Skip the bar":
            page.keyboard.press("Enter")
            page.wait_for_function("document.activeElement.id === 'page'")
        page.keyboard.press("Tab")
        presses += 1
    assert presses <= MOST_TABS
