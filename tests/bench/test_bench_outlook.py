"""What a benchmark would be, and what can't be measured, found out before it is run."""

import pandas as pd
import pytest

from emu_core.bench.emu import experiment as emu_experiment
from emu_core.bench.emu.experiment import BenchData
from emu_core.bench.experiment import Outlook
from emu_core.bench.job import experiment_of
from emu_core.bench.papers import PAPERS
from emu_core.data.sets import LabelledSet
from emu_core.errors import DataError, TrainingError
from tests.support.bench_cells import planned
from tests.support.bench_set import bench_set

EMU = {"seeds": (0,), "encoder": "use", "epochs": 1}


def outlook(frame: pd.DataFrame, **options: object) -> Outlook:
    return planned(
        "emu", LabelledSet(frame.reset_index(drop=True), "tiny"), **{**EMU, "parts": ("4",), **options}
    ).outlook()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_benchmark_says_how_many_cells_it_has(paper: str) -> None:
    experiment = planned(paper)
    assert experiment.outlook().cells == len(experiment.cells()) > 1


def test_cells_that_train_and_the_sentences_they_pass_over_are_counted() -> None:
    found = planned("emu", **{**EMU, "parts": ("4",), "seeds": (0, 1), "epochs": 3}).outlook()
    # The base encoder, and one method with two seeds: three epochs over twelve English sentences, twice.
    assert (found.cells, found.training, found.passes) == (3, 2, 72)
    assert found.seconds > 0


FRAME = bench_set().frame
LONE = FRAME[(FRAME["language"] == "en") | (FRAME["split"] == "train") | (FRAME["id"] == "pool4")]
ONE = FRAME[(FRAME["language"] == "de") | (FRAME["split"] == "test") | (FRAME["intent"] == "pool")]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (FRAME.assign(split="dev"), "name them so, or leave the column out"),
        (bench_set(("en",)).frame, "tables compare languages; use a set with two languages or more"),
        (LONE, "German has one sentence to measure, and measuring needs two or more"),
        (ONE, "in English have a single intent; add sentences of another"),
    ],
)
def test_data_that_does_not_do_is_refused(frame: pd.DataFrame, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        outlook(frame)


def test_a_language_that_is_not_measured_gives_no_labels() -> None:
    frame = bench_set(("en", "de", "fr")).frame
    frame = frame[(frame["language"] != "fr") | (frame["split"] == "train")].reset_index(drop=True)
    with pytest.raises(DataError, match="French has no sentence to measure"):
        outlook(frame, train_languages=("en", "fr"))
    assert outlook(frame).cells == 2


def test_a_method_that_does_not_fit_the_data_is_named() -> None:
    found = outlook(FRAME.assign(id=""), parts=("2",))
    assert any(line.startswith("Emu with parallel sentences: ") for line in found.missing)
    # Base, those of Table 2, the anchored Emu, the head; twelve English sentences, once for each that trains.
    assert (found.cells, found.training, found.passes) == (10, 8, 96)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(*names: str) -> None:
        if "setfit" in names:
            raise TrainingError("setfit is not installed; pip install setfit")

    monkeypatch.setattr(emu_experiment, "check_packages", check)
    assert outlook(FRAME, parts=("peers",)).missing == (
        "SetFit: setfit is not installed; pip install setfit",
    )
    assert outlook(FRAME, parts=("5",)).missing == ()


@pytest.mark.slow
def test_machine_translations_are_a_cell_where_every_sentence_measured_has_one() -> None:
    config, data = PAPERS["emu"].plan(bench_set(), device="cpu", **{**EMU, "parts": ("2",)})
    assert isinstance(data, BenchData)
    of_text = {text: f"in English: {text}" for text in FRAME.loc[FRAME["language"] == "de", "text"]}

    def looked(translations: dict[str, str]) -> tuple[int, bool]:
        found = experiment_of(config, data.translated("en", translations)).outlook()
        return found.cells, any("machine translation" in line for line in found.missing)

    (without, said), (having, silent) = looked({}), looked(of_text)
    assert said and not silent and having == without + 1
    of_text.pop("pool ?")  # of split test
    assert looked(of_text) == (without, True)
