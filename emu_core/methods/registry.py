"""The registry of methods: the entry points of the group `emu.methods`, ours and those of other packages.

An entry point is the `METHODS` of a folder's method.py, or a single `Method`, such as

    [project.entry-points."emu.methods"]
    linear-map = "emu_linear.method:LINEAR_MAP"
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from emu_core.encoders.specs import JOIN, RUN_SPEC
from emu_core.errors import TrainingError
from emu_core.settings import Settings
from emu_core.training.method import Method, MethodByPart, Needs, Part

if TYPE_CHECKING:
    from emu_core.runs.config import RunConfig

ENTRY_POINTS = "emu.methods"


@cache
def methods() -> Mapping[str, Method]:
    """Return all methods by name, in the order of their `list_order`.

    Raises:
        TrainingError: an entry point is not a `Method`, or its name is taken.
    """
    by_name: dict[str, Method] = {}
    # Ours first, so that a package which takes one of our names is the one that is refused.
    for entry in sorted(
        entry_points(group=ENTRY_POINTS), key=lambda entry: (not _is_ours(entry), entry.name)
    ):
        entry_methods = entry.load()
        for method in entry_methods if isinstance(entry_methods, tuple) else (entry_methods,):
            if not isinstance(method, Method):
                raise TrainingError(f"the entry point {entry.value} of the group {ENTRY_POINTS} is no Method")
            if method.name in by_name:
                raise TrainingError(f"{entry.value} adds a method '{method.name}', and there is one already")
            by_name[method.name] = method
    return dict(sorted(by_name.items(), key=lambda item: item[1].list_order))


def methods_that_need(*needs: Needs) -> Mapping[str, Method]:
    """Return the methods that learn from one of the given kinds of data, by name."""
    return {name: method for name, method in methods().items() if method.needs in needs}


def default_method(needs: Needs = Needs.INTENTS) -> str:
    """Return the name of the default among the methods that learn from the given kind of data.

    Raises:
        TrainingError: emu_core lies here without being installed, so it has no entry points.
    """
    defaults = (name for name, method in methods_that_need(needs).items() if method.is_default)
    name = next(defaults, None)
    if name is None:
        raise TrainingError("no methods are installed; install emu_core, for example with: pip install -e .")
    return name


def method_named(name: str) -> Method:
    """Return a method. Raises TrainingError for an unknown name."""
    try:
        return methods()[name]
    except KeyError:
        raise TrainingError(f"no method '{name}'; there are: {', '.join(methods())}") from None


def methods_by_part(name: str) -> MethodByPart:
    """Return a method, or several that are joined by "+", such as `A+B`, one for each part of a joined encoder.

    Raises:
        TrainingError: a name is unknown, or the methods can't be joined.
    """
    return MethodByPart(tuple(map(method_named, name.split(JOIN))))


def method_title(name: str) -> str:
    """Return the title of a method, or those of joined ones; of one that is not installed, its name."""
    known = methods()
    return f" {JOIN} ".join(known[part].title if part in known else part for part in name.split(JOIN))


def parts_of_run(config: "RunConfig") -> tuple[Part, ...]:
    """Return the training of each part of a run's encoder.

    Raises:
        TrainingError: a method is unknown, or the settings are those of another version.
    """
    return tuple(
        Part(method := method_named(part.method), method.settings_from(part.hyperparameters), part)
        for part in config.by_part()
    )


def configure(method: str, encoder: str | Sequence[str] | None = None, **changes: Any) -> Settings:
    """Return a method's settings; see `Method.configure`.

    `encoder` may also be the spec of a run, or of encoders that are joined.

    Examples:
        >>> import emu_core
        >>> emu_core.configure("emu", "use", epochs=2).epochs
        2
    """
    if isinstance(encoder, str) and RUN_SPEC in encoder:
        from emu_core.encoders.registry import kinds_of  # imports torch

        encoder = kinds_of(encoder)
    return method_named(method).configure(encoder, **changes)


def _is_ours(entry: EntryPoint) -> bool:
    return entry.module.startswith("emu_core.")
