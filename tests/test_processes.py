"""Two processes on the CPU train and encode as one does."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from emu_core import load_encoder
from emu_core.cli import main
from emu_core.processes import ALONE, Processes, join_processes
from emu_core.runs.run import Run, RunState
from tests.small import small_file

ROOT = Path(__file__).parent.parent


def launch(count: int, *arguments: str) -> dict[str, object]:
    """Run the command under `accelerate launch` on so many CPU processes; what it printed as JSON."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    several = ["--multi_gpu"] if count > 1 else []  # accelerate's name for torchrun, with GPUs or without
    command = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--num_machines",
        "1",
        "--dynamo_backend",
        "no",
    ]
    command += ["--mixed_precision", "no", "--main_process_port", str(port), *several]
    command += ["--num_processes", str(count), "-m", "emu_core", *arguments, "--json"]
    environment = os.environ | {
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]  # one process alone speaks
    result: dict[str, object] = json.loads(line)
    return result


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_file(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("method", ["emu", "contrastive"])
def test_two_processes_train_as_one_does(method: str, data: Path, tmp_path: Path) -> None:
    # 72 sentences in batches of 7: parts of unequal length, and a smaller last batch. The discriminator's own dropout
    # is drawn by each process alike.
    options = ["--method", method, "--epochs", "1", "--batch-size", "7", "--device", "cpu"]
    assert main(["train", str(data), "--out", str(tmp_path / "one"), *options]) == 0
    launch(2, "train", str(data), "--out", str(tmp_path / "two"), *options)
    one, two = runs = [Run(tmp_path / "one"), Run(tmp_path / "two")]
    assert two.status().state is RunState.FINISHED and two.config().processes == 2
    losses = [[r["loss"] for r in run.history() if r["kind"] == "step"] for run in runs]
    assert len(losses[0]) == len(losses[1]) == 11
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    assert [r["step"] for r in two.history()] == [r["step"] for r in one.history()]
    # Adam steps by a gradient's sign, so rounding moves weights whose gradient is next to nothing; vectors tell.
    texts = ["Where is the pool?", "Wo ist der Pool?", "プールはどこですか"]
    vectors = [load_encoder(f"run:{run.folder}").encode(texts) for run in runs]
    assert (vectors[0] * vectors[1]).sum(axis=1).min() > 0.9999
    assert (vectors[0] * load_encoder("use").encode(texts)).sum(axis=1).max() < 0.99
    assert two.metrics()["base"] == one.metrics()["base"]


def test_two_processes_embed_as_one_does(data: Path, tmp_path: Path) -> None:
    for count in (1, 2):
        result = launch(
            count, "embed", str(data), "--out", str(tmp_path / f"{count}.parquet"), "--device", "cpu"
        )
        assert result["sentences"] == 324
    one, two = (pq.read_table(tmp_path / f"{count}.parquet") for count in (1, 2))
    assert one.equals(two)
    assert not list(tmp_path.glob(".*"))


def test_parts_cover_a_batch_and_gather_back() -> None:
    rows = list(range(7))
    parts = [Processes(i, 3).part(rows) for i in range(3)]
    assert parts == [[0, 1, 2], [3, 4, 5], [6, 0, 0]]
    assert [row for part in parts for row in part][:7] == rows
    assert Processes(4, 5).part([8]) == [8]


def test_one_process_meets_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert join_processes() is ALONE
    vectors = torch.ones(2, 3, requires_grad=True)
    assert ALONE.gather(vectors, 2) is vectors
    assert ALONE.agree(True) and ALONE.gather_objects("x") == ["x"]
    assert np.array_equal(ALONE.part([1, 2]), [1, 2])
