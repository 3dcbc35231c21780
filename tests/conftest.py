"""The order and the threads of all tests, and a real browser on the real app for those that are marked `browser`."""

import gc
import multiprocessing
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from emu_core.cli.doctor import find_browser
from emu_core.runs.run import list_runs
from tests.support.paths import ROOT
from tests.support.serving import free_port, serving

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager
    from streamlit.runtime.scriptrunner.script_cache import ScriptCache

    from emu_core.data.labelled import LabelledSet

LAB = ("Pretrain", "Translations", "Split", "Evidence", "Encoders")  # pages behind one button
PATIENCE_MS = 180_000  # how long a condition may take to come true on a busy machine
FIRST = (
    "test_notebooks.py",  # the longest tests, so that no worker is left with one of them at the end
    "test_notebook_builder.py",  # these run in the kernel of the first, on the same worker
    "test_notebook_training.py",
)


def pytest_configure() -> None:
    """Compute on one thread, here and in processes that tests start; two cost a third more on small products."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before any test imports torch


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
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of runs of `app_url`."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def app_url(runs_folder: Path) -> Iterator[str]:
    """The address of an app that is served for this session."""
    port = free_port()
    command = [sys.executable, "-P", "-m", "streamlit", "run", "app/shell/served.py"]
    options = ["--server.port", str(port), "--server.fileWatcherType", "none"]
    with serving([*command, *options], ROOT, os.environ | {"EMU_RUNS": str(runs_folder)}):
        yield f"http://localhost:{port}"
        for run in list_runs(runs_folder):
            run.cancel()  # runs outlive the server, and a test that failed may have left one


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

        monkeypatch.setattr(manifest_scanner, "scan_component_manifests", list)
        monkeypatch.setattr(app_test, "ScriptCache", compiled_pages)
        monkeypatch.setattr("emu_app.work.cache.MOMENT_S", PATIENCE_MS / 1000)
        monkeypatch.setattr("emu_app.work.cache.LEAST_READ_S", PATIENCE_MS / 1000)
        monkeypatch.setattr("emu_app.work.cache.warm_up", None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without the parts that draw its own windows, or what else of its kind is on the PATH."""
    executable = find_browser()
    if executable is None:
        pytest.skip("no Chromium on the PATH: apt-get install chromium-headless-shell")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def new_window(browser: Browser, color_scheme: Literal["light", "dark"] = "light") -> BrowserContext:
    """Open a window of somebody who wants no animations, whose every frame is drawn by the CPU.

    It is closed with the browser: to close a window whose page is still loading, as after signing out, never ended
    in some runs of Chromium 156.
    """
    context = browser.new_context(
        viewport={"width": 1400, "height": 1000},
        color_scheme=color_scheme,
        reduced_motion="reduce",
        accept_downloads=True,
    )
    context.set_default_timeout(PATIENCE_MS)
    return context


@pytest.fixture(scope="session")
def window(browser: Browser) -> BrowserContext:
    """One window for the tabs of all tests, in which the app's scripts are compiled once."""
    return new_window(browser)


@pytest.fixture
def page(window: BrowserContext, app_url: str) -> Iterator[Page]:
    """A fresh tab; an error in the page's own scripts fails the test, and so does a request to any other address."""
    page = window.new_page()
    errors: list[str] = []
    own = (app_url, app_url.replace("http", "ws", 1), "data:", "blob:", "about:")
    strangers: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(own) else strangers.append(request.url))
    yield page
    if page.url.startswith(app_url):
        page.evaluate("localStorage.clear()")
    window.clear_cookies()
    for tab in window.pages:
        tab.close()
    assert errors == []
    assert strangers == []


class Small(NamedTuple):
    """A finished run among the app's runs."""

    run: str
    data: str  # the name of its data among the app's
    labelled: "LabelledSet"


@pytest.fixture(scope="session")
def small(runs_folder: Path) -> Small:
    """A finished run and its data, which tests only read."""
    from tests.support.small_run import small_run
    from tests.support.stored_set import stored_set

    run, labelled, file = small_run(runs_folder, "small-run")
    return Small(run.name, stored_set(runs_folder, file), labelled)


def visit(page: Page, app_url: str, name: str = "", **choices: str) -> None:
    """Open a page of the app by its address with these choices, and wait until it is drawn."""
    page.goto(f"{app_url}/{name}?{urlencode(choices)}")
    settle(page)


def settle(page: Page) -> None:
    """Wait until the app has drawn the page and runs no script."""
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.locator('[data-testid="stMain"] h1').first.wait_for()


def see(place: Page | Locator, text: str | re.Pattern[str], **options: Any) -> None:
    """Wait until a text is seen; the options are those of `get_by_text`.

    It may be there twice for a moment: what a run of the page replaces stays until the run ends.
    """
    expect(place.get_by_text(text, **options).first).to_be_visible()


def see_address(page: Page, **choices: str) -> None:
    """Wait until the page's address has all these choices, whatever else it has."""
    each = (f"(?=.*[?&]{re.escape(urlencode({name: value}))}(&|$))" for name, value in choices.items())
    expect(page).to_have_url(re.compile("".join(each)))


def go_to(page: Page, name: str) -> None:
    """Press the link to another page of the app and wait until it is drawn."""
    link = page.get_by_role("link", name=name, exact=True)
    if name in LAB:
        page.get_by_role("button", name=re.compile("^Lab")).click()
    link.click()
    page.get_by_role("heading", name=name, level=1, exact=True).wait_for()
    settle(page)


@pytest.fixture(scope="session")
def laser_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files of a tiny LASER; nobody writes there."""
    from tests.support.laser_tiny import write_published

    folder = tmp_path_factory.mktemp("laser")
    write_published(folder)
    return folder
