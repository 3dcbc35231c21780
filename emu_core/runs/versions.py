"""The versions that a run was made with."""

import platform
from importlib.metadata import version

from emu_core import __version__


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of this library, Python, torch, numpy and other packages by name."""
    return {
        "emu_core": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "numpy", *packages)},
    }
