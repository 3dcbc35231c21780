"""`emu embed` and `emu predict` on real nodes of Ray: the rows of a single process, also after a node is killed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emu_core import load_demo
from emu_core.cli import main
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="only make cluster installs Ray")

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
COPIES = 6  # of the demo set: more than two parts of `emu_core.api.embed.PART`


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of four files with 18,144 sentences, some of them empty."""
    folder = tmp_path_factory.mktemp("mails")
    frame = pd.concat([load_demo().frame] * COPIES, ignore_index=True)
    frame = frame.assign(id=frame.index.astype(str))[["id", "text", "language"]]
    frame.loc[::1000, "text"] = " "
    for number, rows in enumerate(np.array_split(frame.index.to_numpy(), 4)):
        frame.loc[rows].to_parquet(folder / f"part-{number}.parquet")
    return folder


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A cluster whose head computes nothing, so that all of it is done by the nodes that are added."""
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    yield started
    started.shutdown()


def emu(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "emu_core", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def compare(folder: Path, file: Path) -> None:
    """Assert that two tables have the same columns and rows in the same order, their numbers but for 1e-6."""
    parts, whole = pq.read_table(folder), pq.read_table(file)
    assert parts.schema.equals(whole.schema) and len(parts) == len(whole)
    for name in whole.schema.names:
        left, right = (table[name].combine_chunks() for table in (parts, whole))
        if pa.types.is_fixed_size_list(left.type):
            left, right = left.flatten(), right.flatten()
        if pa.types.is_string(left.type):
            assert left.equals(right), name
        else:
            np.testing.assert_allclose(left.to_numpy(False), right.to_numpy(False), atol=1e-6, err_msg=name)


def test_a_node_is_killed_in_the_middle(cluster: Any, mails: Path, tmp_path: Path) -> None:
    first = cluster.add_node(num_cpus=2)
    embedding = emu("embed", mails, "--out", tmp_path / "v", "--engine", "ray", "--address", cluster.address)
    lines = []
    assert embedding.stderr is not None
    for line in embedding.stderr:
        lines.append(line)
        if first is not None and line.startswith("8,192 of 18,144"):
            cluster.add_node(num_cpus=2)
            cluster.remove_node(first, allow_graceful=False)
            first = None
    assert embedding.wait() == 0, lines
    assert first is None and lines[-1].startswith("18,144 of 18,144"), lines
    assert main(["embed", str(mails), "--out", str(tmp_path / "v.parquet")]) == 0
    compare(tmp_path / "v", tmp_path / "v.parquet")


def test_two_nodes_predict_as_one_process(cluster: Any, mails: Path, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=2)
    cluster.add_node(num_cpus=2)
    options = [str(mails), "--pool", "demo", "-k", "2"]
    address = ["--engine", "ray", "--address", cluster.address]
    assert main(["predict", *options, *address, "--out", str(tmp_path / "intents")]) == 0
    assert main(["predict", *options, "--out", str(tmp_path / "intents.parquet")]) == 0
    compare(tmp_path / "intents", tmp_path / "intents.parquet")


def test_languages_and_splits_are_those_that_files_state(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=2)
    for name in ("train/de", "test/fr"):
        file = tmp_path / "hotel" / f"{name}.parquet"
        file.parent.mkdir(parents=True)
        pd.DataFrame({"Ticket text": ["Wo ist der Pool?", "Where is it?"], "number": [1, 2]}).to_parquet(file)
    address = ["--engine", "ray", "--address", cluster.address]
    assert main(["embed", str(tmp_path / "hotel"), *address, "--out", str(tmp_path / "v")]) == 0
    assert main(["embed", str(tmp_path / "hotel"), "--out", str(tmp_path / "v.parquet")]) == 0
    compare(tmp_path / "v", tmp_path / "v.parquet")
    assert pq.read_table(tmp_path / "v")["split"].to_pylist() == ["test", "test", "train", "train"]


def test_a_worker_s_error_is_a_sentence(
    cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.add_node(num_cpus=2)
    texts = ["Where is the pool?"] * 2000 + ["a" * 200_000]
    pd.DataFrame({"text": texts}).to_parquet(tmp_path / "mails.parquet")
    address = ["--engine", "ray", "--address", cluster.address]
    assert main(["embed", str(tmp_path / "mails.parquet"), *address, "--out", str(tmp_path / "v")]) == 2
    assert (
        "a part of the data: row 2001 has 200,000 characters in column 'text'"
        in capsys.readouterr().err.splitlines()[-1]
    )
    assert not (tmp_path / "v").exists() and [file.name for file in tmp_path.iterdir()] == ["mails.parquet"]
