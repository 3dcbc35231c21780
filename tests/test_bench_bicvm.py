"""`emu bench bicvm`: its texts, its cells, its tables, and that a killed one goes on."""

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from emu_core.bench.bicvm import worker
from emu_core.bench.bicvm.bench import bench_bicvm
from emu_core.bench.bicvm.documents import DocumentResults, figure_2_table, table_1
from emu_core.bench.bicvm.figures import figure_3
from emu_core.bench.bicvm.glosses import bags, glosses
from emu_core.bench.bicvm.measure import measure
from emu_core.bench.bicvm.paper import paper_numbers, paper_row, paper_table
from emu_core.bench.bicvm.plan import bicvm_plan
from emu_core.bench.bicvm.systems import ENCODERS, LABELS, BicvmSetting, System
from emu_core.bench.bicvm.translations import translation_table
from emu_core.bench.bicvm.word_lists import MONTHS, WEEKDAYS, shown_words
from emu_core.bench.pretrained.cells import PretrainedCell
from emu_core.bench.pretrained.costs import speed_table
from emu_core.bench.pretrained.ranking import COSINE, EUCLID, ranking
from emu_core.bench.pretrained.read import named_files, read_texts
from emu_core.bench.pretrained.request import PretrainedRequest
from emu_core.bench.pretrained.result import PretrainedResult, WordView
from emu_core.bench.pretrained.results import PretrainedResults
from emu_core.bench.pretrained.run_cell import run_cell
from emu_core.bench.pretrained.texts import BenchTexts, sha256
from emu_core.bench.pretrained.train_cell import Pace
from emu_core.cli import main
from emu_core.config.bicvm import BicvmConfig, Composition
from emu_core.data.labelled import LabelledSet
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.running_text import RunningText
from emu_core.errors import DataError, RunError, TrainingError
from emu_core.evaluation.significance import mean_interval
from tests.dying import dying
from tests.pretrained_set import WORDS, drawn, labelled, parallel, sentences, sts_folder

ROOT = Path(__file__).parent.parent
PAIRS = (("en", "de"), ("en", "fr"))
MEASURES = (COSINE, EUCLID)


def fake(request: PretrainedRequest) -> PretrainedResult:
    return drawn(request.cell, MEASURES, view=request.in_figure)


def bench(out: Path, files: list[ParallelText] | None = None, **changes: Any) -> Any:
    options = {"out": out, "device": "cpu", "run": fake, "labelled": labelled(), **changes}
    return bench_bicvm(parallel(*PAIRS) if files is None else files, **options)


# The paper


def test_the_papers_figures_stand_in_its_table() -> None:
    assert paper_row("bicvm+") == {"en-de": "86.2", "de-en": "76.9"}
    assert paper_row("majority") == {"en-de": "46.8", "de-en": "46.8"}
    assert paper_row("i-matrix")["de-en"] == "71.1" and paper_row("glossed")["en-de"] == "65.1"
    assert len(paper_numbers()["table1"]["rows"]) == len(paper_table().rows) == 6
    assert paper_table().rows[4] == ("BiCVM", "83.7", "71.4")


# Texts


def test_texts_are_read_back_from_their_file(tmp_path: Path) -> None:
    texts = read_texts(parallel(*PAIRS), labelled=labelled(), sts=sts_folder(tmp_path / "sts"))
    whole = BenchTexts(
        texts.train, texts.test, texts.documents, texts.sts,
        running=(RunningText("en", (("one", "two", "one"), ("two", "three", "four")), "r"),),
    )  # fmt: skip
    whole.frame().to_parquet(tmp_path / "x.parquet")
    again = BenchTexts.of(pd.read_parquet(tmp_path / "x.parquet"))
    assert (again.train, again.test, again.documents) == (whole.train, whole.test, whole.documents)
    assert (again.sts, again.running) == (whole.sts, whole.running)
    frame = whole.frame()
    assert sha256(frame) == sha256(frame.assign(name="other")) != sha256(frame.assign(target="x"))


def test_pairs_are_held_out_and_never_trained_on() -> None:
    texts = read_texts(parallel(*PAIRS))
    assert [len(text) for text in texts.test] == [6, 6] and texts.documents == {}
    measured = {sentence for text in texts.test for sentence in (*text.first, *text.second)}
    assert not any(s in measured for text in texts.train for s in (*text.first, *text.second))
    given = read_texts(parallel(*PAIRS), test=[text.turned() for text in parallel(*PAIRS, count=5, seed=9)])
    assert [text.languages for text in given.test] == list(PAIRS) and len(given.train[0]) == 60
    assert given.test[0].first == sentences("en", 5, 9)
    with pytest.raises(DataError, match="no pairs of en-fr"):
        read_texts(parallel(*PAIRS), test=parallel(PAIRS[0], count=5))


def test_texts_of_one_pair_become_one_and_quick_takes_few() -> None:
    one, other = parallel(PAIRS[0], count=2_000)[0], parallel(PAIRS[0], count=2_000, seed=3)[0].turned()
    test = parallel(PAIRS[0], count=5, seed=9)
    (text,) = read_texts([one, other], test=test).train
    assert text.first == one.first + other.second and text.languages == ("en", "de")
    assert len(read_texts([one, other], test=test, quick=True).train[0]) == 3_000


def test_labelled_sentences_are_divided_by_id_where_they_have_no_split() -> None:
    frame = labelled().frame.assign(split="")
    found = read_texts(parallel(*PAIRS), labelled=LabelledSet(frame, "x")).documents
    assert {code: (len(a.texts), len(b.texts)) for code, (a, b) in found.items()} == dict.fromkeys(
        WORDS, (27, 13)
    )
    number = {text: i for code in WORDS for i, text in enumerate(sentences(code, 40, 5))}
    tested = {number[text] for _, test in found.values() for text in test.texts}
    assert len(tested) == 13  # the same ids in every language
    odd = frame.copy()
    odd.loc[(odd["language"] == "de") & (odd["intent"] == "other"), "intent"] = "third"
    with pytest.raises(DataError, match="fewer than two classes in common"):
        read_texts(parallel(*PAIRS), labelled=LabelledSet(odd, "x"))
    with pytest.raises(DataError, match="labels in en of the languages trained on"):
        read_texts(parallel(*PAIRS), labelled=labelled().select(languages=["en"]))


def test_documents_come_from_folders(tmp_path: Path) -> None:
    for code in ("en", "de"):
        for label in ("CCAT", "MCAT"):
            folder = tmp_path / code / label
            folder.mkdir(parents=True)
            for i in range(6):
                (folder / f"{i}.txt").write_text(f"{WORDS[code]}. {label} {i}.", "utf-8")
    named = named_files([f"{code}={tmp_path / code}" for code in ("en", "de")])
    found = read_texts(parallel(*PAIRS), documents=named).documents
    assert {code: (len(a.texts), len(b.texts)) for code, (a, b) in found.items()} == {
        "en": (8, 4),
        "de": (8, 4),
    }
    both = read_texts(parallel(*PAIRS), documents=named, test_documents=named).documents
    assert [len(part.texts) for part in both["de"]] == [12, 12]
    with pytest.raises(DataError, match="--test-documents de=PATH"):
        read_texts(parallel(*PAIRS), documents=named, test_documents={"en": named["en"]})
    for wrong in (["en"], ["en=a", "en=b"]):
        with pytest.raises(DataError, match="write en=PATH"):
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
        assert ranking(EUCLID, first, second, texts).ranks[i] == nearer
        assert ranking(COSINE, first, second, texts).ranks[i] == closer


def test_glosses_are_those_of_plain_counts() -> None:
    text = parallel(PAIRS[0])[0]
    found = glosses(text)
    assert {word: gloss.word for word, gloss in found.items()} == dict(
        zip(WORDS["en"].split(), WORDS["de"].split(), strict=True)
    )
    odd = ParallelText("en", "de", ("a b", "a", "b c"), ("x y", "x z", "y"), "t")
    count_a, count_b, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for a, b in zip(odd.first, odd.second, strict=True):
        count_a.update(a.split()), count_b.update(b.split())
        both.update((i, j) for i in a.split() for j in b.split())
    for word, gloss in glosses(odd).items():
        dice = {j: 2 * both[word, j] / (count_a[word] + count_b[j]) for j in count_b}
        assert gloss.dice == pytest.approx(max(dice.values())) == dice[gloss.word]
    train, test = bags(["a a b", "c"], ["x y unknown", "z"], glosses(odd.turned()))
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


def request_of(cell: PretrainedCell, folder: Path, epochs: int = 8) -> PretrainedRequest:
    texts = read_texts(parallel(*PAIRS), test=parallel(*PAIRS, count=12, seed=9), labelled=labelled())
    texts.frame().to_parquet(folder / "data.parquet")
    setting = BicvmSetting("cpu", "tiny", sha256(texts.frame()), epochs, quick=True)
    return PretrainedRequest(cell, setting, str(folder / "data.parquet"), in_figure=True)


def test_a_model_of_two_pairs_is_trained_and_measured(tmp_path: Path) -> None:
    result = run_cell(request_of(PretrainedCell(System.OURS, PAIRS), tmp_path), measure)
    again = PretrainedResult.from_json(json.loads(json.dumps(result.to_json())))
    assert again.to_json() == result.to_json()
    assert set(result.ranks) == {COSINE, EUCLID}
    assert set(result.ranks[COSINE]) == {"en-de", "de-en", "en-fr", "fr-en", "de-fr", "fr-de"}
    assert result.candidates["de-fr"] == 12 and len(result.ranks[EUCLID]["fr-de"]) == 12
    assert (result.ranks[COSINE]["en-de"] == 1).mean() > 3 / 12  # chance is one
    ways = {(one["source"], one["target"]) for one in result.documents}
    assert len(ways) == 6 and {one["size"] for one in result.documents} == {30}
    assert {one["draws"] for one in result.documents} == {3}
    assert result.speed["seconds"] > 0 and result.speed["cpu_seconds"] > 0 and result.seconds > 0
    ((name, view),) = result.views.items()
    assert name == "left" and len(view.points) == 30 and set(view.languages) == set(WORDS)
    assert all(count == 10 for _, count in view.found.values()) and len(view.found) == 6
    assert result.facts["selected_epoch"] >= 1


def test_glosses_are_measured_without_training(tmp_path: Path) -> None:
    result = run_cell(request_of(PretrainedCell(System.GLOSSED, PAIRS[:1]), tmp_path), measure)
    assert result.ranks == {} and result.speed == {} and result.seconds == 0
    accuracy = {(one["source"], one["target"]): one["accuracy"] for one in result.documents}
    assert set(accuracy) == {("en", "de"), ("de", "en")} and min(accuracy.values()) > 50


def test_a_cell_runs_in_its_own_process(tmp_path: Path) -> None:
    request = request_of(PretrainedCell(System.PAPER, PAIRS[:1], 1), tmp_path, epochs=1)
    found = worker.in_process(request)
    own = run_cell(request, measure)
    assert found.not_measured == ""
    assert found.ranks[EUCLID]["de-en"].tolist() == own.ranks[EUCLID]["de-en"].tolist()
    assert found.documents == own.documents
    lone = PretrainedRequest(
        PretrainedCell(System.PAPER, (("en", "xx"),)), request.setting, request.data_file
    )
    failed = PretrainedResult.from_json(
        json.loads(json.dumps(PretrainedResult(not_measured="why").to_json()))
    )
    assert failed.not_measured == "why"
    assert lone == PretrainedRequest.from_json(lone.to_json(), BicvmSetting)


def test_steps_alone_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    from emu_core.bench.pretrained import train_cell
    from emu_core.bench.stopwatch import Moment

    times = iter([0.0, 1.0, 3.0, 100.0, 101.0])
    monkeypatch.setattr(train_cell, "now", lambda: Moment(at := next(times), at / 2))
    pace = Pace()
    for kind in ("step", "step", "step", "epoch", "step"):  # 97 s of measuring after the epoch don't count
        pace({"kind": kind, "step": 1, "epoch": 1})
    assert pace.steps == 3 and pace.seconds == 4 and pace.cpu_seconds == 2
    assert pace.speed(10) == {"seconds": 7.5, "cpu_seconds": 15.0}
    assert Pace().speed(10) == {}


# Settings


def test_the_papers_settings_are_the_papers() -> None:
    setting = BicvmSetting("cpu", "x", "y")
    paper, ours = setting.recipe(System.PAPER), setting.recipe(System.OURS)
    assert paper is not None and paper.config == BicvmConfig() and ours is not None
    bigram = setting.recipe(System.OURS_BIGRAM)
    assert bigram is not None and isinstance(bigram.config, BicvmConfig)
    assert bigram.config.composition is Composition.BIGRAM
    assert setting.recipe(System.GLOSSED) is None
    assert {
        name for name, _ in vars(ours.config).items() if vars(ours.config)[name] != vars(bigram.config)[name]
    } == {"composition"}
    quick = BicvmSetting("cpu", "x", "y", quick=True).recipe(System.PAPER)
    assert quick is not None and isinstance(quick.config, BicvmConfig) and quick.config.epochs == 5
    cell = PretrainedCell(System.PAPER, PAIRS)
    assert setting.fingerprint(cell) != BicvmSetting("cpu", "x", "y", epochs=3).fingerprint(cell)


def test_each_cell_is_planned_once() -> None:
    cells = bicvm_plan(PAIRS, (0, 1), documents=True)
    assert cells[0] == PretrainedCell(System.SUM_OF_WORDS, PAIRS[:1], 0)
    assert len(cells) == len({cell.key for cell in cells}) == 2 * (4 * 2 + 1 + 3)
    assert not any(cell.system == System.GLOSSED for cell in bicvm_plan(PAIRS, (0,), documents=False))
    assert all(len(cell.pairs) == 1 for cell in bicvm_plan(PAIRS[:1], (0,), documents=True))
    key = PretrainedCell(System.PAPER, (("../../x", "de"),)).key
    assert "/" not in key


# Tables


def results_of(seeds: tuple[int, ...] = (0, 1)) -> PretrainedResults:
    cells = bicvm_plan(PAIRS, seeds, documents=True)
    return PretrainedResults({cell: drawn(cell, MEASURES) for cell in cells}, PAIRS, seeds)


def test_retrieval_is_the_mean_over_seeds() -> None:
    results = results_of()
    table = translation_table(results)
    assert table.head == (
        "model",
        "trained on",
        "nearest by",
        "en-de",
        "de-en",
        "en-fr",
        "fr-en",
        "de-fr",
        "fr-de",
    )
    score = table.data["bicvm-ours on en-de, en-fr, euclid"]["de-fr"]
    rights = [
        results.cells[PretrainedCell(System.OURS, PAIRS, s)].ranks[EUCLID]["de-fr"] == 1 for s in (0, 1)
    ]
    assert score["mean"] == pytest.approx(100 * np.mean(rights))
    interval = mean_interval(np.mean(rights, axis=0))
    assert (score["low"], score["high"]) == (interval.low, interval.high)
    single = next(row for row in table.rows if row[:3] == (LABELS[System.OURS], "en-de", "cosine"))
    assert single[5:] == ("–",) * 4
    assert any("No pair of de-fr, fr-de was trained on" in note for note in table.notes)
    assert sum("of which no pair was seen" in said for said in table.verdict) == 2


def test_table_1_has_1000_documents_and_the_papers_figures_beside() -> None:
    results = results_of()
    found = DocumentResults(results)
    table = table_1(found)
    rows = {row[0]: dict(zip(table.head, row, strict=True)) for row in table.rows}
    assert rows["majority class"]["de-en"] == "40.0" and rows["majority class"]["paper: de-en"] == "46.8"
    assert (
        rows["machine translation"]["en-de"] == "–" and rows["machine translation"]["paper: en-de"] == "68.1"
    )
    assert rows[LABELS[System.PAPER]]["paper: en-de"] == "83.7"
    plus = rows[f"{LABELS[System.PAPER]}, all pairs (BiCVM+)"]
    assert plus["paper: de-en"] == "76.9" and plus["de-fr"] != "–" and rows["glossed"]["de-fr"] == "–"
    cells = [results.cells[PretrainedCell(System.OURS, PAIRS[:1], seed)] for seed in (0, 1)]
    values = [
        one["accuracy"]
        for cell in cells
        for one in cell.documents
        if (one["source"], one["target"], one["size"]) == ("de", "en", 1000)
    ]
    assert table.data[System.OURS]["de-en"]["mean"] == pytest.approx(sum(values) / 2)
    said = next(one for one in table.verdict if one.startswith(f"{LABELS[System.OURS]}: "))
    assert f"de-en {sum(values) / 2 - 40:+.1f}" in said.split(" against the majority class")[0]
    numbers = figure_2_table(found)
    assert numbers.head == ("model", "direction", "100", "1,000", "5,000")
    assert (
        len(numbers.rows) == 4 * 4 + 2 + 3 * 6
    )  # bigrams are of one pair; together there are six directions


def test_speed_is_a_ratio_to_the_sum_of_words_on_the_same_pairs() -> None:
    results = results_of()
    labels = {system.value: label for system, label in LABELS.items()}
    data = speed_table(results, ENCODERS, System.SUM_OF_WORDS, labels).data

    def speed(system: System, name: str) -> float:
        return float(
            np.mean([results.cells[PretrainedCell(system, PAIRS[1:], s)].speed[name] for s in (0, 1)])
        )

    for name in ("seconds", "cpu_seconds"):
        ratio = speed(System.OURS, name) / speed(System.SUM_OF_WORDS, name)
        assert data["bicvm-ours on en-fr"][f"ratio_{name}"] == pytest.approx(ratio)
    assert data["sum-of-words on en-de"]["ratio_seconds"] == 1


def test_what_is_missing_is_said() -> None:
    results = results_of()
    cells = dict(results.cells)
    for seed in (0, 1):
        cells[PretrainedCell(System.PAPER, PAIRS[:1], seed)] = PretrainedResult(not_measured="no luck")
    part = PretrainedResults(cells, PAIRS, (0, 1))
    assert any("no luck" in note for note in translation_table(part).notes)
    table = table_1(DocumentResults(part))
    row = next(row for row in table.rows if row[0] == LABELS[System.PAPER])
    assert row[table.head.index("en-de")] == "–" != row[table.head.index("en-fr")]
    assert any("no luck" in note for note in table.notes)


# The whole


def test_a_killed_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tests.test_bench_bicvm", str(out), "4"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    done = {path.name: path.read_bytes() for path in (out / "cells").iterdir()}
    assert set(done) == {"sum-of-words.en-de.s0.json", "sum-of-words.en-fr.s0.json", "glossed.en-de.s0.json"}
    asked: list[str] = []

    def counting(request: PretrainedRequest) -> PretrainedResult:
        asked.append(request.cell.key)
        return fake(request)

    resumed = bench(out, run=counting)
    assert len(asked) == 12 - 3 and asked[0] == "glossed.en-fr.s0"
    assert {name: (out / "cells" / name).read_bytes() for name in done} == done
    assert bench(tmp_path / "other").tables == resumed.tables
    asked.clear()
    bench(out, seeds=(0, 1), run=counting)
    assert len(asked) == 12 and all(key.endswith(".s1") for key in asked)


def test_other_texts_settings_and_folders_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench(out)
    with pytest.raises(RunError, match="differ in the data"):
        bench(out, parallel(*PAIRS, seed=4))
    with pytest.raises(RunError, match="differ in the number of epochs"):
        bench(out, epochs=2)
    (out / "cells" / "bicvm-ours.en-de.s0.json").write_text('{"fingerprint": 1}')
    with pytest.raises(RunError, match="made with other settings"):
        bench(out)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "letter.txt").write_text("x")
    with pytest.raises(RunError, match="holds no benchmark"):
        bench(tmp_path / "used")
    with pytest.raises(TrainingError, match="a seed is a whole number"):
        bench(tmp_path / "x", seeds=())
    with pytest.raises(TrainingError, match="epochs are a whole number"):
        bench(tmp_path / "x", epochs=0)
    with pytest.raises(TrainingError, match="sum of words can't be measured: no luck"):
        bench(tmp_path / "y", run=lambda request: PretrainedResult(not_measured="no luck"))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("ranks", {"cosine": {"en-de": [0]}}),
        ("ranks", {"cosine": {"en-de": [1.5]}}),
        ("documents", [{"size": "many"}]),
    ],
)
def test_a_damaged_cell_is_refused(tmp_path: Path, name: str, wrong: Any) -> None:
    bench(tmp_path / "out")
    path = tmp_path / "out" / "cells" / "sum-of-words.en-de.s0.json"
    values = json.loads(path.read_text("utf-8"))
    values["result"][name] = wrong
    path.write_text(json.dumps(values), "utf-8")
    with pytest.raises(RunError, match="is damaged"):
        bench(tmp_path / "out")


def test_the_report_holds_every_part_and_no_strangers_markup(tmp_path: Path) -> None:
    files = [
        ParallelText(text.source, text.target, text.first, text.second, "evil | <img src=x>\n# head")
        for text in parallel(*PAIRS)
    ]
    report = bench(tmp_path / "out", files)
    values = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert list(values["tables"]) == ["translations", "table1", "figure2", "speed", "costs"]
    assert values["pictures"] == ["figure2", "figure3", "figure3_ours"]
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert page.count("<svg") == 3 and "<img" not in page and "86.2" in page and "<b>" not in page
    assert "\n# head" not in (tmp_path / "out" / "report.md").read_text("utf-8")
    for table in (*report.tables, *report.paper):
        frame = pd.read_csv(tmp_path / "out" / f"{table.name}.csv", dtype=str, keep_default_na=False)
        assert len(frame) == len(table.rows) and len(frame.columns) == len(table.head)
    one = parallel(PAIRS[0])
    without = bench(
        tmp_path / "small", one, labelled=None, run=lambda request: replace(fake(request), documents=())
    )
    assert [table.name for table in without.tables] == ["translations", "speed", "costs"]
    assert any("No documents were given" in said for said in without.differences)


def test_a_hostile_word_is_only_text() -> None:
    view = WordView(("en", "de"), ("<script>$x$", "b"), ((0.0, 0.0), (1.0, 1.0)), "<script>")
    svg = figure_3({"left": view}, ["en", "de"])
    assert "<script" not in svg and re.search(r"&lt;script&gt;\$x\$", svg)


def test_the_command_hands_everything_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: dict[str, Any] = {}

    def caught(files: list[str], **options: Any) -> Any:
        said.update(options, files=files)
        raise TrainingError("enough")

    monkeypatch.setattr("emu_core.bench.bicvm.bench.bench_bicvm", caught)
    command = [
        "bench",
        "bicvm",
        "x.en",
        "x.de",
        "--test",
        "y.en",
        "y.de",
        "--out",
        "o",
        "--seeds",
        "0",
        "1",
        "--quick",
    ]
    assert main([*command, "--documents", "en=a", "de=b", "--languages", "en,de"]) != 0
    assert "enough" in capsys.readouterr().err
    assert said["files"] == ["x.en", "x.de"] and said["test"] == ["y.en", "y.de"] and said["quick"]
    assert said["documents"] == {"en": "a", "de": "b"} and said["test_documents"] == {}
    assert said["seeds"] == [0, 1] and said["languages"] == ["en", "de"] and said["epochs"] is None


if __name__ == "__main__":
    bench(Path(sys.argv[1]), run=dying(fake, int(sys.argv[2])))
