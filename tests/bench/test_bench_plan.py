"""The cells of Emu's benchmark, what they are trained with, and its data."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from emu_core.bench.emu.experiment import EmuExperiment, bench_data, benchmarked_methods
from emu_core.bench.emu.few_shot import FEW_SHOT_LABELS, drawn_labels, numbers_of_labels
from emu_core.bench.emu.new_intents import halves_of_intents
from emu_core.bench.experiment import measure_cell
from emu_core.bench.papers import EmuPart
from emu_core.bench.peers import Peer
from emu_core.bench.results import Cell
from emu_core.data.sets import LabelledSet
from emu_core.encoders.registry import load_encoder
from emu_core.errors import DataError, TrainingError
from emu_core.evaluation.run_metrics import measure_accuracy
from emu_core.methods.registry import configure, methods_that_need
from emu_core.training.method import Needs
from tests.support.bench_cells import drawn, planned, run
from tests.support.bench_set import bench_set, four_intents
from tests.support.tiny_transformer import tiny_transformer

SIX = ("en", "de", "es", "fr", "ja", "zh")
THERE = set(methods_that_need(Needs.INTENTS))


def cells(*parts: str, languages: tuple[str, ...] = SIX, **options: Any) -> tuple[Cell, ...]:
    return planned("emu", bench_set(languages), parts=parts, **options).cells()


def test_table_2_needs_the_base_once_and_every_method_for_each_seed() -> None:
    found = cells("2", seeds=(0, 1, 2))
    assert found[0] == Cell("base")
    assert set(found[1:]) == {Cell(name, ("en",), seed) for name in THERE for seed in (0, 1, 2)}
    assert [cell.system for cell in found[1::3]][:7] == [
        "contrastive", "n-pair", "softmax", "emu", "emu-without-ld", "emu-without-ld-cl", "emu-parallel",
    ]  # fmt: skip
    assert set(benchmarked_methods()) == THERE


def test_tables_share_their_cells() -> None:
    apart = sum(len(cells(part, seeds=(0, 1))) for part in EmuPart)
    found = cells(*EmuPart, seeds=(0, 1))
    assert len(set(found)) == len(found) < apart
    assert len({cell.key for cell in found}) == len(found)
    mixes = {cell.on for cell in found if cell.system == "emu-without-ld"}
    assert mixes == {("en",), ("de",), ("fr",), ("en", "de"), ("en", "fr"), ("de", "fr"), ("en", "de", "fr")}
    assert set(cells("5", "figure2", "4", seeds=(0, 1))) <= set(found)


def test_table_3_takes_other_languages_where_the_papers_are_not_there() -> None:
    found = cells("3", languages=("ja", "ko", "th", "zh"), train_languages=["ja"])
    assert {code for cell in found for code in cell.on} == {"ja", "ko", "th"}
    assert len(found) == 1 + 7


def test_peers_that_train_are_run_with_both_rates_and_the_frozen_once() -> None:
    found = cells("peers", seeds=(0, 1))
    for peer in Peer:
        own = [(cell.seed, cell.variant) for cell in found if cell.system == f"peer.{peer}"]
        if peer in (Peer.LDA, Peer.LOGISTIC, Peer.PROTOTYPES):
            assert own == [(0, "")]
        elif peer is Peer.SETFIT_OWN_BUDGET:
            assert own == [(0, "theirs")]
        else:
            assert own == [(0, "theirs"), (0, "ours"), (1, "theirs"), (1, "ours")]


def test_a_limit_of_epochs_leaves_out_the_peer_with_its_own_budget() -> None:
    own = [cell for cell in cells("peers") if cell.system == "peer.setfit-own-budget"]
    assert planned("emu", parts=["peers"]).hyperparameters(own[0]) == {
        "epochs": 80, "batch_size": 16, "learning_rate": 2e-5,
    }  # fmt: skip
    assert not {cell.system for cell in cells("peers", epochs=1)} & {own[0].system}


def test_the_first_step_of_the_default_is_a_row_where_it_does_something() -> None:
    evened = Cell("base-evened")
    assert evened not in cells("peers") and evened in cells("peers", encoder="e5-small")
    assert evened not in cells("2", encoder="e5-small")
    experiment = planned("emu", encoder="e5-small", parts=["peers"])
    config: Any = configure("head", "e5-small")
    assert experiment.hyperparameters(evened) == {
        "language_directions": config.language_directions, "centering": config.centering,
    }  # fmt: skip


def test_each_half_of_the_intents_has_labels_once() -> None:
    found = planned("emu", four_intents(), parts=["new-intents"], halves=99, encoder="e5-small")
    assert isinstance(found, EmuExperiment)
    assert len(set(found.halves)) == len(found.halves) == 6  # of four intents, every two
    made = found.cells()
    assert len({cell.key for cell in made}) == len(made)
    systems = {cell.system for cell in made if cell.half == 5}
    assert {"base", "base-evened", "head", "emu", "peer.setfit", "peer.st-softmax"} <= systems
    assert not {"peer.lda", "peer.logistic-regression", "peer.setfit-own-budget"} & systems
    # Known intents choose the learning rate, so those cells are needed as well.
    assert {replace(cell, half=None) for cell in made} <= set(made)
    assert "new-intents" not in planned("emu").settings.parts


def test_seven_intents_have_thirty_five_halves() -> None:
    halves = list(halves_of_intents(list("abcdefg")))
    assert len(halves) == len(set(halves)) == 35 and {len(half) for half in halves} == {3}
    assert list(halves_of_intents(list("gfedcba"), 3)) == halves[:3]


def test_a_half_is_trained_on_some_intents_and_measured_on_the_others(tmp_path: Path) -> None:
    tiny = f"hf:{tiny_transformer(tmp_path / 'tiny')}"
    experiment = planned("emu", four_intents(), encoder=tiny, parts=["new-intents"], halves=1, epochs=1)
    assert isinstance(experiment, EmuExperiment)
    (half,) = experiment.halves
    frame = experiment.data.test.frame
    asked = frame[~frame["intent"].isin(half)].reset_index(drop=True)
    expected = measure_accuracy(LabelledSet(asked, "x"), load_encoder(tiny).encode)
    base = measure_cell(experiment, Cell("base", half=0))
    for way, right in expected.correct.items():
        assert base.values["correct", "", way].tolist() == right.tolist()
    english, german = (base.values["sentence", "", code].tolist() for code in ("en", "de"))
    assert english == german and len(set(english)) == 4
    emu = measure_cell(experiment, Cell("emu", ("en",), half=0))
    assert len(emu.values["correct", "", "en-de"]) == 4 and emu.wheres("classified") == []


def test_few_labels_are_drawn_anew_for_every_system() -> None:
    """The tests' set has four sentences of each intent in a language to train on."""
    found = cells("few-shot", draws=3)
    assert found[0] == Cell("base")
    numbers = {cell.labels for cell in found[1:]}
    assert numbers == {2}  # with four there would be nothing to draw
    systems = {(cell.system, cell.variant) for cell in found[1:]}
    assert systems == {
        ("head", ""), ("emu", ""), ("peer.logistic-regression", ""), ("peer.prototypes", ""),
        ("peer.setfit", "theirs"), ("peer.setfit", "ours"),
        ("peer.st-multiple-negatives", "theirs"), ("peer.st-multiple-negatives", "ours"),
    }  # fmt: skip
    assert len(found) == 1 + 3 * len(numbers) * len(systems) == len({cell.key for cell in found})
    assert "few-shot" not in planned("emu").settings.parts


def test_drawn_labels_keep_translations_together_and_other_languages_whole() -> None:
    experiment = planned("emu", bench_set(SIX))
    assert isinstance(experiment, EmuExperiment)
    train, both = experiment.data.train, ("en", "de")
    drawn_rows = drawn_labels(train, both, 2, seed=1).frame
    assert drawn_rows.equals(drawn_labels(train, both, 2, seed=1).frame)
    assert not drawn_rows.equals(drawn_labels(train, both, 2, seed=2).frame)
    labelled = drawn_rows[drawn_rows["language"].isin(both)]
    assert (labelled.groupby(["intent", "language"]).size() == 2).all()
    assert set(labelled[labelled["language"] == "en"]["id"]) == set(
        labelled[labelled["language"] == "de"]["id"]
    )
    others = train.frame[~train.frame["language"].isin(both)]
    assert len(drawn_rows) - len(labelled) == len(others)


def test_numbers_of_labels_leave_something_to_draw() -> None:
    train = bench_set(SIX).train_part()
    frame = pd.concat(
        [
            train.frame.assign(id=train.frame["id"] + str(copy), text=train.frame["text"] + f" {copy}")
            for copy in range(5)
        ]
    )
    twenty = LabelledSet(frame.reset_index(drop=True), "twenty")
    assert numbers_of_labels(twenty, ["en"]) == numbers_of_labels(twenty, ["en", "de"]) == (2, 4, 8, 16)
    alone = LabelledSet(train.frame.drop_duplicates(["intent", "language"]).reset_index(drop=True), "alone")
    assert numbers_of_labels(alone, ["en"]) == FEW_SHOT_LABELS[:1]


def test_a_language_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="no sentence in ko; there are: en, de"):
        cells("2", languages=("en", "de"), train_languages=["ko"])
    with pytest.raises(TrainingError, match="no training language is named"):
        cells("2", train_languages=[])


def test_a_hostile_language_stays_in_the_folder() -> None:
    cell = Cell("emu", ("../../etc/passwd", "a b"))
    assert "/" not in cell.key and ".." not in cell.key
    assert cell.key != Cell("emu", ("../../etc/passwd", "a c")).key


def test_the_budget_of_the_peers_is_emus() -> None:
    experiment, emu = planned("emu", encoder="e5-small"), configure("emu", "e5-small")
    ours = experiment.hyperparameters(Cell("peer.st-cosent", ("en",), 0, "ours"))
    assert ours == {name: getattr(emu, name) for name in ("epochs", "batch_size", "learning_rate")}
    theirs = experiment.hyperparameters(Cell("peer.st-cosent", ("en",), 0, "theirs"))
    assert theirs == ours | {"learning_rate": 2e-5}


def test_a_fingerprint_changes_with_all_that_is_measured() -> None:
    cell, other = Cell("emu", ("en",)), bench_set(names={"pool": "pond"})
    experiments = [
        planned("emu"), planned("emu", encoder="e5-small"), planned("emu", other), planned("emu", epochs=2),
    ]  # fmt: skip
    assert len({one.fingerprint(cell) for one in experiments}) == len(experiments)
    assert experiments[0].fingerprint(cell) != experiments[0].fingerprint(Cell("emu", ("en",), 1))
    assert experiments[0].fingerprint(cell) == planned("emu", seeds=(3,)).fingerprint(cell)


@pytest.mark.parametrize("method", ["emu", "head"])
def test_a_method_is_trained_by_the_library(method: str, tmp_path: Path) -> None:
    from emu_core import train

    tiny = f"hf:{tiny_transformer(tmp_path / 'tiny')}"
    experiment = planned("emu", encoder=tiny, epochs=1)
    assert isinstance(experiment, EmuExperiment)
    result = measure_cell(experiment, Cell(method, ("en",), 1))
    config = configure(method, tiny.partition(":")[0], **({"epochs": 1} if method == "emu" else {}))
    done = train(
        experiment.data.train, out=tmp_path / "run", method=method, encoder=tiny, seed=1, device="cpu", config=config,
    )  # fmt: skip
    expected = measure_accuracy(experiment.data.test, load_encoder(f"run:{done.folder}").encode)
    for direction, right in expected.correct.items():
        assert result.values["correct", "", direction].tolist() == right.tolist()
    assert 0 < result.seconds < result.seconds_whole


@pytest.mark.slow
def test_emus_own_classifier_is_measured(tmp_path: Path) -> None:
    import torch

    from emu_core.api.execute import Hooks
    from emu_core.api.train import train
    from emu_core.training.job import Outcome

    tiny = f"hf:{tiny_transformer(tmp_path / 'tiny')}"
    experiment = planned("emu", encoder=tiny, epochs=1)
    assert isinstance(experiment, EmuExperiment)
    test = experiment.data.test.frame
    outcomes = list[Outcome]()
    hooks = Hooks(on_outcome=outcomes.append)
    for method in ("emu", "softmax"):
        result = measure_cell(experiment, Cell(method, ("en",)))
        done = train(
            experiment.data.train, out=tmp_path / method, method=method, encoder=tiny, device="cpu", hooks=hooks,
            config=configure(method, "hf", epochs=1),
        )  # fmt: skip
        vectors = load_encoder(f"run:{done.folder}").encode(test["text"].tolist())
        classify = outcomes[-1].classify
        assert classify is not None
        predicted = classify(vectors)
        for code in ("en", "de"):
            rows = np.flatnonzero(test["language"] == code)
            right = [float(predicted[row] == test["intent"][row]) for row in rows]
            assert result.values["classified", "", code].tolist() == right
        # Of vectors of any length, Emu's classifier sees the direction alone, and softmax the vector itself.
        scaled = classify(torch.from_numpy(1000 * vectors).numpy())
        assert method != "emu" or scaled == predicted
    for method in ("contrastive", "emu-anchored", "head"):  # no classifier, or not of these weights
        assert measure_cell(experiment, Cell(method, ("en",))).wheres("classified") == []


@pytest.mark.slow
def test_the_translation_baseline_measures_the_translations(tmp_path: Path) -> None:
    tiny = f"hf:{tiny_transformer(tmp_path / 'tiny')}"
    frame = bench_set().frame
    frame.loc[frame["language"] == "de", "text"] += " ?"
    english = frame[frame["language"] == "en"].set_index("id")["text"]
    path = tmp_path / "translated.csv"
    frame.assign(translation=frame["id"].map(english)).to_csv(path, index=False)
    trains_nothing = ("base", "translation")
    report = run(
        "emu", tmp_path / "out", str(path), encoder=tiny, parts=["2"],
        run_cell=lambda e, cell: (measure_cell if cell.system in trains_nothing else drawn)(e, cell),
    )  # fmt: skip
    data = report.table("table2").data
    # German translated back word for word into the English sentence: every direction is then English to English.
    assert set(data["mt"]["accuracy"].values()) == {data["base"]["accuracy"]["en-en"]}
    frame.assign(translation="").to_csv(path, index=False)
    report = run("emu", tmp_path / "two", str(path), parts=["2"])
    assert "has no machine translations" in report.table("table2").rows[0].missing


def test_test_rows_are_measured_and_dev_rows_left_out() -> None:
    frame = bench_set().frame
    frame.loc[frame["id"].str.endswith("3"), "split"] = "dev"
    data = bench_data(LabelledSet(frame, "x"))
    assert set(data.train.frame["id"].str[-1]) == {"0", "1", "2"}
    assert set(data.test.frame["id"].str[-1]) == {"4", "5"}
    without_test = frame[frame["split"] != "test"].reset_index(drop=True)
    data = bench_data(LabelledSet(without_test, "x"))
    assert set(data.test.frame["id"].str[-1]) == {"3"} and set(data.test.frame["split"]) == {"test"}
    assert "split dev" in data.note


def test_a_set_without_splits_is_cut_by_id() -> None:
    frame = bench_set(("en", "de", "ja")).frame.assign(split="")
    data = bench_data(LabelledSet(frame, "x"))
    train, test = set(data.train.frame["id"]), set(data.test.frame["id"])
    assert not train & test and len(train | test) == 18
    # 30 % of the six of each intent are two, in each of three languages.
    assert data.test.frame.groupby("intent")["id"].nunique().tolist() == [2, 2, 2]
    assert len(data.test) == 18 and "no splits" in data.note
    again = bench_data(LabelledSet(frame, "x"))
    assert again.labelled.sha256() == data.labelled.sha256()


def test_rows_without_an_id_are_cut_in_each_language() -> None:
    frame = bench_set().frame.assign(split="", id="")
    data = bench_data(LabelledSet(frame, "x"))
    counts = data.test.frame.groupby(["language", "intent"]).size()
    assert counts.tolist() == [2] * 6 and len(data.train) + len(data.test) == 36


def test_splits_that_do_not_serve_are_refused() -> None:
    frame = bench_set().frame.replace({"split": {"test": "later"}})
    with pytest.raises(DataError, match="measures split test or dev, and there are: later, train"):
        bench_data(LabelledSet(frame, "x"))
