"""The command `emu`. With --json one JSON object goes to stdout; progress always goes to stderr."""

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from emu_core import __version__
from emu_core.cli.doctor import STDOUT, add_doctor
from emu_core.errors import CancelledError, EmuError
from emu_core.processes import is_main

USER_ERROR, CANCELLED = 2, 130
Add = Callable[[Any], None]  # puts a verb's parser under the command's


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0, 2 for an error a user can mend (its sentence is on stderr), 130 when stopped; `doctor` gives 1 where
        something is missing, `app` what its server gave.
    """
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        # These two work where packages that the other verbs need are missing.
        parser = _parser((add_doctor,)) if given[:1] in (["doctor"], ["--version"]) else _parser()
        options = parser.parse_args(given)
        signal.signal(signal.SIGTERM, _stop)
        result = options.verb(options)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("emu_core", ""):
            raise
        print(
            f"emu: the package '{error.name}' is not installed; `emu doctor` tells what is missing",
            file=sys.stderr,
        )
        return USER_ERROR
    except (CancelledError, KeyboardInterrupt) as stop:
        print(f"emu: stopped: {stop}" if str(stop) else "emu: stopped", file=sys.stderr)
        return CANCELLED
    except EmuError as error:
        if is_main():  # of several processes one speaks
            print(f"emu: {error}", file=sys.stderr)
        return USER_ERROR
    if options.json == STDOUT and is_main():
        print(json.dumps(result, ensure_ascii=False))
    return int(result.get("exit", 0))


def _stop(*_: object) -> None:
    raise KeyboardInterrupt("asked to end")


def _parser(adds: Sequence[Add] | None = None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="emu", description="Specialise multilingual sentence encoders.")
    parser.add_argument("--version", action="version", version=f"emu {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for add in adds or _verbs():
        add(verbs)
    return parser


def _verbs() -> tuple[Add, ...]:
    from emu_core.cli import (
        bench,
        compare,
        embed,
        encoders,
        evaluate,
        export,
        forgetting,
        generate,
        pretrain,
        serve,
        train,
    )

    return (
        train.add_train,
        train.add_resume,
        pretrain.add_pretrain,
        evaluate.add_evaluate,
        compare.add_compare,
        forgetting.add_forgetting,
        embed.add_embed,
        export.add_export,
        encoders.add_encoders,
        generate.add_generate,
        bench.add_bench,
        serve.add_app,
        add_doctor,
    )
