"""Sentences typed and their predictions downloaded: in a real browser, on the real app."""

import csv
import io
import re
from pathlib import Path

import pytest
from conftest import go_to, settle
from playwright.sync_api import Page, expect
from small_run import small_run

pytestmark = pytest.mark.browser


def test_a_typed_sentence_is_answered_and_downloaded(page: Page, app_url: str, runs_folder: Path) -> None:
    _, _, file = small_run(runs_folder, "predicting")
    page.goto(f"{app_url}/data")
    settle(page)
    page.locator('input[type="file"]').set_input_files(file)
    page.get_by_role("heading", name="small.csv", level=2).wait_for()
    go_to(page, "Workbench")
    page.get_by_role("tab", name="Predict").click()
    page.get_by_label("One sentence a line").fill("Kann ich meinen Hund mitbringen?")
    page.keyboard.press("Control+Enter")
    for title in ("A: use", "B: predicting"):
        expect(page.get_by_text(re.compile(rf"^{title}: \w+"))).to_be_visible()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download as CSV").click()
    (row,) = csv.DictReader(io.StringIO(downloading.value.path().read_text("utf-8-sig")))
    assert row["text"] == "Kann ich meinen Hund mitbringen?"
    assert row["a_nearest_5_language"] and row["b_intent"]
