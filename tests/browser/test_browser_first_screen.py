"""The first screen, read by somebody who has never seen the app: in a real browser, on the real app."""

import os
import re
import sys
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from emu_core.data.languages import language_name
from emu_core.reports.verdict import run_verdict
from emu_core.runs.run import Run
from tests.support.browser import Small, go_to, see, settle, visit
from tests.support.paths import ROOT
from tests.support.serving import free_port, serving

pytestmark = pytest.mark.browser

# The text that is in view without scrolling.
IN_VIEW = """() => {
    const walker = document.createTreeWalker(document.querySelector('[data-testid="stMain"]'), NodeFilter.SHOW_TEXT)
    const texts = []
    while (walker.nextNode()) {
        const range = document.createRange()
        range.selectNodeContents(walker.currentNode)
        const box = range.getBoundingClientRect()
        if (box.width && box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth) {
            texts.push(walker.currentNode.textContent)
        }
    }
    return texts.join(' ')
}"""

# How many controls and words are seen on the page, here or further down, without a press. The words of charts are data.
# The buttons of a chart's or table's tool bar count, although they show under the mouse alone.
SEEN = """() => {
    const isSeen = part => {
        const box = part.getBoundingClientRect()
        return part.checkVisibility({visibilityProperty: true}) && box.width > 1 && box.height > 1
    }
    const count = parts => [...document.querySelectorAll(parts)].filter(isSeen).length
    const walker = document.createTreeWalker(document.querySelector('[data-testid="stMain"]'), NodeFilter.SHOW_TEXT)
    let words = 0
    while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement
        if (isSeen(parent) && !parent.closest('svg, style, script, [data-testid="stIconMaterial"]'))
            words += walker.currentNode.textContent.split(/\\s+/).filter(word => /[\\p{L}\\p{N}]/u.test(word)).length
    }
    return {
        buttons: count('button:not([role=tab]), [role=button]'),
        inputs: count('input, textarea, select, [role=slider]'),
        tabs: count('[role=tab]'),
        words,
    }
}"""

# The boxes of the names of intents on the maps.
NAMES = """Array.from(document.querySelectorAll('.st-key-explore-map .annotation-text'), text => {
    const {left, right, top, bottom} = text.getBoundingClientRect()
    return {name: text.textContent, left, right, top, bottom}
}).filter(({name}) => !/^[AB]: /.test(name))"""


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def test_what_was_trained_on_what_and_whether_it_helps_is_on_the_first_screen(
    page: Page, app_url: str, small: Small, runs_folder: Path
) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, app_url, data=small.data)
    headline = page.get_by_role("heading", name=re.compile("^Trained on"))
    expect(headline).to_be_in_viewport()
    run = Run(runs_folder / small.run)
    verdict = run_verdict(run.metrics())
    # What they would say.
    said = [
        f"It was trained on {run.data().labelled} English questions.",  # type: ignore[attr-defined]
        verdict.sentence,
        *verdict.unknown,
    ]
    bars = page.get_by_role("table", name=re.compile("^Right intents of 100"))
    for code in small.labelled.languages:
        bar = bars.get_by_role("row", name=re.compile(f"^{language_name(code)}"))
        expect(bar).to_be_in_viewport()
        figures = re.search(r"(\d+) → (\d+)", bar.inner_text())
        assert figures is not None
        said.append(f"{language_name(code)} {figures[1]} {figures[2]}")
    seen = words(page.evaluate(IN_VIEW))  # now that the bars, which are compared last, are there
    unseen = {word for line in said for word in words(line)} - seen
    assert unseen <= {"was"}  # "Trained on", not "was trained on"


def test_the_bar_is_one_line_and_what_changed_is_left_of_what_did_not(
    page: Page, app_url: str, small: Small, runs_folder: Path
) -> None:
    page.set_viewport_size({"width": 1300, "height": 900})
    visit(page, app_url, data=small.data)
    for label in ("Data", "A", "B", "Measured on"):
        expect(page.get_by_role("combobox", name=label, exact=True)).to_be_in_viewport()
    page.wait_for_function(
        "new Set([...document.querySelectorAll('.st-key-bar [role=combobox]')]"
        ".map(box => Math.round(box.getBoundingClientRect().top))).size === 1"
    )
    measures = run_verdict(Run(runs_folder / small.run).metrics()).told
    bars = page.get_by_role("table", name=re.compile("of 100, by language"))
    expect(bars).to_have_count(len(measures))
    for number, measure in enumerate(measures):
        expect(bars.nth(number)).to_contain_text(measure.title)
        expect(bars.nth(number)).to_be_in_viewport()


def test_few_controls_and_words_are_seen_at_first(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, data=small.data)
    expect(page.get_by_text(re.compile("^Trust in the maps.* B:"))).to_have_count(1)
    for part in (".st-key-example-0", ".st-key-explore-map .main-svg", ".st-key-right-intents .main-svg"):
        expect(page.locator(part).filter(visible=True).first).to_be_visible()
    settle(page)
    compare = page.evaluate(SEEN)
    go_to(page, "Train")
    expect(page.get_by_role("button", name="Start the run")).to_be_enabled()
    expect(page.get_by_role("link", name="Take away")).to_be_visible()
    settle(page)
    train = page.evaluate(SEEN)
    # Two thirds of what there once was: 45 buttons, 13 inputs, 6 tabs and 364 words; 57 buttons and 23 inputs.
    for counts, most in (
        (compare, {"buttons": 30, "inputs": 8, "tabs": 4, "words": 243}),
        (train, {"buttons": 38, "inputs": 15}),
    ):
        assert {name: counts[name] for name in most if not 0 < counts[name] <= most[name]} == {}, counts
    assert compare["buttons"] > 20 and compare["words"] > 100, "of a page that is drawn"


@pytest.mark.slow
def test_an_example_opens_on_the_maps(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, data=small.data)
    example = page.locator(".st-key-example-0 button").filter(visible=True)
    text = re.sub(r"^trending_\w+\s*", "", example.inner_text())
    example.click()
    see(page, "Picked: 1 sentence")
    see(page.locator(".st-key-space"), text, exact=True)


@pytest.mark.slow
def test_a_newcomer_with_a_phone_can_read_the_maps(window: BrowserContext, tmp_path: Path) -> None:
    """The first server in an empty folder shows the demo run; no name of an intent is written on another."""
    port, page = free_port(), window.new_page()
    command = [sys.executable, "-P", "-m", "emu_core", "app", "--port", str(port), "--runs", str(tmp_path)]
    with serving(command, ROOT, os.environ):
        page.set_viewport_size({"width": 390, "height": 844})
        visit(page, f"http://localhost:{port}")
        page.wait_for_function(f"({NAMES}).length > 4")
        expect(page.get_by_text(re.compile("^Trust in the maps.* B:"))).to_have_count(1)
        settle(page)
        expect(
            page.get_by_role("tab").first
        ).to_be_visible()  # what a worker computes, which starts after the maps
        names = page.evaluate(NAMES)
        covered = [
            (one["name"], other["name"])
            for one, other in combinations(names, 2)
            if min(one["right"], other["right"]) > max(one["left"], other["left"])
            and min(one["bottom"], other["bottom"]) > max(one["top"], other["top"])
        ]
        page.close()
    assert len(names) > 4 and covered == []
