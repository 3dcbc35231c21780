"""Sentences typed and their predictions downloaded: in a real browser, on the real app."""

import csv
import io
import re

import pytest
from playwright.sync_api import Page

from tests.support.browser import Small, see, settle, visit

pytestmark = pytest.mark.browser


def test_a_typed_sentence_is_answered_and_downloaded(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, "try", data=small.data, **{"try": "Name intents"})
    page.get_by_label("One sentence a line").fill("Kann ich meinen Hund mitbringen?")
    page.keyboard.press("Control+Enter")
    for title in ("A: USE multilingual", f"B: {small.run}"):
        see(page, re.compile(rf"^{title}: \w+"))
    settle(page)
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download as CSV").click()
    (row,) = csv.DictReader(io.StringIO(downloading.value.path().read_text("utf-8-sig")))
    assert row["text"] == "Kann ich meinen Hund mitbringen?"
    assert row["a_nearest_5_language"] and row["b_intent"]
