"""Several methods are tried on the chosen data, and ranked by right intents."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from emu_core import read_labelled
from emu_core.evaluation.significance import binomial_interval
from emu_core.runs.run import RunState, Status, list_runs
from tests.support.app_pages import new_session, press
from tests.support.fake_runs import past
from tests.support.verdicts import case


def opened() -> AppTest:
    app = new_session("train").run()
    assert not app.exception
    return app


def measured(root: Path, name: str, percent: float, sha256: str, **changes: Any) -> None:
    metrics = case("better").metrics.to_json() | {"seconds": 120.0}
    right: Any = metrics["right_intents"]
    right["overall"] |= {"specialised": percent, "base": 30.0, "queries": 200}
    run = past(root, name, Status(state=RunState.FINISHED), metrics, **changes)
    run.write("data.json", {"name": "demo", "sha256": sha256})


def test_each_chosen_method_is_queued_with_its_defaults(root: Path) -> None:
    app = opened()
    box = app.multiselect(key="try-all-methods")
    assert box.value == ["head", "best", "emu"] and len(box.options) > 8
    said = [line.value for line in app.markdown if line.value.startswith("- **")]
    assert len(said) == 3 and "Minutes on a CPU" in said[-1]
    box.set_value(["head", "contrastive"]).run()
    press(app, "Start 2 runs")
    configs = [run.config() for run in list_runs(root)]
    assert sorted(config.method for config in configs) == ["contrastive", "head"]
    assert all(config.train_languages == ("en",) and config.snapshots for config in configs)
    for run in list_runs(root):
        run.cancel()


def test_runs_on_the_data_are_ranked_with_intervals_and_one_click_opens_the_best(root: Path) -> None:
    demo = read_labelled("demo")[0].sha256()
    measured(root, "weak", 50.0, demo, method="head")
    assert not any(header.value == "Ranking on these data" for header in opened().header)
    measured(root, "strong", 80.0, demo, method="emu")
    measured(root, "elsewhere", 99.0, "other data", method="emu")
    app = opened()
    [table] = [
        table.value for table in app.dataframe if "95 % interval" in table.value and "Run" in table.value
    ]
    assert table["Run"].tolist() == ["strong", "weak", ""]  # and the encoder as it is
    assert table["Right intents, %"].tolist() == pytest.approx([80.0, 50.0, 30.0])
    interval = binomial_interval(160, 200)
    assert table["95 % interval"][0] == f"{interval.low:.1f} to {interval.high:.1f}"
    [link] = [link.proto for link in app.get("page_link") if link.proto.label == "Open the best: strong"]
    assert "run%3Astrong" in link.query_string
