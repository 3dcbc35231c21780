"""metrics.json: what is read of the run of each kind is written again to the byte."""

import json
from pathlib import Path

import pytest
from msgspec import UNSET, ValidationError

from emu_core.evaluation.changes import Verdict
from emu_core.evaluation.run_metrics import Metrics
from emu_core.files import write_json

STORED = sorted((Path(__file__).parent / "metrics").glob("*.json"))  # as runs have written them


def written(metrics: Metrics, folder: Path) -> str:
    write_json(folder / "metrics.json", metrics.to_json())
    return (folder / "metrics.json").read_text("utf-8")


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.stem)
def test_what_a_run_has_written_is_read_and_written_to_the_byte(stored: Path, tmp_path: Path) -> None:
    text = stored.read_text("utf-8")
    assert written(Metrics.from_json(json.loads(text)), tmp_path) == text


def test_what_was_not_measured_is_left_out_and_what_can_not_be_is_null(tmp_path: Path) -> None:
    nothing = json.loads(written(Metrics(), tmp_path))
    assert nothing == {"selected_epoch": 0, "seconds": 0.0, "warnings": []}
    unable = {"leakage": None, "new_intents": None}
    assert Metrics.from_json(nothing | unable).to_json() == {**Metrics().to_json(), **unable}
    assert Metrics.from_json(nothing).new_intents is UNSET


def test_figures_without_an_attribute_are_kept(tmp_path: Path) -> None:
    metrics = Metrics().with_figures({"leakage": None, "own": {"a": (1, 2)}, "too_few": None})
    stored = json.loads(written(metrics, tmp_path))
    assert (stored["leakage"], stored["own"]) == (None, {"a": [1, 2]}) and "too_few" not in stored
    assert Metrics.from_json(stored).others == {"own": {"a": [1, 2]}}
    with pytest.raises(ValidationError):
        Metrics.from_json({"similar_sentences": 1})


def test_a_run_of_an_earlier_version_is_read() -> None:
    change = {
        "base": 50.0,
        "specialised": 40.0,
        "difference": -10.0,
        "low": -22.0,
        "high": 2.0,
        "queries": 90,
    }
    old = change | {"verdict": "may lose", "divisions": 2}
    guard = {"en": {"difference": 1.0, "low": 0.5, "high": 2.0, "verdict": "gains", "queries": 9}}
    read = Metrics.from_json({"guard": guard, "new_intents": old, "cross_validation": old})
    assert (
        read.new_intents and read.new_intents.verdict is Verdict.NOT_CLEAR and read.others == {"guard": guard}
    )
