"""The command `emu`. Progress goes to stderr; with --json, one JSON object goes to stdout."""

import json
import os
import signal
import sys
from collections.abc import Sequence

from emu_core.cli.options import join_precision
from emu_core.cli.parser import command_parser
from emu_core.cli.verb import STDOUT
from emu_core.cli.wording import in_command
from emu_core.errors import CancelledError, EmuError
from emu_core.processes import is_main

USER_ERROR, CANCELLED, READER_GONE = 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        The exit code: 0; 2 for a user's error, printed to stderr; 130 if stopped; 141 if what reads its output, such as
        `head`, ends first; 1 if `doctor` finds something missing; the server's exit code for `app`.
    """
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where the error is caught, and not as the interpreter ends
    except BrokenPipeError:
        if not _discard_unread():
            raise  # another pipe, such as one to a process of ours
        return READER_GONE


def _run(arguments: Sequence[str] | None) -> int:
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        options = join_precision(command_parser(given).parse_args(given))
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
        reason = stop.message.worded(in_command) if isinstance(stop, CancelledError) else str(stop)
        print(f"emu: stopped: {reason}" if reason else "emu: stopped", file=sys.stderr)
        return CANCELLED
    except EmuError as error:
        if is_main():  # only one of several processes prints
            print(f"emu: {error.message.worded(in_command)}", file=sys.stderr)
        return USER_ERROR
    if options.json == STDOUT and is_main():
        print(json.dumps(result, ensure_ascii=False))
    return int(result.get("exit", 0))


def _discard_unread() -> bool:
    """Send further output nowhere if nothing reads it any more, and return whether that is so."""
    is_unread = False
    # To flush does not tell of an output without buffer; an empty line does, but is not for the terminal.
    for stream, rest in ((sys.stdout, "\n"), (sys.stderr, "")):
        try:
            print(end=rest, file=stream, flush=True)
        except BrokenPipeError:
            is_unread = True
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), stream.fileno()
            )  # which the interpreter flushes at its end
    return is_unread


def _stop(*_: object) -> None:
    raise KeyboardInterrupt("asked to end")
