"""The parser of the command `emu`."""

import argparse
from collections.abc import Sequence
from importlib import import_module

from emu_core.cli.verb import VerbParser
from emu_core.version import __version__

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


def command_parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
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
