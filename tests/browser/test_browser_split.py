"""A sentence split, its neighbours and the maps: in a real browser, on the real app."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from emu_app.views.split import PART_NAMES
from emu_core import train
from emu_core.api.split import SHOWN_NEIGHBOURS
from emu_core.methods.fmda.parts import Part
from emu_core.methods.registry import configure
from tests.support.browser import go_to, see, settle, visit
from tests.support.fmda_set import fmda_set
from tests.support.stored_set import stored_set
from tests.support.tiny_transformer import tiny_transformer

pytestmark = pytest.mark.browser

RUN = "split-in-parts"


@pytest.fixture(scope="module")
def data(runs_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of the data of a finished run of FMDA among the app's."""
    folder = tmp_path_factory.mktemp("slots")
    train(
        fmda_set(), out=runs_folder / RUN, method="fmda", encoder=f"hf:{tiny_transformer(folder / 'tiny')}",
        pairs=[("en", "de")], device="cpu", config=configure("fmda", epochs=2, batch_size=16),
    )  # fmt: skip
    fmda_set().frame.to_csv(folder / "slots.csv", index=False)
    return stored_set(runs_folder, folder / "slots.csv")


@pytest.fixture
def opened(page: Page, app_url: str, data: str) -> Page:
    """The Split page with the run and its own data."""
    visit(page, app_url, "split", data=data, run=RUN)
    expect(page).to_have_title("Split - Emu")
    expect(page.get_by_role("combobox", name=re.compile("Run"))).to_have_value(RUN)
    return page


@pytest.mark.slow
def test_a_typed_sentence_is_split_and_its_neighbours_go_out_as_csv(opened: Page) -> None:
    opened.get_by_role("radio", name="Typed").click()
    settle(opened)
    field = opened.get_by_role("textbox", name="Sentence")
    field.fill("where is [place : the pool] ?")
    field.press("Enter")
    picture = opened.locator(".js-plotly-plot")
    expect(picture.locator(".ytick text")).to_have_text(["[CLS]", "where", "is", "the", "pool", "?", "[SEP]"])
    expect(picture.locator(".annotation-text")).to_have_text(["Template", "Residual"])
    expect(picture.locator(".bars .point")).to_have_count(14)
    expect(opened.get_by_role("heading", name="Nearest neighbours").first).to_be_visible()
    settle(opened)
    with opened.expect_download() as started:
        opened.get_by_test_id("stDownloadButton").get_by_role("button", name="Download as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(started.value.path()).read_text("utf-8-sig"))))
    assert [row["embedding"] for row in rows] == [
        name for name in PART_NAMES.values() for _ in range(SHOWN_NEIGHBOURS)
    ]
    nearest = next(row for row in rows if row["embedding"] == PART_NAMES[Part.MEANING])
    see(opened, nearest["sentence"])

    go_to(opened, "Train")
    go_to(opened, "Split")
    expect(field).to_have_value("where is [place : the pool] ?")  # kept


@pytest.mark.slow
def test_maps_are_drawn_side_by_side(opened: Page) -> None:
    opened.get_by_role("tab", name="Maps").click()
    titles = opened.locator(".js-plotly-plot .annotation-text")
    for place, title in enumerate(("Language", "Meaning")):  # before the names of the clusters
        expect(titles.nth(place)).to_have_text(title)
    opened.get_by_role("radio", name="template", exact=True).click()
    legend = opened.locator(".js-plotly-plot .legendtext")
    expect(legend.filter(has_text="where is the [place]").first).to_be_visible()
    test = fmda_set().select(languages=["en", "de"], splits=["test"])
    opened.wait_for_function(
        """count => document.querySelector('.js-plotly-plot')?._fullData
            ?.filter(trace => trace.customdata && trace.xaxis === 'x2')
            .reduce((sum, trace) => sum + trace.x.length, 0) === count""",
        arg=len(test),
    )
