"""The Evidence page without a browser, and the process that it starts."""

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button
from test_jobs import REQUEST as TRAINING
from test_jobs import TRAINER

from app import cache, jobs
from app.bench import outline as outlines
from app.bench import start as starts
from app.bench.folder import BENCHES, Bench, bench_on, list_benches
from app.bench.gains_chart import gains_chart
from app.bench.outline import outline
from app.bench.report import Gain, read_report
from app.bench.request import BenchRequest
from app.bench.status import BenchStatus, status_of
from app.jobs import JobManager
from emu_core import cli
from emu_core.bench.bench import bench_emu
from emu_core.bench.plan import Part
from emu_core.bench.request import Request
from emu_core.bench.result import CellResult
from emu_core.bench.translations import read_machine_translations
from emu_core.data.labelled import LabelledSet
from emu_core.errors import RunError, TrainingError
from emu_core.runs.run import RunState
from tests.bench_set import bench_set
from tests.killed_bench import measured

MAIN = Path(__file__).parent.parent / "app" / "main.py"
PATIENCE_S = 60.0
REQUEST = BenchRequest("tiny", "demo", "use", ("4", "5"), (0, 1), ("en",), 2, "cpu")
# `emu bench emu` in small: three cells, each of which waits for a file, and a report that was made before.
BENCH = """
import json, shutil, signal, sys, threading
from pathlib import Path
def stop(*_):
    sys.exit("emu: stopped: asked to end")
signal.signal(signal.SIGTERM, stop)
out = Path(next(a for a in sys.argv if a.startswith("--out=")).removeprefix("--out="))
home = out.parents[3]
(out.parent / "arguments.json").write_text(json.dumps(sys.argv[1:]))
if (home / "refuse").exists():
    sys.exit("emu: the base encoder can't be measured: no *file*")
cells = out / "cells"
cells.mkdir(parents=True, exist_ok=True)
for number in range(len(list(cells.iterdir())), 3):
    print(f"cell{number} on en seed 0: {number} of 3 cells are done", file=sys.stderr, flush=True)
    while not (home / f"go{number}").exists():
        threading.Event().wait(0.01)
    (cells / f"{number}.json").touch()
print("the report: 3 of 3 cells are done", file=sys.stderr, flush=True)
shutil.copytree(home / "made", out, dirs_exist_ok=True, copy_function=shutil.copy)
"""
HOSTILE = "![x](evil.png) <img src=evil.png> $x$"
ACTS = re.compile(r"(?<!\\)(!\[|\]\(|<img|\$x)")  # markdown that is not made literal


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of all tables over two seeds, some of it not measured."""
    out = tmp_path_factory.mktemp("made") / "out"
    names = {"pool": HOSTILE, "hotel": "=HYPERLINK(1)"}
    labelled = LabelledSet(bench_set(names=names).frame, f"{HOSTILE}.csv")

    def run(request: Request) -> CellResult:
        if request.cell.name == "setfit":
            return CellResult(not_measured="setfit is not installed; pip install *setfit*")
        if request.map_languages:
            rows = tuple(range(12))
            return replace(measured(request), map_rows=rows, map_points=tuple((float(i), 1.0) for i in rows))
        return measured(request)

    bench_emu(labelled, out=out, seeds=(0, 1), device="cpu", run=run)
    return out


@pytest.fixture
def root(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jobs, "POLL_S", 0.02)
    for name, script in (("bench.py", BENCH), ("trainer.py", TRAINER)):
        (tmp_path / name).write_text(script)
    (tmp_path / "made").symlink_to(made)
    root = tmp_path / "runs"
    root.mkdir()
    manager = JobManager(root, (sys.executable, str(tmp_path / "trainer.py")))
    monkeypatch.setenv("EMU_RUNS", str(root))
    monkeypatch.setattr(cache, "_job_manager", lambda root: manager)
    monkeypatch.setattr(starts, "COMMAND", (sys.executable, str(tmp_path / "bench.py")))
    return root


@pytest.fixture
def app(root: Path) -> AppTest:
    return evidence(AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).run())


def evidence(app: AppTest) -> AppTest:
    app.switch_page("pages/bench.py").run()
    assert not app.exception
    return app


def with_data(root: Path, frame: pd.DataFrame, name: str = "tiny.csv") -> AppTest:
    app = AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).run()
    app.file_uploader[0].set_value([(name, frame.to_csv(index=False).encode(), "")])
    return evidence(app.run())


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def go(root: Path, *numbers: int) -> None:
    for number in numbers:
        (root.parent / f"go{number}").touch()


def begin(root: Path, name: str = "first", request: BenchRequest = REQUEST) -> Bench:
    return starts.start(root, cache.job_manager(), name, request)


def state(bench: Bench) -> RunState:
    return status_of(bench).state


def button(app: AppTest, label: str) -> Button:
    return next(button for button in app.button if button.label == label)


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def progress(app: AppTest) -> str:
    assert not app.exception
    bars = app.get("progress")
    return str(bars[0].proto.text) if bars else ""


def test_the_command_understands_every_request(tmp_path: Path) -> None:
    request = replace(REQUEST, data="--json", train_languages=("en", "-x"), parts=tuple(Part))
    options = cli._parser().parse_args(request.arguments(tmp_path / "x"))
    assert (options.data, options.out, options.encoder) == (["--json"], str(tmp_path / "x"), "use")
    assert (options.seeds, options.tables, options.epochs) == ([0, 1], list(Part), 2)
    assert (options.train_language, options.device) == (["en", "-x"], "cpu")
    assert cli._parser().parse_args(replace(request, epochs=None).arguments(tmp_path)).epochs is None


def test_a_request_comes_back_from_its_folder_as_it_was(tmp_path: Path) -> None:
    Bench(tmp_path).save(REQUEST)
    assert Bench(tmp_path).request() == REQUEST
    for damaged in ("[1", "[]", '{"title": "x"}'):
        (tmp_path / "request.json").write_text(damaged)
        with pytest.raises(RunError, match="missing or damaged"):
            Bench(tmp_path).request()


def test_the_form_says_what_would_be_done_and_starts_it(app: AppTest, root: Path) -> None:
    assert any(text.value.startswith("On **Demo set**: 3,024 sentences") for text in app.markdown)
    app.multiselect(key="bench-tables").set_value(["4"]).run()
    app.number_input(key="bench-seeds").set_value(2).run()
    app.number_input(key="bench-epochs").set_value(3).run()
    # The base encoder, and one method with two seeds: three epochs over 336 English sentences, twice.
    assert any(
        text.value.startswith("**3 cells**") and "2 cells train the encoder, on 2,016 sentences" in text.value
        for text in app.markdown
    )
    button(app, "Start the benchmark").click().run()
    assert not app.exception
    (bench,) = list_benches(root)
    assert bench.name == "demo-set-use-1" and bench.folder.parent == root / BENCHES
    until((bench.folder / "arguments.json").is_file)
    told = cli._parser().parse_args(json.loads((bench.folder / "arguments.json").read_text()))
    assert (told.data, told.tables, told.seeds, told.epochs) == (["demo"], ["4"], [0, 1], 3)
    assert told.out == str(bench.out)
    bench.cancel()
    until(lambda: not bench.is_running)


def test_the_chosen_file_is_what_is_measured(root: Path) -> None:
    app = with_data(root, bench_set().frame)
    button(app, "Start the benchmark").click().run()
    (bench,) = list_benches(root)
    saved = pd.read_json(bench.request().data, lines=True, dtype=False)
    assert saved["text"].tolist() == bench_set().frame["text"].tolist()
    bench.cancel()
    until(lambda: not bench.is_running)


def changed(**values: object) -> pd.DataFrame:
    return bench_set().frame.assign(**values)


LONE = bench_set().frame
LONE = LONE[(LONE["language"] == "en") | (LONE["split"] == "train") | (LONE["id"] == "pool4")]


ONE = bench_set().frame
ONE = ONE[(ONE["language"] == "de") | (ONE["split"] == "test") | (ONE["intent"] == "pool")]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (changed(split="dev"), "name them so, or leave the column out"),
        (bench_set(("en",)).frame, "tables compare languages; choose a set with two languages or more"),
        (LONE, "German has one sentence to measure, and measuring needs two or more"),
        (ONE, "in English have a single intent; add sentences of another"),
    ],
)
def test_what_can_not_be_measured_is_said_before(root: Path, frame: pd.DataFrame, reason: str) -> None:
    app = with_data(root, frame)
    said = app.warning[0].value.replace("\\", "")
    assert reason in said and len(app.warning) == 1
    assert button(app, "Start the benchmark").disabled
    assert not any("cells**" in text.value for text in app.markdown)


def test_a_set_without_splits_is_cut_and_said_to_be(root: Path) -> None:
    app = with_data(root, bench_set().frame.drop(columns="split"))
    assert any("the set has no splits: 30%" in text.value.replace("\\", "").lower() for text in app.caption)
    assert not button(app, "Start the benchmark").disabled


def test_a_form_that_is_not_filled_in_right_starts_nothing(app: AppTest, root: Path) -> None:
    def refused() -> str:
        assert not app.exception
        assert button(app, "Start the benchmark").disabled
        return app.warning[0].value.replace("\\", "")

    app.multiselect(key="bench-tables").set_value([]).run()
    assert refused() == "Choose a table."
    app.multiselect(key="bench-tables").set_value(["4"]).run()
    languages = next(box for box in app.multiselect if box.label == "Labels in")
    languages.set_value([]).run()
    assert refused() == "Choose a language whose labels are used."
    languages = next(box for box in app.multiselect if box.label == "Labels in")
    languages.set_value(["en"]).run()
    name = next(box for box in app.text_input if box.label == "Name of the benchmark")
    name.set_value("../out").run()
    assert "begins with a lower-case letter or a digit" in refused()
    assert list(root.iterdir()) == []


def test_a_name_is_used_once_and_cannot_leave_the_folder(root: Path) -> None:
    for name in ("../out", "", "a/b", ".data", "A", "-x", "x" * 81, "a\n"):
        with pytest.raises(RunError, match="can't name a benchmark"):
            begin(root, name)
    assert list(root.iterdir()) == []
    go(root, 0, 1, 2)
    bench = begin(root)
    until(lambda: state(bench) is RunState.FINISHED)
    with pytest.raises(RunError, match="there is a benchmark 'first' already"):
        begin(root)
    (root / BENCHES / "Not a bench").mkdir()
    (root / BENCHES / "empty").mkdir()
    assert [bench.name for bench in list_benches(root)] == ["first"]


def test_what_is_not_installed_is_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(*names: str) -> None:
        if "setfit" in names:
            raise TrainingError("setfit is not installed; pip install setfit")

    monkeypatch.setattr(outlines, "check_packages", check)
    options = {"train_languages": ["en"], "seeds": [0], "encoder": "use", "epochs": 1}
    found = outline(bench_set(), parts=["peers"], **options)  # type: ignore[arg-type]
    assert found.problem == ""
    assert found.missing == ("SetFit: setfit is not installed; pip install setfit",)
    assert outline(bench_set(), parts=["5"], **options).missing == ()  # type: ignore[arg-type]


def test_a_language_that_is_not_measured_gives_no_labels() -> None:
    frame = bench_set(("en", "de", "fr")).frame
    frame = frame[(frame["language"] != "fr") | (frame["split"] == "train")].reset_index(drop=True)
    part = LabelledSet(frame, "part")
    options = {"parts": ["4"], "seeds": [0], "encoder": "use", "epochs": 1}
    found = outline(part, train_languages=["en", "fr"], **options)  # type: ignore[arg-type]
    assert found.problem.startswith("French has no sentence to measure")
    assert outline(part, train_languages=["en"], **options).problem == ""  # type: ignore[arg-type]


def test_a_method_that_does_not_fit_the_data_is_said_before() -> None:
    bare = LabelledSet(bench_set().frame.assign(id=""), "bare")
    found = outline(bare, parts=["2"], train_languages=["en"], seeds=[0], encoder="use", epochs=1)
    assert found.problem == ""
    assert any(said.startswith("Emu-Parallel: ") for said in found.missing)
    # Base, the seven of Table 2 and the posterior; twelve English sentences, once for each that trains.
    assert (found.cells, found.training, found.passes) == (9, 7, 84)


def test_machine_translations_are_a_cell_where_every_sentence_measured_has_one() -> None:
    german = bench_set()
    frame = german.frame
    of_text = {text: f"in English: {text}" for text in frame.loc[frame["language"] == "de", "text"]}

    def looked(translations: dict[str, str]) -> tuple[int, bool]:
        found = outline(
            german, parts=["2"], train_languages=["en"], seeds=[0], encoder="use", epochs=1,
            translations=translations,
        )  # fmt: skip
        return found.cells, any("machine translation" in said for said in found.missing)

    (without, said), (having, silent) = looked({}), looked(of_text)
    assert said and not silent and having == without + 1
    of_text.pop("pool ?")  # of split test
    assert looked(of_text) == (without, True)


def test_machine_translations_of_an_upload_reach_the_benchmark(root: Path) -> None:
    frame = bench_set().frame
    frame = frame.assign(text=frame["text"] + frame["language"], translation="in English: " + frame["text"])
    app = with_data(root, frame)
    assert not any("machine translation" in shown.value for shown in app.markdown)
    button(app, "Start the benchmark").click().run()
    (bench,) = list_benches(root)
    said = read_machine_translations([bench.request().data])
    bench.cancel()
    assert said == dict(zip(frame["text"], frame["translation"], strict=True))


def test_a_benchmark_is_followed_left_found_cancelled_and_goes_on(app: AppTest, root: Path) -> None:
    app.multiselect(key="bench-tables").set_value(["4"]).run()
    button(app, "Start the benchmark").click().run()
    (bench,) = list_benches(root)
    until(lambda: status_of(bench).total == 3)
    other = evidence(AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).run())
    for session in (app.run(), other):
        assert progress(session) == "cell0 on en seed 0\\: 0 of 3 cells are done"
        assert button(session, "Start the benchmark").disabled
        assert any("is running, and one runs at a time" in info.value for info in session.info)
    with pytest.raises(RunError, match=r"'demo-set-use-1' is running, and one runs at a time"):
        begin(root, "second")
    with pytest.raises(RunError, match="is running"):
        starts.go_on(root, cache.job_manager(), bench)
    go(root, 0)
    until(lambda: status_of(bench).done == 1)
    assert progress(app.run()).startswith("cell1 on en")
    assert app.get("progress")[0].proto.value == 33

    button(other, "Cancel").click().run()
    until(lambda: not bench.is_running)
    assert state(bench) is RunState.CANCELLED
    app.run()
    assert [said.value for said in app.warning] == ["Cancelled after 1 of 3 cells."]
    assert not {"Cancel", "Stopping ..."} & set(labels(app))

    go(root, 1)
    button(app, "Go on").click().run()
    assert not app.exception
    until(lambda: status_of(bench).done == 2)
    assert progress(app.run()).startswith("cell2 on en")  # the first is not run again
    assert status_of(bench).begun_with == 1
    go(root, 2)
    until(lambda: state(bench) is RunState.FINISHED)
    app.run()
    assert not app.exception
    assert app.success[0].value == "Finished: 3 cells."
    assert not button(app, "Start the benchmark").disabled
    assert "Table 5: ablation" in [text.value.replace("\\", "") for text in app.subheader]


def test_a_killed_process_leaves_a_benchmark_that_goes_on(app: AppTest, root: Path) -> None:
    go(root, 0, 1)
    bench = begin(root)
    until(lambda: status_of(bench).done == 2)
    os.kill(json.loads((bench.folder / "process.json").read_text())["pid"], signal.SIGKILL)
    until(lambda: not bench.is_running)
    app.run()
    assert [said.value for said in app.warning] == [
        "Its process ended before the benchmark did, after 2 of 3 cells."
    ]
    go(root, 2)
    button(app, "Go on").click().run()
    until(lambda: state(bench) is RunState.FINISHED)


def test_a_process_that_refuses_leaves_its_reason(app: AppTest, root: Path) -> None:
    (root.parent / "refuse").touch()
    bench = begin(root)
    until(lambda: state(bench) is RunState.FAILED)
    app.run()
    assert app.error[0].value == r"The base encoder can\'t be measured\: no \*file\*\."
    assert "Go on" in labels(app)


def test_a_command_that_is_not_there_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "COMMAND", ("/no/such/program",))
    with pytest.raises(RunError, match="could not be started"):
        begin(root)
    assert state(list_benches(root)[0]) is RunState.INTERRUPTED  # and it can go on


def test_a_later_process_of_the_same_number_is_not_the_benchmarks(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for pid, at in ((os.getpid(), time.time()), (os.getpid(), 1.0), (2**22 + 1, time.time()), (-1, 1.0)):
        bench.begun(pid, at)
        assert bench.is_running is (pid == os.getpid() and at > 1)
    (tmp_path / "process.json").write_text("[]")
    assert not bench.is_running and bench.started_at == 0


def test_a_training_run_waits_for_a_benchmark_and_the_other_way_round(app: AppTest, root: Path) -> None:
    manager = cache.job_manager()
    go(root, 0, 1)
    bench = begin(root)
    run = manager.submit(TRAINING)
    assert bench_on(root, "cpu") == "first"
    assert manager.ahead_of(run) == 1
    until(lambda: status_of(bench).done == 2)
    assert run.status().state is RunState.QUEUED
    assert bench_on(root, "cuda:0") == ""
    go(root, 2)
    until(lambda: run.status().state is RunState.RUNNING)
    assert state(bench) is RunState.FINISHED

    app.run()
    assert button(app, "Start the benchmark").disabled
    assert any("training run \\'first\\' is on this device" in info.value for info in app.info)
    with pytest.raises(RunError, match="the training run 'first' is on this device or waits for it"):
        begin(root, "second")
    assert not (root / BENCHES / "second").exists()
    manager.cancel(run)
    manager.wait(run, PATIENCE_S)
    assert not button(app.run(), "Start the benchmark").disabled


def finished(root: Path, title: str = "tiny") -> Bench:
    go(root, 0, 1, 2)
    bench = begin(root, request=replace(REQUEST, title=title))
    until(lambda: state(bench) is RunState.FINISHED)
    return bench


def test_the_report_is_shown(app: AppTest, root: Path, made: Path) -> None:
    bench = finished(root)
    app.run()
    assert not app.exception
    shown = {text.value.replace("\\", "") for text in app.subheader}
    assert shown >= {"Table 2: Acc@1 in percent", "Peers: Acc@1 in percent, time and memory", "Figure 2"}
    values = json.loads((made / "report.json").read_text())
    rows = values["shown"]["table2"]["rows"]
    table = next(
        frame.value for frame in app.dataframe if "paper's mean (HotelQA / ATIS / Quora)" in frame.value
    )
    assert table.to_numpy().tolist() == [row for row in rows if not row[1].startswith("not measured")]
    said = " ".join(text.value.replace("\\", "") for text in (*app.markdown, *app.caption, *app.info))
    assert "**SetFit** was not measured: setfit is not installed; pip install *setfit*." in said
    assert "*** p < 0.01, ** p < 0.05" in said
    assert "Encoder: use here, LASER in the paper." in said
    assert "The best peer is" in said
    assert len(app.get("plotly_chart")) == 2 and len(app.get("image")) == 1
    buttons = [element.proto.label for element in app.get("download_button")]
    assert buttons[:3] == ["Report, HTML", "Report, Markdown", "Numbers, JSON"]
    assert len(buttons) == 3 + len(list(made.glob("*.csv")))
    button(app, "Try again what was not measured").click().run()
    until(lambda: state(bench) is RunState.FINISHED)
    assert not app.exception


def test_the_files_to_take_away_are_the_reports_own(made: Path) -> None:
    report = read_report(made)
    assert set(report.files) == {
        path.name for path in made.iterdir() if path.suffix in (".csv", ".html", ".md")
    } | {"report.json"}
    assert all(report.files[name] == (made / name).read_bytes() for name in report.files)
    assert b",+" not in report.files["table4.csv"]  # a gain is no formula to a spreadsheet program
    assert b"'+" in report.files["table4.csv"] or b"'-" in report.files["table4.csv"]


def test_hostile_names_are_shown_and_not_rendered(app: AppTest, root: Path) -> None:
    finished(root, HOSTILE)
    app.run()
    texts = [*app.markdown, *app.caption, *app.header, *app.subheader, *app.info, *app.warning]
    named = [text.value for text in texts if "evil" in text.value]
    assert len(named) >= 3  # the title, what was run, what differs
    assert not [value for value in named if ACTS.search(value)]


def test_a_hostile_file_is_shown_by_its_name_alone(root: Path) -> None:
    app = with_data(root, bench_set(names={"pool": HOSTILE}).frame, f"{HOSTILE}.csv".replace("/", ""))
    named = [text.value for text in app.markdown if "evil" in text.value]
    assert named and not [value for value in named if ACTS.search(value)]


def test_a_report_that_is_not_whole_is_said_to_be(app: AppTest, root: Path) -> None:
    bench = finished(root)
    whole = (bench.out / "report.json").read_text()
    for damaged in ("{", "[]", "{}", whole.replace('"differences"', '"x"'), whole.replace('"rows"', '"x"')):
        (bench.out / "report.json").write_text(damaged)
        app.run()
        assert not app.exception
        assert "is not whole" in app.error[0].value
        assert "Write the report again" in labels(app)
    # A table's name is a file's name: none leads out of the folder.
    (root / "secret.csv").write_text("secret")
    (bench.out / "report.json").write_text(whole.replace('"name": "table4"', '"name": "../../../secret"'))
    with pytest.raises(RunError, match="is not whole"):
        read_report(bench.out)


def test_gains_are_the_reports_and_losses_are_flagged(made: Path) -> None:
    values = json.loads((made / "report.json").read_text())["tables"]["table2"]
    report = read_report(made)
    gains = {gain.label: gain for gain in report.tables[0].gains}
    base = values["base"]["accuracy"]
    emu = values["emu"]
    assert gains["Emu"].gain == emu["gain"] and gains["Emu"].deviation == emu["mean_deviation"]
    lower = [name for name, value in emu["accuracy"].items() if value < base[name] - 1e-9]
    assert gains["Emu"].below == (", ".join(lower) or "none")
    assert "base encoder" not in gains and len(gains) == 8
    peers = {gain.label for gain in next(table for table in report.tables if table.name == "peers").gains}
    assert "SetFit" not in peers and "Emu" in peers

    figure = gains_chart([Gain("a<b>", 2.0, 0.5, "none"), Gain("c", -1.0, 0.0, "en-de")])
    harmless, harmful = figure.data
    assert (list(harmless.x), list(harmless.y), list(harmless.error_x.array)) == ([2.0], [1], [0.5])
    assert (list(harmful.x), list(harmful.y), harmful.error_x.array) == ([-1.0], [0], None)
    assert harmless.marker.color != harmful.marker.color
    ticks = dict(zip(figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext, strict=True))
    assert ticks == {1: "a&lt;b&gt;  +2.0", 0: "c  -1.0"}


def test_the_time_left_is_the_pace_of_this_process() -> None:
    status = BenchStatus(RunState.RUNNING, "emu", done=6, total=10, begun_with=2, seconds=40.0)
    assert status.seconds_left == 40.0
    assert status.line == "emu: 6 of 10 cells are done, about 40 s left"
    assert replace(status, done=3).seconds_left is None
    assert replace(status, state=RunState.CANCELLED).seconds_left is None
