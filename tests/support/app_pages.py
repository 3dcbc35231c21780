"""Sessions of the app without a browser: an upload, the Workbench, a button."""

from typing import Any

import pandas as pd
from streamlit.testing.v1 import AppTest

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


def compare(app: AppTest, tab: str = "Accuracy", run: str | None = None, **state: Any) -> AppTest:
    """Open the workbench with this tab of its drawer, and a run beside its base: the newest on the data by default."""
    app.query_params["tab"] = tab
    if run is not None:
        app.query_params["b"] = f"run:{run}"
    app.switch_page("views/workbench.py")
    app.session_state["explore-method"] = "pca"  # no test waits for t-SNE
    for key, value in state.items():
        app.session_state[key] = value
    app.run()
    assert not app.exception
    return app


def explore(app: AppTest, **state: Any) -> AppTest:
    """Open the workbench as `compare` does, with a drawer that draws no chart."""
    return compare(app, "Predict", **state)


def press(app: AppTest, label: str) -> None:
    """Press the button with this label."""
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception
