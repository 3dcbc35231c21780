"""The Evidence page without a browser: all four benchmarks as jobs, their cells drawn and not trained."""

import json
import os
import re
import signal
import sys
from pathlib import Path
from shutil import copytree
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from emu_app.views.bench import gains_of
from emu_app.work import jobs
from emu_app.work.jobs import JobManager
from emu_core import charts
from emu_core.bench.emu.experiment import EmuExperiment
from emu_core.bench.experiment import Experiment
from emu_core.bench.job import create_bench, queue_again, run_bench
from emu_core.bench.papers import PAPERS
from emu_core.bench.report import load_report
from emu_core.bench.results import Cell, CellResult
from emu_core.charts.intervals import SystemGain
from emu_core.data.sets import LabelledSet
from emu_core.errors import TrainingError
from emu_core.runs.config import RunTask
from emu_core.runs.run import Run, RunState, list_runs
from tests.support.app_pages import new_session
from tests.support.app_words import texts, unexplained
from tests.support.bench_cells import drawn, planned
from tests.support.bench_cells import run as run_here
from tests.support.bench_set import bench_set
from tests.support.fake_runs import PATIENCE_S, go, until
from tests.support.fmda_set import fmda_set
from tests.support.paths import ROOT
from tests.support.pretrained_set import parallel

# In the place of `emu resume`: cells are drawn, each once there is a file "go" or the one of its number.
PROCESS = f"""
import sys, threading
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from emu_core.bench.job import run_bench
from emu_core.errors import CancelledError
from emu_core.runs.run import Run
from tests.support.bench_cells import drawn
run = Run(Path(sys.argv[-1]))
begun = len(list((run.folder / "cells").glob("*")))
def cell(experiment, one):
    global begun
    while not (run.folder.parent / "go").exists() and not (run.folder.parent / f"go{{begun}}").exists():
        if run.cancel_asked:
            raise CancelledError("cancelled before the end")
        threading.Event().wait(0.01)
    begun += 1
    return drawn(experiment, one)
run_bench(run, run_cell=cell)
"""
HOSTILE = "![x](evil.png) <img src=evil.png> $x$"
ACTS = re.compile(r"(?<!\\)(!\[|\]\(|<img|\$x)")  # markdown that is not made literal


@pytest.fixture
def measuring(root: Path, monkeypatch: pytest.MonkeyPatch) -> JobManager:
    """A manager whose processes run benchmarks, their cells drawn."""
    (root.parent / "process.py").write_text(PROCESS)
    made = JobManager(root, (sys.executable, str(root.parent / "process.py")))
    monkeypatch.setattr(jobs, "_job_manager", lambda root: made)
    return made


@pytest.fixture
def app(root: Path) -> AppTest:
    """The page on the tiny set."""
    return evidence(bench_set().frame)


def evidence(frame: pd.DataFrame | None = None, name: str = "tiny.csv") -> AppTest:
    app = new_session().run()
    if frame is not None:
        app.file_uploader[0].set_value([(name, frame.to_csv(index=False).encode(), "")])
        app.run()
    app.switch_page("views/bench.py").run()
    assert not app.exception
    return app


def button(app: AppTest, label: str) -> Button:
    return next(button for button in app.button if button.label == label)


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def choose(app: AppTest, **values: Any) -> None:
    """Fill in inputs by the beginnings of their keys."""
    for name, value in values.items():
        boxes = [*app.multiselect, *app.number_input, *app.text_input, *app.selectbox, *app.checkbox]
        next(box for box in boxes if (box.key or "").startswith(name)).set_value(value)
    app.run()
    assert not app.exception


def said(app: AppTest) -> str:
    texts = (*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.success)
    return " ".join(str(text.value).replace("\\", "") for text in texts)


def progress(app: AppTest) -> str:
    assert not app.exception
    bars = app.get("progress")
    return str(bars[0].proto.text).replace("\\", "") if bars else ""


def begun(app: AppTest, root: Path) -> Run:
    """Start what the form says."""
    button(app, "Start the benchmark").click().run()
    assert not app.exception and not app.error
    return list_runs(root)[0]


def measured(run: Run) -> None:
    """Stop the process of a run, and run what it holds here."""
    jobs.job_manager().cancel(run)
    assert jobs.job_manager().wait(run, PATIENCE_S).state is RunState.CANCELLED
    run_bench(queue_again(run), run_cell=drawn)


def test_emus_form_says_what_would_be_done_and_starts_it(app: AppTest, root: Path) -> None:
    assert "On **tiny.csv**: 36 sentences" in said(app)
    choose(app, parts=["4"], seeds="0, 1", epochs=3)
    assert "**3 runs**" in said(app) and "2 runs train the encoder, on 72 sentences" in said(app)
    assert "With USE multilingual on two CPU cores" in said(app)
    run = begun(app, root)
    config = run.config()
    assert (run.name, config.task, config.method, config.encoder) == (
        "bench-emu-use-1",
        RunTask.BENCH,
        "emu",
        "use",
    )
    chosen = {"seeds": [0, 1], "epochs": 3, "parts": ["4"], "preset": "tuned"}
    assert config.hyperparameters == {**chosen, "draws": 10, "halves": 4}
    data = EmuExperiment.open(run).data
    assert len(data.train.frame) + len(data.test.frame) == 36
    measured(run)
    app.run()
    assert app.success[0].value == "Finished: 3 runs."
    assert "Table 4: all ordered pairs, trained on en" in [one.value.replace("\\", "") for one in app.header]
    listed = next(frame.value for frame in app.dataframe if "Runs" in frame.value)
    assert listed[["Paper", "Trained on", "Runs"]].to_numpy().tolist() == [["Emu", "en", "3 of 3"]]


@pytest.mark.slow
def test_fmdas_tables_are_run_on_translations_with_slots(root: Path) -> None:
    app = evidence(fmda_set().frame)
    choose(app, **{"bench-paper": "fmda"})
    assert "runs**" in said(app)
    run = begun(app, root)
    assert (run.config().method, run.config().pairs) == ("fmda", (("en", "de"), ("en", "es")))
    measured(run)
    app.run()
    assert "Finished:" in said(app) and any("Table 2" in one.value for one in app.header)


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["bicvm", "dual-encoder"])
def test_encoders_from_scratch_are_run_on_parallel_text(paper: str, root: Path) -> None:
    app = evidence()
    choose(app, **{"bench-paper": paper})
    assert "there is no parallel text yet" in said(app).casefold()
    (text,) = parallel(("en", "de"))
    files = [
        (f"tiny.{code}", "\n".join(side).encode(), "")
        for code, side in (("en", text.first), ("de", text.second))
    ]
    app.file_uploader[0].set_value(files)
    app.run()
    choose(app, quick=True)
    run = begun(app, root)
    assert run.config().pairs == (("en", "de"),) and run.config().hyperparameters["quick"] is True
    measured(run)
    app.run()
    assert not app.exception and "Finished:" in said(app) and app.header[-1].value


@pytest.mark.slow
def test_a_form_that_is_not_filled_in_right_starts_nothing(app: AppTest, root: Path) -> None:
    def refused() -> str:
        assert button(app, "Start the benchmark").disabled
        return app.warning[0].value.replace("\\", "")

    choose(app, parts=[])
    assert refused() == "Choose a table."
    choose(app, parts=["4"], seeds="x")
    assert "Seeds must be" in refused()
    choose(app, seeds="0", train=[])
    assert refused() == "Choose a language whose labels are used."
    choose(app, train=["en"], **{"bench-name": "../out"})
    assert "starts with a lower-case letter or a digit" in refused()
    choose(app, **{"bench-name": "fine"})
    assert not button(app, "Start the benchmark").disabled
    assert not list(root.glob("[!.]*"))


@pytest.mark.slow
def test_data_that_does_not_do_is_said_before(root: Path) -> None:
    app = evidence(bench_set(("en",)).frame)
    assert "tables compare languages" in app.warning[0].value and len(app.warning) == 1
    assert button(app, "Start the benchmark").disabled and "runs**" not in said(app)
    app = evidence(bench_set().frame.drop(columns="split"))
    assert "trained on split train, measured on split test" in said(app).lower()  # a fifth is held out
    assert not button(app, "Start the benchmark").disabled


@pytest.mark.slow
def test_machine_translations_of_an_upload_reach_the_benchmark(root: Path) -> None:
    frame = bench_set().frame
    frame = frame.assign(text=frame["text"] + frame["language"], translation="in English: " + frame["text"])
    app = evidence(frame)
    assert "machine translation" not in said(app)
    run = begun(app, root)
    data = EmuExperiment.open(run).data
    translated = {data.test.frame.at[row, "text"]: text for row, text in data.translations.items()}
    of_test = frame[(frame["split"] == "test") & (frame["language"] == "de")]
    assert translated == dict(zip(of_test["text"], of_test["translation"], strict=True))
    jobs.job_manager().cancel(run)


@pytest.mark.slow
def test_a_benchmark_is_followed_left_found_cancelled_and_goes_on(
    app: AppTest, root: Path, measuring: JobManager
) -> None:
    choose(app, parts=["4"], seeds="0, 1")
    run = begun(app, root)
    (root / "go0").touch()
    until(lambda: run.status().step == 1)
    other = evidence()
    for session in (app.run(), other):
        assert progress(session).startswith("emu-without-ld on en seed 0: 1 of 3 runs")
    button(other, "Cancel it anyway").click().run()
    assert measuring.wait(run, PATIENCE_S).state is RunState.CANCELLED
    app.run()
    assert "Cancelled after 1 of 3 runs" in said(app)
    assert not {"Cancel", "Stopping ..."} & set(labels(app))
    button(app, "Resume").click().run()
    assert not app.exception
    (root / "go1").touch()
    until(lambda: run.status().step == 2)  # the first is not run again
    assert "about" in progress(app.run())
    os.kill(run.status().pid, signal.SIGKILL)
    assert measuring.wait(run, PATIENCE_S).state is RunState.FAILED
    assert "stopped by signal 9" in said(app.run())
    go(root)
    button(app, "Resume").click().run()
    assert measuring.wait(run, PATIENCE_S).state is RunState.FINISHED
    assert app.run().success[0].value == "Finished: 3 runs."


@pytest.mark.slow
def test_a_first_cell_that_can_not_be_measured_leaves_its_reason(app: AppTest, root: Path) -> None:
    run = begun(app, root)
    jobs.job_manager().cancel(run)
    jobs.job_manager().wait(run, PATIENCE_S)
    with pytest.raises(TrainingError):
        run_bench(queue_again(run), run_cell=lambda *_: CellResult(error="no *weights* here"))
    assert "the base encoder can't be measured: no *weights* here" in said(app.run()).lower()
    assert "Resume" in labels(app)


# The report


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of all tables over two seeds, some of it not measured, on hostile data."""
    out = tmp_path_factory.mktemp("made") / "made"
    names = {"pool": HOSTILE, "hotel": "=HYPERLINK(1)"}
    labelled = LabelledSet(bench_set(names=names).frame, f"{HOSTILE}.csv")

    def cell(experiment: Experiment, one: Cell) -> CellResult:
        if one.system == "peer.setfit":
            return CellResult(error="setfit is not installed; pip install *setfit*")
        return drawn(experiment, one)

    run_here("emu", out, labelled, cell, seeds=(0, 1))
    return out


@pytest.fixture
def shown(made: Path, root: Path) -> AppTest:
    """The page with that report."""
    copytree(made, root / "made")
    return evidence()


@pytest.mark.slow
def test_the_report_is_shown(shown: AppTest, made: Path, root: Path) -> None:
    heads = {text.value.replace("\\", "") for text in shown.header}
    assert heads >= {"Table 2: Acc@1 in percent", "Peers: Acc@1 in percent, time and memory"}
    report = load_report(made)
    table = report.table("table2")
    frame = next(frame.value for frame in shown.dataframe if table.head[-1] in frame.value)
    assert frame.to_numpy().tolist() == [
        list(row.texts(len(table.head))) for row in table.rows if not row.missing
    ]
    text = said(shown)
    assert "**SetFit** was not measured: setfit is not installed; pip install *setfit*." in text
    assert "*** p < 0.01, ** p < 0.05" in text
    assert "Encoder: use here, LASER in the paper." in text
    assert len(shown.get("plotly_chart")) == 2 and len(shown.get("image")) == len(report.pictures)
    downloads = [element.proto.label for element in shown.get("download_button")]
    assert downloads[:3] == ["Report, HTML", "Report, Markdown", "Numbers, JSON"]
    assert len(downloads) == 3 + len(list(made.glob("*.csv")))
    named = [
        one.value
        for one in (*shown.markdown, *shown.caption, *shown.header, *shown.info)
        if "evil" in one.value
    ]
    assert len(named) >= 2 and not [value for value in named if ACTS.search(value)]
    assert "Try again what was not measured" in labels(shown)


@pytest.mark.slow
def test_a_term_of_the_papers_has_a_help(shown: AppTest) -> None:
    about = dict(texts(shown))
    assert "glossary?word=similar-sentences" in about["Table 2: Acc@1 in percent"]
    assert "glossary?word=language-pair" in about["directions below base"]
    assert not unexplained(shown)


@pytest.mark.slow
def test_what_was_not_measured_is_tried_again(shown: AppTest, root: Path) -> None:
    button(shown, "Try again what was not measured").click().run()
    run = Run(root / "made")
    assert run.status().state in (RunState.QUEUED, RunState.RUNNING)
    measured(run)
    assert not load_report(run.folder).errors
    assert "Try again what was not measured" not in labels(shown.run())


def test_gains_are_the_reports_and_losses_are_flagged(made: Path) -> None:
    report = load_report(made)
    values = json.loads((made / "report.json").read_text())["tables"]["table2"]
    gains = {gain.label: gain for gain in gains_of(report.table("table2"))}
    base, emu = values["base"]["accuracy"], values["emu"]
    assert gains["Emu"].gain == emu["gain"] and gains["Emu"].deviation == emu["mean_deviation"]
    lower = tuple(name for name, value in emu["accuracy"].items() if value < base[name] - 1e-9)
    assert gains["Emu"].below == lower and len(gains) == 9 and not any("base" in label for label in gains)
    peers = {gain.label for gain in gains_of(report.table("peers"))}
    assert "SetFit" not in peers and "Emu" in peers
    figure = charts.system_gains([SystemGain("a<b>", 2.0, 0.5, ()), SystemGain("c", -1.0, 0.0, ("en-de",))])
    harmless, harmful = figure.data
    assert (list(harmless.x), list(harmless.y), list(harmless.error_x.array)) == ([2.0], [1], [0.5])
    assert (list(harmful.x), list(harmful.y), harmful.error_x.array) == ([-1.0], [0], None)
    assert harmless.marker.color != harmful.marker.color
    ticks = dict(zip(figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext, strict=True))
    assert ticks == {1: "a&lt;b&gt;  +2.0", 0: "c  -1.0"}


def test_a_report_that_is_not_whole_is_said_to_be(root: Path) -> None:
    run_here("emu", root / "first", parts=("4",))
    path = root / "first" / "report.json"
    whole = path.read_text()
    app = evidence()
    # A table's name is a file's name: none leads out of the folder.
    values = json.loads(whole)
    outside = json.dumps(values | {"shown": {"../../secret": values["shown"]["table4"]}})
    for damaged in (
        "{",
        "[]",
        "{}",
        whole.replace('"differences"', '"x"'),
        whole.replace('"rows"', '"x"'),
        outside,
    ):
        path.write_text(damaged)
        app.run()
        assert not app.exception
        assert "is incomplete" in app.error[0].value
        assert "Write the report again" in labels(app)


def test_a_benchmark_and_a_run_with_a_damaged_folder_leave_the_pages_alone(root: Path) -> None:
    experiment = planned("emu", parts=("4",))
    run = create_bench(root / "first", experiment.config, experiment.data)
    (run.folder / "config.json").write_text("{")
    (root / "worse").mkdir()
    (root / "worse" / "config.json").write_text("{}")
    (root / "worse" / "status.json").write_text("{")
    app = evidence()
    assert "Benchmarks appear here" in said(app)
    app.switch_page("views/train.py").run()
    assert not app.exception and len(app.dataframe[0].value) == 2
    assert set(PAPERS) == {"emu", "fmda", "bicvm", "dual-encoder"}
