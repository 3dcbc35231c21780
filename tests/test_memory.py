"""A training says what memory it will take, takes no more, and is refused where there is less."""

import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from small import small_set

from emu_core.api.train import plan_training
from emu_core.data.readers.limits import MAX_ROWS
from emu_core.data.readers.tables import parse_delimited
from emu_core.errors import TrainingError
from emu_core.methods import memory
from emu_core.methods.memory import MEGABYTE, available_memory, forecast


@pytest.mark.parametrize("method", ["posterior", "emu"])
def test_what_cannot_fit_is_refused_before_anything_is_encoded(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    config, data = plan_training(small_set(), method=method)
    expected = forecast(data, config)
    assert expected is not None and f"{len(data.labelled.intents)} intents" in expected.line
    monkeypatch.setattr(memory, "available_memory", lambda: -(2**40))
    with pytest.raises(TrainingError, match="train on fewer rows"):
        plan_training(small_set(), method=method)


def test_no_estimate_is_made_up_for_an_encoder_that_was_not_measured() -> None:
    config, data = plan_training(small_set(), method="emu", encoder="hf:nobody/measured")
    assert forecast(data, config) is None


def test_the_control_group_limits_what_is_available(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text(str(300 * MEGABYTE))
    (tmp_path / "memory.current").write_text(str(100 * MEGABYTE))
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert available_memory() == 200 * MEGABYTE
    (tmp_path / "memory.max").write_text("max")
    assert available_memory() > 200 * MEGABYTE


# What a child's rusage says holds its parent's memory, too, as it was when the child was forked.
TRAINED = """
import sys
from emu_core.cli import main
code = main(sys.argv[1:])
print(open("/proc/self/status").read())
sys.exit(code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_run_takes_no_more_than_was_said(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TRAINED, "train", "demo", "--out", str(tmp_path / "run")]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    peak = int(re.search(r"VmHWM:\s*(\d+) kB", child.stdout)[1]) * 1024  # type: ignore[index]
    line = next(line for line in child.stderr.splitlines() if "of memory" in line)
    said = int(line.split("about ")[1].split(" MB")[0].replace(",", "")) * MEGABYTE
    assert 0.25 * said < peak <= said


# A model of many dimensions stands for many sentences: the array of its 12,000 vectors takes 197 MB.
POOLED = """
import re
import numpy as np
from emu_core.api.predict import Predictor
from emu_core.data.labelled import LabelledSet
import pandas as pd

class Model:
    def encode(self, texts):
        return np.ones((len(texts), 4096), dtype=np.float32)

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024

names = [str(number) for number in range(12_000)]
row = {"intent": "a", "language": "en", "split": "", "annotated": ""}
frame = pd.DataFrame({"id": names, "text": names} | row)
predictor = Predictor()
predictor._model = Model()
pool = LabelledSet(frame.astype("str"), "pool")
before = peak()
predictor.fit(pool, asked=np.arange(10))
print((peak() - before) / (12_000 * 4096 * 4))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_pool_is_held_no_more_than_twice() -> None:
    child = subprocess.run([sys.executable, "-c", POOLED], capture_output=True, text=True, check=True)
    assert 1 < float(child.stdout) < 2.7  # its vectors and those at length 1; it was 3


def test_a_table_is_not_held_as_rows_and_repeated_cells_once() -> None:
    text = "text,intent,language\n" + "".join(f"sentence number {i},booking,en\n" for i in range(20_000))
    tracemalloc.start()
    try:
        parse_delimited(text, "rows.csv", MAX_ROWS)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 9 * len(text)  # 12 times, as rows of cells
