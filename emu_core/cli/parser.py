"""The parser of the command `emu`."""

import argparse
from collections.abc import Sequence
from importlib import import_module

from emu_core.cli.verb import VERBS, VerbParser
from emu_core.version import __version__


def command_parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the command's parser with the verb that the arguments begin with, or else with all verbs."""
    parser = VerbParser(prog="emu", description="Specialise multilingual sentence encoders.")
    parser.add_argument("--version", action="version", version=f"emu {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    if arguments[:1] == ["--version"]:  # works even if a package is missing
        return parser
    first = arguments[0] if arguments else ""
    if first in ("-h", "--help"):  # the list needs none of the modules, which take a while to import
        for name, verb in VERBS.items():
            verbs.add_parser(name, help=verb.summary)
        return parser
    for name in [first] if first in VERBS else VERBS:
        module = import_module(f"emu_core.cli.{VERBS[name].module}")
        getattr(module, f"add_{name}")(verbs)
    return parser
