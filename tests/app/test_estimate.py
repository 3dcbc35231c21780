"""The forecast of a run's time."""

import shutil
from pathlib import Path

from emu_app.forms.estimate import time_of
from emu_app.work.demo_run import PACKED_RUN
from emu_core.api.train import plan_training
from emu_core.data.demo import load_demo


def test_the_time_of_the_run_in_the_package_was_not_taken_here(runs: Path) -> None:
    config, data = plan_training(load_demo(), device="cpu")
    assert time_of(config, data).startswith("Seconds")
    for name in ("demo", "own"):
        shutil.copytree(PACKED_RUN, runs / name)
    assert time_of(config, data).startswith("Seconds")
    own = runs / "own" / "metrics.json"
    own.write_text(own.read_text("utf-8") + "\n", "utf-8")
    assert "own took" in time_of(config, data)
