"""The map of a run that trains moves in an open page, and is played after the end."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from emu_core.evaluation.film import frame_on_axes
from emu_core.runs.run import RunState
from emu_core.runs.snapshots import frames_so_far
from tests.support.browser import visit
from tests.support.live_run import LiveRun

pytestmark = pytest.mark.browser


def accuracy(training: LiveRun, frame: int) -> float:
    """Of German sentences, in percent."""
    stored = frames_so_far(training.run)
    assert stored is not None
    return frame_on_axes(stored.sentences, stored.read(0)[1], stored.read(frame)[1])[1]["de"]


def test_an_open_page_follows_the_frames_and_plays_them(page: Page, app_url: str, runs_folder: Path) -> None:
    training = LiveRun(runs_folder, "followed")
    try:
        training.learn(0)
        visit(page, app_url, "train", watched="followed")
        shown, slider = page.locator(".emu-live output"), page.get_by_role("slider", name="Frame of the map")
        play = page.get_by_role("button", name="Play")
        expect(shown).to_have_text("before training")
        expect(play).to_be_disabled()
        training.learn(1)  # nobody touches the page
        expect(shown).to_have_text("epoch 1")
        expect(slider).to_have_attribute("max", "1")
        bar = page.get_by_role("listitem").filter(has_text="German").locator(".number")
        expect(bar).to_have_text(f"{accuracy(training, 1):.1f}")
        slider.focus()
        slider.press("ArrowLeft")
        expect(shown).to_have_text("before training")
        training.learn(2)  # who looks back stays there
        expect(slider).to_have_attribute("max", "2")
        expect(shown).to_have_text("before training")
        play.click()
        expect(shown).to_have_text("epoch 2")
    finally:
        training.end(RunState.CANCELLED)
    expect(page.get_by_text("Where the held-out sentences went")).to_be_visible()
    page.reload()
    expect(shown).to_have_text("epoch 2")
    expect(page.get_by_role("img", name="Map of 72 sentences: epoch 2")).to_be_visible()
