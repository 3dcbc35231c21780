"""The Dockerfile, as far as it can be checked without building it; `make container-check` builds and starts it."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.support.fake_runs import until
from tests.support.paths import ROOT
from tests.support.serving import free_port, serving

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


def instructions() -> list[tuple[str, str]]:
    """Each instruction's name and what follows, comments left out and continued lines joined."""
    lines = [line for line in DOCKERFILE.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in joined.splitlines() if line.strip()]


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage, FROM first."""
    found: list[list[tuple[str, str]]] = []
    for name, rest in instructions():
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, rest))
    return found


def run_lines() -> list[str]:
    """What RUN runs, a command each."""
    runs = [rest for name, rest in instructions() if name == "RUN"]
    return [" ".join(command.split()) for run in runs for command in run.split("&&")]


def locked(name: str) -> dict[str, str]:
    """What a lock file has: the line of a package and its hashes, by name and version."""
    text = (ROOT / name).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line[:1] not in ("", "#")]
    return {line.split()[0]: line for line in lines}


def copied() -> set[str]:
    """What COPY takes from this folder."""
    lines = [rest for name, rest in instructions() if name == "COPY" and "--from" not in rest]
    return {source for line in lines for source in shlex.split(line)[:-1]}


def exec_form(name: str) -> list[str]:
    """The words of CMD, or of the HEALTHCHECK's CMD."""
    (rest,) = [rest for found, rest in instructions() if found == name]
    words: list[str] = json.loads(rest[rest.index("[") :])
    return words


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    said = subprocess.run(
        [hadolint, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stdout
    ignored = re.findall(r"hadolint ignore=(\S+)", DOCKERFILE)
    assert ignored == ["DL3013", "DL3006"]  # pip itself; the tag of a stage of our own


def test_nothing_is_installed_whose_hash_is_unknown() -> None:
    installs = [line.removeprefix("python -m pip install -q ") for line in run_lines() if " install " in line]
    assert installs[0] == "--upgrade pip"
    assert installs[1:] == [
        '--no-deps --index-url "${TORCH_INDEX}" -c requirements.txt torch',
        "--no-deps --require-hashes -r requirements-cpu.lock",
        "--no-deps --require-hashes -r requirements.lock",
        "--no-deps --no-build-isolation -e .",
    ]
    assert re.search(r"^torch==", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)


def test_the_locks_hold_what_is_asked_for() -> None:
    whole, cpu = locked("requirements.lock"), locked("requirements-cpu.lock")
    assert all("--hash=sha256:" in line for line in (*whole.values(), *cpu.values()))
    only_whole = sorted({pin.partition("==")[0] for pin in whole.keys() - cpu.keys()})
    assert "torch" in only_whole and all(
        re.match(r"torch$|triton$|cuda-|nvidia-", name) for name in only_whole
    )
    assert cpu.items() <= whole.items()
    versions = {pin.partition("==")[0]: pin.partition("==")[2] for pin in whole}
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for line in (*lines, *extras["onnx"], *extras["generate"]):  # the image's app offers what they are for
        if line[:1] not in ("", "#"):
            wanted = Requirement(line.partition(" #")[0])
            assert wanted.specifier.contains(versions[wanted.name]), f"{wanted}: make lock"


def test_one_argument_chooses_the_device() -> None:
    names = [stage[0][1].split()[-1] for stage in stages()]
    assert {"torch-cpu", "torch-cuda"} <= set(names)
    assert ("ARG", "DEVICE=cpu") in instructions()
    assert "FROM torch-${DEVICE} AS installed" in DOCKERFILE
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    for service, device in (("emu", "cpu"), ("emu-gpu", "cuda")):
        assert services[service]["build"]["args"] == {"DEVICE": device}
        assert all(port.startswith("127.0.0.1:") for port in services[service]["ports"])
        assert services[service]["volumes"] == ["runs:/runs", "data:/data"]
    devices = services["emu-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert devices == [{"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}]
    assert services["emu-gpu"]["profiles"] == ["gpu"] and "profiles" not in services["emu"]


def test_what_runs_is_no_root_and_keeps_its_data_in_volumes() -> None:
    last = stages()[-1]
    assert [rest for name, rest in last if name == "USER"] == ["1000"]
    assert [name for name, _ in last].index("USER") > max(
        i for i, (name, _) in enumerate(last) if name in ("RUN", "COPY")
    )
    volumes = json.loads(next(rest for name, rest in last if name == "VOLUME"))
    assert volumes == ["/runs", "/data"]
    kept = dict(pair.split("=", 1) for name, rest in last if name == "ENV" for pair in rest.split())
    for variable in ("EMU_RUNS", "EMU_LASER_DIR", "HF_HOME"):
        assert kept[variable].startswith(tuple(volumes))


def test_what_is_copied_is_there_and_nothing_else_is_sent() -> None:
    ignore = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert ignore[1] == "*"
    let_in = {line[1:] for line in ignore if line.startswith("!")}
    sources = copied()
    assert sources == let_in and all((ROOT / source).exists() for source in sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert {project["project"]["readme"], *project["project"]["license-files"]} <= sources
    assert project["tool"]["setuptools"]["dynamic"]["dependencies"]["file"][0] in sources
    assert {"emu_core", "app"} <= sources


@pytest.mark.slow
def test_the_server_answers_the_health_check(tmp_path: Path) -> None:
    """CMD and the HEALTHCHECK's command as they stand, but for the port and the place."""
    port = str(free_port())
    command = [word.replace("/srv/emu", str(ROOT)).replace("8501", port) for word in exec_form("CMD")]
    check = [word.replace("8501", port) for word in exec_form("HEALTHCHECK")]
    command[0] = check[0] = sys.executable
    assert subprocess.run(check, capture_output=True, check=False).returncode != 0  # nobody is there yet
    environment = os.environ | {"EMU_RUNS": str(tmp_path / "runs"), "HOME": str(tmp_path)}
    with serving(command, tmp_path, environment):
        # It imports what the first page needs before it answers, for which the health check gives it a minute.
        until(lambda: subprocess.run(check, capture_output=True, check=False).returncode == 0)
