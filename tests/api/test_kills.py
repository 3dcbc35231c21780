"""Whatever stops a run, the next command says so in a sentence or goes on to the same weights."""

import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu_core import configure, embed, load_encoder, pretrain, resume
from emu_core.api.execute import Hooks
from emu_core.api.pretrain import plan_pretraining
from emu_core.cli import main
from emu_core.data.texts.tasks import Tasks
from emu_core.encoders.saved import CHECKSUMS
from emu_core.errors import Call, CancelledError, EmuError, EncoderError, RunError, TrainingError
from emu_core.runs import progress
from emu_core.runs.run import Run, RunState, Status, create_run
from tests.support.processes import create_and_finish, exit_code, full_disk
from tests.support.raises import raises
from tests.support.short_plans import TEXT, Plan, parallel_text

pytestmark = pytest.mark.slow

KILLED = -signal.SIGKILL


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_pretraining(Tasks([parallel_text()]), method="bicvm", config=configure("bicvm", **TEXT))


@pytest.fixture(scope="module")
def whole(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("whole") / "r")
    assert exit_code(create_and_finish, str(run.folder), *plan, 1e9) == 0
    return run


@pytest.fixture
def copy(plan: Plan, tmp_path: Path) -> Run:
    return resume(create_run(tmp_path / "r", *plan).folder)


def checksums(run: Run) -> bytes:
    return (run.encoder_folder / CHECKSUMS).read_bytes()


def test_a_run_killed_at_any_renaming_ends_with_the_same_weights(
    plan: Plan, whole: Run, tmp_path: Path
) -> None:
    for number in count(1):
        run = Run(tmp_path / str(number))
        code = exit_code(create_and_finish, str(run.folder), *plan, 1e9, number)
        if code == 0:
            break
        assert code == KILLED
        assert exit_code(create_and_finish, str(run.folder), *plan, 1e9) == 0
        assert checksums(run) == checksums(whole)
        assert run.status().state is RunState.FINISHED and not run.training_folder.exists()
        assert not list(run.folder.rglob("*.part"))
    assert number > 10


def finish_within(folder: str, most_bytes: int) -> None:
    """Go on with a run on a full disk."""
    full_disk(most_bytes)
    try:
        resume(folder, hooks=Hooks(checkpoint_s=0))
    except RunError as error:
        os._exit(2 if "File too large" in str(error) or "disk" in str(error) else 3)


@pytest.mark.parametrize("most_bytes", [0, 300, 1_000, 4_000])
def test_a_full_disk_is_one_sentence_and_the_run_goes_on_when_there_is_room(
    most_bytes: int, plan: Plan, whole: Run, tmp_path: Path
) -> None:
    run = create_run(tmp_path / "r", *plan)
    assert exit_code(finish_within, str(run.folder), most_bytes) == 2
    assert exit_code(resume, str(run.folder)) == 0
    assert checksums(run) == checksums(whole)


def test_a_folder_deleted_while_training_is_one_sentence(plan: Plan, tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", *plan)

    def move(status: Status) -> None:
        if status.phase == "training" and run.folder.exists():
            run.folder.rename(tmp_path / "gone")

    with raises(RunError, fix=Call("resume", str(run.folder)), match="No such file or directory"):
        resume(run.folder, on_progress=move)


@pytest.fixture
def python_takes_ctrl_c() -> Iterator[None]:
    """As in a terminal; what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_takes_ctrl_c")
def test_ctrl_c_writes_a_checkpoint_and_says_how_to_go_on(
    plan: Plan, whole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create_run(tmp_path / "r", *plan)

    def press(status: Status) -> None:
        if status.step == 1 and status.state is RunState.RUNNING:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(progress, "STATUS_INTERVAL_S", 0.0)  # every step is told
    with raises(CancelledError, fix=Call("resume", str(run.folder)), match=" 1 steps"):
        resume(run.folder, on_progress=press)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert run.checkpoint.exists() and run.status().state is RunState.CANCELLED
    assert exit_code(resume, str(run.folder)) == 0
    assert checksums(run) == checksums(whole)


def test_two_commands_in_one_folder(plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, codes = create_run(tmp_path / "r", *plan), list[int | None]()

    def again(status: Status) -> None:
        if status.phase == "evaluating":
            codes.append(exit_code(resume, str(run.folder)))
            with raises(RunError, fix="out", match=str(run.folder)):
                pretrain([parallel_text()], out=run.folder, method="bicvm", config=configure("bicvm", **TEXT))

    before = run.config()
    resume(run.folder, on_progress=again)
    assert codes == [1] and run.config() == before and run.status().state is RunState.FINISHED
    assert main(["resume", "--json", str(run.folder)]) == 0
    assert "is finished already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model.safetensors", CHECKSUMS])
def test_a_changed_file_of_an_encoder_is_named(name: str, copy: Run) -> None:
    file = copy.encoder_folder / name
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with raises(EncoderError, fix=None, match=r"encoder/\S+ differs"):
        load_encoder(f"run:{copy.folder}")
    (copy.encoder_folder / CHECKSUMS).unlink()  # as in a folder that `Encoder.save` alone made
    load_encoder(f"run:{copy.folder}")


def test_vectors_that_are_no_numbers_are_refused_and_files_are_readable(copy: Run) -> None:
    umask = os.umask(0)
    os.umask(umask)
    weights = copy.encoder_folder / "model.safetensors"
    assert weights.stat().st_mode & 0o777 == 0o666 & ~umask
    encoder = load_encoder(f"run:{copy.folder}")
    next(encoder.parameters()).data.fill_(np.nan)
    with raises(EncoderError, fix="learning_rate"):
        encoder.encode(["dog cat red"])


@pytest.mark.parametrize("values", [{}, {"epochs": 2}, None])
def test_settings_that_are_missing_are_an_error_and_no_defaults(
    values: dict[str, Any] | None, plan: Plan, tmp_path: Path
) -> None:
    run = create_run(tmp_path / "r", *plan)
    config = run.config().to_json() | {"hyperparameters": values}
    run.write("config.json", {name: one for name, one in config.items() if one is not None})
    error: type[EmuError] = RunError if values is None else TrainingError
    with raises(error, fix=None, match="damaged"):
        resume(run.folder)


def write_slowly(name: str, other: str, out: str) -> None:
    """Embed a file in a part, and another into the same file before the first is whole."""

    def meanwhile(done: int, total: int) -> None:
        embed(other, out=out)

    embed(name, out=out, on_progress=meanwhile)


def test_two_writers_of_one_file_of_vectors_leave_the_last_whole_one(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "t.parquet"
    for name, rows in (("a", 3), ("b", 5)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} dog {row}\n" for row in range(rows)))
    write_slowly(str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), str(out))
    assert pq.read_table(out).column("text").to_pylist() == [f"a dog {row}" for row in range(3)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "t.parquet"]
