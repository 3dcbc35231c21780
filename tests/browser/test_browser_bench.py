"""A benchmark is started on a small file, left alone, and its report read: in a real browser, on the real app."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from emu_core.runs.run import list_runs
from tests.support.bench_set import bench_file
from tests.support.browser import PATIENCE_MS, pick_option, see, settle, visit
from tests.support.stored_set import stored_set

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_a_benchmark_is_started_left_and_its_report_read(
    page: Page, app_url: str, runs_folder: Path, tmp_path: Path
) -> None:
    visit(page, app_url, "bench", data=stored_set(runs_folder, bench_file(tmp_path)))
    see(page, "tiny.csv: 36 sentences, 3 intents, en, de")

    page.get_by_role("button", name="Remove Table 2: every method").click()
    settle(page)
    pick_option(page.get_by_role("combobox", name="Tables"), re.compile("Table 4"))
    page.keyboard.press("Escape")  # the list closes
    expect(page.get_by_role("button", name=re.compile("Remove Table 4"))).to_be_visible()
    settle(page)
    page.get_by_label("Epochs", exact=True).fill("1")
    page.get_by_label("Epochs", exact=True).press("Enter")
    settle(page)
    # The base encoder and one method, which learns from the twelve English sentences once.
    see(page, re.compile(r"2 runs: .* 1 run trains the encoder, on 12 sentences"))
    page.get_by_role("button", name="Start the benchmark").click()
    expect(page.get_by_test_id("stProgress").first).to_contain_text("of 2 runs")

    page.goto("about:blank")  # the tab is closed, and another person's session opened
    page.goto(f"{app_url}/bench")
    expect(page.get_by_text("Finished: 2 runs.").first).to_be_visible(timeout=3 * PATIENCE_MS)
    expect(
        page.get_by_role("heading", name="Table 4: all ordered pairs, trained on en").first
    ).to_be_visible()
    run = list_runs(runs_folder)[0]
    settle(page)
    with page.expect_download() as started:
        page.get_by_role("button", name="Report, HTML").click()
    assert Path(started.value.path()).read_bytes() == (run.folder / "report.html").read_bytes()
    with page.expect_download() as started:
        page.get_by_role("button", name="Download as CSV").filter(visible=True).first.click()
    rows = list(csv.reader(Path(started.value.path()).read_text("utf-8-sig").splitlines()))
    assert [row[0] for row in rows[1:]] == ["en", "de"]
