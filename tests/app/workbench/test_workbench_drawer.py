"""Charts and tables of the Workbench's drawer, and their CSV files."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from emu_app.shell import widgets
from emu_app.shell.widgets import draw_csv_button
from emu_core import train
from emu_core.runs.run import Run
from tests.support.app_pages import compare, with_data
from tests.support.small import small_file
from tests.support.workbench_pages import Trained, drawn, figures, linked, numbers, widths


def test_confusions_say_what_is_drawn(app: AppTest) -> None:
    compare(app, "Confused intents")
    assert any("of the sentences of each intent" in caption.value for caption in app.caption)
    assert len(drawn(app)) == 3
    pairs = app.dataframe[0].value
    assert list(pairs) == ["intent", "neighbour", "base", "other", "difference"] and len(pairs)


@pytest.mark.slow
def test_the_most_confused_pair_comes_first_and_opens_its_sentences(app: AppTest) -> None:
    compare(app, "Confused intents")
    pairs = app.dataframe[0].value
    assert (pairs["intent"] != pairs["neighbour"]).all()
    assert pairs["other"].tolist() == sorted(pairs["other"], reverse=True)
    [box] = [box for box in app.selectbox if box.label.startswith("Sentences of the intent")]
    assert len(box.options) == len(pairs)
    assert sum(widths(app.dataframe[1])) <= 1440 - 2 * 24  # what both find is in view
    for place in (0, len(pairs) - 1):
        box = next(box for box in app.selectbox if box.label.startswith("Sentences of the intent"))
        box.select_index(place).run()
        pair, sentences = pairs.iloc[place], app.dataframe[1].value
        assert set(sentences["intent"]) == {pair["intent"]}
        assert (sentences["base_intent"] == pair["neighbour"]).sum() == pair["base"]
        assert (sentences["other_intent"] == pair["neighbour"]).sum() == pair["other"]
        both = (sentences["base_intent"] == pair["neighbour"]) | (
            sentences["other_intent"] == pair["neighbour"]
        )
        assert both.all()


@pytest.mark.slow
def test_changed_neighbours_are_filtered_and_counted(app: AppTest, trained: Trained) -> None:
    compare(app, "Changed neighbours")
    shown = app.dataframe[0].value
    assert set(shown["change"]) <= {"fixed", "broken"}
    for kinds in (["unchanged", "changed", "fixed", "broken"], ["unchanged"]):
        app.session_state["changed-kinds"] = kinds
        app.run()
        assert set(app.dataframe[0].value["change"]) <= set(kinds)
    app.session_state["changed-kinds"] = ["unchanged", "changed", "fixed", "broken"]
    app.run()
    assert len(app.dataframe[0].value) == 108
    languages = next(box for box in app.multiselect if box.label == "Of the sentences in")
    languages.set_value(["ja"]).run()
    assert set(app.dataframe[0].value["language"]) == {"ja"}


@pytest.mark.slow
def test_the_curves_of_a_and_b_lie_over_each_other(own_run: Run) -> None:
    another = own_run.folder.parent / "another"
    shutil.copytree(own_run.folder, another)
    records = own_run.history()
    (another / "log.jsonl").write_text("".join(json.dumps(record.values()) + "\n" for record in records[:3]))
    app = linked()
    app.query_params["a"] = "run:another"
    app = compare(app, "Curves", own_run.name)
    (spec,) = drawn(app)
    losses = [trace for trace in spec["data"] if trace["yaxis"] == "y"]
    assert [trace["name"] for trace in losses] == ["A: another", f"B: {own_run.name}"]
    assert len(numbers(losses[0]["x"])) == 3
    (another / "log.jsonl").unlink()
    app.run()
    assert "A: another has no curves" in " ".join(info.value for info in app.info).replace("\\", "")
    assert len(drawn(app)) == 1


@pytest.mark.slow
def test_a_run_with_snapshots_is_played_epoch_by_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, app: AppTest
) -> None:
    compare(app, "Epochs")
    assert "stored no vectors" in app.info[0].value and not drawn(app)
    file = small_file(tmp_path, ("en", "de"))
    run = train(file, out=tmp_path / "runs" / "filmed", snapshots=True)
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    app = compare(with_data(file.read_bytes()), "Epochs")
    figure = next(spec for spec in figures(app) if "frames" in spec)
    assert figure["layout"]["sliders"][0]["steps"][0]["label"] == "before training"
    assert len(figure["frames"]) >= 3
    assert any("Similar sentences, by language" in caption.value for caption in app.caption)


def test_a_table_goes_out_as_it_was_filtered_and_with_the_page(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(
        st, "download_button", lambda label, data, **_: sent.append(data) if "CSV" in label else None
    )
    compare(app, "Changed neighbours")
    for kinds in (["unchanged", "changed"], ["unchanged"]):
        app.session_state["changed-kinds"] = kinds
        app.run()
        file = pd.read_csv(io.BytesIO(sent[-1]), encoding="utf-8-sig")
        shown = app.dataframe[0].value
        assert set(file["change"]) == set(kinds)
        assert file["sentence"].tolist() == shown["sentence"].tolist()


def test_two_tables_of_one_name_have_their_own_files_and_a_long_one_is_made_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(
        st, "download_button", lambda label, data, **_: sent.append(data) if "CSV" in label else None
    )
    first, second = (pd.DataFrame({"text": [text]}) for text in ("one", "two"))
    for table in (first, second, first, first.rename(columns={"text": "word"})):
        draw_csv_button(table, "x.csv")
    assert [data.decode("utf-8-sig").split() for data in sent] == [
        ["text", "one"],
        ["text", "two"],
        ["text", "one"],
        ["word", "one"],
    ]
    monkeypatch.setattr(widgets, "MOST_AT_ONCE", 0)
    draw_csv_button(second, "x.csv")
    assert sent[-1]() == sent[1]
