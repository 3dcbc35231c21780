"""Every benchmark as a run: killed, cancelled and gone on with, its cells' processes, its report."""

import html
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

from emu_core.bench.experiment import Experiment, in_process
from emu_core.bench.job import create_bench, open_bench, queue_again, run_bench
from emu_core.bench.papers import PAPERS, paper_named
from emu_core.bench.pictures import View
from emu_core.bench.report import load_report
from emu_core.bench.results import Cell, CellResult, read_cell, write_cell
from emu_core.cli import main
from emu_core.data.sets import LabelledSet
from emu_core.data.texts.parallel import ParallelText
from emu_core.encoders.registry import load_encoder
from emu_core.errors import CancelledError, RunError, TrainingError
from emu_core.evaluation.run_metrics import measure_accuracy
from emu_core.reports.templating import markdown_text
from emu_core.runs.config import RunTask
from emu_core.runs.costs import Clock, Took, now, peak_memory, since
from emu_core.runs.run import Run, RunState, Status
from emu_core.settings import infos
from tests.support.bench_cells import PAIRS, counting, drawn, planned, run
from tests.support.bench_set import bench_file, bench_set
from tests.support.fake_runs import PATIENCE_S, until
from tests.support.fmda_set import fmda_set
from tests.support.killed_bench import OPTIONS, run_and_die
from tests.support.paths import ROOT
from tests.support.pretrained_set import parallel, sts_folder
from tests.support.processes import exit_code
from tests.support.tiny_transformer import tiny_transformer

pytestmark = pytest.mark.slow

EVERY = tuple(PAPERS)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'))}"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of each paper's benchmark that came to its end; nobody changes it."""
    folder = tmp_path_factory.mktemp("finished")

    def made(paper: str) -> Path:
        if not (folder / paper).exists():
            run(paper, folder / paper, **OPTIONS.get(paper, {}))
        return folder / paper

    return made


# Going on


@pytest.mark.parametrize("paper", EVERY)
def test_a_killed_benchmark_goes_on_where_it_stopped(paper: str, tmp_path: Path) -> None:
    out, options = tmp_path / "out", {"seeds": (0, 1), **OPTIONS.get(paper, {})}
    assert exit_code(run_and_die, paper, str(out), 4) == -signal.SIGKILL
    cells = [cell.key for cell in planned(paper, **options).cells()]
    done = {path.name: path.read_bytes() for path in (out / "cells").iterdir()}
    assert set(done) == {f"{key}.parquet" for key in cells[:3]} and not (out / "report.json").exists()
    assert Run(out).status().state is RunState.INTERRUPTED and Run(out).can_resume
    asked: list[str] = []
    steps: list[tuple[str, int, int]] = []

    def on_progress(status: Status) -> None:
        if status.phase:
            steps.append((status.phase, status.step, status.steps))

    resumed = run_bench(Run(out), on_progress, run_cell=counting(asked))  # from the folder alone
    assert asked == cells[3:]
    assert [step[1:] for step in dict.fromkeys(steps)] == [(n, len(cells)) for n in range(3, len(cells) + 1)]
    assert {name: (out / "cells" / name).read_bytes() for name in done} == done
    assert run(paper, tmp_path / "other", **options).tables == resumed.tables
    assert Run(out).status().state is RunState.FINISHED
    assert not list(out.rglob("*.part"))


@pytest.mark.parametrize("paper", EVERY)
def test_more_seeds_add_cells_and_a_finished_folder_is_read(paper: str, tmp_path: Path) -> None:
    asked: list[str] = []
    for seeds in ((0,), (0, 1)):
        report = run(paper, tmp_path, run_cell=counting(asked), seeds=seeds)
    every = [cell.key for cell in planned(paper, seeds=(0, 1)).cells()]
    assert sorted(asked) == sorted(every) and len(set(asked)) == len(asked)
    config = Run(tmp_path).config()
    assert (
        config.task is RunTask.BENCH and config.method == paper and config.hyperparameters["seeds"] == [0, 1]
    )
    read = load_report(tmp_path)
    assert (read.tables, read.paper, read.pictures) == (report.tables, report.paper, report.pictures)
    assert read.to_json() == report.to_json() and read.folder == tmp_path
    frame = pd.read_parquet(tmp_path / "results.parquet")
    assert list(frame.columns) == ["cell", "measure", "part", "where", "query", "value"]
    assert set(frame["cell"]) == set(every)


def test_a_benchmark_is_cancelled_between_cells_and_goes_on(tmp_path: Path) -> None:
    data = planned("emu", parts=["4"])
    made = create_bench(tmp_path / "out", data.config, data.data)
    assert made.status().state is RunState.QUEUED and made.can_resume

    def cancelling(experiment: Experiment, cell: Cell) -> CellResult:
        made.cancel()
        return drawn(experiment, cell)

    with pytest.raises(CancelledError):
        run_bench(made, run_cell=cancelling)
    assert made.status().state is RunState.CANCELLED and len(list((made.folder / "cells").iterdir())) == 1
    asked: list[str] = []
    report = run_bench(queue_again(made), run_cell=counting(asked))
    assert asked == ["emu-without-ld.en.s0"] and [table.name for table in report.tables] == ["table4"]


@pytest.mark.parametrize(
    ("paper", "change", "message"),
    [
        ("emu", {"encoder": "e5-small"}, r"in the encoder \(use, not e5-small\); choose another folder \(out\)"),
        ("emu", {"epochs": 2}, r"differ in the number of epochs \(None, not 2\)"),
        ("emu", {"data": bench_set(names={"pool": "pond"})}, r"differ in the data; choose another folder \(out\)"),
        ("fmda", {"encoder": "hf:x"}, r"differ in the encoder \(e5-small, not hf:x\)"),
        ("fmda", {"pairs": ["de-en"]}, "differ in the"),
        ("bicvm", {"data": parallel(*PAIRS, seed=4)}, "differ in the data"),
        ("bicvm", {"epochs": 2}, "differ in the number of epochs"),
        ("dual-encoder", {"quick": True}, "differ in whether they are quick ones"),
    ],
)  # fmt: skip
def test_cells_of_another_setting_are_refused(
    paper: str, change: dict[str, Any], message: str, finished: Callable[[str], Path]
) -> None:
    out = finished(paper)
    with pytest.raises(RunError, match=message):
        run(paper, out, **{**OPTIONS.get(paper, {}), **change})
    with pytest.raises(RunError, match="of another paper"):
        run("bicvm" if paper == "emu" else "emu", out)


def test_a_cell_of_other_hyperparameters_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    run("emu", tmp_path, parts=["4"])
    path = tmp_path / "cells" / "emu-without-ld.en.s0.parquet"
    result, facts = read_cell(path)
    write_cell(path, result, facts | {"fingerprint": "0" * 64})

    def never(experiment: Experiment, cell: Cell) -> CellResult:
        raise AssertionError(cell.key)

    with pytest.raises(RunError, match=r"emu-without-ld\.en\.s0\.parquet was made with other settings"):
        run("emu", tmp_path, parts=["5"], run_cell=never)
    path.write_bytes(b"PAR1 half")
    with pytest.raises(RunError, match="is damaged; delete the file"):
        run("emu", tmp_path, parts=["5"], run_cell=never)
    assert Run(tmp_path).status().state is RunState.FAILED


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    half = tmp_path / "half"
    (half / "training").mkdir(parents=True)
    (half / "training" / "sentences.parquet").write_bytes(b"PAR1 half")
    (half / ".emu-lock").touch()
    run("emu", half, parts=["4"])  # a kill came while it was created
    assert (half / "report.html").is_file()
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "thesis.doc").write_text("mine")
    with pytest.raises(RunError, match="is in use"):
        run("emu", thesis, parts=["4"])
    assert [path.name for path in thesis.iterdir()] == ["thesis.doc"]
    values = json.loads((half / "config.json").read_text())
    (half / "config.json").write_text(json.dumps(values | {"format": 0}))
    with pytest.raises(RunError, match=r"half was written by emu_core \S+ in format 0"):
        run("emu", half, parts=["4"])
    with pytest.raises(RunError, match="is incomplete; resume the benchmark"):
        load_report(tmp_path)


@pytest.mark.parametrize(
    ("paper", "first"),
    [
        ("emu", "the base encoder"), ("fmda", "the frozen encoder"),
        ("bicvm", "the plain sum of words"), ("dual-encoder", "the plain sum of words"),
    ],
)  # fmt: skip
def test_what_can_not_be_measured_is_told_and_tried_again(paper: str, first: str, tmp_path: Path) -> None:
    last = planned(paper).cells()[-1]

    def failing(experiment: Experiment, cell: Cell) -> CellResult:
        return CellResult(error="no | package") if cell == last else drawn(experiment, cell)

    report = run(paper, tmp_path / "out", run_cell=failing)
    assert report.errors == {last.key: "no | package"} == load_report(tmp_path / "out").errors
    assert "1 of the cells could not be measured" in str(Run(tmp_path / "out").status().message)
    asked: list[str] = []
    assert run(paper, tmp_path / "out", run_cell=counting(asked)).errors == {} and asked == [last.key]
    with pytest.raises(TrainingError, match=f"{first} can't be measured: no file"):
        run(paper, tmp_path / "third", run_cell=lambda *_: CellResult(error="no file"))
    assert Run(tmp_path / "third").status().state is RunState.FAILED


def test_settings_are_checked_and_described(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="one of 1, 2, 3, 4, 5, peers, figure2"):
        run("emu", tmp_path, parts=["7"])
    with pytest.raises(TrainingError, match="one of 2, 3, 4, 5, 6, 9, probes, figure4"):
        run("fmda", tmp_path, parts=["7"])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"seeds": ()}, "there is no seed"),
        ({"seeds": (-1,)}, "seeds must be"),
        ({"epochs": 0}, "1 or more"),
    ]
    for options, message in wrong:
        with pytest.raises(TrainingError, match=message):
            run("bicvm", tmp_path, **options)
    with pytest.raises(RunError, match="no benchmark 'other'; there are: emu, fmda, bicvm, dual-encoder"):
        paper_named("other")
    for paper in PAPERS.values():
        assert {info.name for info in infos(paper.settings)} >= {"seeds", "epochs"} and paper.summary
    assert not list(tmp_path.iterdir())


# A cell's file


def test_a_cell_is_read_back(tmp_path: Path) -> None:
    values = {("a", "", "en-de"): np.array([1.0, 0.0]), ("b", "x", ""): np.array([0.1 + 0.2])}
    view = View.of(np.zeros((2, 2)), ["p", "q"], ["r", "s"], note="n", nearest_right={"en-de": (1, 2)})
    result = CellResult(values, 1.0, 2.0, 3.0, 4.0, 5.0, {"warnings": ["w"]}, {"map": view})
    write_cell(tmp_path / "x.parquet", result, {"fingerprint": "f"})
    again, facts = read_cell(tmp_path / "x.parquet")
    assert {key: own.tolist() for key, own in again.values.items()} == {
        k: v.tolist() for k, v in values.items()
    }
    assert replace(again, values={}).__dict__ == replace(result, values={}).__dict__
    assert facts == {"fingerprint": "f"}
    frame = again.frame()
    assert frame["value"].tolist() == [1.0, 0.0, 0.1 + 0.2] and frame["query"].tolist() == [0, 1, 0]
    write_cell(tmp_path / "y.parquet", CellResult({("a", "", ""): np.array([np.nan])}), {})
    with pytest.raises(RunError, match="is damaged"):
        read_cell(tmp_path / "y.parquet")
    write_cell(tmp_path / "z.parquet", CellResult(), {})
    assert read_cell(tmp_path / "z.parquet")[0].values == {}


# A cell's process


def stored(paper: str, folder: Path, data: Any = None, **options: Any) -> Experiment:
    experiment = planned(paper, data, **options)
    return open_bench(create_bench(folder, experiment.config, experiment.data))


@pytest.mark.usefixtures("quick_starts")
def test_a_cell_in_its_own_process_measures_what_the_library_measures(tiny: str, tmp_path: Path) -> None:
    experiment = stored("emu", tmp_path / "out", encoder=tiny)
    result = in_process(experiment, Cell("base"))
    assert result.error == ""
    expected = measure_accuracy(experiment.data.test, load_encoder(tiny).encode)
    for direction, right in expected.correct.items():
        assert result.values["correct", "", direction].tolist() == right.tolist()
    assert set(result.wheres("correct")) == set(expected.correct)
    assert result.peak_mb > 100 and result.seconds == 0 and result.seconds_whole > 0
    assert len(result.views["map"].points) == 12


def test_the_process_of_a_cell_ends_with_its_parent(tiny: str, tmp_path: Path) -> None:
    stored("emu", tmp_path / "out", encoder=tiny, epochs=1_000_000)
    code = (
        "import sys, emu_core.bench.experiment as e; from emu_core.bench.job import open_bench; "
        "from emu_core.runs.run import Run; from emu_core.bench.results import Cell; from pathlib import Path; "
        "e.in_process(open_bench(Run(Path(sys.argv[1]))), Cell('softmax', ('en',)))"
    )
    workers: list[psutil.Process] = []
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")], cwd=ROOT) as process:
        parent = psutil.Process(process.pid)

        def is_measuring() -> bool:
            workers[:] = [one for one in parent.children() if "spawn_main" in " ".join(one.cmdline())]
            return any(worker.num_threads() > 1 for worker in workers)  # one of them watches the parent

        until(is_measuring)
        process.kill()
    assert psutil.wait_procs(workers, timeout=PATIENCE_S)[1] == []


@pytest.mark.usefixtures("quick_starts")
def test_a_running_cell_is_cancelled(tiny: str, tmp_path: Path) -> None:
    experiment = stored("emu", tmp_path / "out", encoder=tiny, epochs=1_000_000)
    Run(experiment.folder).cancel()
    with pytest.raises(CancelledError):
        in_process(experiment, Cell("softmax", ("en",)))


@pytest.mark.usefixtures("quick_starts")
def test_a_process_that_dies_leaves_its_last_words(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = "import os, sys\nprint('no luck', file=sys.stderr, flush=True)\nos._exit(9)\n"
    (tmp_path / "setfit.py").write_text(fake)
    monkeypatch.syspath_prepend(tmp_path)  # where the new process looks for packages, too
    experiment = stored("emu", tmp_path / "out", encoder=tiny)
    result = in_process(experiment, Cell("peer.setfit", ("en",)))
    assert result.error == "its process ended with code 9: no luck"


@pytest.mark.usefixtures("quick_starts")
def test_what_can_not_be_trained_says_why(tiny: str, tmp_path: Path) -> None:
    frame = bench_set().frame.assign(id="")
    experiment = stored("emu", tmp_path / "out", LabelledSet(frame, "tiny"), encoder=tiny)
    result = in_process(experiment, Cell("emu-parallel", ("en",)))
    assert "needs each labelled sentence's translation by id" in result.error and result.values == {}


# The report


FORMULA = re.compile(r"[=@]|[+-](?![\d.,% ±()*–]+$)")  # and no signed figure


class Page(HTMLParser):
    """The words of a page, its tags, and whatever it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        own = [str(value) for name, value in attrs if name in ("src", "href", "xlink:href")]
        self.loads += [value for value in own if not value.startswith("#")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


EVIL = "evil | <img src=x> `name`\n# head"
NAMES = {"pool": '<script>alert(1)</script>"|`x`', "hotel": "=HYPERLINK(1)", "hours": "</svg>$a$ & b"}
REPORTS: dict[str, tuple[Any, list[str], list[str]]] = {
    "emu": (
        LabelledSet(bench_set(names=NAMES).frame, EVIL),
        ["table1", "table2", "table3", "table4", "table5", "peers"],
        ["figure_table2", "figure_peers", "figure2"],
    ),
    "fmda": (
        fmda_set(name=EVIL),
        ["table2", "table3", "table4", "table5", "table6", "table9", "probes", "costs"],
        ["figure_table2", "figure_table3", "figure4"],
    ),
    "bicvm": (
        [ParallelText(text.source, text.target, text.first, text.second, EVIL) for text in parallel(*PAIRS)],
        ["translations", "table1", "figure2", "speed", "costs"],
        ["figure2", "figure3", "figure3_ours"],
    ),
    "dual-encoder": (
        [ParallelText(text.source, text.target, text.first, text.second, EVIL) for text in parallel(*PAIRS)],
        ["ranking", "sts", "zero_shot", "few_shot", "eigen", "speed", "costs"],
        ["figure_ranking"],
    ),
}


@pytest.mark.parametrize("paper", EVERY)
def test_the_report_holds_every_part_and_no_hostile_name_acts_in_it(paper: str, tmp_path: Path) -> None:
    data, tables, pictures = REPORTS[paper]
    options = {"sts": sts_folder(tmp_path / "sts")} if paper == "dual-encoder" else {}
    report = run(paper, tmp_path / "out", data, **options)
    values = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert list(values["tables"]) == tables and values["pictures"] == pictures
    text = (tmp_path / "out" / "report.html").read_text("utf-8")
    page, markdown = Page(text), (tmp_path / "out" / "report.md").read_text("utf-8")
    assert not {"script", "img", "b"} & set(page.tags) and page.loads == []
    assert page.tags.count("svg") == len(pictures)
    assert page.tags.count("table") == len(report.tables) + len(report.paper)
    assert "<img" not in markdown and "\n# head" not in markdown
    if paper == "emu":
        assert NAMES["pool"] in "".join(page.words) and NAMES["hours"] in "".join(page.words)
    elif paper == "bicvm":
        assert "<b>$x$" in "".join(page.words)
    for table in (*report.tables, *report.paper):
        frame = pd.read_csv(tmp_path / "out" / f"{table.name}.csv", dtype=str, keep_default_na=False)
        assert len(frame) == len(table.rows) and len(frame.columns) == len(table.head)
        assert not frame.map(lambda value: bool(FORMULA.match(value))).to_numpy().any()
        for texts in table.texts:
            assert (
                "| " + " | ".join(map(markdown_text, texts)) + " |" in markdown
                and html.escape(texts[-1]) in text
            )
    assert values["data_sha256"] == Run(tmp_path / "out").data().sha256
    assert {row.key for table in report.tables for row in table.rows if row.key and not row.missing} >= {
        key for table in report.tables for key in table.data if "not_measured" not in table.data[key]
    }


def test_markdown_of_a_hostile_name_is_plain() -> None:
    assert markdown_text("a|b\n# `c` [d](e) <i>") == r"a\|b \# \`c\` \[d\](e) &lt;i&gt;"


# The command


def test_the_command_prints_one_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.bench.job.in_process", drawn)
    data, out = str(bench_file(tmp_path)), str(tmp_path / "out")
    arguments = ["bench", "emu", data, "--out", out, "--tables", "5", "--seeds", "0", "1", "--device", "cpu"]
    assert main([*arguments, "--json"]) == 0
    printed = capsys.readouterr()
    values = json.loads(printed.out)
    assert values["folder"] == out and values["seeds"] == [0, 1] and "cells are done" in printed.err
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "Table 5: ablation" in shown and "report.html, report.md and report.json are written" in shown


@pytest.mark.parametrize(
    ("paper", "arguments", "expected"),
    [
        (
            "bicvm",
            "x.en x.de --test y.en y.de --seeds 0 1 --quick --documents en=a de=b --languages en,de",
            {"test": ["y.en", "y.de"], "seeds": [0, 1], "quick": True, "documents": {"en": "a", "de": "b"},
             "test_documents": {}, "languages": ["en", "de"], "epochs": None},
        ),
        (
            "dual-encoder",
            "x.en x.de --epochs 3 --labelled demo --sts s --nli n --running-text r --dialogues d",
            {"sts": "s", "nli": ["n"], "running_text": ["r"], "dialogues": ["d"], "labelled": ["demo"]},
        ),
        (
            "fmda",
            "x.en x.de --pair en-de --tables 2 9 --preset paper",
            {"preset": "paper", "pairs": ["en-de"], "parts": ["2", "9"], "encoder": "e5-small"},
        ),
    ],
)  # fmt: skip
def test_the_command_hands_everything_on(
    paper: str,
    arguments: str,
    expected: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given: dict[str, Any] = {}

    def caught(name: str, data: list[str], **options: Any) -> Any:
        given.update(options, paper=name, data=data)
        raise TrainingError("enough")

    monkeypatch.setattr("emu_core.bench.job.bench", caught)
    assert main(["bench", paper, *arguments.split(), "--out", "o"]) != 0
    assert "enough" in capsys.readouterr().err
    assert (
        given["paper"] == paper
        and [str(path) for path in given["data"]] == ["x.en", "x.de"]
        and given["out"] == "o"
    )
    assert {name: given[name] for name in expected} == expected


# Costs


def test_a_clock_listens_for_training_alone() -> None:
    clock = Clock()
    for phase in ("", "loading", "encoding", "training", "evaluating", "saving"):
        clock(Status(phase=phase))
    assert 0 < clock.took.seconds < 1 and Clock().took == Took()
    assert since(Took(1.0, 2.0), Took(4.0, 3.0)) == Took(3.0, 1.0)


def test_the_most_memory_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Event()

    class Seen(psutil.Process):
        def memory_info(self) -> Any:
            found = super().memory_info()
            if threading.current_thread() is not threading.main_thread():
                looked.set()
            return found

    monkeypatch.setattr("emu_core.runs.costs.psutil.Process", Seen)
    with peak_memory() as megabytes:
        before = megabytes()
        big = np.ones(30_000_000)
        for _ in range(2):  # the first look may have begun before
            looked.clear()
            assert looked.wait(PATIENCE_S)
        assert len(big) == 30_000_000
        del big
        assert megabytes() - before > 100


def test_the_time_of_some_work_is_told() -> None:
    first = now()
    total = sum(i * i for i in range(200_000))
    took = since(first)
    assert total > 0 and took.cpu_seconds > 0 and took.seconds > 0
