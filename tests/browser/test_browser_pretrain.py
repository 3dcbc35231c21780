"""From two files to an encoder of one's own and what it finds: in a real browser, on the real app."""

import random
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from emu_core.runs.run import Run, RunState
from tests.support.browser import see, settle, visit

pytestmark = pytest.mark.browser

WORDS = {
    "en": "dog cat red blue runs sleeps house tree boy girl",
    "de": "hund katze rot blau rennt schlaeft haus baum junge maid",
}
RUN = "words-from-two-files"


def files(folder: Path) -> list[Path]:
    """Sentences of four words of ten, word for word in two languages."""
    draws = random.Random(0)
    rows = [draws.sample(range(10), 4) for _ in range(200)]
    paths = []
    for code, known in WORDS.items():
        path = folder / f"words.{code}"
        path.write_text(
            "".join(" ".join(known.split()[word] for word in row) + "\n" for row in rows), "utf-8"
        )
        paths.append(path)
    return paths


@pytest.mark.slow
def test_two_files_become_an_encoder_that_finds_translations(
    page: Page, app_url: str, runs_folder: Path, tmp_path: Path
) -> None:
    visit(page, app_url, "pretrain")
    start = page.get_by_role("button", name="Start the run")
    expect(start).to_be_disabled()
    page.locator('input[type="file"]').set_input_files(files(tmp_path))
    see(page, "Only 200 pairs")
    settle(page)
    name = page.get_by_role("textbox", name="Name of the run")
    name.fill(RUN)
    name.press("Enter")
    settle(page)
    start.click()
    see(page, "Translations found, on pairs held out")  # the run is over
    note = page.locator(".js-plotly-plot .annotation-text").filter(has_text="best:", visible=True)
    expect(note.first).to_be_visible()  # a chart that another replaces is kept for a while, hidden
    run = Run(runs_folder / RUN)
    assert run.status().state is RunState.FINISHED
    assert run.metrics().translation["en-de"].p_at_1 > 50

    page.get_by_role("link", name="Look at what it finds").click()
    page.get_by_role("heading", name="Translations", level=1).wait_for()
    see(page, "The run was trained on this text")
    told = page.locator("p").filter(has_text=re.compile("^Its translation")).first
    expect(told).to_contain_text("ranks")
    first = (tmp_path / "words.de").read_text("utf-8").split("\n")[0]
    expect(told).to_contain_text(first)
    precision = page.get_by_test_id("stMetric").filter(has_text="The translation is nearest,").first
    above_50 = re.compile(r"^(50\.[1-9]|5[1-9]\.\d|[6-9]\d\.\d|100\.0) %$")
    expect(precision.get_by_test_id("stMetricValue")).to_have_text(above_50)

    page.get_by_role("tab", name="Words").click()
    words = page.locator(".js-plotly-plot .textpoint text")
    for word in ("dog", "hund"):
        expect(words.filter(has_text=re.compile(f"^{word}$"), visible=True).first).to_be_visible()
    page.get_by_role("tab", name="Eigen-similarity").click()
    see(page, "One sample's eigenvalues")
