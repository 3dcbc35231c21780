"""Command-line options for hyper-parameters, made from the fields of a method's settings."""

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Any

from emu_core.cli import options as shared
from emu_core.cli.verb import VerbParser, option
from emu_core.encoders.specs import JOIN, RUN_SPEC, parts_of
from emu_core.errors import TrainingError
from emu_core.methods.presets import Preset
from emu_core.methods.registry import method_named
from emu_core.settings import SettingInfo, Settings, infos
from emu_core.training.method import Method


def add_method(
    parser: VerbParser,
    methods: Mapping[str, Method],
    default: str,
    presets: Mapping[str, Preset] | None = None,
) -> None:
    """Add --method, and the hyper-parameters of the chosen method once the arguments are known.

    The parser also has --preset, which may name one of `presets`, too, and, if needed, --encoder. Where there are
    presets, methods may be joined, too.
    """
    about = f"see below (default: {default}); with --help: its settings"
    # Of joined methods, each must be known; argparse checks a single one.
    option(
        parser,
        "--method NAME",
        about,
        default=default,
        choices=_Joined(methods) if presets else list(methods),
    )
    width = max(map(len, methods))
    lines = [f"  {method.name:<{width}}  {method.title}" for method in methods.values()]
    parser.epilog = "\n".join(("methods:", *lines))
    parser.complete = lambda arguments: _complete(parser, methods, presets or {}, arguments)


class _Joined(list[str]):
    """Names of methods, and any of them joined."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and all(map(super().__contains__, name.split(JOIN)))


def changed(options: argparse.Namespace) -> dict[str, Any]:
    """Return the hyper-parameters given on the command line."""
    names = {info.name for info in infos(method_named(options.method).settings)}
    return {name: value for name, value in vars(options).items() if name in names and value is not None}


def add_options(
    parser: argparse.ArgumentParser,
    kind: type[Settings],
    help_of: Callable[[SettingInfo], str] = lambda _: argparse.SUPPRESS,
    title: str = "settings",
) -> None:
    """Add an option for each field that can be set, with a heading for each group of fields.

    `help_of` returns the help for a field; by default the options are hidden. Fields without a group have the heading
    `title`.
    """
    groups: dict[str, Any] = {}
    for info in infos(kind):
        if not info.fixed:
            if info.group not in groups:
                groups[info.group] = parser.add_argument_group(info.group.lower() or title)
            option(groups[info.group], info.flag, help_of(info).replace("%", "%%"), **_form(info))


def _complete(
    parser: VerbParser, methods: Mapping[str, Method], presets: Mapping[str, Preset], arguments: Sequence[str]
) -> None:
    """Add the options of the method that the arguments name, or of the default method; presets have none."""
    asked = _asked(arguments)
    if preset := presets.get(asked.preset):
        if given := next((name for name in ("method", "encoder") if getattr(asked, name)), ""):
            raise TrainingError(
                f"the preset {preset.name} has a method and an encoder of its own; leave --{given} out, or the preset"
            )
        _refuse_others(f"the preset {preset.name}", (), methods, arguments)
        parser.description = f"{parser.description} {preset.title}. {preset.summary}"
        return
    name = asked.method or parser.get_default("method")
    method = methods.get(name)
    if method is None:  # the parser reports it, unless it is several, which are trained with their defaults
        if JOIN in name:
            _refuse_others(f"--method {name}", (), methods, arguments)
        return
    own = {info.name for info in infos(method.settings)}
    _refuse_others(f"the method {method.name}", own, methods, arguments)
    if not (asked.help and asked.method):
        add_options(parser, method.settings)
        return
    paper = method.configure()
    start = paper if asked.preset == "paper" else method.configure(_kinds(asked.encoder or method.encoder))
    parser.epilog = None  # the list of methods
    parser.description = f"{parser.description} {method.title}: {method.summary}"
    title = f"hyper-parameters of --method {method.name}"
    add_options(parser, method.settings, lambda info: info.describe(start, paper), title)


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse only method, encoder, preset and help."""
    first = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for name in ("--method", "--encoder", "--preset"):
        first.add_argument(name)
    first.add_argument("-h", "--help", action="store_true")
    try:
        return first.parse_known_args(arguments)[0]
    except argparse.ArgumentError:  # the real parser will report it
        return argparse.Namespace(method=None, encoder=None, preset=None, help=False)


def _kinds(encoder: str) -> tuple[str, ...]:
    if RUN_SPEC not in encoder:
        return parts_of(encoder)
    from emu_core.encoders.registry import kinds_of  # imports torch

    return kinds_of(encoder)


def _refuse_others(
    what: str, known: Collection[str], methods: Mapping[str, Method], arguments: Sequence[str]
) -> None:
    """Raise TrainingError for an option that is not among those `known` to what is trained, but other methods have."""
    for argument in takewhile(lambda word: word != "--", arguments):
        name = argument.partition("=")[0].removeprefix("--no-").removeprefix("--").replace("-", "_")
        if not argument.startswith("--") or name in known:
            continue
        owners = [
            other.name
            for other in methods.values()
            if any(info.name == name and not info.fixed for info in infos(other.settings))
        ]
        if owners:
            raise TrainingError(
                f"{argument.partition('=')[0]} is a setting of the method {' or '.join(owners)}, and {what} "
                f"has none of that name; leave it out, or choose --method {owners[0]}"
            )


def _form(info: SettingInfo) -> dict[str, Any]:
    """Return the arguments of `add_argument` for a field."""
    if info.many:
        return {"type": _items(info.kind), "metavar": "A,B", "dest": info.name}
    if info.kind is bool:
        return {"action": argparse.BooleanOptionalAction}  # --x and --no-x
    if issubclass(info.kind, StrEnum):
        return {"choices": [member.value for member in info.kind]}
    metavar = "SPEC" if info.is_encoder else "TEXT" if info.kind is str else "N"
    return {"type": info.kind, "metavar": metavar}


def _items(kind: type) -> Callable[[str], tuple[Any, ...]]:
    def items(text: str) -> tuple[Any, ...]:
        return tuple(kind(item) for item in shared.comma_list(text))

    return items
