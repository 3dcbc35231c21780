"""`emu bench dual-encoder`: its cells, what a cell measures, and its tables."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu_core.bench.dual_encoder.experiment import DualEncoderSystem, DualExperiment
from emu_core.bench.dual_encoder.report import LABELS, PAPER_TABLES, DualTables, printed_dual_encoder_table
from emu_core.bench.experiment import measure_cell
from emu_core.bench.paper import paper_figure, paper_numbers
from emu_core.bench.parallel.experiment import Recipe
from emu_core.bench.parallel.texts import BenchTexts
from emu_core.bench.results import Cell, CellResult, Results, pair_names
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.tasks import Tasks
from emu_core.errors import DataError, TrainingError
from emu_core.evaluation.translation_ranking import DOT
from emu_core.methods.dual_encoder.settings import SUM_OF_WORDS, TUNED_DUAL_ENCODER, DualEncoderConfig
from tests.support.bench_cells import PAIRS, drawn, planned, run
from tests.support.pretrained_set import parallel, sentences, sts_folder

NAMES = pair_names(PAIRS)
EVERY = tuple(DualEncoderSystem)
NONE = {"labelled": None}
WRITTEN = {"en": "en", "de": "de", "fr": "fr", "ja": "en"}  # sentences of whose words stand for a language's


def running_text(folder: Path) -> Path:
    path = folder / "running.en.txt"
    path.write_text(
        "\n".join(sentences("en", 12, 3)) + "\n\n" + "\n".join(sentences("en", 12, 4)) + "\n", "utf-8"
    )
    return path


def nli_file(folder: Path) -> Path:
    path = folder / "nli.jsonl"
    labels = ("entailment", "neutral", "contradiction")
    first, second = sentences("en", 12, 1), sentences("en", 12, 2)
    rows = [
        {"sentence1": first[i], "sentence2": second[i], "gold_label": labels[i % 3]}
        for i in range(len(first))
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    return path


# The paper


def test_the_papers_tables_are_whole() -> None:
    assert paper_figure("dual_encoder", "section3.4", "translation-ranking", "en-de") == "97.5"
    assert paper_figure("dual_encoder", "section3.4", "multi-task", "en-fr") == "95.1"
    assert paper_figure("dual_encoder", "table2", "multi-task en-fr", "fr") == "0.777 / 0.738"
    assert paper_figure("dual_encoder", "table2", "translation-ranking en-de", "de") == "0.630 / 0.526"
    assert (
        paper_figure("dual_encoder", "table2", "multi-task en-fr", "de")
        == ""
        == paper_figure("dual_encoder", "table2", "other", "de")
    )
    assert paper_figure("dual_encoder", "table7", "multi-task", "en-de") == "0.761"
    assert paper_figure("dual_encoder", "table6", "fr monolingual", "20 %") == "80.0"
    assert paper_figure("dual_encoder", "table1", "multi-task en-zh", "TREC") == "97.7"
    assert paper_figure("dual_encoder", "table4", "multi-task en-es", "XNLI es") == "65.2"
    assert paper_figure("dual_encoder", "table5", "translation-ranking en-fr", "fr") == "66.3"
    assert paper_figure("dual_encoder", "table3", "BIT", "en-es") == "0.749"
    for name in PAPER_TABLES:
        table = paper_numbers("dual_encoder")[name]
        assert all(len(row) == len(table["columns"]) for row in table["rows"].values())
        shown = printed_dual_encoder_table(name)
        assert len(shown.rows) == len(table["rows"]) and all(
            len(row) == len(shown.head) for row in shown.texts
        )
    # The tables repeat each other's figures.
    for row, values in paper_numbers("dual_encoder")["table2"]["rows"].items():
        assert values[0] == paper_numbers("dual_encoder")["table1"]["rows"][row][-1]
    for code in ("fr", "de"):
        few = paper_figure("dual_encoder", "table6", f"{code} few-shot", "0 %")
        assert few == paper_figure("dual_encoder", "table5", f"multi-task en-{code}", code) != ""


# What is run


def test_there_is_a_model_for_each_kind_of_text(tmp_path: Path) -> None:
    others = {"running_text": [running_text(tmp_path)], "nli": [nli_file(tmp_path)]}
    made: Any = planned("dual-encoder", seeds=(0, 1), **others)
    plain: Any = planned("dual-encoder")
    assert plain.systems == (
        DualEncoderSystem.SUM_OF_WORDS,
        DualEncoderSystem.TRANSLATION,
        DualEncoderSystem.HARD_NEGATIVES,
    )
    systems = made.systems
    assert systems[3:] == (
        DualEncoderSystem.QUICK_THOUGHT,
        DualEncoderSystem.NLI,
        DualEncoderSystem.MULTI_TASK,
    )
    names = [DualTables(Results({}, (0,)), systems, PAIRS).paper_name(system) for system in systems]
    assert names == ["", "", "translation-ranking", "", "", "multi-task"]
    few = DualTables(Results({}, (0,)), systems[:3], PAIRS)
    assert few.paper_name(DualEncoderSystem.HARD_NEGATIVES) == "translation-ranking"
    with_all: Any = planned("dual-encoder", preset="paper", **others)
    assert with_all.systems == (*systems, DualEncoderSystem.PAPER)
    with_papers = DualTables(Results({}, (0,)), (*systems, DualEncoderSystem.PAPER), PAIRS)
    assert (
        with_papers.paper_name(DualEncoderSystem.PAPER)
        == with_papers.paper_name(DualEncoderSystem.MULTI_TASK)
        == "multi-task"
    )
    cells = made.cells()
    assert cells[0] == Cell(DualEncoderSystem.SUM_OF_WORDS, NAMES[:1], 0)
    assert len({cell.key for cell in cells}) == len(cells) == 6 * 2 * 2
    (tmp_path / "x").mkdir()
    made.data.store(tmp_path / "x")
    again = BenchTexts.load(tmp_path / "x", "x").tasks
    assert again.running_text == made.data.tasks.running_text
    assert again.nli[0].labels.tolist() == made.data.tasks.nli[0].labels.tolist()


def inference_pairs(*codes: str) -> list[Nli]:
    """Twelve a language, the same ones."""
    labels = np.arange(12) % 3
    return [
        Nli(sentences(WRITTEN[code], 12, 1), sentences(WRITTEN[code], 12, 2), labels, code, "xnli")
        for code in codes
    ]


def test_inference_pairs_to_measure_are_those_of_the_languages_and_are_kept(tmp_path: Path) -> None:
    learnt = [nli_file(tmp_path)]
    made = planned("dual-encoder", nli=learnt, test_nli=inference_pairs("en", "de", "ja"))
    assert [one.language for one in made.data.test_nli] == ["en", "de"]
    (tmp_path / "stored").mkdir()
    made.data.store(tmp_path / "stored")
    again, config = BenchTexts.load(tmp_path / "stored", "x"), made.config
    assert [(one.language, one.premises, one.labels.tolist()) for one in again.test_nli] == [
        (one.language, one.premises, one.labels.tolist()) for one in inference_pairs("en", "de")
    ]
    assert again.facts(config).sha256 == made.data.facts(config).sha256
    assert planned("dual-encoder", nli=learnt).data.facts(config).sha256 != again.facts(config).sha256
    with pytest.raises(DataError, match="test_nli are in en, de, fr"):
        planned("dual-encoder", nli=learnt, test_nli=inference_pairs("ja"))


def test_systems_differ_in_what_they_name() -> None:
    made: Any = planned("dual-encoder")
    base = made.recipe(DualEncoderSystem.TRANSLATION)
    assert base.config == DualEncoderConfig(**TUNED_DUAL_ENCODER)
    assert made.recipe(DualEncoderSystem.SUM_OF_WORDS).config == DualEncoderConfig(**SUM_OF_WORDS)
    hard = vars(made.recipe(DualEncoderSystem.HARD_NEGATIVES).config)
    assert {name for name, value in vars(base.config).items() if value != hard[name]} <= {"hard_negatives"}
    assert hard["hard_negatives"] == 5
    recipes = {system: made.recipe(system) for system in EVERY}
    tasks = {system: (one.dialogues, one.running, one.nli) for system, one in recipes.items()}
    assert tasks[DualEncoderSystem.QUICK_THOUGHT] == (False, True, False) and tasks[
        DualEncoderSystem.NLI
    ] == (False, False, True)
    assert tasks[DualEncoderSystem.MULTI_TASK] == (True, True, True) and not any(
        tasks[DualEncoderSystem.HARD_NEGATIVES]
    )
    printed = made.recipe(DualEncoderSystem.PAPER).config
    assert (
        printed == DualEncoderConfig(epochs=TUNED_DUAL_ENCODER["epochs"])
        and tasks[DualEncoderSystem.PAPER] == (True,) * 3
    )
    short: Any = planned("dual-encoder", epochs=2)
    assert short.recipe(DualEncoderSystem.NLI).config.epochs == 2


class Small(DualExperiment):
    """The same systems, tiny."""

    def recipe(self, system: str) -> Recipe:
        """As the benchmark's, with few buckets."""
        found = super().recipe(system)
        assert isinstance(found.config, DualEncoderConfig)
        small = replace(
            found.config, word_buckets=500, ngram_buckets=500, dim=16, embedding_dim=16, batch_size=16, heads=2,
            filter_dim=32, learning_rate=0.02,
        )  # fmt: skip
        return replace(found, config=small)


@pytest.mark.slow
def test_a_model_of_all_tasks_is_trained_and_measured(tmp_path: Path) -> None:
    made = planned(
        "dual-encoder", test=parallel(*PAIRS, count=12, seed=9), sts=sts_folder(tmp_path / "sts"), epochs=4,
        running_text=[running_text(tmp_path)], nli=[nli_file(tmp_path)],
        test_nli=inference_pairs("en", "de", "fr"),
    )  # fmt: skip
    small = Small(made.config, made.data, tmp_path)
    result = measure_cell(small, Cell(DualEncoderSystem.MULTI_TASK, NAMES[:1]))
    assert set(result.wheres("rank", DOT)) == {"en-de", "de-en"}
    assert result.values["candidates", "", "en-de"] == 12
    assert result.wheres("nli") == ["en", "de"] and len(result.values["nli", "", "de"]) == 12
    assert (result.values["rank", DOT, "en-de"] == 1).mean() > 3 / 12  # chance is one
    assert set(result.wheres("sts")) == {"en", "de", "en-de", "de-en"}
    assert result.values["sts", "count", "en"] == 10
    assert set(result.wheres("zero_shot")) == {"en-en", "en-de", "de-en", "de-de"}
    shares = ["0", "10", "20", "40", "80", "100"]
    assert [part for part, _ in result.keys("few_shot")] == shares
    assert {part for part, _ in result.keys("monolingual")} <= set(
        shares[1:]
    )  # with too few labels there is none
    assert result.values["eigen", "mean", "en-de"] > 0 and result.values["eigen", "variance", "en-de"] > 0
    assert result.values["speed", "seconds", ""] > 0 and result.facts["pairs"] == 54
    other = measure_cell(small, Cell(DualEncoderSystem.TRANSLATION, NAMES[1:]))
    assert not other.wheres("nli")  # no head was trained
    assert set(other.wheres("sts")) == {"en"} and set(other.wheres("few_shot")) == {"en-fr"}


def test_what_can_not_be_trained_says_why(tmp_path: Path) -> None:
    config = planned("dual-encoder").config
    few = parallel(PAIRS[0], count=2), parallel(PAIRS[0], count=2, seed=1)
    made = DualExperiment(config, BenchTexts(Tasks(few[0]), tuple(few[1])), tmp_path)
    with pytest.raises(TrainingError, match="1 examples"):
        measure_cell(made, Cell(DualEncoderSystem.TRANSLATION, NAMES[:1]))


# Tables


def results_of(
    systems: tuple[DualEncoderSystem, ...] = EVERY, changes: Any = None
) -> tuple[Results, DualTables]:
    made: Any = planned("dual-encoder")
    cells = {
        cell: drawn(made, cell)
        for cell in (Cell(one, (name,), seed) for one in systems for name in NAMES for seed in (0, 1))
    }
    results = Results(cells | (changes or {}), (0, 1))
    return results, DualTables(results, systems, PAIRS)


def cells_of(results: Results, system: DualEncoderSystem, pair: int = 0) -> list[CellResult]:
    return [results.cells[Cell(system, (NAMES[pair],), seed)] for seed in results.seeds]


def numbers(results: Results, system: DualEncoderSystem, pair: int, *key: str) -> list[float]:
    """A number of each seed."""
    return [float(cell.values[key][0]) for cell in cells_of(results, system, pair)]  # type: ignore[index]


def test_precisions_are_means_over_seeds_and_stand_by_the_papers() -> None:
    results, made = results_of()
    table = made.ranking()
    assert table.head[:5] == ("model", "en-de P@1", "en-de P@3", "en-de P@10", "de-en P@1")
    assert table.head[-2:] == ("paper: en-de P@1", "paper: en-fr P@1")
    rows = {row[0]: row for row in table.texts}
    assert rows[LABELS[DualEncoderSystem.HARD_NEGATIVES]][-2:] == ("97.5", "95.4")
    assert rows[LABELS[DualEncoderSystem.MULTI_TASK]][-2:] == ("97.8", "95.1")
    assert rows[LABELS[DualEncoderSystem.SUM_OF_WORDS]][-2:] == ("", "")
    for n in (1, 3, 10):
        cells = cells_of(results, DualEncoderSystem.NLI, 1)
        right = [100 * (cell.values["rank", DOT, "fr-en"] <= n).mean() for cell in cells]
        score = table.data[DualEncoderSystem.NLI][f"fr-en P@{n}"]
        assert score["mean"] == pytest.approx(sum(right) / 2)
        assert score["deviation"] == pytest.approx(abs(right[0] - right[1]) / 2**0.5)

    def mean(system: DualEncoderSystem) -> float:
        cells = [cell for pair in (0, 1) for cell in cells_of(results, system, pair)]
        ranks = [cell.values["rank", DOT, way] for cell in cells for way in cell.wheres("rank", DOT)]
        return float(np.mean([100 * (own == 1).mean() for own in ranks]))

    gain = mean(DualEncoderSystem.QUICK_THOUGHT) - mean(DualEncoderSystem.TRANSLATION)
    label = LABELS[DualEncoderSystem.QUICK_THOUGHT]
    sentence = f"{label} against translation ranking alone: {gain:+.1f} points of P@1."
    assert sentence in table.verdict
    plain = mean(DualEncoderSystem.TRANSLATION) - mean(DualEncoderSystem.SUM_OF_WORDS)
    assert any(f"{plain:+.1f} points against the sum of words" in one for one in table.verdict)


def test_sts_has_a_row_a_model_and_a_column_a_language_or_two() -> None:
    results, made = results_of()
    table = made.sts()
    assert table.head[2:9] == ("en", "de", "fr", "en-de", "de-en", "en-fr", "fr-en")
    assert table.head[9:] == ("paper: en", "paper: de", "paper: fr")
    row = next(row for row in table.texts if row[:2] == (LABELS[DualEncoderSystem.MULTI_TASK], "en-fr"))
    shown = dict(zip(table.head, row, strict=True))
    assert shown["paper: fr"] == "0.777 / 0.738" and shown["paper: de"] == "" and shown["de"] == "–"
    values = numbers(results, DualEncoderSystem.MULTI_TASK, 1, "sts", "pearson", "fr")
    assert shown["fr"] == f"{np.mean(values):.3f} ±{np.std(values, ddof=1):.3f}"
    gains = [
        np.mean(numbers(results, DualEncoderSystem.NLI, pair, "sts", "pearson", name))
        - np.mean(numbers(results, DualEncoderSystem.SUM_OF_WORDS, pair, "sts", "pearson", name))
        for pair in (0, 1)
        for name in cells_of(results, DualEncoderSystem.NLI, pair)[0].wheres("sts")
    ]
    sentence = next(one for one in table.verdict if one.startswith(LABELS[DualEncoderSystem.NLI]))
    assert (
        f"{np.mean(gains):+.3f} of Pearson's r" in sentence and f"at least {min(gains):+.3f} in" in sentence
    )


def test_eigen_similarity_has_its_variance_and_the_papers_beside() -> None:
    results, made = results_of()
    table = made.eigen()
    assert table.head[:5] == ("model", "en-de", "en-de variance", "en-fr", "en-fr variance")
    assert table.head[5:] == ("paper: en-de", "paper: en-fr")
    row = next(row for row in table.texts if row[0] == LABELS[DualEncoderSystem.MULTI_TASK])
    mean, variance = (
        np.mean(numbers(results, DualEncoderSystem.MULTI_TASK, 0, "eigen", field, "en-de"))
        for field in ("mean", "variance")
    )
    assert row[2] == f"{variance:.3f}" and row[-2:] == ("0.761", "0.592")
    assert table.data[DualEncoderSystem.MULTI_TASK]["en-de"]["mean"] == pytest.approx(mean)
    assert "against translation ranking alone: en-de" in table.verdict[0]
    assert "no multi-task model" in results_of(EVERY[:3])[1].eigen().verdict[0]


def test_classification_has_the_papers_shapes() -> None:
    results, made = results_of()
    table = made.zero_shot()
    assert set(table.head[1:]) == {"en-en", "en-de", "de-en", "en-fr", "fr-en"}
    for pair, way in ((1, "fr-en"), (0, "en-en")):
        values = numbers(results, DualEncoderSystem.NLI, pair, "zero_shot", "", way)
        assert table.data[DualEncoderSystem.NLI][way]["mean"] == pytest.approx(sum(values) / 2)
    few = made.few_shot()
    assert few.head == ("model", "tested in", "trained on", "0 %", "50 %", "100 %")
    rows = [row for row in few.texts if row[:2] == (LABELS[DualEncoderSystem.NLI], "fr")]
    assert [row[2] for row in rows] == ["100 % en + X % fr", "X % fr"]
    assert rows[0][3].startswith("50.0") and rows[1][3] == "–" and rows[1][4].startswith("40.0")


def test_inference_has_a_row_a_model_that_has_a_head_and_the_papers_beside() -> None:
    right = {("en", 0): 8, ("de", 0): 5, ("en", 1): 6, ("fr", 1): 3}
    changes = {}
    for pair, name in enumerate(NAMES):
        for seed in (0, 1):
            own = {code: np.arange(10) < count + seed for (code, of), count in right.items() if of == pair}
            values = {("nli", "", code): hits.astype(float) for code, hits in own.items()}
            changes[Cell(DualEncoderSystem.MULTI_TASK, (name,), seed)] = CellResult(values)
    table = results_of(changes=changes)[1].nli()
    assert table.head == ("model", "trained on", "en", "de", "fr", "paper: en", "paper: de", "paper: fr")
    assert [row[:2] for row in table.texts] == [
        (LABELS[DualEncoderSystem.MULTI_TASK], name) for name in NAMES
    ]
    german, french = table.texts
    assert german[2].startswith("85.0") and german[3].startswith("55.0") and german[4] == "–"
    assert french[4].startswith("35.0") and german[5:] == ("71.5", "65.0", "")
    assert french[5:] == ("71.6", "", "64.4")


def test_what_is_missing_is_told() -> None:
    changes = {Cell(DualEncoderSystem.NLI, NAMES[1:], seed): CellResult(error="no luck") for seed in (0, 1)}
    _, made = results_of(changes=changes)
    table = made.ranking()
    row = next(row for row in table.texts if row[0] == LABELS[DualEncoderSystem.NLI])
    assert row[4] != "–" == row[table.head.index("en-fr P@1")]
    assert f"{LABELS[DualEncoderSystem.NLI]}, not measured: no luck" in table.notes
    assert not any(sentence.startswith(LABELS[DualEncoderSystem.NLI]) for sentence in table.verdict)
    assert any("no luck" in note for note in made.sts().notes)


def test_the_report_names_what_was_not_given(tmp_path: Path) -> None:
    others = {"running_text": [running_text(tmp_path)], "nli": [nli_file(tmp_path)]}
    report = run("dual-encoder", tmp_path / "out", **others)
    assert [table.name for table in report.paper] == [
        f"paper_{name.replace('.', '_')}" for name in PAPER_TABLES
    ]
    assert any("Not given" in sentence and "dialogues" in sentence for sentence in report.differences)
    assert "97.8" in (tmp_path / "out" / "report.html").read_text("utf-8")
