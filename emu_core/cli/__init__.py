"""The command `emu`. With --json one JSON object goes to stdout; progress always goes to stderr."""

import argparse
import json
import signal
import sys
from collections.abc import Sequence

from emu_core import __version__
from emu_core.cli import bench, embed, encoders, evaluate, export, forgetting, generate, serve, train
from emu_core.cli.options import STDOUT
from emu_core.errors import CancelledError, EmuError
from emu_core.processes import is_main

USER_ERROR, CANCELLED = 2, 130
_VERBS = (
    train.add_train,
    train.add_resume,
    evaluate.add_evaluate,
    forgetting.add_forgetting,
    embed.add_embed,
    export.add_export,
    encoders.add_encoders,
    generate.add_generate,
    bench.add_bench,
    serve.add_app,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0, 2 for an error a user can mend (its sentence is on stderr), 130 when stopped.
    """
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    try:
        result = options.verb(options)
    except (CancelledError, KeyboardInterrupt) as stop:
        print(f"emu: stopped: {stop}" if str(stop) else "emu: stopped", file=sys.stderr)
        return CANCELLED
    except EmuError as error:
        if is_main():  # of several processes one speaks
            print(f"emu: {error}", file=sys.stderr)
        return USER_ERROR
    if options.json == STDOUT and is_main():
        print(json.dumps(result, ensure_ascii=False))
    return 0


def _stop(*_: object) -> None:
    raise KeyboardInterrupt("asked to end")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="emu", description="Specialise multilingual sentence encoders.")
    parser.add_argument("--version", action="version", version=f"emu {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for add in _VERBS:
        add(verbs)
    return parser
