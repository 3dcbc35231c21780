"""Runs are renamed, noted, tagged, searched, deleted and brought back on the Train page."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.work.jobs import JobManager
from emu_core import read_labelled
from emu_core.errors import RunError
from emu_core.runs.run import Run, RunState, Status
from tests.support.app_pages import new_session, press, runs_table
from tests.support.fake_runs import PATIENCE_S, NoData, config, go, manager, past, until
from tests.support.raises import raises
from tests.support.verdicts import case

FINISHED = Status(state=RunState.FINISHED)


@pytest.fixture
def root(queue: JobManager, tmp_path: Path) -> Path:
    for name in ("first", "second"):
        past(tmp_path / "runs", name, FINISHED, {"note": "no rows of split test", "warnings": []})
    return tmp_path / "runs"


def opened(**address: str) -> AppTest:
    app = new_session("train")
    for param, value in address.items():
        app.query_params[param] = value
    app.run()
    assert not app.exception
    return app


def field(app: AppTest, label: str, value: object) -> None:
    kinds = (*app.text_input, *app.text_area, *app.multiselect)
    next(one for one in kinds if one.label == label).set_value(value)


def listed(app: AppTest) -> list[str]:
    return list(runs_table(app)["Run"])


def of_data(run: Run, sha256: str) -> Run:
    """Make a run one that was trained on other data than the demo set, or on that."""
    run.write("data.json", {"name": "hotel", "sha256": sha256})
    return run


def test_runs_on_the_chosen_data_come_first_and_others_are_marked(root: Path) -> None:
    demo = read_labelled("demo")[0].sha256()
    past(root, "oldest", FINISHED)
    of_data(Run(root / "first"), "another")
    of_data(Run(root / "second"), "another")
    of_data(Run(root / "oldest"), demo)
    app = opened()
    runs = app.selectbox(key="watched")
    assert runs.value == "oldest" and sorted(runs.options) == [
        "first, trained on tiny",
        "oldest",
        "second, trained on tiny",
    ]
    assert not any("Trained on tiny" in note.value for note in app.info)
    other = opened(watched="first")
    assert any(note.value == "Trained on tiny, not on the data chosen above." for note in other.info)


def test_the_table_has_data_and_languages_and_groups_by_data(root: Path) -> None:
    change = {"base": 20.0, "difference": 10.0, "low": 1.0, "high": 20.0, "queries": 200}
    for name, started, sha, codes in (("c", 2.0, "x", "ja"), ("b", 3.0, "y", "en"), ("a", 4.0, "x", "en de")):
        by_language = {code: {**change, "specialised": 30.0 + started} for code in codes.split()}
        measured = case("better").metrics.to_json()
        measured["right_intents"] |= {"by_language": by_language}
        over = Status(state=RunState.FINISHED, started_at=started)
        of_data(past(root, name, over, measured), sha)
    app = opened()
    table = runs_table(app).set_index("Run")
    assert table.loc["a", "Data"] == "tiny"
    columns = [column for column in table if column in ("English", "German", "Japanese")]
    assert columns == ["English", "German", "Japanese"]
    assert table.loc[["a", "b", "c"], columns].fillna(0).to_numpy().tolist() == [
        [34, 34, 0],
        [33, 0, 0],
        [0, 0, 32],
    ]
    assert listed(app)[:3] == ["a", "b", "c"]
    app.toggle(key="runs-watched-grouped").set_value(True).run()
    assert listed(app)[:3] == ["a", "c", "b"]


def test_curves_of_ticked_runs_lie_over_each_other(root: Path) -> None:
    for name in ("first", "second"):
        record = {"kind": "step", "step": 1, "epoch": 1, "loss": 2.0}
        log = "".join(json.dumps(record | {"step": step}) + "\n" for step in (1, 2))
        (root / name / "log.jsonl").write_text(log)
    app = new_session("train")
    app.session_state["runs-watched-ticked"] = ["first", "second"]
    app.run()
    assert not app.exception
    figures = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    assert sorted(trace["name"] for trace in figures[-1]["data"]) == ["first", "second"]


@pytest.mark.slow
def test_a_run_of_the_data_before_is_not_shown_beside_new_data(root: Path) -> None:
    of_data(Run(root / "first"), read_labelled("demo")[0].sha256())
    of_data(Run(root / "second"), "another")
    Run(root / "second").write_status(Status(state=RunState.FINISHED, started_at=2.0))
    app = opened(watched="first")
    assert app.selectbox(key="watched").value == "first"
    frame = read_labelled("demo")[0].frame.iloc[:200]
    app.switch_page("views/data.py").run()
    app.file_uploader[0].set_value([("part.csv", frame.to_csv(index=False).encode(), "")])
    app.run()
    app.switch_page("views/train.py").run()
    assert not app.exception
    assert app.selectbox(key="watched").value == "second"  # the newest of the others
    assert all(", trained on tiny" in option for option in app.selectbox(key="watched").options)


def test_runs_from_scratch_are_on_their_own_page(root: Path) -> None:
    past(root, "scratch", FINISHED, encoder="", method="bicvm", train_languages=())
    assert "scratch" not in opened().selectbox(key="watched").options
    app = new_session("pretrain").run()
    assert app.selectbox(key="pretrain-watched").options == ["scratch"]


def test_name_note_and_tags_are_kept_shown_and_searched(root: Path) -> None:
    app = opened(watched="first", b="run:first")
    assert "Tags" not in runs_table(app)
    field(app, "Name", "hotel")
    field(app, "Note", "For Anna: **best** <img src=x>")
    Run(root / "second").annotate(tags=["<b>"])
    press(app, "Save")
    assert not (root / "first").exists() and Run(root / "hotel").note == "For Anna: **best** <img src=x>"
    assert {name: app.query_params[name] for name in ("watched", "b")} == {
        "watched": "hotel",
        "b": "run:hotel",
    }
    assert app.selectbox(key="watched").value == "hotel" and not app.error and not app.warning
    assert "For Anna: **best** <img src=x>" in [text.value for text in app.text]
    row = runs_table(app).set_index("Run").loc["hotel"]
    assert row["Note"].startswith("For Anna")
    field(app, "Tags", ["<b>"])
    press(app, "Save")
    assert Run(root / "hotel").tags == ("<b>",) and r":gray-badge[\<b\>]" in [
        one.value for one in app.markdown
    ]
    for words, found in (("anna", ["hotel"]), ("<b> FINISHED", ["hotel", "second"]), ("anna second", None)):
        app.text_input(key="runs-search").set_value(words).run()
        assert [sorted(listed(app))] == [found] if found else not app.dataframe
        assert not app.exception


def test_a_choice_outlives_the_address_from_before_it(root: Path) -> None:
    app = opened(watched="first")
    app.selectbox(key="watched").set_value("second").run()
    app.query_params["watched"] = "first"  # of a page that has not received the new one yet
    app.text_input(key="runs-search").set_value("second").run()
    assert app.selectbox(key="watched").value == app.query_params["watched"] == "second"


@pytest.mark.parametrize(("name", "why"), [("second", "There is a run"), ("../x", "can't name a run")])
def test_a_name_that_can_not_be_is_said_and_the_run_stays(root: Path, name: str, why: str) -> None:
    app = opened(watched="first")
    field(app, "Name", name)
    press(app, "Save")
    assert why in app.error[0].value.replace("\\", "")
    assert {path.name for path in root.iterdir() if not path.name.startswith(".")} >= {"first", "second"}


def test_a_deleted_run_is_gone_from_every_page_until_it_is_brought_back(root: Path) -> None:
    app = opened(watched="first", b="run:first")
    press(app, "Delete")
    assert listed(app) == ["second"] and not (root / "first").exists()
    assert "b" not in app.query_params and not app.warning
    other = opened(b="run:first")  # another session
    assert "there is no finished run first" in other.warning[0].value
    press(app, "Undo: restore first")
    assert sorted(listed(app)) == ["first", "second"] and app.selectbox(key="watched").value == "first"
    assert "Undo: restore first" not in {button.label for button in app.button}


def test_the_trash_is_emptied_when_the_app_starts_again(root: Path) -> None:
    press(opened(watched="first"), "Delete")
    aside = root / ".data" / ".deleted" / "hotel"
    aside.mkdir(parents=True)
    manager(root)
    assert not (root / ".deleted" / "first").exists() and not aside.exists() and (root / "second").is_dir()


@pytest.mark.slow
def test_a_run_under_way_is_noted_and_neither_renamed_nor_deleted(root: Path, queue: JobManager) -> None:
    run = queue.submit("third", config(), NoData())
    until(lambda: run.status().state is RunState.RUNNING)
    app = opened(watched="third")
    assert next(one for one in app.text_input if one.label == "Name").disabled
    assert "Delete" not in {button.label for button in app.button}
    field(app, "Note", "watch it")
    press(app, "Save")
    assert run.note == "watch it"
    for change in (lambda: queue.rename(run, "new"), lambda: queue.delete(run)):
        with raises(RunError, fix=None, match="'third'"):
            change()
    go(root)
    queue.wait(run, PATIENCE_S)


def measured(root: Path, name: str, after: float, epochs: int, **changes: Any) -> Run:
    """A finished run with this accuracy after training, of this many epochs."""
    change = {
        "base": 20.0,
        "specialised": after,
        "difference": after - 20,
        "low": 1.0,
        "high": 20.0,
        "queries": 200,
    }
    metrics = {"similar_sentences": {"overall": change, "by_language": {"en": change}}}
    settings = {"epochs": epochs, "batch_size": 16}
    return past(root, name, FINISHED, metrics, hyperparameters=settings, **changes)


def table_with(app: AppTest, label: str) -> pd.DataFrame:
    """The table that has a row of this name."""
    return next(table.value for table in app.dataframe if label in table.value.index)


@pytest.fixture
def three(queue: JobManager, tmp_path: Path) -> Path:
    root = tmp_path / "runs"
    for name, after, epochs in (("short", 30.0, 3), ("long", 34.5, 12), ("elsewhere", 90.0, 3)):
        of_data(measured(root, name, after, epochs), "another" if name == "elsewhere" else "mine")
    return root


def test_ticked_runs_show_what_differs_and_fold_away_what_is_equal(three: Path) -> None:
    app = opened()
    assert not any(line.value.startswith("**Differs in") for line in app.markdown)
    app.session_state["runs-watched-ticked"] = ["short", "long"]
    app.run()
    assert not app.exception
    assert "**Differs in: epochs**" in [line.value for line in app.markdown]
    differing = table_with(app, "Epochs")
    assert sorted(differing.index) == ["Epochs", "Similar sentences, %"]
    assert differing.loc["Epochs", ["short", "long"]].tolist() == ["3", "12"]
    assert differing.loc["Similar sentences, %", ["short", "long"]].tolist() == ["30.0", "34.5"]
    [equal] = (box for box in app.expander if box.label.startswith("The same in all"))
    assert equal.dataframe[0].value.loc["Batch size", "long"] == "16"
    app.text_input(key="runs-search").set_value("short").run()  # hides one of the ticked runs
    assert not any(line.value.startswith("**Differs in") for line in app.markdown)
    app.text_input(key="runs-search").set_value("").run()
    assert "**Differs in: epochs**" in [line.value for line in app.markdown]


def test_runs_of_two_methods_differ_in_what_both_have(three: Path) -> None:
    other = past(
        three, "other", FINISHED, method="softmax", hyperparameters={"epochs": 3, "margin": 2.0}, seed=7
    )
    of_data(other, "mine")
    app = opened()
    app.session_state["runs-watched-ticked"] = ["other", "short"]
    app.run()
    assert "**Differs in: method, seed**" in [line.value for line in app.markdown]
    [partial] = (box for box in app.expander if box.label.startswith("Only some of them have"))
    assert (partial.dataframe[0].value == "-").any(axis=1).all()


@pytest.mark.slow
def test_a_pinned_baseline_stays_at_the_top_and_others_are_shown_against_it(three: Path) -> None:
    app = opened()
    assert "Against baseline" not in runs_table(app)
    app.selectbox(key="choose-baseline").set_value("short").run()
    for _ in range(2):
        runs = runs_table(app).set_index("Run")
        assert runs.index[0] == "short" and app.query_params["baseline"] == "short"
        against = runs["Against baseline"]
        assert against["long"] == pytest.approx(4.5) and against[["short", "elsewhere"]].isna().all()
        app.run()
    app.text_input(key="runs-search").set_value("long").run()  # the baseline stays whatever is asked for
    assert listed(app) == ["short", "long"]
    app.session_state["runs-watched-ticked"] = ["long"]
    app.run()
    differing = table_with(app, "Epochs")
    assert list(differing) == ["short", "long"]
    assert differing.loc["Similar sentences, %"].tolist() == ["30.0", "34.5 (+4.5)"]
    other = opened(baseline="short")  # by a link
    assert listed(other)[0] == "short"


def test_a_baseline_that_is_deleted_is_none(three: Path) -> None:
    app = opened(watched="short", baseline="short")
    press(app, "Delete")
    assert app.selectbox(key="choose-baseline").value == "none" and not app.warning


def test_a_run_that_can_not_be_read_differs_in_nothing_and_breaks_nothing(three: Path) -> None:
    (three / "long" / "config.json").write_text("{")
    app = opened()
    app.session_state["runs-watched-ticked"] = ["long", "short"]
    app.run()
    assert not app.exception
    assert any(box.label.startswith("Only some of them have") for box in app.expander)
