"""A real browser on the real app."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from emu_core.cli.doctor import find_browser
from emu_core.runs.run import list_runs
from tests.support.browser import PATIENCE_MS, Small, new_window
from tests.support.paths import ROOT
from tests.support.serving import free_port, serving


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of runs of `app_url`, which is not empty: a new server places the demo run in an empty one."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / ".data").mkdir()
    return folder


@pytest.fixture(scope="session")
def app_url(runs_folder: Path) -> Iterator[str]:
    """The address of an app that is served for this session."""
    port = free_port()
    command = [sys.executable, "-P", "-m", "streamlit", "run", "app/emu_app/shell/served.py"]
    options = ["--server.port", str(port), "--server.fileWatcherType", "none"]
    with serving([*command, *options], ROOT, os.environ | {"EMU_RUNS": str(runs_folder)}):
        yield f"http://localhost:{port}"
        for run in list_runs(runs_folder):
            run.cancel()  # runs outlive the server, and a test that failed may have left one


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


@pytest.fixture(scope="session")
def small(runs_folder: Path) -> Small:
    """A finished run and its data, which tests only read."""
    # they import torch, which reads the number of threads that tests/conftest.py sets after this file is loaded
    from tests.support.small_run import small_run
    from tests.support.stored_set import stored_set

    run, labelled, file = small_run(runs_folder, "small-run")
    return Small(run.name, stored_set(runs_folder, file), labelled)
