"""Commands and the app work in a folder whose files have the names of modules that are needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emu_core.cli import main, serve
from tests.support.serving import drawn_elements, free_port, serving
from tests.support.shadowing import shadowing_folder

pytestmark = pytest.mark.slow

EMU = Path(sys.executable).with_name("emu")
# In place of a script that is somewhere else, whose own folder is the first of sys.path.
SPAWN = """
import multiprocessing
from emu_core.spawning import isolated
process = multiprocessing.get_context("spawn").Process(target=print, args=["spawned"])
with isolated():
    process.start()
process.join()
raise SystemExit(process.exitcode)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shadowing_folder(tmp_path_factory.mktemp("person") / "project")


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_files_would_be_imported(folder: Path) -> None:
    assert run(folder, sys.executable, "-c", "import streamlit").returncode == 9
    assert run(folder, sys.executable, "-c", "import app").returncode == 9


@pytest.mark.parametrize("command", [[EMU], [sys.executable, "-m", "emu_core"]])
def test_the_command_works_and_finds_the_app(command: list[str | Path], folder: Path) -> None:
    told = run(folder, *command, "doctor", "--json")
    assert told.returncode == 0, told.stdout + told.stderr
    states = {check["name"]: check["state"] for check in json.loads(told.stdout)["checks"]}
    assert states["app"] == states["use"] == "ready"


def test_a_folder_that_is_asked_for_is_imported_from(folder: Path, tmp_path: Path) -> None:
    """The path in PYTHONPATH stays, even if it is the current folder."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\natexit.register(lambda: print(sys.path))\n"
    )
    command = [sys.executable, "-m", "emu_core", "--version"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[-1].count(repr(str(tmp_path))) == 1


def test_a_spawned_process_imports_nothing_from_it(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SPAWN)
    told = run(folder, sys.executable, script)
    assert (told.returncode, told.stdout) == (0, "spawned\n"), told.stderr


def test_the_app_is_served(folder: Path, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "emu_core", "app", "--port", str(port), "--runs", tmp_path / "runs"]
    with serving(command, folder, os.environ):
        assert drawn_elements(port) > 10


def test_an_app_that_is_not_installed_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    assert main(["app"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("emu: ") and "make setup" in line
