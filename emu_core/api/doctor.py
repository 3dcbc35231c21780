"""`emu doctor`: what is installed and what this machine has. It runs where nothing but Python and emu_core is there."""

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from emu_core import __version__

DISTRIBUTION = "emu-core"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
REQUIREMENTS = (
    Path(__file__).parents[2] / "requirements.txt"
)  # of a checkout; a wheel has them in its metadata
_GB = 1e9


class State(StrEnum):
    """What came of a check."""

    READY = "ready"
    NOTE = "note"  # worth knowing, and nothing stands still for it
    MISSING = "missing"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        group: what it belongs to: packages, device, encoders, runs, tests.
        name: what was looked for.
        state: what came of it.
        found: what is there.
        mend: what to do; "" where nothing need be done.
    """

    group: str
    name: str
    state: State
    found: str
    mend: str = ""


@dataclass(frozen=True)
class Report:
    """All checks.

    Attributes:
        checks: in the order in which a person reads them.
    """

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing that is needed is missing."""
        return all(check.state is not State.MISSING for check in self.checks)

    def facts(self) -> dict[str, Any]:
        """As JSON has it."""
        checks = [asdict(check) for check in self.checks]
        return {"version": __version__, "healthy": self.healthy, "checks": checks}


def doctor(runs: str | Path | None = None) -> Report:
    """Look at the installation and the machine; nothing is changed, and nothing asked of the network.

    Args:
        runs: the folder of runs; None takes $EMU_RUNS, or else ./runs, as the app does.
    """
    folder = Path(runs or os.environ.get("EMU_RUNS") or "runs").absolute()
    found = (*_packages(), *_device(), *_encoders(), *_runs(folder), *_browser())
    return Report(found)


def _packages() -> Iterator[Check]:
    yield _python()
    for line in sorted(_requirements(), key=str.lower):
        wanted = _parsed(line)
        if wanted is None:
            continue
        name, specifier = wanted
        mend = f'pip install "{name}{specifier}"'
        try:
            found = version(name)
        except PackageNotFoundError:
            yield Check("packages", name, State.MISSING, "not installed", mend)
            continue
        if _suits(found, specifier):
            yield Check("packages", name, State.READY, found)
        else:
            yield Check("packages", name, State.NOTE, found, f"tested with {specifier}: {mend}")


def _parsed(line: str) -> tuple[str, str] | None:
    """A requirement's name and versions; None where it is not for this machine."""
    try:
        from packaging.requirements import Requirement
    except (
        ModuleNotFoundError
    ):  # then much else is missing too; what is for some machines only is passed over
        name = re.match(r"[\w.-]+", line)
        return None if name is None or ";" in line else (name[0], line[name.end() :].strip())
    wanted = Requirement(line)
    suits = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
    return (wanted.name, str(wanted.specifier)) if suits else None


def _suits(found: str, specifier: str) -> bool:
    """Whether a version is within a specifier; without one, or without packaging, every version is."""
    if not specifier:
        return True
    try:
        from packaging.specifiers import SpecifierSet
    except ModuleNotFoundError:
        return True
    return SpecifierSet(specifier).contains(found, prereleases=True)


def _python() -> Check:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    try:
        wanted = str(metadata(DISTRIBUTION).json.get("requires_python", ""))
    except PackageNotFoundError:  # a checkout that is not installed says nothing
        wanted = ""
    if _suits(platform.python_version(), wanted):
        return Check("packages", "python", State.READY, found)
    return Check(
        "packages", "python", State.MISSING, found, f"make a virtual environment with a Python {wanted}"
    )


def _requirements() -> list[str]:
    """What must be installed: what a checkout's requirements.txt says, or else the installed package's metadata."""
    if REQUIREMENTS.is_file():
        lines = [line.partition(" #")[0].strip() for line in REQUIREMENTS.read_text("utf-8").splitlines()]
        return [line for line in lines if line and not line.startswith(("#", "-"))]
    try:
        return requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []


def _device() -> Iterator[Check]:
    yield Check("device", "cores", State.READY, str(_cores()))
    try:
        import psutil

        memory = psutil.virtual_memory()
        yield Check("device", "memory", State.READY, f"{_gb(memory.available)} free of {_gb(memory.total)}")
    except ModuleNotFoundError:  # said among the packages
        pass
    try:
        import torch

        from emu_core.devices import available_devices, has_bf16
    except (ImportError, OSError) as error:
        mend = "install torch as the packages above say"
        yield Check("device", "torch", State.MISSING, f"can't be imported: {_first_line(error)}", mend)
        return
    chosen, *others = available_devices()
    more = f", {_gb(torch.cuda.mem_get_info(chosen.name)[0])} free" if chosen.name.startswith("cuda") else ""
    bf16 = "bf16 and fp32" if has_bf16(chosen.name) else "fp32"
    yield Check("device", f"{chosen.name} (auto)", State.READY, f"{chosen.label}{more}, {bf16}")
    for device in others:
        yield Check("device", device.name, State.READY, device.label)
    if chosen.name == "cpu" and shutil.which("nvidia-smi"):
        mend = (
            f"pip install torch=={torch.__version__.partition('+')[0]} --index-url ADDRESS, with the address "
        )
        mend += "that pytorch.org gives for your driver"
        built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
        yield Check(
            "device", "NVIDIA", State.NOTE, f"there is a driver, and torch, {built}, sees no GPU", mend
        )


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _encoders() -> Iterator[Check]:
    try:
        from emu_core.encoders.registry import available_encoders
    except (ImportError, OSError):  # torch or numpy, which is said above
        yield Check(
            "encoders", "encoders", State.MISSING, "can't be looked at", "mend what is missing above first"
        )
        return
    for position, info in enumerate(available_encoders()):
        if info.available:
            yield Check("encoders", info.spec, State.READY, info.name)
        else:  # the default, which is the first, is needed
            yield Check(
                "encoders", info.spec, State.NOTE if position else State.MISSING, info.name, info.reason
            )


def _runs(folder: Path) -> Iterator[Check]:
    yield _app()
    place = folder
    while not place.exists():
        place = place.parent
    name = str(folder) if place == folder else f"{folder}, made when it is needed"
    mend = "name a folder of yours: EMU_RUNS=DIR, --runs of emu app, --out of emu train"
    if not place.is_dir():
        yield Check("runs", "folder", State.MISSING, f"{place} is not a folder", mend)
        return
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        yield Check("runs", "folder", State.MISSING, f"{name}: {error.strerror}", mend)
        return
    free = shutil.disk_usage(place).free
    yield Check("runs", "folder", State.READY, f"{name}, {_gb(free)} free")


def _app() -> Check:
    package = find_spec("app")
    whole = package is not None and package.origin is not None
    if whole and (Path(package.origin).parent / "main.py").is_file():  # type: ignore[union-attr, arg-type]
        return Check("runs", "app", State.READY, "emu app serves it")
    return Check(
        "runs", "app", State.NOTE, "not installed beside emu_core", "install the whole project: make setup"
    )


def _browser() -> Iterator[Check]:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is not None:
        yield Check("tests", "chromium", State.READY, found)
    else:
        mend = "only make test needs it: sudo apt-get install chromium fonts-noto-cjk"
        yield Check("tests", "chromium", State.NOTE, "not on the PATH", mend)


def _gb(count: float) -> str:
    return f"{count / _GB:.1f} GB"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]
