import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from emu_core.errors import Fix, Message, RunError
from emu_core.runs.config import FORMAT, RunConfig, RunTask
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.log import Record, RecordKind
from emu_core.runs.progress import Progress
from emu_core.runs.run import (
    RUN_NAME,
    Run,
    RunState,
    Status,
    create_run,
    empty_trash,
    in_trash,
    list_runs,
    new_run_name,
)
from tests.support.processes import exit_code

CONFIG = RunConfig("emu", "hotel", {"epochs": 3}, encoder="use", train_languages=("en",))
EVERYTHING = RunConfig(
    "fmda",
    "paper",
    {"epochs": 3, "rate": 0.1, "two_stage": True, "adversary": "none", "seeds": [0, 1], "steps": None},
    task=RunTask.BENCH,
    encoder="hf:x",
    train_languages=("en", "de"),
    unlabelled_languages=("fr",),
    languages=("en", "zh-tw"),
    pairs=(("en", "de"), ("en", "zh-tw")),
    seed=7,
    device="cuda:1",
    precision="bf16",
    processes=2,
    versions={"torch": "2"},
)


class Texts:
    """Data of one file."""

    def store(self, folder: Path) -> None:
        (folder / "texts.txt").write_text("a\n")

    def facts(self, config: RunConfig) -> LabelledFacts:
        return LabelledFacts(name=config.data, rows=1)


def created(folder: Path, config: RunConfig = CONFIG) -> Run:
    return create_run(folder, config, Texts())


@pytest.mark.parametrize("config", [CONFIG, EVERYTHING])
def test_a_new_run_is_queued_with_all_that_it_needs(config: RunConfig, tmp_path: Path) -> None:
    run = created(tmp_path / "emu-use-1", config)
    assert run.status().state is RunState.QUEUED and run.can_resume
    assert run.config() == config
    assert run.data() == LabelledFacts(name=config.data, rows=1)
    assert [path.name for path in run.training_folder.iterdir()] == ["texts.txt"]
    assert not run.metrics().is_measured and run.history() == []
    run.delete_training()
    assert not run.can_resume


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"method": 1}, "method"),
        ({"data": None}, "data"),
        ({"hyperparameters": {"epochs": {}}}, "hyperparameters"),
        ({"task": "dance"}, "task"),
        ({"train_languages": "en"}, "train_languages"),
        ({"pairs": [["en"]]}, "pairs"),
        ({"seed": True}, "seed"),
        ({"versions": {"torch": 2}}, "versions"),
        ({"method": None, "encoder": 3}, "method, encoder"),
    ],
)
def test_a_damaged_configuration_names_its_fields(
    changes: dict[str, object], named: str, tmp_path: Path
) -> None:
    run = created(tmp_path / "r")
    run.write("config.json", run.config().to_json() | changes)
    with pytest.raises(RunError, match=rf"config\.json is damaged: {named} can't be read; delete"):
        run.config()


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        (
            {"format": None, "versions": {"emu_core": "0.0.9"}},
            r"emu_core 0\.0\.9 in a format without a number",
        ),
        ({"format": FORMAT + 1, "versions": {"emu_core": "9.1"}}, rf"emu_core 9\.1 in format {FORMAT + 1}"),
        ({"format": FORMAT + 1, "shape": "of tomorrow"}, f"another version in format {FORMAT + 1}"),
    ],
)
def test_a_folder_of_another_format_names_the_version_that_opens_it(
    changes: dict[str, object], written: str, tmp_path: Path
) -> None:
    run = created(tmp_path / "r")
    values = run.config().to_json() | changes
    run.write("config.json", {name: value for name, value in values.items() if value is not None})
    opener = written.split(" in ", maxsplit=1)[0].replace("another version", "the version that wrote it")
    with pytest.raises(
        RunError,
        match=f"/r was written by {written}, and this version reads format {FORMAT}: open it with {opener}, or",
    ):
        run.config()


def test_a_configuration_without_a_field_is_damaged(tmp_path: Path) -> None:
    run = created(tmp_path / "r")
    values = run.config().to_json()
    assert values.pop("snapshots") is False and values.pop("format") == FORMAT
    run.write("config.json", values)
    with pytest.raises(RunError, match=r"damaged: format, snapshots can't be read"):
        run.config()


@pytest.mark.parametrize("changes", [{"out": "elsewhere"}, {"cache": "../.."}, {"processes": None}])
def test_a_configuration_with_other_fields_than_ours_is_refused(
    changes: dict[str, object], tmp_path: Path
) -> None:
    run = created(tmp_path / "r")
    values = {name: one for name, one in (run.config().to_json() | changes).items() if one is not None}
    run.write("config.json", values)
    with pytest.raises(RunError, match=f"{next(iter(changes))} can't be read"):
        run.config()


def test_a_status_comes_back_as_it_was_written(tmp_path: Path) -> None:
    run = created(tmp_path / "r")
    written = run.write_status(
        Status(
            RunState.RUNNING,
            phase="training",
            step=3,
            steps=10,
            epoch=1,
            epochs=2,
            done=0.5,
            phase_since=1.0,
            pid=os.getpid(),
            message=Message("é", Fix("batch_size", 2)),
        )
    )
    assert run.status() == written
    assert asdict(written)["updated_at"] > 0


def test_a_running_run_whose_process_is_gone_is_interrupted(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    run = created(tmp_path / "r")
    run.write_status(Status(RunState.RUNNING, pid=ended.pid))
    assert run.status().state is RunState.INTERRUPTED
    run.write_status(Status(RunState.RUNNING, pid=os.getpid()))
    assert run.status().state is RunState.RUNNING


def test_a_folder_in_use_is_refused_even_by_a_queued_run(tmp_path: Path) -> None:
    run = created(tmp_path / "r")
    with pytest.raises(RunError, match="in use"):
        created(tmp_path / "r", EVERYTHING)
    assert run.config() == CONFIG
    (tmp_path / "empty").mkdir()
    assert created(tmp_path / "empty").status().state is RunState.QUEUED
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("keep")
    with pytest.raises(RunError, match="in use"):
        created(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "keep"


@pytest.mark.parametrize(
    "name", ["../r", "..", "/etc", "a/b", "", "R", ".hidden", "a\\b", "x" * 81, "r\n", "con", "nul.1"]
)
def test_what_leaves_the_folder_of_runs_is_no_name(name: str) -> None:
    assert RUN_NAME.fullmatch("r") and RUN_NAME.fullmatch(name) is None


def test_runs_are_listed_newest_first_and_other_folders_passed_over(tmp_path: Path) -> None:
    for age, name in enumerate(["c", "b", "a"]):
        run = created(tmp_path / name)
        os.utime(run.folder / "config.json", (1000 + age, 1000 + age))
    (tmp_path / "not-a-run").mkdir()
    (tmp_path / "file").write_text("")
    assert [run.name for run in list_runs(tmp_path)] == ["a", "b", "c"]
    assert list_runs(tmp_path / "nowhere") == []


def test_new_names_are_free_and_can_be_opened(tmp_path: Path) -> None:
    assert new_run_name(tmp_path, "emu", "use") == "emu-use-1"
    created(tmp_path / "emu-use-1")
    assert new_run_name(tmp_path, "emu", "use") == "emu-use-2"
    name = new_run_name(tmp_path, "emu", "hf:Some/Model../x")
    created(tmp_path / name)
    assert name in [run.name for run in list_runs(tmp_path)]


def test_half_a_line_in_the_log_is_passed_over(tmp_path: Path) -> None:
    run = created(tmp_path / "r")
    record = {"kind": "step", "step": 1, "epoch": 1, "loss": 2.0, "softmax": 1.5, "language": "en"}
    lines = [
        json.dumps(record),
        "[1]",
        '{"step": 1}',
        json.dumps(record | {"loss": [1]}),
        "[" * 9999,
        '{"kind": "st',
    ]
    (run.folder / "log.jsonl").write_text("\n".join(lines))
    (read,) = run.history()
    assert (read.kind, read.loss, read.figures, read.texts) == (
        "step",
        2.0,
        {"softmax": 1.5},
        {"language": "en"},
    )
    assert read.values() == record | {"seconds": 0.0}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"state": "dancing"}',
        '{"state": ["queued"]}',
        '{"state": "queued", "x": 1}',
        '{"state": "running", "pid": "abc"}',
        '{"state": "running", "pid": 1e400}',
        '{"state": "running", "step": NaN}',
        '{"state": "running", "started_at": -1e99}',
        '{"state": "queued", "message": "\\ud800"}',
        '{"state": "queued", "message": 3}',
        '{"state": "queued", "message": ["a", {"option": 3, "value": null}]}',
        '{"state": "queued", "message": [{"option": "a", "value": {}}]}',
        '{"state": "queued", "message": [["a"]]}',
        "[" * 99_999,
        '{"a":' * 9_999,
    ],
)
def test_a_damaged_status_is_a_clear_error(tmp_path: Path, content: str) -> None:
    run = created(tmp_path / "r")
    (run.folder / "status.json").write_text(content)
    with pytest.raises(RunError, match="delete"):
        run.status()


def test_writing_leaves_no_other_file_and_never_half_of_one(tmp_path: Path) -> None:
    run = created(tmp_path / "r")
    run.write("metrics.json", {"ä": 1})
    with pytest.raises(TypeError):
        run.write("metrics.json", {"bad": object()})
    assert json.loads((run.folder / "metrics.json").read_text("utf-8")) == {"ä": 1}
    assert {path.name for path in run.folder.iterdir()} == {
        ".emu-lock", "config.json", "data.json", "metrics.json", "status.json", "training",
    }  # fmt: skip


def test_progress_and_time_left() -> None:
    status = Status(RunState.RUNNING, "training", 25, 100, training_since=1000.0, updated_at=1050.0)
    assert status.progress == 0.25
    assert status.seconds_left == pytest.approx(50 / 25 * 75)
    assert Status().seconds_left is None and Status().progress == 0.0
    assert replace(status, state=RunState.FINISHED).progress == 1.0
    assert replace(status, state=RunState.FINISHED).seconds_left is None


def test_the_pace_is_that_since_the_first_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("emu_core.runs.progress.time.time", lambda: clock[0])
    run = created(tmp_path / "paced")
    progress = Progress(run, None)

    def seen(seconds: float, count: int) -> float:
        clock[0] += seconds
        progress.measured(count, 1000)
        return run.status().sentences_per_s

    progress.phase("loading")
    # For a minute, it opened the encoder.
    assert [seen(60, 32), seen(2, 232), seen(2, 332)] == [0.0, 100.0, 75.0]
    assert [seen(9, 32), seen(1, 82)] == [0.0, 50.0]  # other sentences
    with progress.training(10, 2) as log:
        assert run.status().sentences_per_s == 0
        for step in (1, 2, 3):
            clock[0] += 4
            log(Record(kind=RecordKind.STEP, step=step, epoch=1, loss=1.0, sentences=32))
        log(Record(kind=RecordKind.EPOCH, step=3, epoch=1, loss=1.0))
    assert run.status().sentences_per_s == 8.0
    assert "sentences" not in (run.folder / "log.jsonl").read_text("utf-8")


def test_cancel_is_seen(tmp_path: Path) -> None:
    run = created(tmp_path / "r")
    assert not run.cancel_asked
    Run(run.folder).cancel()
    assert run.cancel_asked


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.json", {"mean_base": "high"}),
        ("metrics.json", {"warnings": "one"}),
        ("metrics.json", {"similar_sentences": {"de": {"difference": 1.0}}}),
        (
            "metrics.json",
            {
                "similar_sentences": {
                    "de": {"difference": 1, "low": 0, "high": 2, "verdict": 3, "queries": 9.5}
                }
            },
        ),
        ("metrics.json", {"parts": [1]}),
        ("metrics.json", {"new_intents": {"base": 1.0}}),
        ("metrics.json", {"translation": {"en-de": 3}}),
        ("data.json", {"name": ["x"]}),
    ],
)
def test_figures_of_other_types_are_a_clear_error(
    name: str, content: dict[str, object], tmp_path: Path
) -> None:
    run = created(tmp_path / "r")
    run.write(name, content)
    with pytest.raises(RunError, match=f"{name} is damaged"):
        (run.metrics if name == "metrics.json" else run.data)()


def lock(folder: str) -> None:
    with Run(Path(folder)).locked():
        pass


def lock_and_die(folder: str) -> None:
    with Run(Path(folder)).locked():
        os.kill(os.getpid(), signal.SIGKILL)


def test_one_process_works_in_a_folder_until_it_is_done_or_dead(tmp_path: Path) -> None:
    run = created(tmp_path / "r")
    with run.locked(), Run(run.folder).locked():  # this process may again
        assert exit_code(lock, str(run.folder)) == 1
        with ThreadPoolExecutor() as pool, pytest.raises(RunError, match="another process is training in"):
            pool.submit(lock, str(run.folder)).result()
    assert exit_code(lock_and_die, str(run.folder)) == -signal.SIGKILL
    assert exit_code(lock, str(run.folder)) == 0


def test_no_lock_is_left_in_a_folder_that_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(RunError, match="in use"):
        created(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_what_a_kill_left_of_making_a_run_is_replaced(tmp_path: Path) -> None:
    run = created(tmp_path / "r", EVERYTHING)
    (run.folder / "status.json").rename(run.folder / ".status.json.1-ab.part")
    with pytest.raises(RunError, match="half made; run the command that made it again"):
        run.status()
    created(run.folder)
    assert run.config() == CONFIG and run.status().state is RunState.QUEUED
    assert not list(run.folder.glob(".*.part"))


@pytest.mark.parametrize(("state", "stays"), [(RunState.FINISHED, False), (RunState.CANCELLED, True)])
def test_sentences_that_a_finished_training_left_are_deleted(
    state: RunState, stays: bool, tmp_path: Path
) -> None:
    run = created(tmp_path / "r")
    run.write_status(Status(state=state))
    run.tidy()
    assert run.training_folder.exists() == stays


def over(folder: Path, **changes: str) -> Run:
    run = created(folder, replace(CONFIG, **changes))
    run.write_status(Status(state=RunState.FINISHED))
    return run


def test_a_note_and_tags_are_kept_apart_and_cleaned(tmp_path: Path) -> None:
    run = created(tmp_path / "a")
    assert run.note == "" and run.tags == ()
    run.annotate(note=" for <b>Anna</b>\n\n= 1 \ud800", tags=["best", "  two\twords ", "best", ""])
    assert run.tags == ("best", "two words") and run.note == "for <b>Anna</b>\n\n= 1 ?"
    run.annotate(tags=[])
    assert run.tags == () and run.note.startswith("for")
    assert Run(tmp_path / "a").note == run.note


@pytest.mark.parametrize(
    "words", [{"note": "x" * 2_001}, {"tags": ["x" * 41]}, {"tags": [str(n) for n in range(21)]}]
)
def test_a_note_that_is_too_long_is_refused_and_the_old_one_stays(
    tmp_path: Path, words: dict[str, object]
) -> None:
    run = created(tmp_path / "a")
    run.annotate(note="old", tags=["tag"])
    with pytest.raises(RunError, match="shorten them"):
        run.annotate(**words)
    assert (run.note, run.tags) == ("old", ("tag",))
    with pytest.raises(RunError, match="is not a run"):
        Run(tmp_path).annotate(note="no run")
    assert not (tmp_path / "remarks.json").exists()


@pytest.mark.parametrize("content", ["[]", '{"note": 1}', '{"tags": "a"}', '{"tags": [1]}', "{"])
def test_damaged_remarks_are_said_and_leave_the_run_as_it_is(tmp_path: Path, content: str) -> None:
    run = over(tmp_path / "a")
    (run.folder / "remarks.json").write_text(content)
    for read in (lambda: run.note, lambda: run.tags):
        with pytest.raises(RunError, match=r"remarks\.json (is damaged|can't be read); delete it"):
            read()
    assert run.status().state is RunState.FINISHED


def test_a_renamed_run_is_found_by_its_card_and_by_runs_on_top_of_it(tmp_path: Path) -> None:
    run = over(tmp_path / "old")
    (run.folder / "README.md").write_text('# old\n\nolder\n\nload_encoder("run:old")\n')
    above, other = (
        over(tmp_path / name, encoder=f"run:{tmp_path / base}")
        for name, base in (("above", "old"), ("b", "older"))
    )
    os.utime(above.folder / "config.json", (1, 1))
    new = run.rename("new")
    assert (new.folder, new.config(), run.folder.exists()) == (tmp_path / "new", CONFIG, False)
    assert (new.folder / "README.md").read_text() == '# new\n\nolder\n\nload_encoder("run:new")\n'
    assert above.config().encoder == f"run:{tmp_path / 'new'}" and other.config().encoder.endswith("older")
    assert list_runs(tmp_path)[-1].name == "above"  # still the oldest


@pytest.mark.parametrize(
    "name", ["", "..", "../b", "a/b", "A", "con", "x" * 81, ".deleted", "a\0b", "<img>", "b"]
)
def test_a_run_gets_no_name_that_leaves_its_folder_or_is_taken(tmp_path: Path, name: str) -> None:
    run, other = over(tmp_path / "runs" / "a"), over(tmp_path / "runs" / "b")
    with pytest.raises(RunError, match=r"can't name a run|there is a run 'b' already"):
        run.rename(name)
    assert run.status() and other.status() and {path.name for path in tmp_path.iterdir()} == {"runs"}


def test_a_run_that_is_not_over_stays_where_it_is(tmp_path: Path) -> None:
    base, above = (
        over(tmp_path / "base"),
        created(tmp_path / "above", replace(CONFIG, encoder=f"run:{tmp_path}/base")),
    )
    for change in (lambda: above.rename("new"), above.put_aside, lambda: base.rename("new")):
        with pytest.raises(RunError, match=r"'above' is.*not over; cancel it first"):
            change()
    for no_run in (tmp_path, tmp_path / "none"):
        with pytest.raises(RunError, match="is not a run"):
            Run(no_run).put_aside()
    assert {path.name for path in tmp_path.iterdir()} == {"base", "above"}


def test_what_was_put_aside_comes_back_until_the_trash_is_emptied(tmp_path: Path) -> None:
    for name in ("a", "b", "a"):  # the first a is gone when the second goes
        run = over(tmp_path / name)
        run.annotate(note=name)
        run.put_aside()
    assert not list_runs(tmp_path) and {run.name for run in in_trash(tmp_path)} == {"a", "b"}
    taken = over(tmp_path / "b")
    with pytest.raises(RunError, match="there is a run 'b' already"):
        next(run for run in in_trash(tmp_path) if run.name == "b").put_back()
    next(run for run in in_trash(tmp_path) if run.name == "a").put_back()
    assert [run.name for run in in_trash(tmp_path)] == ["b"] and Run(tmp_path / "a").note == "a"
    empty_trash(tmp_path, 3_600)
    assert in_trash(tmp_path)
    empty_trash(tmp_path)
    assert not in_trash(tmp_path) and taken.status() and len(list_runs(tmp_path)) == 2
