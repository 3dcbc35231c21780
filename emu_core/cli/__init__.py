"""The command `emu`. Progress goes to stderr; with --json, one JSON object goes to stdout."""

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from emu_core import __version__
from emu_core.cli.verb import STDOUT, VerbParser
from emu_core.errors import CancelledError, EmuError
from emu_core.processes import is_main

USER_ERROR, CANCELLED = 2, 130
VERBS = {  # the module of each verb; only the one that is needed is imported
    "train": "train",
    "resume": "train",
    "pretrain": "train",
    "evaluate": "evaluate",
    "compare": "compare",
    "forgetting": "evaluate",
    "embed": "encoders",
    "predict": "predict",
    "export": "encoders",
    "encoders": "encoders",
    "generate": "generate",
    "bench": "bench",
    "app": "serve",
    "doctor": "doctor",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        The exit code: 0; 2 for a user's error, printed to stderr; 130 if stopped; 1 if `doctor` finds something
        missing; the server's exit code for `app`.
    """
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        options = _parser(given).parse_args(given)
        signal.signal(signal.SIGTERM, _stop)
        result = options.verb(options)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("emu_core", ""):
            raise
        print(
            f"emu: the package '{error.name}' is not installed; `emu doctor` lists what is missing",
            file=sys.stderr,
        )
        return USER_ERROR
    except (CancelledError, KeyboardInterrupt) as stop:
        print(f"emu: stopped: {stop}" if str(stop) else "emu: stopped", file=sys.stderr)
        return CANCELLED
    except EmuError as error:
        if is_main():  # of several processes, only one prints
            print(f"emu: {error}", file=sys.stderr)
        return USER_ERROR
    if options.json == STDOUT and is_main():
        print(json.dumps(result, ensure_ascii=False))
    return int(result.get("exit", 0))


def _stop(*_: object) -> None:
    raise KeyboardInterrupt("asked to end")


def _parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the command's parser with the verb that the arguments begin with, or else with all verbs."""
    parser = VerbParser(prog="emu", description="Specialise multilingual sentence encoders.")
    parser.add_argument("--version", action="version", version=f"emu {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    if arguments[:1] == ["--version"]:  # works even if a package is missing
        return parser
    first = arguments[0] if arguments else ""
    for verb in [first] if first in VERBS else VERBS:
        module = import_module(f"emu_core.cli.{VERBS[verb]}")
        getattr(module, f"add_{verb}")(verbs)
    return parser
