"""`emu bench dual-encoder`: its cells, its tables, and that a killed one goes on."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from emu_core.bench.dual_encoder import worker
from emu_core.bench.dual_encoder.bench import bench_dual_encoder
from emu_core.bench.dual_encoder.measure import measure
from emu_core.bench.dual_encoder.paper import TITLES, paper_figure, paper_numbers, paper_table
from emu_core.bench.dual_encoder.plan import dual_plan
from emu_core.bench.dual_encoder.systems import LABELS, DualSetting, System, paper_name, systems_for
from emu_core.bench.dual_encoder.tables import (
    eigen_table,
    few_shot_table,
    ranking_table,
    sts_table,
    zero_shot_table,
)
from emu_core.bench.pretrained.cells import PretrainedCell
from emu_core.bench.pretrained.ranking import DOT
from emu_core.bench.pretrained.read import read_texts
from emu_core.bench.pretrained.request import PretrainedRequest
from emu_core.bench.pretrained.result import PretrainedResult
from emu_core.bench.pretrained.results import PretrainedResults
from emu_core.bench.pretrained.run_cell import run_cell
from emu_core.bench.pretrained.setting import Recipe
from emu_core.bench.pretrained.texts import BenchTexts, sha256
from emu_core.cli import main
from emu_core.config.dual_encoder import SUM_OF_WORDS, TUNED_DUAL_ENCODER, DualEncoderConfig
from emu_core.data.parallel.text import ParallelText
from emu_core.errors import RunError, TrainingError
from tests.dying import dying
from tests.pretrained_set import drawn, labelled, parallel, sentences, sts_folder

ROOT = Path(__file__).parent.parent
PAIRS = (("en", "de"), ("en", "fr"))
EVERY = tuple(System)


def fake(request: PretrainedRequest) -> PretrainedResult:
    return drawn(request.cell, (DOT,))


def bench(out: Path, files: list[ParallelText] | None = None, **changes: Any) -> Any:
    options = {"out": out, "device": "cpu", "run": fake, "labelled": labelled(), **changes}
    return bench_dual_encoder(parallel(*PAIRS) if files is None else files, **options)


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
    assert paper_figure("section3.4", "translation-ranking", "en-de") == "97.5"
    assert paper_figure("section3.4", "multi-task", "en-fr") == "95.1"
    assert paper_figure("table2", "multi-task en-fr", "fr") == "0.777 / 0.738"
    assert paper_figure("table2", "translation-ranking en-de", "de") == "0.630 / 0.526"
    assert paper_figure("table2", "multi-task en-fr", "de") == "" == paper_figure("table2", "other", "de")
    assert paper_figure("table7", "multi-task", "en-de") == "0.761"
    assert paper_figure("table6", "fr monolingual", "20 %") == "80.0"
    assert paper_figure("table1", "multi-task en-zh", "TREC") == "97.7"
    assert paper_figure("table4", "multi-task en-es", "XNLI es") == "65.2"
    assert paper_figure("table5", "translation-ranking en-fr", "fr") == "66.3"
    assert paper_figure("table3", "BIT", "en-es") == "0.749"
    for name in TITLES:
        table = paper_numbers()[name]
        assert all(len(row) == len(table["columns"]) for row in table["rows"].values())
        shown = paper_table(name)
        assert len(shown.rows) == len(table["rows"]) and all(
            len(row) == len(shown.head) for row in shown.rows
        )
    # The tables repeat each other's figures.
    for row, values in paper_numbers()["table2"]["rows"].items():
        assert values[0] == paper_numbers()["table1"]["rows"][row][-1]
    for code in ("fr", "de"):
        few = paper_figure("table6", f"{code} few-shot", "0 %")
        assert few == paper_figure("table5", f"multi-task en-{code}", code) != ""


# What is run


def test_there_is_a_model_for_each_kind_of_text(tmp_path: Path) -> None:
    texts = read_texts(parallel(*PAIRS), running_text=[running_text(tmp_path)], nli=[nli_file(tmp_path)])
    plain = read_texts(parallel(*PAIRS))
    assert systems_for(plain) == (System.SUM_OF_WORDS, System.TRANSLATION, System.HARD_NEGATIVES)
    systems = systems_for(texts)
    assert systems[3:] == (System.QUICK_THOUGHT, System.NLI, System.MULTI_TASK)
    assert [paper_name(system, systems) for system in systems] == [
        "", "", "translation-ranking", "", "", "multi-task",
    ]  # fmt: skip
    assert paper_name(System.HARD_NEGATIVES, systems_for(plain)) == "translation-ranking"
    cells = dual_plan(systems, PAIRS, (0, 1))
    assert cells[0] == PretrainedCell(System.SUM_OF_WORDS, PAIRS[:1], 0)
    assert len({cell.key for cell in cells}) == len(cells) == 6 * 2 * 2
    texts.frame().to_parquet(tmp_path / "x.parquet")
    again = BenchTexts.of(pd.read_parquet(tmp_path / "x.parquet"))
    assert again.running == texts.running and again.nli[0].premises == texts.nli[0].premises
    assert again.nli[0].labels.tolist() == texts.nli[0].labels.tolist()


def test_systems_differ_in_what_they_name() -> None:
    setting = DualSetting("cpu", "x", "y")
    base = setting.recipe(System.TRANSLATION)
    assert base.config == DualEncoderConfig(**TUNED_DUAL_ENCODER)
    assert setting.recipe(System.SUM_OF_WORDS).config == DualEncoderConfig(**SUM_OF_WORDS)
    hard = vars(setting.recipe(System.HARD_NEGATIVES).config)
    assert {name for name, value in vars(base.config).items() if value != hard[name]} <= {"hard_negatives"}
    assert hard["hard_negatives"] == 5
    tasks = {s: (r.dialogues, r.running, r.nli) for s in EVERY if (r := setting.recipe(s))}
    assert tasks[System.QUICK_THOUGHT] == (False, True, False) and tasks[System.NLI] == (False, False, True)
    assert tasks[System.MULTI_TASK] == (True, True, True) and not any(tasks[System.HARD_NEGATIVES])
    short = DualSetting("cpu", "x", "y", epochs=2).recipe(System.NLI).config
    assert isinstance(short, DualEncoderConfig) and short.epochs == 2


class SmallSetting(DualSetting):
    """The same systems, tiny."""

    def recipe(self, system: str) -> Recipe:
        """As the benchmark's, with few buckets."""
        found = super().recipe(system)
        assert isinstance(found.config, DualEncoderConfig)
        small = replace(
            found.config, word_buckets=500, ngram_buckets=500, dim=16, embedding_dim=16, batch_size=16
        )
        return replace(found, config=replace(small, heads=2, filter_dim=32, learning_rate=0.02))


def request_of(
    cell: PretrainedCell,
    folder: Path,
    setting: type[DualSetting] = SmallSetting,
    *,
    epochs: int = 4,
    labels: bool = True,
) -> PretrainedRequest:
    texts = read_texts(
        parallel(*PAIRS),
        test=parallel(*PAIRS, count=12, seed=9),
        labelled=labelled() if labels else None,
        sts=sts_folder(folder / "sts"),
        running_text=[running_text(folder)],
        nli=[nli_file(folder)],
    )
    texts.frame().to_parquet(folder / "data.parquet")
    return PretrainedRequest(
        cell, setting("cpu", "tiny", sha256(texts.frame()), epochs), str(folder / "data.parquet")
    )


def test_a_model_of_all_tasks_is_trained_and_measured(tmp_path: Path) -> None:
    result = run_cell(request_of(PretrainedCell(System.MULTI_TASK, PAIRS[:1]), tmp_path), measure)
    again = PretrainedResult.from_json(json.loads(json.dumps(result.to_json())))
    assert again.to_json() == result.to_json()
    assert set(result.ranks[DOT]) == {"en-de", "de-en"} and result.candidates["en-de"] == 12
    assert (result.ranks[DOT]["en-de"] == 1).mean() > 3 / 12  # chance is one
    assert set(result.sts) == {"en", "de", "en-de", "de-en"} and result.sts["en"]["count"] == 10
    assert set(result.zero_shot) == {"en-en", "en-de", "de-en", "de-de"}
    assert [one["share"] for one in result.few_shot["en-de"]] == [0, 10, 20, 40, 80, 100]
    assert result.few_shot["en-de"][0]["monolingual"] is None
    assert result.eigen["en-de"]["mean"] > 0 and result.eigen["en-de"]["variance"] > 0
    assert result.speed["seconds"] > 0 and result.facts["pairs"] == 54
    other = run_cell(request_of(PretrainedCell(System.TRANSLATION, PAIRS[1:]), tmp_path), measure)
    assert set(other.sts) == {"en"} and set(other.few_shot) == {"en-fr"}


def test_a_cell_runs_in_its_own_process(tmp_path: Path) -> None:
    request = request_of(
        PretrainedCell(System.SUM_OF_WORDS, PAIRS[:1], 1), tmp_path, DualSetting, epochs=1, labels=False
    )
    found = worker.in_process(request)
    assert found.not_measured == "" and len(found.ranks[DOT]["de-en"]) == 12
    assert set(found.sts) == {"en", "de", "en-de", "de-en"} and found.peak_mb > 100


def test_what_can_not_be_trained_says_why(tmp_path: Path) -> None:
    texts = BenchTexts(tuple(parallel(PAIRS[0], count=2)), tuple(parallel(PAIRS[0], count=2, seed=1)))
    texts.frame().to_parquet(tmp_path / "data.parquet")
    cell = PretrainedCell(System.TRANSLATION, PAIRS[:1])
    request = PretrainedRequest(cell, DualSetting("cpu", "x", "y"), str(tmp_path / "data.parquet"))
    result = PretrainedResult.from_json(worker._run(request.to_json()))
    assert "1 examples" in result.not_measured and result.ranks == {}


# Tables


def results_of(systems: tuple[System, ...] = EVERY, seeds: tuple[int, ...] = (0, 1)) -> PretrainedResults:
    cells = dual_plan(systems, PAIRS, seeds)
    return PretrainedResults({cell: drawn(cell, (DOT,)) for cell in cells}, PAIRS, seeds)


def cells_of(results: PretrainedResults, system: System, pair: int = 0) -> list[PretrainedResult]:
    return [results.cells[PretrainedCell(system, (PAIRS[pair],), seed)] for seed in results.seeds]


def test_precisions_are_means_over_seeds_and_stand_by_the_papers() -> None:
    results = results_of()
    table = ranking_table(results, EVERY)
    assert table.head[:5] == ("model", "en-de P@1", "en-de P@3", "en-de P@10", "de-en P@1")
    assert table.head[-2:] == ("paper: en-de P@1", "paper: en-fr P@1")
    rows = {row[0]: row for row in table.rows}
    assert rows[LABELS[System.HARD_NEGATIVES]][-2:] == ("97.5", "95.4")
    assert rows[LABELS[System.MULTI_TASK]][-2:] == ("97.8", "95.1")
    assert rows[LABELS[System.SUM_OF_WORDS]][-2:] == ("", "")
    for n in (1, 3, 10):
        right = [100 * (cell.ranks[DOT]["fr-en"] <= n).mean() for cell in cells_of(results, System.NLI, 1)]
        score = table.data[System.NLI][f"fr-en P@{n}"]
        assert score["mean"] == pytest.approx(sum(right) / 2)
        assert score["deviation"] == pytest.approx(abs(right[0] - right[1]) / 2**0.5)

    def mean(system: System) -> float:
        return float(np.mean([100 * (ranks == 1).mean() for pair in (0, 1) for cell in cells_of(results, system, pair)
                              for ranks in cell.ranks[DOT].values()]))  # fmt: skip

    gain = mean(System.QUICK_THOUGHT) - mean(System.TRANSLATION)
    said = f"{LABELS[System.QUICK_THOUGHT]} against translation ranking alone: {gain:+.1f} points of P@1."
    assert said in table.verdict
    plain = mean(System.TRANSLATION) - mean(System.SUM_OF_WORDS)
    assert any(f"{plain:+.1f} points against the sum of words" in one for one in table.verdict)


def test_sts_has_a_row_a_model_and_a_column_a_language_or_two() -> None:
    results = results_of()
    table = sts_table(results, EVERY)
    assert table.head[2:9] == ("en", "de", "fr", "en-de", "de-en", "en-fr", "fr-en")
    assert table.head[9:] == ("paper: en", "paper: de", "paper: fr")
    row = next(row for row in table.rows if row[:2] == (LABELS[System.MULTI_TASK], "en-fr"))
    shown = dict(zip(table.head, row, strict=True))
    assert shown["paper: fr"] == "0.777 / 0.738" and shown["paper: de"] == "" and shown["de"] == "–"
    values = [cell.sts["fr"]["pearson"] for cell in cells_of(results, System.MULTI_TASK, 1)]
    assert shown["fr"] == f"{np.mean(values):.3f} ±{np.std(values, ddof=1):.3f}"
    names = [(name, pair) for pair in (0, 1) for name in cells_of(results, System.NLI, pair)[0].sts]
    gains = [
        np.mean([cell.sts[name]["pearson"] for cell in cells_of(results, System.NLI, pair)])
        - np.mean([cell.sts[name]["pearson"] for cell in cells_of(results, System.SUM_OF_WORDS, pair)])
        for name, pair in names
    ]
    said = next(one for one in table.verdict if one.startswith(LABELS[System.NLI]))
    assert f"{np.mean(gains):+.3f} of Pearson's r" in said and f"at least {min(gains):+.3f} in" in said


def test_eigen_similarity_has_its_variance_and_the_papers_beside() -> None:
    results = results_of()
    table = eigen_table(results, EVERY)
    assert table.head == (
        "model",
        "en-de",
        "en-de variance",
        "en-fr",
        "en-fr variance",
        "paper: en-de",
        "paper: en-fr",
    )
    row = next(row for row in table.rows if row[0] == LABELS[System.MULTI_TASK])
    found = [cell.eigen["en-de"] for cell in cells_of(results, System.MULTI_TASK)]
    assert row[2] == f"{np.mean([one['variance'] for one in found]):.3f}" and row[-2:] == ("0.761", "0.592")
    assert table.data[System.MULTI_TASK]["en-de"]["mean"] == pytest.approx(
        np.mean([one["mean"] for one in found])
    )
    assert "against translation ranking alone: en-de" in table.verdict[0]
    few = (System.SUM_OF_WORDS, System.TRANSLATION, System.HARD_NEGATIVES)
    assert "no multi-task model" in eigen_table(results_of(few), few).verdict[0]


def test_classification_has_the_papers_shapes() -> None:
    results = results_of()
    table = zero_shot_table(results, EVERY)
    assert set(table.head[1:]) == {"en-en", "en-de", "de-en", "en-fr", "fr-en"}
    values = [cell.zero_shot["fr-en"] for cell in cells_of(results, System.NLI, 1)]
    assert table.data[System.NLI]["fr-en"]["mean"] == pytest.approx(sum(values) / 2)
    first = [cell.zero_shot["en-en"] for cell in cells_of(results, System.NLI)]
    assert table.data[System.NLI]["en-en"]["mean"] == pytest.approx(sum(first) / 2)
    few = few_shot_table(results, EVERY)
    assert few.head == ("model", "tested in", "trained on", "0 %", "50 %", "100 %")
    rows = [row for row in few.rows if row[:2] == (LABELS[System.NLI], "fr")]
    assert [row[2] for row in rows] == ["100 % en + X % fr", "X % fr"]
    assert rows[0][3].startswith("50.0") and rows[1][3] == "–" and rows[1][4].startswith("40.0")


def test_what_is_missing_is_said() -> None:
    results = results_of()
    cells = dict(results.cells)
    for seed in (0, 1):
        cells[PretrainedCell(System.NLI, PAIRS[1:], seed)] = PretrainedResult(not_measured="no luck")
    part = PretrainedResults(cells, PAIRS, (0, 1))
    table = ranking_table(part, EVERY)
    row = next(row for row in table.rows if row[0] == LABELS[System.NLI])
    assert row[4] != "–" == row[table.head.index("en-fr P@1")]
    assert f"{LABELS[System.NLI]}, not measured: no luck" in table.notes
    assert not any(said.startswith(LABELS[System.NLI]) for said in table.verdict)
    assert any("no luck" in note for note in sts_table(part, EVERY).notes)


# The whole


def test_a_killed_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tests.test_bench_dual_encoder", str(out), "3"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    done = {path.name: path.read_bytes() for path in (out / "cells").iterdir()}
    assert set(done) == {"sum-of-words.en-de.s0.json", "sum-of-words.en-fr.s0.json"}
    asked: list[str] = []

    def counting(request: PretrainedRequest) -> PretrainedResult:
        asked.append(request.cell.key)
        return fake(request)

    resumed = bench(out, run=counting)
    assert len(asked) == 4 and asked[0] == "translation.en-de.s0"
    assert {name: (out / "cells" / name).read_bytes() for name in done} == done
    assert bench(tmp_path / "other").tables == resumed.tables


def test_other_texts_and_folders_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench(out)
    with pytest.raises(RunError, match="differ in the data"):
        bench(out, sts=sts_folder(tmp_path / "sts"))
    with pytest.raises(RunError, match="differ in whether they are quick ones"):
        bench(out, quick=True)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "letter.txt").write_text("x")
    with pytest.raises(RunError, match="holds no benchmark"):
        bench(tmp_path / "used")
    with pytest.raises(TrainingError, match="sum of words can't be measured: no luck"):
        bench(tmp_path / "y", run=lambda request: PretrainedResult(not_measured="no luck"))


def test_the_report_holds_every_part_and_no_strangers_markup(tmp_path: Path) -> None:
    files = [
        ParallelText(text.source, text.target, text.first, text.second, "evil | <img src=x>\n# head")
        for text in parallel(*PAIRS)
    ]
    report = bench(
        tmp_path / "out",
        files,
        sts=sts_folder(tmp_path / "sts"),
        running_text=[running_text(tmp_path)],
        nli=[nli_file(tmp_path)],
    )
    values = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert list(values["tables"]) == ["ranking", "sts", "zero_shot", "few_shot", "eigen", "speed", "costs"]
    assert values["pictures"] == ["figure_ranking"]
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert page.count("<svg") == 1 and "<img" not in page and "97.8" in page
    assert "\n# head" not in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert [table.name for table in report.paper] == [f"paper_{name.replace('.', '_')}" for name in TITLES]
    for table in (*report.tables, *report.paper):
        frame = pd.read_csv(tmp_path / "out" / f"{table.name}.csv", dtype=str, keep_default_na=False)
        assert len(frame) == len(table.rows) and len(frame.columns) == len(table.head)
    assert any("Not given" in said and "dialogues" in said for said in report.differences)


def test_the_command_hands_everything_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: dict[str, Any] = {}

    def caught(files: list[str], **options: Any) -> Any:
        said.update(options, files=files)
        raise TrainingError("enough")

    monkeypatch.setattr("emu_core.bench.dual_encoder.bench.bench_dual_encoder", caught)
    command = ["bench", "dual-encoder", "x.en", "x.de", "--out", "o", "--epochs", "3", "--labelled", "demo"]
    assert main([*command, "--sts", "s", "--nli", "n", "--running-text", "r", "--dialogues", "d"]) != 0
    assert "enough" in capsys.readouterr().err
    assert (said["sts"], said["nli"], said["running_text"], said["dialogues"]) == ("s", ["n"], ["r"], ["d"])
    assert said["files"] == ["x.en", "x.de"] and said["epochs"] == 3 and said["labelled"] == ["demo"]


if __name__ == "__main__":
    bench(Path(sys.argv[1]), run=dying(fake, int(sys.argv[2])))
