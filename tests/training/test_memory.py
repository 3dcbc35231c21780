"""A training says what memory it will take, takes no more, and is refused where there is less."""

import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from emu_core.api.pretrain import plan_pretraining
from emu_core.api.train import plan_training
from emu_core.data.texts.tasks import Tasks
from emu_core.errors import TrainingError
from emu_core.formats.tables.delimited import parse
from emu_core.methods.presets import presets
from emu_core.methods.registry import configure, parts_of_run
from emu_core.runs.config import Plan
from emu_core.runs.stored_data import StoredData
from emu_core.training import memory
from emu_core.training.memory import MEGABYTE, available_memory, forecast
from tests.support.pretrained_set import parallel
from tests.support.slot_set import slot_set
from tests.support.small import small_set

PLANS: list[tuple[str, str, Callable[[], tuple[Plan, StoredData]]]] = [
    ("head", "72 labelled sentences of 6 intents", lambda: plan_training(small_set())),
    (
        "emu on e5-small",
        "72 labelled sentences of 6 intents",
        lambda: plan_training(small_set(), method="emu", encoder="e5-small"),
    ),
    (
        "fmda",
        "16 sentences in 2 languages",
        lambda: plan_training(slot_set(), method="fmda", pairs=["en-de"]),
    ),
    (
        "bicvm",
        "90 pairs to learn from, 10 pairs held out",
        lambda: plan_pretraining(Tasks(parallel(("en", "de"), count=100)), method="bicvm"),
    ),
    (
        "dual-encoder",
        "90 pairs to learn from, 10 pairs held out",
        lambda: plan_pretraining(Tasks(parallel(("en", "de"), count=100))),
    ),
]


@pytest.mark.parametrize(("learnt", "plan"), [plan[1:] for plan in PLANS], ids=[plan[0] for plan in PLANS])
def test_what_cannot_fit_is_refused_before_anything_is_encoded(
    monkeypatch: pytest.MonkeyPatch, learnt: str, plan: Callable[[], tuple[Plan, StoredData]]
) -> None:
    config, data = plan()
    expected = forecast(parts_of_run(config), data, config)
    assert expected is not None and expected.line.startswith(f"{learnt}: about ")
    monkeypatch.setattr(memory, "available_memory", lambda: -(2**40))
    with pytest.raises(TrainingError, match=r"too little memory .* train on fewer rows"):
        plan()


@pytest.mark.parametrize(("rank", "is_refused"), [("0", True), ("1", False)])
def test_of_several_processes_the_main_one_decides(
    monkeypatch: pytest.MonkeyPatch, rank: str, is_refused: bool
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setattr(memory, "available_memory", lambda: -(2**40))
    with pytest.raises(TrainingError, match="too little memory") if is_refused else nullcontext():
        plan_training(small_set())


def test_more_text_and_larger_tables_take_more() -> None:
    def needed(count: int, method: str, **changes: Any) -> int:
        config = configure(method, "", **changes)
        run_config, data = plan_pretraining(
            Tasks(parallel(("en", "de"), count=count)), method=method, config=config
        )
        expected = forecast(parts_of_run(run_config), data, run_config)
        assert expected is not None
        return expected.needed

    for method in ("bicvm", "dual-encoder"):
        assert needed(100, method) < needed(1000, method)
    tables = 4 * 65_536 * 256  # bytes of one more table as large as that of the words
    assert needed(100, "dual-encoder", word_buckets=131_072) == needed(100, "dual-encoder") + 5 * tables
    assert needed(100, "dual-encoder", word_buckets=131_072, optimizer="sgd") < needed(
        100, "dual-encoder", word_buckets=131_072
    )


def test_no_estimate_is_made_up_for_an_encoder_that_was_not_measured() -> None:
    config, data = plan_training(small_set(), method="emu", encoder="hf:nobody/measured")
    assert forecast(parts_of_run(config), data, config) is None


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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("method", ["head", "best", "fast", "bicvm", "dual-encoder"])
def test_a_run_takes_no_more_than_was_said(tmp_path: Path, method: str) -> None:
    given = ["train", "demo"]
    if method in presets():
        given += ["--preset", method]
    elif method != "head":
        (text,) = parallel(("en", "de"), count=2000)
        text.to_frame().to_csv(tmp_path / "pairs.tsv", sep="\t", header=["en", "de"], index=False)
        given = ["pretrain", str(tmp_path / "pairs.tsv"), "--method", method, "--epochs", "1"]
    command = [sys.executable, "-c", TRAINED, *given, "--out", str(tmp_path / "run")]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    peak = int(re.search(r"VmHWM:\s*(\d+) kB", child.stdout)[1]) * 1024  # type: ignore[index]
    line = next(line for line in child.stderr.splitlines() if "of memory" in line)
    said = int(line.split("about ")[1].split(" MB")[0].replace(",", "")) * MEGABYTE
    assert 0.25 * said < peak <= said


# A model of many dimensions stands for many sentences: the array of its 12,000 vectors takes 197 MB.
POOLED = """
import re
import numpy as np
from emu_core.api.intent_classifier import IntentClassifier
from emu_core.data.sets import LabelledSet
import pandas as pd

class Model:
    def encode(self, texts):
        return np.ones((len(texts), 4096), dtype=np.float32)

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024

names = [str(number) for number in range(12_000)]
row = {"intent": "a", "language": "en", "split": "", "annotated": ""}
frame = pd.DataFrame({"id": names, "text": names} | row)
classifier = IntentClassifier()
classifier._encode = Model().encode
classifier._opened = lambda: None  # as if that were a transformer
pool = LabelledSet(frame.astype("str"), "pool")
before = peak()
classifier.fit_labelled(pool, asked=np.arange(10))
print((peak() - before) / (12_000 * 4096 * 4))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_fitting_a_pool_holds_its_vectors_no_more_than_seven_times() -> None:
    child = subprocess.run([sys.executable, "-c", POOLED], capture_output=True, text=True, check=True)
    # Its vectors, those at length 1, sorted, without languages, and as the examples of the kernel: measured 6.1.
    assert 1 < float(child.stdout) < 7


def test_a_table_is_not_held_as_rows_and_repeated_cells_once() -> None:
    text = "text,intent,language\n" + "".join(f"sentence number {i},booking,en\n" for i in range(20_000))
    tracemalloc.start()
    try:
        parse(text, "rows.csv")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 9 * len(text)  # 12 times, as rows of cells
