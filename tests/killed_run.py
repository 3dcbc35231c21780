"""A training run that kills itself with SIGKILL at a step: `python tests/killed_run.py DATA OUT ENCODER STEP EVERY`."""

import os
import signal
import sys
from dataclasses import replace

from emu_core import train
from emu_core.methods.registry import configure
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.progress import Progress

SETTINGS = replace(configure("emu", "use"), epochs=3, critic_steps=2, adversary_every=3)


def main(data: str, out: str, kill_at: int, every: int) -> None:
    """Train, with a checkpoint after each `every`-th step."""
    record, steps = Progress._record, 0

    def counted(self: Progress, values: dict, log: object) -> None:
        nonlocal steps
        record(self, values, log)  # type: ignore[arg-type]
        if values["kind"] == "step":
            steps += 1
            if steps == kill_at:
                log.flush()  # type: ignore[attr-defined]
                os.kill(os.getpid(), signal.SIGKILL)

    Progress._record = counted  # type: ignore[method-assign]
    Checkpoint.due = property(lambda self: steps % every == 0)  # type: ignore[assignment]
    train(data, out=out, method="emu", config=SETTINGS, device="cpu")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
