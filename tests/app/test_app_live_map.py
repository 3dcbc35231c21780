"""The map of a run that trains: its frames as they come, in every session, and after the run's end."""

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from emu_app.work import cache
from emu_core.runs.run import RunState
from emu_core.runs.snapshots import BEFORE
from tests.support.app_pages import new_session
from tests.support.at_once import AtOnce
from tests.support.live_run import SENTENCES, LiveRun


def drawn(page: AppTest) -> dict[str, Any]:
    """What the page sends to the map; empty without one."""
    page.run()
    assert not page.exception
    sent = [json.loads(component.proto.json) for component in page.get("bidi_component")]
    return next((data for data in sent if "live" in data), {})


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> AtOnce:
    made = AtOnce()
    monkeypatch.setattr(cache, "mapper", lambda: made)
    return made


@pytest.fixture
def training(root: Path, worker: AtOnce) -> LiveRun:
    return LiveRun(root)


def test_a_map_grows_by_a_frame_for_each_epoch_in_every_session(training: LiveRun) -> None:
    page = new_session("train")
    assert drawn(page) == {}
    for epoch in range(3):
        training.learn(epoch)
        assert drawn(page)["titles"] == [BEFORE, "epoch 1", "epoch 2"][: epoch + 1]
    data = drawn(page)
    assert data["languages"] == ["English", "German"] and data["live"] and not page.error
    assert [len(frame["xy"]) for frame in data["frames"]] == 3 * [2 * SENTENCES]
    assert len(data["texts"]) == len(data["colour"]) == SENTENCES
    assert len(data["accuracy"]) == 3 and all(len(of_frame) == 2 for of_frame in data["accuracy"])
    assert drawn(new_session("train")) == data  # a reload, or another tab


@pytest.mark.parametrize("state", [RunState.FINISHED, RunState.CANCELLED, RunState.FAILED])
def test_what_there_is_can_be_played_after_the_end(training: LiveRun, state: RunState) -> None:
    for epoch in range(3):
        training.learn(epoch)
    page = new_session("train")
    before = drawn(page)
    training.end(state)
    data = drawn(page)
    assert not data["live"] and data["whole"] and data["titles"] == [BEFORE, "epoch 1", "epoch 2"]
    assert data["run"] == before["run"]  # so that the map that is drawn goes on


def test_the_page_does_not_wait_for_a_frame(training: LiveRun, worker: AtOnce) -> None:
    training.learn(0)
    page = new_session("train")
    drawn(page)
    worker.never = True
    training.learn(1)
    data = drawn(page)
    assert data["titles"] == [BEFORE] and not data["whole"]
    worker.never, worker.asked = False, []
    assert drawn(page)["titles"] == [BEFORE, "epoch 1"]


def test_a_damaged_frame_leaves_the_page_whole(training: LiveRun) -> None:
    training.learn(0)
    frame = next(training.run.snapshots_folder.glob("*.safetensors"))
    frame.write_bytes(b"no frame")
    page = new_session("train")
    assert drawn(page) == {} and "damaged" in page.error[0].value
    frame.unlink()
    assert drawn(page) == {} and not page.error
