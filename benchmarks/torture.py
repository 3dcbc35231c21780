"""Kill trainings at each renaming and at random moments, resume them, and compare the weights bit by bit.

    python -m benchmarks.torture --moments 100 --method bicvm --method emu

Prints one JSON object: for each method the number of moments, the number of processes that died, and the number of runs
that then finished with the same files as an uninterrupted run and left neither sentences nor partial files.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from emu_core import configure
from emu_core.api.train import plan_training
from emu_core.encoders.saved import CHECKSUMS
from emu_core.runs.intents import INTENTS
from emu_core.runs.run import Run, RunState
from tests.support.processes import create_and_finish, exit_code, started
from tests.support.short_plans import Plan, plan
from tests.support.slot_set import slot_set
from tests.support.tiny_transformer import tiny_transformer

METHODS = ("bicvm", "dual-encoder", "emu", "fmda", "meaning-language", "head")
CHECKPOINT_S = 0.05  # so that random moments fall between several checkpoints


def main() -> None:
    """Print the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, default=100, help="of each method (default: 100)")
    parser.add_argument("--method", action="append", choices=METHODS, help="repeatable (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: 0)")
    options = parser.parse_args()
    began, draw = time.monotonic(), random.Random(options.seed)  # noqa: S311 - no secret
    found = {method: torture(method, options.moments, draw) for method in options.method or METHODS}
    print(json.dumps({"methods": found, "seconds": round(time.monotonic() - began)}))
    sys.exit(any(one["same"] < one["moments"] for one in found.values()))


def torture(method: str, moments: int, draw: random.Random) -> dict[str, Any]:
    """Kill `moments` runs of a method: at most half of them at a renaming each, the others at random moments."""
    with tempfile.TemporaryDirectory() as folder:
        root, arguments = Path(folder), small_plan(method, Path(folder))
        exit_code(int)  # starts the process from which the others are forked
        began = time.monotonic()
        exit_code(create_and_finish, str(root / "whole"), *arguments, CHECKPOINT_S)
        seconds, whole = time.monotonic() - began, checksums(Run(root / "whole"))
        died = same = renames = 0
        for moment in range(1, moments + 1):
            run = Run(root / str(moment))
            if renames == moment - 1 < moments // 2 and killed_at_renaming(run, arguments, moment):
                renames, died = moment, died + 1
            elif not run.folder.exists():
                died += killed_after(draw.uniform(0, seconds), run, arguments)
            same += goes_on(run, arguments, whole)
            print(f"{method}: {moment} of {moments}, {same} the same", file=sys.stderr)
    return {"moments": moments, "at renamings": renames, "died": died, "same": same}


def small_plan(method: str, folder: Path) -> Plan:
    """Return the arguments of a run of at most a second; an encoder that it needs is written to `folder`."""
    if method not in ("emu", "head"):
        return plan(method, folder)
    settings = {"epochs": 3, "critic_steps": 2, "adversary_every": 3} if method == "emu" else {}
    encoder = f"hf:{tiny_transformer(folder / 'tiny')}"
    return plan_training(
        slot_set(), method=method, encoder=encoder, config=configure(method, encoder, **settings)
    )


def killed_at_renaming(run: Run, arguments: Plan, number: int) -> bool:
    """Return whether the process died; a run with fewer renamings finishes."""
    return exit_code(create_and_finish, str(run.folder), *arguments, CHECKPOINT_S, number) != 0


def killed_after(seconds: float, run: Run, arguments: Plan) -> bool:
    """Return whether the process was killed before it finished."""
    child = started(create_and_finish, str(run.folder), *arguments, CHECKPOINT_S)
    child.join(seconds)
    child.kill()
    child.join()
    return child.exitcode != 0


def checksums(run: Run) -> list[bytes]:
    """Return those of the encoder and, if the run has labels, of the intents."""
    return [
        path.read_bytes()
        for folder in (run.encoder_folder, run.folder / INTENTS)
        if (path := folder / CHECKSUMS).is_file()
    ]


def goes_on(run: Run, arguments: Plan, whole: list[bytes]) -> bool:
    """Run the command again, and return whether the run is then equal to an uninterrupted one."""
    ended = exit_code(create_and_finish, str(run.folder), *arguments, CHECKPOINT_S) == 0
    if not ended or run.status().state is not RunState.FINISHED:
        return False
    left = [*run.folder.rglob("*.part"), *run.folder.glob("training")]
    return not left and checksums(run) == whole


if __name__ == "__main__":
    main()
