"""A trained run and its data in the Workbench, without a browser; nobody imports this module."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from emu_app.work import cache
from emu_app.work.tasks import encode_to_file
from emu_core.evaluation.comparison import Comparison
from emu_core.runs.run import Run
from tests.support.app_pages import with_data
from tests.support.at_once import AtOnce
from tests.support.small_run import small_run
from tests.support.workbench_pages import (
    DATA,
    Trained,
    linked,
)

VECTORS: dict[tuple[str, ...], bytes] = {}  # what tasks wrote, for all tests
FIGURES: dict[tuple[bytes, ...], dict[str, Any]] = {}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A trained run, its data and their file; nobody writes there."""
    return small_run(tmp_path_factory.mktemp("app") / "runs")


def encode_once(spec: str, weights: str, texts: list[str], path: Path) -> None:
    """Do what `encode_to_file` does, but not twice for one encoder and texts, whatever the folder of runs."""
    file = Path(spec.removeprefix("run:")) / "encoder" / "model.safetensors"
    known = (hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else weights, *texts)
    if known not in VECTORS:
        encode_to_file(spec, weights, texts, path)
        VECTORS[known] = path.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(VECTORS[known])


def computed_once(compared: Comparison, computed: Callable[[Comparison], Any] = Comparison.computed) -> Any:
    """Do what `Comparison.computed` does, but not twice for the same vectors of the same sentences."""
    key = (compared.base.tobytes(), compared.other.tobytes(), compared.sentences.to_json().encode())
    if key not in FIGURES:
        FIGURES[key] = computed(compared)
    return FIGURES[key]


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AtOnce:
    monkeypatch.setattr(cache, "encode_to_file", encode_once)
    monkeypatch.setattr(Comparison, "computed", computed_once)
    worker = AtOnce()
    monkeypatch.setattr(cache, "background", lambda: worker)
    monkeypatch.setattr(cache, "mapper", lambda: worker)
    monkeypatch.setattr(cache, "upload_reader", lambda: worker)
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "none"))
    return worker


@pytest.fixture
def stored(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the trained run, with the run's own data in the library."""
    run, _, file = trained
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    if not (run.folder.parent / ".data" / DATA).exists():
        with_data(file.read_bytes())
    return run.folder.parent


@pytest.fixture
def app(stored: Path) -> AppTest:
    """The app with the trained run and its own data."""
    return linked()


@pytest.fixture
def own_run(stored: Path, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The trained run, and its data, in a folder of runs that a test may write to."""
    shutil.copytree(stored / ".data", tmp_path / "runs" / ".data")
    shutil.copytree(trained[0].folder, tmp_path / "runs" / "own")
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "runs"))
    return Run(tmp_path / "runs" / "own")
