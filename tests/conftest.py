"""The order and the threads of all tests, and the fixtures that several rooms use; nobody imports this module."""

import gc
import multiprocessing
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.paths import ROOT

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager
    from streamlit.runtime.scriptrunner.script_cache import ScriptCache

FIRST = (
    "test_notebooks.py",  # the longest tests, so that no worker is left with one of them at the end
    "test_notebook_builder.py",  # these run in the kernel of the first, on the same worker
    "test_notebook_training.py",
)


def pytest_configure() -> None:
    """Compute on one thread, here and in processes that tests start; two cost a third more on small products.

    Vectors are computed in float32 on every processor, unless a test says otherwise.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before any test imports torch
    os.environ["EMU_PRECISION"] = "fp32"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while the modules of all tests are imported."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def spared() -> None:
    """Have the garbage collector pass over all that is imported by now: looking through it took a tenth of the time."""
    gc.collect(1)
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that are to come first."""
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.name, len(FIRST)))


@pytest.fixture(scope="session")
def kernel() -> Iterator["AsyncKernelManager"]:
    """A kernel that runs notebooks one after another, so that it imports torch and the rest once."""
    from jupyter_client.manager import AsyncKernelManager
    from nbclient.util import run_sync

    from tools.run_notebooks import INLINE

    manager = AsyncKernelManager(kernel_name="python3")
    changes = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "PYTHONPATH": str(ROOT)}  # of opening tiny transformers
    run_sync(manager.start_kernel)(extra_arguments=["--log-level=ERROR"], env=os.environ | INLINE | changes)
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


@pytest.fixture
def quick_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the processes that are spawned otherwise, with all that they import."""
    from tests.support.processes import forked

    context = forked()
    monkeypatch.setattr(multiprocessing, "get_context", lambda method: context)


@cache
def compiled_pages() -> "ScriptCache":
    """The pages that an AppTest of this process has compiled."""
    from streamlit.runtime.scriptrunner.script_cache import ScriptCache

    return ScriptCache()


@pytest.fixture(autouse=True)
def patient_pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a page of an AppTest, which nothing runs again by itself, wait until an uploaded file is read.

    The process that lays out maps is not warmed up: UMAP would be compiled, ten seconds of CPU time, and hardly used.
    Every AppTest would look through all installed packages for components, which takes a third of a second, and
    every run of one would compile the page anew.
    """
    if request.path.name.startswith(("test_app_", "test_damaged_runs", "test_outside_method")):
        from streamlit.components.v2 import manifest_scanner
        from streamlit.testing.v1 import app_test

        from tests.support.app_pages import PATIENCE_S

        monkeypatch.setattr(manifest_scanner, "scan_component_manifests", list)
        monkeypatch.setattr(app_test, "ScriptCache", compiled_pages)
        monkeypatch.setattr("emu_app.work.cache.MOMENT_S", PATIENCE_S)
        monkeypatch.setattr("emu_app.work.cache.LEAST_READ_S", PATIENCE_S)
        monkeypatch.setattr("emu_app.work.cache.warm_up", None)


@pytest.fixture(scope="session")
def laser_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files of a tiny LASER; nobody writes there."""
    from tests.support.laser_tiny import write_published

    folder = tmp_path_factory.mktemp("laser")
    write_published(folder)
    return folder
