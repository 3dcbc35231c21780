"""`emu doctor`. It imports only the standard library at first, so that it can report missing packages."""

import argparse
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Any

from emu_core.cli.serve import app_folder
from emu_core.cli.verb import Output, add_verb, option
from emu_core.version import __version__

DISTRIBUTION = "emu-core"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
REQUIREMENTS = Path(__file__).parents[2] / "requirements.txt"  # in a checkout; a wheel has metadata


class CheckState(StrEnum):
    """The outcome of a check."""

    READY = "ready"
    NOTE = "note"  # worth knowing, but not needed
    MISSING = "missing"


@dataclass(frozen=True)
class Check:
    """The result of a check.

    Attributes:
        group: packages, extras, device, encoders, runs or tests.
        name: of the package, device, encoder or file.
        state: the outcome.
        detail: version, size or place, or the reason why it is missing.
        fix: how to fix it; "" if there is nothing to do.
    """

    group: str
    name: str
    state: CheckState
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class DoctorReport:
    """The results of all checks, in reading order."""

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing that is needed is missing."""
        return all(check.state is not CheckState.MISSING for check in self.checks)

    def facts(self) -> dict[str, object]:
        """Return the report as values for JSON."""
        return {"version": __version__, "healthy": self.healthy, **asdict(self)}


def doctor(runs: str | Path | None = None) -> DoctorReport:
    """Check the installation and the machine, without changing anything or using the network.

    Args:
        runs: the folder of runs; None takes $EMU_RUNS, or else ./runs, as the app does.
    """
    folder = Path(runs or os.environ.get("EMU_RUNS") or "runs").absolute()
    return DoctorReport((*_packages(), *_extras(), *_device(), *_encoders(), *_runs(folder), _browser()))


def _packages() -> Iterator[Check]:
    installed = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    try:
        wanted = str(metadata(DISTRIBUTION).json.get("requires_python", ""))
    except PackageNotFoundError:  # a checkout that is not installed has none
        wanted = ""
    if _suits(platform.python_version(), wanted):
        yield Check("packages", "python", CheckState.READY, installed)
    else:
        fix = f"make a virtual environment with a Python {wanted}"
        yield Check("packages", "python", CheckState.MISSING, installed, fix)
    for name, specifier in _requirements():
        fix = f'pip install "{name}{specifier}"'
        try:
            installed = version(name)
        except PackageNotFoundError:
            yield Check("packages", name, CheckState.MISSING, "not installed", fix)
            continue
        if _suits(installed, specifier):
            yield Check("packages", name, CheckState.READY, installed)
        else:
            yield Check("packages", name, CheckState.NOTE, installed, f"tested with {specifier}: {fix}")


def _requirements() -> Iterator[tuple[str, str]]:
    """Yield names and versions of the packages that the checkout, or else the installed package, needs here."""
    try:
        of_checkout = REQUIREMENTS.is_file()
        lines = REQUIREMENTS.read_text("utf-8").splitlines() if of_checkout else requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return
    for line in sorted((line.partition(" #")[0].strip() for line in lines), key=str.lower):
        if not line or line.startswith(("#", "-")):
            continue
        try:
            from packaging.requirements import Requirement
        except ModuleNotFoundError:  # skip conditional requirements: much else is missing, too
            if (name := re.match(r"[\w.-]+", line)) and ";" not in line:
                yield name[0], line[name.end() :].strip()
            continue
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            yield wanted.name, str(wanted.specifier)


def _extras() -> Iterator[Check]:
    """Yield a note for each extra of the installed package that lacks one of its packages."""
    try:
        from packaging.requirements import Requirement

        facts = metadata(DISTRIBUTION)
    except (ModuleNotFoundError, PackageNotFoundError):
        return
    wanted = [Requirement(line) for line in requires(DISTRIBUTION) or []]
    for extra in facts.get_all("Provides-Extra") or []:
        own = [one.name for one in wanted if one.marker and one.marker.evaluate({"extra": extra})]
        missing = [name for name in own if not _is_installed(name)]
        if missing:
            fix = f'pip install "{DISTRIBUTION}[{extra}]"'
            yield Check("extras", f"[{extra}]", CheckState.NOTE, f"without {', '.join(missing)}", fix)
        else:
            yield Check("extras", f"[{extra}]", CheckState.READY, ", ".join(own))


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _suits(installed: str, specifier: str) -> bool:
    """Return whether a version matches a specifier; without one, or without packaging, every version does."""
    try:
        from packaging.specifiers import SpecifierSet
    except ModuleNotFoundError:
        return True
    return not specifier or SpecifierSet(specifier).contains(installed, prereleases=True)


def _device() -> Iterator[Check]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Check("device", "cores", CheckState.READY, str(cores))
    with suppress(ModuleNotFoundError):  # listed among the packages
        import psutil

        memory = psutil.virtual_memory()
        yield Check(
            "device", "memory", CheckState.READY, f"{_gb(memory.available)} free of {_gb(memory.total)}"
        )
    try:
        import torch

        from emu_core.devices import available_devices
    except (ImportError, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        fix = "install torch as the packages above say"
        yield Check("device", "torch", CheckState.MISSING, f"can't be imported: {reason}", fix)
        return
    chosen, *others = available_devices()
    more = f", {_gb(torch.cuda.mem_get_info(chosen.name)[0])} free" if chosen.name.startswith("cuda") else ""
    yield Check(
        "device", f"{chosen.name} (auto)", CheckState.READY, f"{chosen.label}{more}, {chosen.precisions}"
    )
    for device in others:
        yield Check("device", device.name, CheckState.READY, device.label)
    if chosen.name == "cpu" and shutil.which("nvidia-smi"):
        built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
        fix = (
            f"pip install torch=={torch.__version__.partition('+')[0]} --index-url ADDRESS, with the address that "
            "pytorch.org gives for your driver"
        )
        remark = f"there is a driver, and torch, {built}, sees no GPU"
        yield Check("device", "NVIDIA", CheckState.NOTE, remark, fix)


def _encoders() -> Iterator[Check]:
    try:
        from emu_core.encoders.registry import available_encoders
    except (ImportError, OSError):  # torch or numpy, which are listed above
        fix = "install the missing packages above first"
        yield Check("encoders", "encoders", CheckState.MISSING, "can't be checked", fix)
        return
    for position, info in enumerate(available_encoders()):
        absent = (
            CheckState.NOTE if position else CheckState.MISSING
        )  # only the default, which is the first, is needed
        yield Check(
            "encoders", info.spec, CheckState.READY if info.available else absent, info.name, info.reason
        )


def _runs(folder: Path) -> Iterator[Check]:
    app = app_folder()
    if app is not None and (app / "main.py").is_file():
        yield Check("runs", "app", CheckState.READY, "emu app serves it")
    else:
        fix = "install the whole project: make setup"
        yield Check("runs", "app", CheckState.NOTE, "not installed beside emu_core", fix)
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    name = str(folder) if existing == folder else f"{folder}, created when needed"
    fix = "choose another folder: EMU_RUNS=DIR, --runs of emu app, --out of emu train"
    if not existing.is_dir():
        yield Check("runs", "folder", CheckState.MISSING, f"{existing} is not a folder", fix)
        return
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        yield Check("runs", "folder", CheckState.MISSING, f"{name}: {error.strerror}", fix)
        return
    yield Check("runs", "folder", CheckState.READY, f"{name}, {_gb(shutil.disk_usage(existing).free)} free")


def find_browser() -> str | None:
    """Return the path of the first installed browser of `BROWSERS`."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def _browser() -> Check:
    browser = find_browser()
    if browser is not None:
        return Check("tests", "chromium", CheckState.READY, browser)
    fix = "only make test needs it: sudo apt-get install chromium-headless-shell fonts-noto-cjk"
    return Check("tests", "chromium", CheckState.NOTE, "not on the PATH", fix)


def _gb(count: float) -> str:
    return f"{count / 1e9:.1f} GB"


def add_doctor(verbs: Any) -> None:
    """Add `emu doctor`."""
    parser = add_verb(verbs, "doctor", _doctor)
    parser.description = f"{parser.description} The exit code is 1 if something needed is missing."
    option(parser, "--runs DIR", "the folder of runs (default: $EMU_RUNS, or runs)")


def _doctor(options: argparse.Namespace) -> Output:
    report = doctor(options.runs)
    if not options.json:
        for group in dict.fromkeys(check.group for check in report.checks):
            checks = [check for check in report.checks if check.group == group]
            width = max(len(check.name) for check in checks)
            print(group)
            for check in checks:
                print(f"  {check.name:{width}}  {check.state:7}  {check.detail}")
            print()
        for check in report.checks:
            if check.fix:
                print(f"{check.state}: {check.name}: {check.fix}")
        missing = [check.name for check in report.checks if check.state is CheckState.MISSING]
        print(f"Missing: {', '.join(missing)}." if missing else "Nothing that is needed is missing.")
    return {**report.facts(), "exit": 0 if report.healthy else 1}
