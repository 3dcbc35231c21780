"""Three people's paths from the first screen to what they came for, of at most six clicks each."""

import csv
import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from tests.support.browser import Small, pick_option, see, see_address, settle, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MOST_CLICKS = 6
OPENINGS = {
    "pool": ("when does the pool open", "wann öffnet das Schwimmbad"),
    "shop": ("when does the shop open", "wann öffnet der Laden"),
    "taxi": ("please call me a taxi", "bitte ein Taxi rufen"),
}


class Hand:
    """Clicks, and counts."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, what: Locator) -> None:
        self.clicks += 1
        assert self.clicks <= MOST_CLICKS
        what.click()

    def pick(self, box: Locator, option: str) -> None:
        self.clicks += 2
        assert self.clicks <= MOST_CLICKS
        pick_option(box, option)

    def download(self, page: Page, what: Locator) -> Download:
        with page.expect_download() as download:
            self.click(what)
        return download.value


def test_a_pupil_judges_guesses_and_explains(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, data=small.data)
    hand = Hand()
    hand.click(page.get_by_role("link", name="Class: a path of ten minutes"))
    see(page, "Which of the two asks for the same?")
    hand.click(page.locator(".st-key-round-0 label").nth(1))
    see(page.locator(".st-key-round-0"), re.compile("[✓✗] You"))
    hand.click(page.get_by_role("button", name="Next: Train"))
    hand.click(page.get_by_text("More often", exact=True))
    see(page, re.compile("You expected"))
    expect(page.get_by_role("table", name=re.compile("of 100, by language")).first).to_be_visible()
    hand.click(page.get_by_role("button", name="Next: Explain"))
    see(page, "Why did it go wrong?")
    hand.click(page.get_by_role("button", name="Next: Break"))
    expect(page.get_by_role("radio", name="Break")).to_be_checked()


def test_a_data_scientist_brings_a_table_and_leaves_with_a_model(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    table = tmp_path / "own-guests.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["utterance", "label", "lang"])
        for intent, texts in OPENINGS.items():
            for language, text in zip(("en", "de"), texts, strict=True):
                rows.writerows([f"{text}, {number}", intent, language] for number in range(12))
    visit(page, app_url)
    hand = Hand()
    hand.click(page.get_by_role("link", name="Data", exact=True))
    page.locator('input[type="file"]').set_input_files(table)
    expect(page.get_by_role("heading", name="own-guests.csv", level=2).first).to_be_visible()
    see_address(page, data="own-guests")
    settle(page)
    hand.click(page.get_by_role("button", name="Train on these sentences"))
    hand.click(page.get_by_role("button", name="Start the run"))
    hand.click(page.get_by_role("link", name="Take away"))  # it is there once the run has ended
    expect(page.get_by_role("tab", name="Take away")).to_have_attribute("aria-selected", "true")
    hand.click(page.get_by_role("button", name="Prepare the zip"))
    download = hand.download(page, page.get_by_role("button", name=re.compile(r"Download .*\.zip")))
    with ZipFile(download.path()) as model:
        assert any(name.endswith("README.md") for name in model.namelist())


def test_a_product_manager_asks_whether_german_is_safe(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, data=small.data)
    hand = Hand()
    bars = page.get_by_role("table", name=re.compile("of 100, by language")).first
    expect(bars.get_by_role("row")).to_have_count(len(small.labelled.languages))
    hand.click(page.get_by_role("button", name="Languages measured: all"))
    hand.pick(page.get_by_role("combobox", name="Languages measured"), "German")
    expect(bars.get_by_role("row")).to_have_count(1)
    expect(bars.get_by_role("row", name=re.compile("^German"))).to_be_visible()
    page.keyboard.press("Escape")  # the list closes, and then what it is in
    page.keyboard.press("Escape")
    hand.click(page.get_by_role("tab", name="Neighbours", exact=True))
    expect(page.get_by_role("figure", name=re.compile("^Similar sentences by language"))).to_be_visible()
    hand.click(page.get_by_role("tab", name="Take away"))
    report = hand.download(page, page.get_by_role("button", name=re.compile("Everything as one page")))
    assert "German" in report.path().read_text("utf-8")
