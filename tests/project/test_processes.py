"""Two processes on the CPU train and encode as one does."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from emu_core import load_encoder
from emu_core.cli import main
from emu_core.processes import SINGLE_PROCESS, Processes, join_processes
from emu_core.runs.run import Run, RunState
from tests.support.paths import ROOT
from tests.support.serving import free_port
from tests.support.small import small_file

# 72 sentences in batches of 7: parts of unequal length, and a smaller last batch. The discriminator's own dropout is
# drawn by each process alike.
METHODS = ("emu", "contrastive", "distil")
TRAIN = ("--epochs", "1", "--device", "cpu", "--json")


def commands(data: Path, out: Path) -> list[list[str]]:
    """Train with each method, with the first run as teacher of the last, and embed, into a folder."""
    own = {method: ["--batch-size", "7"] for method in METHODS}
    own["distil"] = ["--batch-size", "20", "--teacher", f"run:{out / 'emu'}"]
    trained = [
        ["train", str(data), "--method", method, "--out", str(out / method), *own[method], *TRAIN]
        for method in METHODS
    ]
    few = data.with_name("few.txt")
    few.write_text("Where is the pool?\nWo ist der Pool?\nI need a cab\n", "utf-8")
    embedded = [
        ["embed", str(data), "--out", str(out / "v.parquet")],
        ["embed", str(few), "--out", str(out / "e5.parquet"), "--encoder", "e5-small"],
    ]
    return [*trained, *([*command, "--device", "cpu", "--json"] for command in embedded)]


def in_two_processes(given: list[list[str]]) -> list[str]:
    """Run commands under `accelerate launch` on two CPU processes; the lines that were printed."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--num_machines",
        "1",
        "--dynamo_backend",
        "no",
    ]
    command += ["--mixed_precision", "no", "--main_process_port", str(port)]
    command += ["--multi_gpu"]  # accelerate's name for torchrun, with GPUs or without
    command += ["--num_processes", "2", "-m", "tests.support.several_commands", json.dumps(given)]
    environment = os.environ | {"ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_file(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def one(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands leave that one process runs: this one."""
    out = tmp_path_factory.mktemp("one")
    assert [main(command) for command in commands(data, out)] == [0, 0, 0, 0, 0]
    return out


@pytest.fixture(scope="module")
def two(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes leave."""
    out = tmp_path_factory.mktemp("two")
    lines = in_two_processes(commands(data, out))
    *trained, embedded, few = [
        json.loads(line) for line in lines if line.startswith("{")
    ]  # one of them speaks
    assert {output["run"] for output in trained} == {str(out / method) for method in METHODS}
    assert (embedded["sentences"], few["sentences"]) == (324, 3)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_two_processes_train_as_one_does(method: str, one: Path, two: Path) -> None:
    alone, together = Run(one / method), Run(two / method)
    assert together.status().state is RunState.FINISHED
    assert (alone.config().processes, together.config().processes) == (1, 2)
    losses = [[r.loss for r in run.history() if r.is_step] for run in (alone, together)]
    assert len(losses[0]) == len(losses[1]) == 11
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    assert [r.step for r in together.history()] == [r.step for r in alone.history()]
    # Adam steps by a gradient's sign, so rounding moves weights whose gradient is next to nothing; vectors tell.
    texts = ["Where is the pool?", "Wo ist der Pool?", "プールはどこですか"]
    vectors = [load_encoder(f"run:{run.folder}").encode(texts) for run in (alone, together)]
    assert (vectors[0] * vectors[1]).sum(axis=1).min() > 0.9999
    assert (vectors[0] * load_encoder("use").encode(texts)).sum(axis=1).max() < 0.99
    assert together.metrics().base == alone.metrics().base


@pytest.mark.slow
def test_two_processes_embed_as_one_does(one: Path, two: Path) -> None:
    for name in ("v.parquet", "e5.parquet"):
        assert pq.read_table(two / name).equals(pq.read_table(one / name))
    assert {path.name for path in two.iterdir()} == {*METHODS, "v.parquet", "e5.parquet"}


def test_no_command_is_started_after_one_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Another process may still be in the one that failed, where it would wait forever.
    given = [["first"], ["failing"], ["third"]]
    started: list[list[str]] = []

    def fake_main(arguments: list[str]) -> int:
        started.append(arguments)
        return 2 if arguments == ["failing"] else 0

    monkeypatch.setattr("emu_core.cli.main", fake_main)
    monkeypatch.setattr(sys, "argv", ["several_commands", json.dumps(given)])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("tests.support.several_commands", run_name="__main__")
    assert end.value.code == 2 and started == given[:2]


def test_parts_cover_a_batch_and_gather_back() -> None:
    rows = list(range(7))
    parts = [Processes(i, 3).part(rows) for i in range(3)]
    assert parts == [[0, 1, 2], [3, 4, 5], [6, 0, 0]]
    assert [row for part in parts for row in part][:7] == rows
    assert Processes(4, 5).part([8]) == [8]


def test_one_process_meets_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert join_processes() is SINGLE_PROCESS
    vectors = torch.ones(2, 3, requires_grad=True)
    assert SINGLE_PROCESS.gather(vectors, 2) is vectors
    assert SINGLE_PROCESS.agree(True) and SINGLE_PROCESS.gather_objects("x") == ["x"]
    assert np.array_equal(SINGLE_PROCESS.part([1, 2]), [1, 2])
