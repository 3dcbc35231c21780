"""A run that stopped before its end goes on by a button of the Train page."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from emu_app.work.jobs import JobManager
from emu_core.errors import Message
from emu_core.runs.run import RunState, Status
from tests.support.app_pages import new_session
from tests.support.fake_runs import PATIENCE_S, go, past, stopped, until

GONE = Status(state=RunState.RUNNING, pid=2**22 + 1, started_at=1.0)  # its process is not there


def train_page() -> AppTest:
    app = new_session().run()
    app.switch_page("views/train.py").run()
    assert not app.exception
    return app


@pytest.mark.slow
def test_the_page_offers_to_resume_what_can_be(root: Path, queue: JobManager) -> None:
    past(root, "bare", Status(state=RunState.FAILED, message=Message("no data")))
    past(root, "done", Status(state=RunState.FINISHED), {})
    killed = stopped(root, "killed", GONE)
    app = train_page()

    def watch(name: str) -> list[str]:
        app.selectbox(key="watched").set_value(name).run()
        assert not app.exception
        return [button.label for button in app.button]

    assert "Resume" not in watch("bare")
    assert "Resume" not in watch("done")
    assert "Resume" in watch("killed")
    next(button for button in app.button if button.label == "Resume").click().run()
    assert not app.exception
    until(lambda: killed.status().state is RunState.RUNNING)
    app.run()
    assert app.get("progress")[0].proto.text.startswith("Training: step 1 of 4")
    assert "Resume" not in [button.label for button in app.button]
    go(root)
    assert queue.wait(killed, PATIENCE_S).state is RunState.FINISHED


def test_a_run_whose_process_is_about_to_end_can_not_be_resumed_yet(
    root: Path, queue: JobManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(root, "a", Status(state=RunState.CANCELLED, message=Message("cancelled after 3 steps")))
    monkeypatch.setattr(queue, "holds", lambda held: True)
    app = train_page()
    assert "Cancelled after 3 steps" in app.warning[0].value
    assert not {"Resume", "Cancel"} & {button.label for button in app.button}
