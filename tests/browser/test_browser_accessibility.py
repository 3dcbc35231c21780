"""What people with a keyboard, or with little sight, need of every page: in a real browser, on the real app."""

from collections.abc import Iterator
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import (
    PATIENCE_MS,
    RESEARCH,
    Small,
    ask_in_the_other_languages,
    go_to,
    new_window,
    pick_all,
    see,
    visit,
)

pytestmark = pytest.mark.browser

PAGES = ("Compare", "Data", "Train", "Try", *RESEARCH, "Glossary")
FOCUSED = "() => document.activeElement.matches('a, button') ? document.activeElement.innerText : ''"
MOST_TABS = 12
# axe's findings that stay: which rule, and where. What is drawn anew is faint for a moment.
FINDINGS = """async patience => {
    for (const end = performance.now() + patience; ;) {
        const found = (await axe.run(document, {resultTypes: ['violations']})).violations
            .map(found => [found.id, found.nodes.map(node => [node.html.slice(0, 200), node.failureSummary])])
        if (!found.length || performance.now() > end) return found
    }
}"""


@pytest.fixture(params=["light", "dark"])
def tab(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A fresh tab in one of the two themes."""
    context = new_window(browser, color_scheme=request.param)
    context.add_init_script(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    page = context.new_page()
    yield page
    page.close()


def until_drawn(tab: Page) -> None:
    """Wait for what comes last, such as maps that are laid out first."""
    for unfinished in ("stSkeleton", "stProgress", "stSpinner"):
        expect(tab.get_by_test_id(unfinished)).to_have_count(0, timeout=3 * PATIENCE_MS)


@pytest.mark.slow
def test_axe_finds_nothing_on_any_page_and_each_is_named(tab: Page, app_url: str, small: Small) -> None:
    found = {}
    visit(tab, app_url, data=small.data)
    for name in PAGES:
        if name == "Compare":  # which is open
            until_drawn(tab)
            ask_in_the_other_languages(tab, small)
            found["asked in other languages"] = tab.evaluate(FINDINGS, PATIENCE_MS)
            pick_all(tab, "pool")
        else:
            go_to(tab, name)
        # The browser and the bar name the page.
        expect(tab).to_have_title(f"{name} - Emu")
        research = f"Research: {name}" if name in RESEARCH else "Research"
        expect(tab.get_by_role("button", name=research, exact=True)).to_be_visible()
        until_drawn(tab)
        found[name] = tab.evaluate(FINDINGS, PATIENCE_MS)
    assert {where: violations for where, violations in found.items() if violations} == {}


# The labels of figures that are cut, and what is not in the middle of its link.
CUT = "[...document.querySelectorAll('[data-testid=stMetricLabel] p')].filter(p => p.scrollWidth > p.clientWidth)"
OFF_CENTRE = """() => [...document.querySelectorAll('.st-key-ways a')].filter(link => {
    const [around, text] = [link, link.querySelector('p')].map(part => part.getBoundingClientRect())
    return Math.abs(around.left + around.right - text.left - text.right) > 4
}).length"""


@pytest.mark.slow
def test_a_phone_shows_every_page_without_scrolling_sideways_or_cutting_labels(
    page: Page, app_url: str, small: Small
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, app_url, data=small.data)
    until_drawn(page)
    see(page, "All numbers", exact=True)
    for name in PAGES:
        if name != "Compare":
            go_to(page, name)
        page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollWidth <= 390")
        page.wait_for_function(f"{CUT}.length === 0")
    page.wait_for_function(f"({OFF_CENTRE})() === 0")
    go_to(page, "Compare")
    # Two choosers of the bar fill its width; headings are small enough to look for.
    bar, first, second = (
        page.locator(f".st-key-{key}").bounding_box() for key in ("bar", "choose-data", "choose-a")
    )
    assert bar is not None and first is not None and second is not None
    assert first["x"] - bar["x"] < 2 and bar["x"] + bar["width"] - second["x"] - second["width"] < 2
    expect(page.locator("main h2").first).to_have_css("font-size", "24px")


@pytest.mark.slow
def test_chosen_options_follow_the_systems_theme(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, "translations", data=small.data)
    chosen = page.locator('[aria-checked="true"] p').first
    expect(chosen).to_have_css("color", "rgb(49, 51, 63)")
    page.emulate_media(color_scheme="dark")
    expect(chosen).to_have_css("color", "rgb(250, 250, 250)")
    go_to(page, "Compare")
    page.get_by_role("button", name="More").click()
    under_more = page.get_by_role("radio", name="Click", exact=True).locator("p")
    expect(under_more).to_have_css("color", "rgb(232, 237, 243)")
    page.emulate_media(color_scheme="light")
    expect(under_more).to_have_css("color", "rgb(7, 15, 26)")


@pytest.mark.slow
def test_few_tabs_lead_to_the_start_of_a_run(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, "train", data=small.data)
    page.get_by_role("button", name="Start the run").wait_for()
    presses = 0
    while not (focused := page.evaluate(FOCUSED)).endswith("Start the run") and presses <= MOST_TABS:
        if focused == "Skip the bar":
            page.keyboard.press("Enter")
            page.wait_for_function("document.activeElement.id === 'page'")
        page.keyboard.press("Tab")
        presses += 1
    assert presses <= MOST_TABS


@pytest.mark.slow
def test_the_menus_row_does_not_cover_the_links_on_a_phone(page: Page, app_url: str, small: Small) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, app_url, "train", data=small.data)
    page.get_by_role("link", name="Data").click(position={"x": 30, "y": 1})
    expect(page).to_have_title("Data - Emu")
