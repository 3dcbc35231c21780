"""`emu doctor`. It imports nothing that is not Python's own, so that it can say which package is missing."""

import argparse
from collections.abc import Sequence
from typing import Any

from emu_core.cli.verb import add_verb


def add_doctor(verbs: Any) -> None:
    """`emu doctor`."""
    summary = (
        "say what is installed, which device and encoders are ready, and what to do about what is missing"
    )
    parser = add_verb(verbs, "doctor", _doctor, summary)
    parser.description = f"{parser.description} The exit code is 1 where something needed is missing."
    parser.add_argument("--runs", metavar="DIR", help="the folder of runs (default: $EMU_RUNS, or runs)")


def _doctor(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.doctor import State, doctor

    report = doctor(options.runs)
    if not options.json:
        for group in dict.fromkeys(check.group for check in report.checks):
            rows = [(check.name, check.state, check.found) for check in report.checks if check.group == group]
            print(group)
            print("".join(f"  {line}\n" for line in _columns(rows)))
        for check in report.checks:
            if check.fix:
                print(f"{check.state}: {check.name}: {check.fix}")
        missing = [check.name for check in report.checks if check.state is State.MISSING]
        print(f"Missing: {', '.join(missing)}." if missing else "Nothing that is needed is missing.")
    return {**report.facts(), "exit": 0 if report.healthy else 1}


def _columns(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """Lines whose first two columns have one width each."""
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    return [f"{name.ljust(first)}  {state.ljust(second)}  {found}" for name, state, found in rows]
