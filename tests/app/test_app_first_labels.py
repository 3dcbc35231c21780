"""Sentences without labels on the Data page: the first labels, and the way to the next ones, without a browser."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st

from emu_app.panels import first_labels
from emu_app.panels.maps import Layout
from emu_core.api.start import Started, start
from emu_core.evaluation.projection import Projection, project
from tests.support.app_pages import new_session, press

TEXTS = [f"where is the pool {number}" for number in range(10)] + [f"is the shop open {n}" for n in range(10)]

pytestmark = pytest.mark.usefixtures("runs")


def test_sentences_without_labels_start_a_set(monkeypatch: pytest.MonkeyPatch, runs: Path) -> None:
    def label(table: pd.DataFrame, **about: Any) -> pd.DataFrame:
        assert about["disabled"] == ["text", "language"]
        intents = {"where is the pool 0": "pool", "is the shop open 9": "shop"}
        return table.assign(intent=table["text"].map(intents).fillna(""))

    app = new_session().run()
    app.file_uploader[0].set_value(
        [("mails.en.csv", pd.DataFrame({"text": TEXTS}).to_csv(index=False).encode(), "")]
    )
    app.run()
    assert "No labels? Label these" in [title.value for title in app.header]
    start = next(button for button in app.button if button.label == "Start with 0 labels")
    assert start.disabled

    with monkeypatch.context() as patched:
        patched.setattr(st, "data_editor", label)
        app.run()
        press(app, "Start with 2 labels")
    (folder,) = (path for path in (runs / ".data").iterdir() if (path / "rows.parquet").is_file())
    rows = pd.read_parquet(folder / "rows.parquet")
    assert len(rows) == 20 and sorted(rows["intent"])[-2:] == ["pool", "shop"]
    assert set(rows["language"]) == {"en"}
    assert app.query_params["part"] == "Label more sentences"


def test_first_labels_that_differ_in_case_are_one(monkeypatch: pytest.MonkeyPatch, runs: Path) -> None:
    def label(table: pd.DataFrame, **about: Any) -> pd.DataFrame:
        intents = {TEXTS[0]: "pool", TEXTS[2]: "pool", TEXTS[1]: "Pool", TEXTS[-1]: "shop"}
        return table.assign(intent=table["text"].map(intents).fillna(""))

    app = new_session().run()
    content = pd.DataFrame({"text": TEXTS}).to_csv(index=False).encode()
    app.file_uploader[0].set_value([("mails.en.csv", content, "")])
    app.run()
    with monkeypatch.context() as patched:
        patched.setattr(st, "data_editor", label)
        app.run()
        given = next(button.label for button in app.button if button.label.startswith("Start with"))
        press(app, given)
    (folder,) = (path for path in (runs / ".data").iterdir() if (path / "rows.parquet").is_file())
    assert set(pd.read_parquet(folder / "rows.parquet")["intent"]) == {"", "pool", "shop"}


def test_a_file_with_intents_is_not_asked_for_labels() -> None:
    app = new_session().run()
    frame = pd.DataFrame({"text": TEXTS, "intent": ["pool"] * 10 + ["shop"] * 10})
    app.file_uploader[0].set_value([("mails.en.csv", frame.to_csv(index=False).encode(), "")])
    app.run()
    assert "No labels? Label these" not in [title.value for title in app.header]


@pytest.mark.slow
def test_the_language_is_detected_where_nothing_states_it() -> None:
    app = new_session().run()
    app.file_uploader[0].set_value(
        [("mails.csv", pd.DataFrame({"text": TEXTS}).to_csv(index=False).encode(), "")]
    )
    app.run()
    assert "No labels? Label these" in [title.value for title in app.header]
    assert not app.error and not app.exception


def test_names_alone_begin_with_intents_a_map_and_what_to_label(
    monkeypatch: pytest.MonkeyPatch, runs: Path
) -> None:
    def label(table: pd.DataFrame, **about: Any) -> pd.DataFrame:
        tables.append(table)
        return table

    def at_once(key: str, label: str, function: Any, *args: Any) -> Started:
        return start(*args, encoder="use", device="cpu")

    def first_maps(vectors: dict[str, Any], keys: dict[str, str], method: Projection) -> dict[str, Layout]:
        return {
            name: Layout(keys[name], project(of, "pca"), method, over=True) for name, of in vectors.items()
        }

    tables: list[pd.DataFrame] = []
    monkeypatch.setattr(st, "data_editor", label)
    monkeypatch.setattr(first_labels, "computed", at_once)
    monkeypatch.setattr(first_labels, "laid_out", first_maps)
    app = new_session().run()
    content = pd.DataFrame({"text": ["", *TEXTS]}).to_csv(index=False).encode()
    app.file_uploader[0].set_value([("mails.en.csv", content, "")])
    app.run()
    assert set(tables[-1]["intent"]) == {""}
    names = next(area for area in app.text_area if area.label.startswith("Names of the intents"))
    names.set_value("swimming\nshop: opening hours of the shop").run()
    assert not app.exception and len(app.get("plotly_chart")) == 1
    table = tables[-1]
    assert len(table) == 10 and set(table["intent"]) == {"swimming", "shop"}
    assert (
        table["intent"] == table["text"].str.contains("pool").map({True: "swimming", False: "shop"})
    ).all()
    press(app, "Start with 10 labels")
    (folder,) = (path for path in (runs / ".data").iterdir() if (path / "rows.parquet").is_file())
    rows = pd.read_parquet(folder / "rows.parquet").set_index("text")["intent"]
    assert rows[rows != ""].to_dict() == dict(zip(table["text"], table["intent"], strict=True))
