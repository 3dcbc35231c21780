"""`emu bench bicvm`: its texts, its cells, what a cell measures, and its tables."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu_core.bench.bicvm.experiment import BicvmExperiment, BicvmSystem, shown_words
from emu_core.bench.bicvm.report import (
    ENCODERS,
    LABELS,
    DocumentResults,
    printed_bicvm_table,
    translation_grid,
)
from emu_core.bench.drawing import svg_of
from emu_core.bench.experiment import measure_cell
from emu_core.bench.paper import paper_figure, paper_numbers
from emu_core.bench.parallel.experiment import speed_table
from emu_core.bench.parallel.texts import BenchTexts, read_bench_texts
from emu_core.bench.pictures import View, WordMaps
from emu_core.bench.results import Cell, CellResult, pair_names
from emu_core.data.calendar_words import MONTHS, WEEKDAYS
from emu_core.data.sets import LabelledSet
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.tasks import Tasks
from emu_core.errors import DataError
from emu_core.evaluation.significance import mean_interval
from emu_core.evaluation.transfer import bags
from emu_core.evaluation.translation_ranking import COSINE, EUCLID, ranking_by
from emu_core.evaluation.word_neighbours import glosses
from emu_core.formats.texts.documents import named_files
from emu_core.methods.bicvm.settings import BicvmConfig, Composition
from emu_core.runs import costs
from emu_core.runs.costs import Pace, Took
from emu_core.runs.log import Record, RecordKind
from tests.support.bench_cells import PAIRS, planned, results_of, run
from tests.support.pretrained_set import WORDS, labelled, parallel, sentences, sts_folder
from tests.support.raises import raises

NAMES = pair_names(PAIRS)


def experiment(data: Any = None, **options: Any) -> BicvmExperiment:
    found = planned("bicvm", data, **options)
    assert isinstance(found, BicvmExperiment)
    return found


# The paper


def test_the_papers_figures_stand_in_its_table() -> None:
    rows = {"bicvm+": ("86.2", "76.9"), "majority": ("46.8", "46.8"), "i-matrix": ("77.6", "71.1")}
    for row, figures in rows.items():
        assert tuple(paper_figure("bicvm", "table1", row, way) for way in ("en-de", "de-en")) == figures
    assert paper_figure("bicvm", "table1", "glossed", "en-de") == "65.1"
    assert (
        paper_figure("bicvm", "table1", "glossed", "de-fr")
        == ""
        == paper_figure("bicvm", "table1", "", "en-de")
    )
    assert len(paper_numbers("bicvm")["table1"]["rows"]) == len(printed_bicvm_table().rows) == 6
    assert printed_bicvm_table().rows[4].cells == ("BiCVM", "83.7", "71.4")


# Texts


def test_texts_are_read_back_from_their_folder(tmp_path: Path) -> None:
    texts = read_bench_texts(parallel(*PAIRS), labelled=labelled(), sts=sts_folder(tmp_path / "sts"))
    running = (RunningText("en", (("one", "two", "one"), ("two", "three", "four")), "r"),)
    whole = BenchTexts(Tasks(texts.train, running_text=running), texts.test, texts.documents, texts.sts)
    (tmp_path / "x").mkdir()
    whole.store(tmp_path / "x")
    again = BenchTexts.load(tmp_path / "x", "x")
    assert tuple(again.train) == tuple(whole.train) and again.test == whole.test
    assert (again.documents, again.sts) == (whole.documents, whole.sts)
    assert again.tasks.running_text == whole.tasks.running_text
    config = experiment().config
    assert again.facts(config) == whole.facts(config) != texts.facts(config)
    other = [ParallelText(one.source, one.target, one.first, one.second, "other") for one in whole.train]
    renamed = BenchTexts(Tasks(other, running_text=running), texts.test, texts.documents, texts.sts)
    assert renamed.facts(config).sha256 == whole.facts(config).sha256


def test_pairs_are_held_out_and_never_trained_on() -> None:
    texts = read_bench_texts(parallel(*PAIRS))
    assert [len(text) for text in texts.test] == [6, 6] and texts.documents == {}
    measured = {sentence for text in texts.test for sentence in (*text.first, *text.second)}
    assert not any(s in measured for text in texts.train for s in (*text.first, *text.second))
    given = read_bench_texts(
        parallel(*PAIRS), test=[text.turned() for text in parallel(*PAIRS, count=5, seed=9)]
    )
    assert [text.languages for text in given.test] == list(PAIRS) and len(given.train[0]) == 60
    assert given.test[0].first == sentences("en", 5, 9)
    with raises(DataError, fix="test", match="en-fr"):
        read_bench_texts(parallel(*PAIRS), test=parallel(PAIRS[0], count=5))


def test_texts_of_one_pair_become_one_and_quick_takes_few() -> None:
    one, other = parallel(PAIRS[0], count=2_000)[0], parallel(PAIRS[0], count=2_000, seed=3)[0].turned()
    test = parallel(PAIRS[0], count=5, seed=9)
    (text,) = read_bench_texts([one, other], test=test).train
    assert text.first == one.first + other.second and text.languages == ("en", "de")
    assert len(read_bench_texts([one, other], test=test, quick=True).train[0]) == 3_000


def test_labelled_sentences_are_divided_by_id_where_they_have_no_split() -> None:
    frame = labelled().frame.assign(split="")
    found = read_bench_texts(parallel(*PAIRS), labelled=LabelledSet(frame, "x")).documents
    assert {code: (len(a.texts), len(b.texts)) for code, (a, b) in found.items()} == dict.fromkeys(
        WORDS, (27, 13)
    )
    number = {text: i for code in WORDS for i, text in enumerate(sentences(code, 40, 5))}
    tested = {number[text] for _, test in found.values() for text in test.texts}
    assert len(tested) == 13  # the same ids in every language
    odd = frame.copy()
    odd.loc[(odd["language"] == "de") & (odd["intent"] == "other"), "intent"] = "third"
    with raises(DataError, fix=None):
        read_bench_texts(parallel(*PAIRS), labelled=LabelledSet(odd, "x"))
    with raises(DataError, fix=None, match="en, de, fr"):
        read_bench_texts(parallel(*PAIRS), labelled=labelled().select(languages=["en"]))


def test_documents_come_from_folders(tmp_path: Path) -> None:
    for code in ("en", "de"):
        for label in ("CCAT", "MCAT"):
            folder = tmp_path / code / label
            folder.mkdir(parents=True)
            for i in range(6):
                (folder / f"{i}.txt").write_text(f"{WORDS[code]}. {label} {i}.", "utf-8")
    named = named_files([f"{code}={tmp_path / code}" for code in ("en", "de")])
    found = read_bench_texts(parallel(*PAIRS), documents=named).documents
    assert {code: (len(a.texts), len(b.texts)) for code, (a, b) in found.items()} == {
        "en": (8, 4),
        "de": (8, 4),
    }
    both = read_bench_texts(parallel(*PAIRS), documents=named, test_documents=named).documents
    assert [len(part.texts) for part in both["de"]] == [12, 12]
    with raises(DataError, fix="test_documents"):
        read_bench_texts(parallel(*PAIRS), documents=named, test_documents={"en": named["en"]})
    for wrong in (["en"], ["en=a", "en=b"]):
        with raises(DataError, fix=None, match="en=PATH"):
            named_files(wrong)


# What is measured


def test_neighbours_are_those_of_plain_loops() -> None:
    draws = np.random.default_rng(0)
    first, second = draws.normal(size=(12, 4)), 3 + draws.normal(size=(12, 4))
    texts = [f"t{i}" for i in range(12)]
    for i in range(12):
        distances = [float(((first[i] - other) ** 2).sum()) for other in second]
        cosines = [float(first[i] @ o / np.linalg.norm(first[i]) / np.linalg.norm(o)) for o in second]
        nearer = 1 + sum(distance < distances[i] for distance in distances)
        closer = 1 + sum(cosine > cosines[i] for cosine in cosines)
        assert ranking_by(EUCLID, first, second, texts).ranks[i] == nearer
        assert ranking_by(COSINE, first, second, texts).ranks[i] == closer


def test_glosses_are_those_of_plain_counts() -> None:
    text = parallel(PAIRS[0])[0]
    found = glosses(text, str.split)
    assert {word: gloss.word for word, gloss in found.items()} == dict(
        zip(WORDS["en"].split(), WORDS["de"].split(), strict=True)
    )
    odd = ParallelText("en", "de", ("a b", "a", "b c"), ("x y", "x z", "y"), "t")
    count_a, count_b, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for a, b in zip(odd.first, odd.second, strict=True):
        count_a.update(a.split()), count_b.update(b.split())
        both.update((i, j) for i in a.split() for j in b.split())
    for word, gloss in glosses(odd, str.split).items():
        dice = {j: 2 * both[word, j] / (count_a[word] + count_b[j]) for j in count_b}
        assert gloss.dice == pytest.approx(max(dice.values())) == dice[gloss.word]
    gloss = glosses(odd.turned(), str.split)
    glossed = [[gloss[word].word for word in text.split() if word in gloss] for text in ("x y unknown", "z")]
    train, test = bags([["a", "a", "b"], ["c"]], [[*glossed[0], "unseen"], glossed[1]])
    assert train.tolist() == [[2 / 3, 1 / 3, 0], [0, 0, 1]] and test[0].tolist() == [0.5, 0.5, 0]
    assert test[1].tolist() == [1.0, 0, 0]  # z stands with a alone


def test_weekdays_and_months_are_shown_where_there_are_some() -> None:
    texts = parallel(*PAIRS)
    known = {code: {*WEEKDAYS[code], *MONTHS[code], *WORDS[code].split()} for code in WORDS}
    left, right = shown_words(texts, known)
    assert left.note == "weekdays" and left.rows[0] == ("monday", "montag", "lundi") and len(left.rows) == 7
    assert right.note == "months" and right.languages == ("de", "fr") and right.rows[7] == ("august", "août")
    few = {code: set(WORDS[code].split()) for code in WORDS}
    left, right = shown_words(texts, few)
    assert "lack the paper's weekdays" in left.note and len(left.rows) == 10 and right.rows == ()
    meant = set(zip(*(WORDS[code].split() for code in WORDS), strict=True))
    assert set(left.rows) <= meant
    days = {code: {*WEEKDAYS[code], *WORDS[code].split()} for code in WORDS}
    left, right = shown_words(texts, days)
    assert left.note == "weekdays" and "lack the paper's months" in right.note and len(right.rows) == 10
    assert set(right.rows) <= {row[1:] for row in meant} and right.languages == ("de", "fr")
    one, _ = shown_words(texts[:1], {code: few[code] for code in ("en", "de")})
    assert one.languages == ("en", "de")


def test_a_model_of_two_pairs_is_trained_and_measured() -> None:
    test = parallel(*PAIRS, count=12, seed=9)
    result = measure_cell(experiment(test=test, epochs=8, quick=True), Cell(BicvmSystem.OURS, NAMES))
    assert {part for part, _ in result.keys("rank")} == {COSINE, EUCLID}
    ways = {"en-de", "de-en", "en-fr", "fr-en", "de-fr", "fr-de"}
    assert set(result.wheres("rank", COSINE)) == ways == set(result.wheres("documents"))
    assert result.values["candidates", "", "de-fr"] == 12 == len(result.values["rank", EUCLID, "fr-de"])
    assert (result.values["rank", COSINE, "en-de"] == 1).mean() > 3 / 12  # chance is one
    assert {part for part, _ in result.keys("documents")} == {"30"}
    assert {float(result.values["draws", *key][0]) for key in result.keys("draws")} == {3}
    assert result.values["speed", "seconds", ""] > 0 and result.values["speed", "cpu_seconds", ""] > 0
    ((name, view),) = result.views.items()
    assert name == "left" and len(view.points) == 30 and set(view.groups) == set(WORDS) and result.seconds > 0
    assert all(count == 10 for _, count in view.nearest_right.values()) and len(view.nearest_right) == 6
    assert result.facts["selected_epoch"] >= 1


def test_glosses_are_measured_without_training() -> None:
    made = experiment(test=parallel(*PAIRS, count=12, seed=9), quick=True)
    result = measure_cell(made, Cell(BicvmSystem.GLOSSED, NAMES[:1]))
    assert result.keys("rank") == [] == result.keys("speed") and result.seconds == 0
    accuracy = {
        where: float(result.values["documents", part, where][0]) for part, where in result.keys("documents")
    }
    assert set(accuracy) == {"en-de", "de-en"} and min(accuracy.values()) > 50


def test_steps_alone_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 3.0, 100.0, 101.0])
    monkeypatch.setattr(costs, "now", lambda: Took(at := next(times), at / 2))
    pace = Pace()
    for kind in ("step", "step", "step", "epoch", "step"):  # 97 s of measuring after the epoch don't count
        pace(Record(kind=RecordKind(kind), step=1, epoch=1, loss=0.0))
    assert pace.steps == 3 and pace.seconds == 4 and pace.cpu_seconds == 2
    assert pace.speed(10) == {"seconds": 7.5, "cpu_seconds": 15.0}
    assert Pace().speed(10) == {}


# Settings


def test_the_papers_settings_are_the_papers() -> None:
    made = experiment()
    paper, ours, bigram = (
        made.recipe(one) for one in (BicvmSystem.PAPER, BicvmSystem.OURS, BicvmSystem.OURS_BIGRAM)
    )
    assert (
        paper
        and paper.config == BicvmConfig()
        and ours
        and bigram
        and made.recipe(BicvmSystem.GLOSSED) is None
    )
    assert isinstance(bigram.config, BicvmConfig) and bigram.config.composition is Composition.BIGRAM
    changed = {name for name, value in vars(ours.config).items() if value != vars(bigram.config)[name]}
    assert changed == {"composition"}
    quick = experiment(quick=True).recipe(BicvmSystem.PAPER)
    assert quick and quick.config.epochs == 5
    cell = Cell(BicvmSystem.PAPER, NAMES)
    assert made.fingerprint(cell) != experiment(epochs=3).fingerprint(cell)


def test_each_cell_is_planned_once() -> None:
    cells = experiment(seeds=(0, 1)).cells()
    assert cells[0] == Cell(BicvmSystem.SUM_OF_WORDS, NAMES[:1], 0)
    assert len(cells) == len({cell.key for cell in cells}) == 2 * (4 * 2 + 1 + 3)
    assert not any(cell.system == BicvmSystem.GLOSSED for cell in experiment(labelled=None).cells())
    assert all(len(cell.on) == 1 for cell in experiment(parallel(PAIRS[0])).cells())


# Tables


def results(changes: Any = None) -> Any:
    return results_of(experiment(seeds=(0, 1)), changes)


def test_retrieval_is_the_mean_over_seeds() -> None:
    found = results()
    table = translation_grid(found, PAIRS)
    assert table.head[:3] == ("model", "trained on", "nearest by")
    assert table.head[3:] == ("en-de", "de-en", "en-fr", "fr-en", "de-fr", "fr-de")
    score = table.data["bicvm-ours on en-de, en-fr, euclid"]["de-fr"]
    cells = [found.cells[Cell(BicvmSystem.OURS, NAMES, seed)] for seed in (0, 1)]
    rights = [cell.values["rank", EUCLID, "de-fr"] == 1 for cell in cells]
    assert score["mean"] == pytest.approx(100 * np.mean(rights))
    interval = mean_interval(np.mean(rights, axis=0))
    assert (score["low"], score["high"]) == (interval.low, interval.high)
    single = next(row for row in table.texts if row[:3] == (LABELS[BicvmSystem.OURS], "en-de", "cosine"))
    assert single[5:] == ("–",) * 4
    assert any("No pair of de-fr, fr-de was trained on" in note for note in table.notes)
    assert sum("of which no pair was seen" in sentence for sentence in table.verdict) == 2


def test_table_1_has_1000_documents_and_the_papers_figures_beside() -> None:
    made = results()
    found = DocumentResults(made, PAIRS)
    table = found.table_1()
    rows = {row[0]: dict(zip(table.head, row, strict=True)) for row in table.texts}
    assert rows["majority class"]["de-en"] == "40.0" and rows["majority class"]["paper: de-en"] == "46.8"
    assert rows["machine translation"]["en-de"] == "–"
    assert rows["machine translation"]["paper: en-de"] == "68.1"
    assert rows[LABELS[BicvmSystem.PAPER]]["paper: en-de"] == "83.7"
    plus = rows[f"{LABELS[BicvmSystem.PAPER]}, all pairs (BiCVM+)"]
    assert plus["paper: de-en"] == "76.9" and plus["de-fr"] != "–" and rows["glossed"]["de-fr"] == "–"
    cells = [made.cells[Cell(BicvmSystem.OURS, NAMES[:1], seed)] for seed in (0, 1)]
    mean = sum(float(cell.values["documents", "1000", "de-en"][0]) for cell in cells) / 2
    assert table.data[BicvmSystem.OURS]["de-en"]["mean"] == pytest.approx(mean)
    sentence = next(one for one in table.verdict if one.startswith(f"{LABELS[BicvmSystem.OURS]}: "))
    assert f"de-en {mean - 40:+.1f}" in sentence.split(" against the majority class")[0]
    figure = found.figure_2()
    assert figure.head == ("model", "direction", "100", "1,000", "5,000")
    assert len(figure.rows) == 4 * 4 + 2 + 3 * 6  # bigrams are of one pair; together there are six directions


def test_speed_is_a_ratio_to_the_sum_of_words_on_the_same_pairs() -> None:
    found = results()
    data = speed_table(found, ENCODERS, BicvmSystem.SUM_OF_WORDS, LABELS, NAMES[0]).data

    def speed(system: BicvmSystem, name: str) -> float:
        cells = [found.cells[Cell(system, NAMES[1:], seed)] for seed in (0, 1)]
        return float(np.mean([cell.values["speed", name, ""] for cell in cells]))

    for name in ("seconds", "cpu_seconds"):
        ratio = speed(BicvmSystem.OURS, name) / speed(BicvmSystem.SUM_OF_WORDS, name)
        assert data["bicvm-ours on en-fr"][f"ratio_{name}"] == pytest.approx(ratio)
    assert data["sum-of-words on en-de"]["ratio_seconds"] == 1


def test_what_is_missing_is_told() -> None:
    part = results({Cell(BicvmSystem.PAPER, NAMES[:1], seed): CellResult(error="no luck") for seed in (0, 1)})
    assert any("no luck" in note for note in translation_grid(part, PAIRS).notes)
    table = DocumentResults(part, PAIRS).table_1()
    row = next(row for row in table.texts if row[0] == LABELS[BicvmSystem.PAPER])
    assert row[table.head.index("en-de")] == "–" != row[table.head.index("en-fr")]
    assert any("no luck" in note for note in table.notes)


# The whole


def test_without_documents_there_is_no_table_1(tmp_path: Path) -> None:
    report = run("bicvm", tmp_path, parallel(PAIRS[0]), labelled=None)
    assert [table.name for table in report.tables] == ["translations", "speed", "costs"]
    assert any("No documents were given" in sentence for sentence in report.differences)
    assert "86.2" in (tmp_path / "report.html").read_text("utf-8")


def test_a_hostile_word_is_only_text() -> None:
    view = View(((0.0, 0.0), (1.0, 1.0)), ("en", "de"), ("<script>$x$", "b"), "<script>")
    svg = svg_of(WordMaps({"left": view}, ["en", "de"]))
    assert "<script" not in svg and "&lt;script&gt;$x$" in svg
