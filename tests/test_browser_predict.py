"""Sentences typed and their predictions downloaded: in a real browser, on the real app."""

import csv
import io
from pathlib import Path

import pytest
from conftest import settle
from playwright.sync_api import Page, expect
from small_run import small_run

pytestmark = pytest.mark.browser


def test_a_typed_sentence_is_answered_and_downloaded(page: Page, app_url: str, runs_folder: Path) -> None:
    small_run(runs_folder, "predicting")
    page.goto(f"{app_url}/predict?run=predicting")
    settle(page)
    page.get_by_label("One sentence a line").fill("Kann ich meinen Hund mitbringen?")
    page.keyboard.press("Control+Enter")
    for name in ("Base", "Specialised"):
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download as CSV").click()
    (row,) = csv.DictReader(io.StringIO(downloading.value.path().read_text("utf-8-sig")))
    assert row["text"] == "Kann ich meinen Hund mitbringen?"
    assert row["base_nearest_5_language"] and row["specialised_intent"]
