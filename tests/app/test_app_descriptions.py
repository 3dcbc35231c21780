"""What intents are about is typed on the page Train, and goes into the run."""

from pathlib import Path

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextArea

from emu_core.runs.run import Run
from emu_core.runs.stored_data import LabelledData, load_data
from tests.support.app_pages import new_session


def box(app: AppTest) -> TextArea:
    return next(area for area in app.text_area if area.label.startswith("Intents in words"))


def test_what_intents_are_about_goes_into_the_run(root: Path) -> None:
    app = new_session("train").run()
    box(app).set_value("pool: a\npool: b").run()
    start = next(button for button in app.button if button.label == "Start the run")
    assert start.disabled and "two descriptions" in app.warning[0].value
    box(app).set_value("pool: where guests swim\nspa_hours: when is the spa open").run()
    next(button for button in app.button if button.label == "Start the run").click().run()
    assert not app.exception
    run = Run(root / "head-use-1")
    run.cancel()
    stored = load_data(run.training_folder, "demo")
    assert isinstance(stored, LabelledData)
    assert stored.labelled.descriptions == {"pool": "where guests swim", "spa_hours": "when is the spa open"}
    assert any("spa_hours" in finding for finding in run.data().audit)
