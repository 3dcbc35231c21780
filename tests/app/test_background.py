import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing import Pipe
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from emu_app.work import background as beside
from emu_app.work.background import (
    NO_MEMORY,
    STOPPED,
    TOO_LONG,
    Background,
    Done,
    Failed,
    Pending,
    StoppedError,
)
from emu_core.errors import EncoderError, Message
from emu_core.spawning import isolated

PATIENCE_S = 60.0


def double(value: int) -> int:
    return 2 * value


def zeros(count: int) -> np.ndarray:
    return np.zeros(count, dtype=np.uint8)


def process_id() -> int:
    return os.getpid()


def die() -> None:
    os._exit(1)


def is_imported(module: str) -> bool:
    return module in sys.modules


def fail(message: str) -> None:
    raise EncoderError(message)


def divide() -> float:
    return 1 / 0


def not_sendable() -> object:
    return threading.Lock()


def report_and_wait_for(path: Path) -> str:
    beside.report(1, 4)
    wait_for(path)
    return "seen"


def report_until(path: Path) -> str:
    until(lambda: bool(beside.report(1, 4, "so far")) or path.exists())
    return "ended"


def wait_for(path: Path) -> None:
    until(path.exists)


def touch(path: Path) -> None:
    path.touch()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def warm_until_told() -> None:
    folder = Path(os.environ["EMU_TEST_FOLDER"])
    (folder / "begun").touch()
    wait_for(folder / "told")
    (folder / "warm").touch()


@pytest.fixture(scope="module")
def background() -> Iterator[Background]:
    yield Background()


def test_a_task_is_pending_then_done_in_another_process(background: Background) -> None:
    background.run("pid", process_id)
    outcome = background.wait("pid", PATIENCE_S)
    assert isinstance(outcome, Done)
    assert outcome.value != os.getpid()
    assert background.result("pid") == outcome


def test_one_warm_process_takes_all_tasks(background: Background) -> None:
    for key in ("first", "second"):
        background.run(key, process_id)
    assert background.wait("first", PATIENCE_S) == background.wait("second", PATIENCE_S)


def test_a_process_imports_what_it_needs_and_not_the_page_that_is_drawn(
    background: Background, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    background.run("of another", is_imported, "colorsys")
    assert background.wait("of another", PATIENCE_S) == Done(False)
    page = ModuleType("__main__")
    page.__file__ = str(tmp_path / "page.py")
    ran = tmp_path / "ran"
    Path(page.__file__).write_text(f"open({str(ran)!r}, 'w')")
    monkeypatch.setitem(sys.modules, "__main__", page)
    own = Background(modules=["colorsys"])
    own.run("imported", is_imported, "colorsys")
    assert own.wait("imported", PATIENCE_S) == Done(True)
    assert not ran.exists() and sys.modules["__main__"] is page


def test_processes_that_start_together_leave_the_main_module_in_place() -> None:
    before = sys.modules["__main__"]
    entered, leave = ([threading.Event(), threading.Event()] for _ in range(2))

    def start(number: int) -> None:
        with isolated():
            entered[number].set()
            leave[number].wait(PATIENCE_S)

    first, second = (threading.Thread(target=start, args=[number]) for number in range(2))
    first.start()
    assert entered[0].wait(PATIENCE_S)
    second.start()
    entered[1].wait(0.05)
    leave[0].set()
    first.join(PATIENCE_S)
    leave[1].set()
    second.join(PATIENCE_S)
    assert sys.modules["__main__"] is before


def test_a_key_is_computed_once(background: Background) -> None:
    background.run("once", double, 4)
    background.run("once", double, 5)
    assert background.wait("once", PATIENCE_S) == Done(8)
    assert background.run("once", double, 6) == Done(8)


def test_a_forgotten_key_is_computed_anew(background: Background) -> None:
    background.run("again", double, 1)
    background.wait("again", PATIENCE_S)
    background.forget("again")
    with pytest.raises(KeyError):
        background.result("again")
    background.run("again", double, 2)
    assert background.wait("again", PATIENCE_S) == Done(4)


def test_progress_arrives_while_the_task_runs(background: Background, tmp_path: Path) -> None:
    flag = tmp_path / "go"
    background.run("slow", report_and_wait_for, flag)
    background.run("after it", double, 1)
    until(lambda: background.result("slow") == Pending("slow", 0.25))
    assert background.result("after it") == Pending("after it")
    background.forget("slow")  # a running task can't be forgotten
    flag.touch()
    assert background.wait("slow", PATIENCE_S) == Done("seen")
    assert background.wait("after it", PATIENCE_S) == Done(2)


def test_errors_are_sentences_and_leave_the_worker_alive(background: Background) -> None:
    background.run("pid before", process_id)
    background.run("ours", fail, "no encoder 'x'; there is: use")
    background.run("bug", divide)
    background.run("lock", not_sendable)
    background.run("unsendable task", lambda: 1)
    background.run("pid after", process_id)
    assert background.wait("ours", PATIENCE_S) == Failed(Message("no encoder 'x'; there is: use"))
    assert background.wait("bug", PATIENCE_S) == Failed(
        Message("this failed with ZeroDivisionError: division by zero")
    )
    for key in ("lock", "unsendable task"):
        outcome = background.wait(key, PATIENCE_S)
        assert isinstance(outcome, Failed)
        assert "pickle" in str(outcome.message)
    assert background.wait("pid after", PATIENCE_S) == background.wait("pid before", PATIENCE_S)


def test_a_crash_fails_its_task_alone_and_a_new_worker_takes_over(background: Background) -> None:
    background.run("old pid", process_id)
    background.run("crash", die)
    background.run("new pid", process_id)
    assert background.wait("crash", PATIENCE_S) == Failed(Message(STOPPED))
    assert background.wait("new pid", PATIENCE_S) != background.wait("old pid", PATIENCE_S)


def test_results_used_longest_ago_make_room() -> None:
    background = Background(max_bytes=2_500)
    for key in ("a", "b"):
        background.run(key, zeros, 1_000)
        background.wait(key, PATIENCE_S)
    background.result("a")  # so that b is the older one
    background.run("c", zeros, 1_000)
    background.wait("c", PATIENCE_S)
    with pytest.raises(KeyError):
        background.result("b")
    assert isinstance(background.result("a"), Done)
    background.run("huge", zeros, 9_000)
    assert isinstance(background.wait("huge", PATIENCE_S), Done)  # the newest stays, whatever its size
    for key in ("a", "c"):
        with pytest.raises(KeyError):
            background.result(key)


def test_a_result_that_is_dropped_while_a_page_waits_is_to_be_asked_for_anew(
    background: Background, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    background.run("taken", wait_for, tmp_path / "go")
    waiting = threading.Event()
    real = background._changed.wait_for

    def wait_for_changes(condition: Callable[[], bool], timeout_s: float | None = None) -> bool:
        waiting.set()
        return real(condition, timeout_s)

    monkeypatch.setattr(background._changed, "wait_for", wait_for_changes)
    found: list[object] = []
    page = threading.Thread(target=lambda: found.append(background.wait("taken", PATIENCE_S)))
    page.start()
    assert waiting.wait(PATIENCE_S)
    with background._changed:
        del background._outcomes["taken"]
        background._changed.notify_all()
    page.join(PATIENCE_S)
    (tmp_path / "go").touch()
    assert found == [Pending("taken")]


@pytest.mark.skipif(not hasattr(os, "nice"), reason="Windows knows no niceness")
def test_a_worker_can_yield_to_the_pages() -> None:
    own = os.nice(0)
    yielding = Background(niceness=3)
    yielding.run("niceness", os.nice, 0)
    assert yielding.wait("niceness", PATIENCE_S) == Done(min(19, own + 3))


@pytest.mark.skipif(not hasattr(os, "nice"), reason="Windows knows no niceness")
def test_a_worker_yields_while_it_imports_its_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_TEST_FOLDER", str(tmp_path))
    (tmp_path / "of_a_worker.py").write_text(
        "import os, pathlib\n"
        "pathlib.Path(os.environ['EMU_TEST_FOLDER'], f'at-{os.nice(0)}').touch()\n"
        "def idle():\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    of_a_worker = import_module("of_a_worker")
    own = os.nice(0)
    (tmp_path / f"at-{own}").unlink()
    yielding = Background(niceness=3, when_idle=of_a_worker.idle)
    assert not yielding.is_started
    yielding.run("any", double, 1)
    assert yielding.wait("any", PATIENCE_S) == Done(2) and yielding.is_started
    assert {path.name for path in tmp_path.glob("at-*")} == {f"at-{min(19, own + 3)}"}


def test_the_warm_up_runs_when_a_worker_is_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMU_TEST_FOLDER", str(tmp_path))
    monkeypatch.setattr("emu_app.work.background.QUIET_S", 0.0)
    background = Background(warm_up=warm_until_told)
    background.start()
    wait_for(tmp_path / "begun")
    background.run("beside it", double, 1)
    assert background.wait("beside it", PATIENCE_S) == Done(2)
    assert not (tmp_path / "warm").exists()
    (tmp_path / "told").touch()
    wait_for(tmp_path / "warm")


def note_idleness() -> None:
    with (Path(os.environ["EMU_TEST_FOLDER"]) / "idle").open("a") as file:
        file.write("x")


def test_what_a_worker_keeps_is_given_back_each_time_it_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_TEST_FOLDER", str(tmp_path))
    monkeypatch.setattr("emu_app.work.background.IDLE_S", 0.0)
    background = Background(when_idle=note_idleness)
    background.start()
    wait_for(tmp_path / "idle")
    background.run("between", double, 1)
    assert background.wait("between", PATIENCE_S) == Done(2)
    until(lambda: (tmp_path / "idle").read_text() == "xx")


def test_a_report_goes_to_the_server_and_outside_a_worker_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    server, worker = Pipe()
    beside.report(1, 2)
    monkeypatch.setattr(beside, "_listener", worker)
    beside.report(1, 0)  # of nothing there is no share
    beside.report(1, 4)
    beside.report(1, 2, "so far")
    assert server.recv() == (Pending, (0.25, None))
    assert server.recv() == (Pending, (0.5, "so far")) and not server.poll()
    server.send(None)
    with pytest.raises(StoppedError):
        beside.report(3, 4)


def hold(count: int) -> int:
    return len(np.ones(count, dtype=np.uint8))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is the Linux kernel's")
def test_a_task_past_the_limit_of_memory_fails_and_the_next_one_runs() -> None:
    limited = Background(memory_bytes=2**30)
    limited.run("large", hold, 2**31)
    assert limited.wait("large", PATIENCE_S) == Failed(Message(NO_MEMORY))
    limited.run("small", hold, 2**20)
    assert limited.wait("small", PATIENCE_S) == Done(2**20)


def test_a_task_past_its_time_is_ended_and_the_next_one_runs(tmp_path: Path) -> None:
    background = Background()
    background.run("endless", wait_for, tmp_path / "never", limit_s=0.1)
    assert background.wait("endless", PATIENCE_S) == Failed(Message(TOO_LONG.format(limit_s=0.1)))
    background.run("next", double, 4, limit_s=PATIENCE_S)
    assert background.wait("next", PATIENCE_S) == Done(8)


def unknown(background: Background, key: str) -> bool:
    try:
        return not isinstance(background.result(key), Pending)
    except KeyError:
        return True


def test_a_task_says_what_it_has_so_far(background: Background, tmp_path: Path) -> None:
    background.run("so far", report_until, tmp_path / "end")
    until(lambda: background.result("so far") == Pending("so far", 0.25, "so far"))
    (tmp_path / "end").touch()
    assert background.wait("so far", PATIENCE_S) == Done("ended")


def test_a_task_ends_when_the_last_one_who_asked_stops_it(background: Background, tmp_path: Path) -> None:
    background.run("which", process_id)
    process = background.wait("which", PATIENCE_S)
    for key in ("runs", "waits"):
        for asker in ("one", "other"):
            background.run(key, report_until, tmp_path / "end", asker=asker)
    background.stop("runs", "one")
    background.stop("waits", "one")
    background.stop("waits", "other")
    until(
        lambda: background.result("runs") == Pending("runs", 0.25, "so far")
    )  # the other still waits for it
    background.stop("runs", "other")
    until(lambda: unknown(background, "runs"))
    until(lambda: unknown(background, "waits"))
    background.forget("which")
    background.run("which", process_id)
    assert background.wait("which", PATIENCE_S) == process  # it was not killed
    (tmp_path / "end").touch()
    background.run("runs", report_until, tmp_path / "end", asker="one")
    assert background.wait("runs", PATIENCE_S) == Done("ended")


def test_a_task_of_those_who_are_gone_ends(
    background: Background, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "GONE_S", 0.0)
    background.run("left", report_until, tmp_path / "end", asker="one")
    background.run("wanted", double, 4)
    assert background.wait("wanted", PATIENCE_S) == Done(8)
    assert unknown(background, "left")


def test_a_second_process_starts_with_a_second_task(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    two, begun = Background(processes=2), list[str]()
    start = two._start_process

    def start_process() -> Any:
        begun.append("a process")
        return start()

    monkeypatch.setattr(two, "_start_process", start_process)
    for key in ("first", "after it"):
        two.run(key, process_id)
        assert isinstance(two.wait(key, PATIENCE_S), Done)
    assert len(begun) == 1
    two.run("waits", report_and_wait_for, tmp_path / "end")
    two.run("beside it", touch, tmp_path / "end")
    assert two.wait("waits", PATIENCE_S) == Done("seen") and len(begun) == 2


def test_two_processes_run_two_tasks_at_once(tmp_path: Path) -> None:
    two = Background(processes=2)
    two.start()
    two.run("first", report_and_wait_for, tmp_path / "end")
    two.run("second", touch, tmp_path / "end")
    assert two.wait("first", PATIENCE_S) == Done("seen")
