"""The data in a run's folder comes back as it was, whatever stands in it."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from emu_core.data.audit import labelled_from_frame
from emu_core.data.demo import load_demo
from emu_core.data.sets import LabelledSet, unlabelled_from
from emu_core.errors import RunError
from emu_core.runs.config import RunConfig
from emu_core.runs.run import Run, RunState, create_run, list_runs
from emu_core.runs.stored_data import LabelledData, load_data

TEXTS = [
    "=1+1",
    "a,b;c\td|e",
    'say "hi"',
    "two\nlines",
    "\u2028 inside \u2029 \x85",
    "007",
    "NA",
    "null",
    "\\n",
    "é\u0301🙂",
]
CONFIG = RunConfig(method="emu", data="x", hyperparameters={"epochs": 1}, train_languages=("en",))


def hostile() -> LabelledSet:
    frame = pd.DataFrame(
        {
            "id": [f"../{i}" for i in range(len(TEXTS))],
            "text": TEXTS,
            "intent": ["=cmd", "{x"] * (len(TEXTS) // 2),
            "language": "en",
            "split": ["train", "test"] * (len(TEXTS) // 2),
            "annotated": [f"[x : {text}]" for text in TEXTS],
        },
        dtype="str",
    )
    return labelled_from_frame(frame, "../../x")[0]


@pytest.mark.parametrize("labelled", [hostile(), load_demo()], ids=["hostile", "demo"])
def test_a_set_comes_back_as_it_was(labelled: LabelledSet, tmp_path: Path) -> None:
    pool, labelled = unlabelled_from(labelled, ["en"]), labelled.described({"=cmd": "öffnen", "../new": ""})
    run = create_run(tmp_path / "r", CONFIG, LabelledData(labelled, pool))
    back = load_data(run.training_folder, labelled.name)
    assert isinstance(back, LabelledData) and back.unlabelled is not None
    assert back.labelled.descriptions == {"=cmd": "öffnen", "../new": ""}
    assert back.labelled.sha256() == labelled.sha256() == run.data().sha256
    assert back.unlabelled.frame["text"].tolist() == pool.frame["text"].tolist()
    assert {path.name for path in tmp_path.iterdir()} == {"r"}


def test_the_size_counts_the_intents_of_what_is_learnt() -> None:
    frame = hostile().frame.head(4)
    frame = frame.assign(split="", intent=["x", "y", "x", "z"], language=["en", "en", "de", "de"])
    data = LabelledData(LabelledSet(frame, "x"))
    assert data.size(CONFIG) == "2 labelled sentences of 2 intents"
    assert data.size(replace(CONFIG, train_languages=("en", "de"))) == "4 labelled sentences of 3 intents"


def test_a_run_is_queued_whole_or_is_no_run(tmp_path: Path) -> None:
    class Broken(LabelledData):
        def store(self, folder: Path) -> None:
            super().store(folder)
            raise OSError(28, "No space left on device")

    with pytest.raises(RunError, match="No space left on device; make room there"):
        create_run(tmp_path / "broken", CONFIG, Broken(hostile()))
    assert list_runs(tmp_path) == [] and not Run(tmp_path / "broken").has_stored_data
    run = create_run(tmp_path / "whole", CONFIG, LabelledData(hostile()))
    assert run.status().state is RunState.QUEUED and run.can_resume and run.config() == CONFIG
    with pytest.raises(RunError, match="is in use"):
        create_run(tmp_path / "whole", CONFIG, LabelledData(hostile()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"method": 3},
        {"hyperparameters": [1]},
        {"hyperparameters": {"a": {"b": 1}}},
        {"train_languages": "en"},
        {"pairs": [["en"]]},
        {"seed": "0"},
        {"task": "delete"},
        {"device": None},
    ],
)
def test_a_damaged_configuration_is_an_error_that_names_the_field(
    changes: dict[str, object], tmp_path: Path
) -> None:
    run = create_run(tmp_path / "r", CONFIG, LabelledData(hostile()))
    run.write("config.json", CONFIG.to_json() | changes)
    with pytest.raises(RunError, match=f"config.json is damaged: {next(iter(changes))} can't be read"):
        run.config()
