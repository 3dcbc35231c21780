"""The registry of methods. Other packages add theirs through the entry point group `emu.methods`."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from emu_core.config.settings import Settings
from emu_core.errors import TrainingError
from emu_core.methods import bicvm, dual_encoder, emu, fmda, posterior
from emu_core.methods.method import Method, Needs

ENTRY_POINTS = "emu.methods"
DEFAULT = posterior.POSTERIOR.name
_OURS = (
    posterior.POSTERIOR,
    *emu.METHODS,
    fmda.FMDA,
    fmda.MEANING_LANGUAGE,
    bicvm.BICVM,
    dual_encoder.DUAL_ENCODER,
)


@cache
def methods() -> Mapping[str, Method]:
    """Return all methods by name: ours, then those of installed packages.

    Raises:
        TrainingError: an entry point is not a `Method`, or its name is taken.
    """
    found = {method.name: method for method in _OURS}
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda one: one.name):
        method = entry.load()
        if not isinstance(method, Method):
            raise TrainingError(f"the entry point {entry.value} of the group {ENTRY_POINTS} is no Method")
        if method.name in found:
            raise TrainingError(f"{entry.value} adds a method '{method.name}', and there is one already")
        found[method.name] = method
    return found


def methods_that_need(*needs: Needs) -> Mapping[str, Method]:
    """Return the methods that learn from one of the given kinds of data, by name."""
    return {name: method for name, method in methods().items() if method.needs in needs}


def method_named(name: str) -> Method:
    """Return a method. Raises TrainingError for an unknown name."""
    try:
        return methods()[name]
    except KeyError:
        raise TrainingError(f"no method '{name}'; there are: {', '.join(methods())}") from None


def configure(method: str, encoder: str | None = None, **changes: Any) -> Settings:
    """Return a method's settings; see `Method.configure`."""
    return method_named(method).configure(encoder, **changes)
