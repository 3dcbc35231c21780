"""Sessions of the app without a browser: an upload, the Workbench, a button."""

from typing import Any

import pandas as pd
from streamlit.testing.v1 import AppTest

from emu_core.methods.registry import default_method
from tests.support.paths import MAIN

PATIENCE_S = 180.0  # how long a page may take on a busy machine


def new_session(page: str = "data") -> AppTest:
    """Return a new session with this page of the app, which has not run yet."""
    return AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).switch_page(f"views/{page}.py")


def with_data(content: bytes, name: str = "small.csv") -> AppTest:
    """Return a session that has uploaded a table."""
    app = new_session().run()
    app.file_uploader[0].set_value([(name, content, "")])
    app.run()
    assert not app.error
    return app


def with_frame(frame: pd.DataFrame) -> AppTest:
    """Return a session that has uploaded these rows."""
    return with_data(frame.to_csv(index=False).encode())


def compare(app: AppTest, tab: str = "Similar sentences", run: str | None = None, **state: Any) -> AppTest:
    """Open the workbench with this tab of its drawer, and a run beside its base: the newest on the data by default."""
    app.query_params["tab"] = tab
    if run is not None:
        app.query_params["b"] = f"run:{run}"
    app.switch_page("views/workbench.py")
    app.session_state["explore-pca"] = True  # no test waits for t-SNE
    for key, value in state.items():
        app.session_state[key] = value
    app.run()
    assert not app.exception
    return app


def explore(app: AppTest, **state: Any) -> AppTest:
    """Open the workbench as `compare` does, with a drawer that draws no chart."""
    return compare(app, "Take away", **state)


def predict(app: AppTest) -> AppTest:
    """Open the page on which one's own sentences get intents, with the newest run on the data as encoder B."""
    app.query_params["try"] = "Name intents"
    app.switch_page("views/try.py").run()
    assert not app.exception
    return app


def choose_method(app: AppTest, name: str) -> None:
    """Choose a method on the Train page, in the group that it is in."""
    groups = app.radio(key="choose-method-group")
    if name in (default_method(), "best"):
        groups.set_value(name).run()
    else:
        groups.set_value("").run()
        app.selectbox(key="method").set_value(name).run()


def press(app: AppTest, label: str) -> None:
    """Press the button with this label."""
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception


def runs_table(app: AppTest) -> pd.DataFrame:
    """The table of all runs on a page."""
    table: pd.DataFrame = next(table.value for table in app.dataframe if "Run" in table.value)
    return table
