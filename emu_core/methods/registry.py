"""The registry of methods: the entry points of the group `emu.methods`, ours and those of other packages.

An entry point is the `METHODS` of a folder's method.py, or a single `Method`, such as

    [project.entry-points."emu.methods"]
    linear-map = "emu_linear.method:LINEAR_MAP"
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from emu_core.encoders.specs import JOIN, RUN_SPEC, joined_spec
from emu_core.errors import Fix, TrainingError
from emu_core.runs.config import Plan
from emu_core.settings import Settings, settings_by_part
from emu_core.training.method import Method, Needs, Part

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


def default_encoder(method: str) -> str:
    """Return a method's default encoder. Raises TrainingError for several, each of which needs one of its own."""
    if JOIN in method:
        raise TrainingError(
            f"the methods {method} train an encoder each; name these, such as use{JOIN}e5-small: ",
            Fix("encoder"),
        )
    return method_named(method).encoder


def planned(
    method: str, encoder: str | None = None, settings: Settings | None = None, **changes: Any
) -> Plan:
    """Return the plan of a training before its data are chosen: a run for each encoder that it joins, or just one.

    Args:
        method: its name, or the names of several joined by "+", one for each encoder.
        encoder: what `load_encoder` takes; None takes the method's default.
        settings: None takes the defaults; those of one encoder are taken for every part of a joined one.
        changes: settings that differ from the defaults.

    Raises:
        TrainingError: a name is unknown, the methods can't be joined, or the settings are another method's or those of
            other encoders.
    """
    from emu_core.encoders.registry import kinds_of  # imports torch

    trained_by = [method_named(name) for name in method.split(JOIN)]
    others = [each.name for each in trained_by if each.needs is not Needs.INTENTS]
    if len(trained_by) > 1 and others:
        raise TrainingError(
            f"the method {others[0]} can't be joined with others, which learn from {Needs.INTENTS}; train two runs "
            "and join those as run:A+run:B"
        )
    encoder = encoder or default_encoder(method)
    kinds = kinds_of(encoder)
    if len(trained_by) not in (1, len(kinds)):
        raise TrainingError(
            f"{method} are {len(trained_by)} methods, and the encoder {joined_spec(kinds)} has {len(kinds)}; name one "
            "for each of its parts, or one for all"
        )
    trained_by *= len(kinds) // len(trained_by)
    if settings is None:
        each = tuple(of.configure(kind, **changes) for of, kind in zip(trained_by, kinds, strict=True))
    else:
        each = settings_by_part(settings)
    if len(each) not in (1, len(kinds)):
        raise TrainingError(
            f"the settings are those of {len(each)} encoders, and the encoder joins {len(kinds)}; make them for it"
        )
    each *= len(kinds) // len(each)
    parts = tuple(
        Plan(of.name, "", of.check_settings(values), encoder=kind)
        for of, kind, values in zip(trained_by, kinds, each, strict=True)
    )
    if len(parts) == 1:
        return replace(parts[0], encoder=encoder)
    return Plan(method, "", {}, encoder=encoder, parts=parts)


def needs_of(plan: Plan) -> Needs:
    """Return the data that a plan's methods learn from, which are the same for all parts."""
    return method_named(plan.by_part()[0].method).needs


def reads_unlabelled(plan: Plan) -> bool:
    """Return whether sentences without labels are read, by the method of a part or by the student of a teacher."""
    return needs_of(plan) is Needs.SENTENCES or any(
        part.method.reads_unlabelled(part.settings) for part in parts_of_run(plan)
    )


def method_title(name: str) -> str:
    """Return the title of a method, or those of joined ones; of one that is not installed, its name."""
    known = methods()
    return f" {JOIN} ".join(known[part].title if part in known else part for part in name.split(JOIN))


def parts_of_run(plan: Plan) -> tuple[Part, ...]:
    """Return the training of each part of a run's encoder.

    Raises:
        TrainingError: a method is unknown, or the settings are those of another version.
    """
    return tuple(
        Part(method := method_named(part.method), method.settings_from(part.hyperparameters), part)
        for part in plan.by_part()
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
