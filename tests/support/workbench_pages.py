"""Read what a session of the Workbench has drawn."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Dataframe

from emu_core.data.sets import LabelledSet
from emu_core.runs.run import Run
from tests.support.app_pages import PATIENCE_S
from tests.support.paths import MAIN

DATA = "small"  # the name of its data in the library
TRIPLE = ("When does the pool open?", "When does the gym open?", "From when on can we swim?")
Trained = tuple[Run, LabelledSet, Path]


def linked() -> AppTest:
    """The app by a link that names the data of the trained run."""
    app = AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S)
    app.query_params["data"] = DATA
    return app


def bars(app: AppTest) -> str:
    """The bars of the first measure, a language each, as HTML."""
    return next(html.proto.body for html in app.get("html") if "emu-bars" in html.proto.body)


def headline(app: AppTest) -> str:
    return " ".join(header.value for header in app.header).replace("\\", "")


def figures(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def is_map(spec: dict[str, Any]) -> bool:
    return spec["layout"].get("clickmode") == "event+select"


def figure(app: AppTest) -> dict[str, Any]:
    """The maps as they are drawn: another figure may take the place of the chart's own."""
    components = [json.loads(component.proto.json) for component in app.get("bidi_component")]
    instead = next(data["figure"] for data in components if "figure" in data)
    return json.loads(instead) if instead else next(spec for spec in figures(app) if is_map(spec))


def drawn(app: AppTest) -> list[dict[str, Any]]:
    """The figures of the drawer."""
    return [spec for spec in figures(app) if not is_map(spec)]


def numbers(array: Any) -> list[float]:
    if isinstance(array, dict):
        return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]).tolist()
    return list(array)


def widths(table: Dataframe) -> list[int]:
    """The widths of a table's columns in pixels, in their order; each has to have one."""
    columns = json.loads(table.proto.columns)
    return [columns[name]["width"] for name in table.proto.column_order or table.value.columns]


def drawn_rows(app: AppTest, axis: str) -> list[int]:
    """The rows whose points are in a panel."""
    traces = [trace for trace in figure(app)["data"] if trace.get("xaxis") == axis and "customdata" in trace]
    return sorted(int(row) for trace in traces for row in numbers(trace["customdata"]))


def drawn_places(app: AppTest, axis: str) -> np.ndarray:
    """The places (N, 2) of a panel's points, in the order of their rows."""
    traces = [trace for trace in figure(app)["data"] if trace.get("xaxis") == axis and "customdata" in trace]
    rows, x, y = (
        np.concatenate([numbers(trace[name]) for trace in traces]) for name in ("customdata", "x", "y")
    )
    return np.stack([x, y], axis=1)[np.argsort(rows)]


def marks(app: AppTest) -> list[dict[str, Any]]:
    """What is pointed at on each map."""
    components = [json.loads(component.proto.json) for component in app.get("bidi_component")]
    found: list[dict[str, Any]] = next(data["marks"] for data in components if "marks" in data)
    return found
