"""Several methods are tried on the chosen data, and ranked by right intents."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from emu_app.forms import try_all
from emu_app.work.demo_run import PACKED_RUN
from emu_core import read_labelled
from emu_core.evaluation.significance import binomial_interval
from emu_core.methods.registry import method_named
from emu_core.runs.run import RunState, Status, list_runs
from tests.support.app_pages import new_session, press
from tests.support.fake_runs import past
from tests.support.verdicts import case

METHODS = f"try-all-methods-{{}}-{read_labelled('demo')[0].sha256()[:12]}"


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


@pytest.fixture(autouse=True)
def quick_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer a few methods: to plan a run of every one takes seconds."""
    few = {name: method_named(name) for name in ("head", "emu", "contrastive")}
    monkeypatch.setattr(try_all, "methods_that_need", lambda needs: few)
    monkeypatch.setattr(try_all, "presets", lambda: {})
    monkeypatch.setattr(try_all, "_USUAL", ("emu",))


def times_told(app: AppTest) -> tuple[str, ...]:
    return tuple(line.value for line in app.markdown if line.value.startswith("- **"))


def test_each_chosen_method_is_queued_with_its_defaults(root: Path) -> None:
    app = opened()
    shown = [choice.label for choice in app.segmented_control]
    assert "Time for all of them" not in shown  # until it is opened
    app.session_state["try-all-open"] = True
    app.run()
    box = app.multiselect(key=METHODS.format(5))
    assert box.value == ["head", "emu", "contrastive"]
    box.set_value(["head", "contrastive"]).run()
    [chosen, left_out] = times_told(app)
    assert chosen.count("- **") == 2 and left_out.count("- **") == 1 and "a guess" in left_out
    press(app, next(button.label for button in app.button if button.label.startswith("Start 2 runs, about ")))
    configs = [run.config() for run in list_runs(root)]
    assert sorted(config.method for config in configs) == ["contrastive", "head"]
    assert all(config.train_languages == ("en",) and config.snapshots for config in configs)
    for run in list_runs(root):
        run.cancel()


def test_those_that_fit_into_the_time_are_chosen_and_the_others_named(root: Path) -> None:
    shutil.copytree(PACKED_RUN, root / "ear-lier")
    figures = root / "ear-lier" / "metrics.json"
    figures.write_text(json.dumps(json.loads(figures.read_text("utf-8")) | {"seconds": 120.0}), "utf-8")
    app = opened()
    app.session_state["try-all-open"] = True
    app.session_state["try-all-minutes"] = 1
    app.run()
    assert app.multiselect(key=METHODS.format(1)).value == []  # the default takes two minutes here
    assert "ear\\-lier took" in times_told(app)[0]  # escaped once
    assert next(button for button in app.button if button.label == "Start 0 runs").disabled
    app.segmented_control(key="try-all-minutes").set_value(5).run()
    assert "head" in app.multiselect(key=METHODS.format(5)).value
    assert try_all.that_fit({"a": 40.0, "b": 50.0, "c": 20.0}, 60) == ["a", "c"]


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
