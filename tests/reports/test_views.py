"""One list of views: what stands in it is on the page, in the app, in notebooks, in the command's text and JSON."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from emu_app.workbench import drawer
from emu_app.workbench.subject import Subject
from emu_core.cli.compare import print_comparison
from emu_core.errors import DataError
from emu_core.notebook.builder import make_notebook
from emu_core.notebook.comparison import RunComparison
from emu_core.reports import views
from emu_core.reports.comparison_page import comparison_page
from emu_core.reports.figures_as_text import TextTable
from emu_core.reports.views import VIEWS, ComparisonView, Group, comparison_records
from emu_core.runs.config import Plan
from tests.support.raises import raises
from tests.support.sentences import random_sentences

DATA = random_sentences(60, ("en", "de", "ja"), seed=6)
OTHER = DATA.vectors + 0.5 * np.random.default_rng(1).normal(size=(60, 5))
SENTENCES = pd.DataFrame(
    {
        "text": [f"sentence {row}" for row in range(60)],
        "intent": DATA.intents,
        "language": DATA.languages,
        "id": DATA.ids,
    }
)
CONFIG = Plan("head", "small", {}, encoder="use", train_languages=("en",))
NEW = ComparisonView(
    "lengths",
    "Lengths <i>of</i> sentences",
    Group.NEIGHBOURS,
    lambda comparison: "In characters & no more.",
    lambda comparison: pd.DataFrame({"length": comparison.sentences["text"].str.len()}),
    lambda comparison: TextTable(("length",), [["</td><script>12345"]]),
    lambda comparison: [go.Figure(go.Bar(y=[3, 1, 2], name="lengths of sentences"))],
)


@pytest.fixture(scope="module")
def comparison() -> RunComparison:
    return RunComparison(SENTENCES, DATA.vectors, OTHER, ("A", "B"))


def tabs(comparison: RunComparison, *, is_measured: bool = True) -> list[str]:
    return list(drawer._views(Subject({"A": "use", "B": "run:b"}, "key", comparison, is_measured, False)))


@pytest.mark.slow
def test_a_new_view_is_everywhere(
    comparison: RunComparison, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(views, "VIEWS", (*VIEWS, NEW))
    page = comparison_page(comparison)
    assert (
        "<h2>Lengths &lt;i&gt;of&lt;/i&gt; sentences</h2>" in page and "In characters &amp; no more." in page
    )
    assert "<td>&lt;/td&gt;&lt;script&gt;12345</td>" in page and '"lengths of sentences"' in page
    records = json.loads(json.dumps(comparison_records(comparison)))
    assert records["lengths"] == [{"length": len(text)} for text in SENTENCES["text"]]
    assert tabs(comparison)[-1] == NEW.title and drawer.groups_of_tabs()[NEW.title] == "Neighbours"
    assert "comparison.view('lengths')" in make_notebook(CONFIG, "runs/a", is_demo=True)
    shown = comparison.view("lengths")
    assert [trace.name for trace in shown.figures[0].data] == ["lengths of sentences"]
    assert shown.table is not None and len(shown.table) == 60
    print_comparison(comparison, is_full=True)
    printed = capsys.readouterr().out
    part = printed.partition("\n\nLengths <i>of</i> sentences\n\n")[2]
    assert part.split() == ["In", "characters", "&", "no", "more.", "length", "</td><script>12345"]


def test_every_view_is_everywhere(comparison: RunComparison, capsys: pytest.CaptureFixture[str]) -> None:
    assert len({view.name for view in VIEWS}) == len({view.title for view in VIEWS}) == len(VIEWS)
    page, records = comparison_page(comparison), comparison_records(comparison)
    own = {name for tab in drawer._ASKING for name in tab.views[1:]} | set(drawer._ELSEWHERE)
    assert sorted(tabs(comparison)) == sorted(view.title for view in VIEWS if view.name not in own)
    assert own | {tab.views[0] for tab in drawer._ASKING} <= {view.name for view in VIEWS}
    for view in VIEWS:
        table = view.table(comparison)
        assert (f"<h2>{view.title}</h2>" in page) == (table is not None)
        assert (records[view.name] is None) == (table is None)
        if table is not None:
            assert all(len(row) == len(view.text(comparison).head) for row in view.text(comparison).rows)
    assert [view.name for view in VIEWS if view.table(comparison) is None] == ["right_intents", "forgetting"]
    print_comparison(comparison, is_full=True)
    printed = capsys.readouterr().out
    for view in VIEWS:
        assert (f"\n\n{view.title}\n\n" in printed) == (view.table(comparison) is not None)
    assert tabs(comparison, is_measured=False) == []


def test_a_tab_of_no_view_is_an_error(comparison: RunComparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "VIEWS", VIEWS[1:])  # without right intents, which a tab draws in its own way
    with pytest.raises(KeyError, match="right_intents"):
        tabs(comparison)


def test_a_notebook_shows_a_view(comparison: RunComparison, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda *objects: shown.extend(objects))
    for name in ("confusion", "forgetting"):
        comparison.view(name)._ipython_display_()
    confusion, *figures, forgetting = shown
    assert "Confused intents" in confusion.data and confusion.data.count("<tr>") > 2
    assert [figure.data[0].type for figure in figures] == ["heatmap"] * 3
    assert "There is nothing to show." in forgetting.data
    assert repr(comparison.view("gains")) == "<view: Similar sentences>"
    with raises(DataError, fix=None, match="'none'; .*right_intents, gains, accuracy, leakage"):
        comparison.view("none")


def test_everything_goes_into_one_json_object(comparison: RunComparison) -> None:
    records = json.loads(json.dumps(comparison_records(comparison)))
    assert (records["base"], records["other"], records["sentences"]) == ("A", "B", 60)
    assert len(records["accuracy"]) == 9 and len(records["change_counts"]) == 3
    assert [gain["language"] for gain in records["gains"]] == ["en", "de", "ja"]
    assert {row["measure"] for row in records["leakage"]} == {"probe", "neighbours"}
    changed = comparison.changes()
    assert len(records["changes"]) == (changed["change"] != "unchanged").sum()
    assert records["forgetting"] is None
    rows = comparison.example_rows()
    assert len(records["similarity"]) == len(records["similarity"][0]["base_cosines"]) == len(rows)
    matrix = comparison.similarity(rows)["B"].to_numpy()
    assert [row["other_cosines"] for row in records["similarity"]] == matrix.tolist()
    (view,) = (view for view in VIEWS if view.name == "similarity")
    assert [row[-1] for row in view.text(comparison).rows] == [f"{cosine:.2f}" for cosine in matrix[0]]


def test_a_terminal_shows_some_rows_of_each_kind(
    comparison: RunComparison, capsys: pytest.CaptureFixture[str]
) -> None:
    (changes,) = (view for view in VIEWS if view.name == "changes")
    counts = comparison.changes()["change"].value_counts()
    print_comparison(comparison, is_full=True)
    printed = capsys.readouterr().out
    part = printed.partition("\n\nChanged neighbours\n\n")[2].partition(
        "\n\nChanged neighbours by language\n\n"
    )[0]
    for kind in ("fixed", "broken", "changed"):
        assert len(re.findall(rf"^(?:change: )?{kind}\b(?!:)", part, re.MULTILINE)) == min(
            5, counts.get(kind, 0)
        )
    assert max(counts.drop("unchanged")) > 5
    count = len(changes.text(comparison).rows)
    assert f"of {count:,} rows; --html and --json have them all" in part
    directions = printed.partition("\n\nGains by language")[0]
    assert all(f"\n{pair} " in directions for pair in comparison.accuracy["pair"])


def test_a_wide_table_is_printed_row_by_row(
    comparison: RunComparison, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = TextTable(("one", "other"), [["x" * 85, "y" * 85], ["short", "z" * 100]])
    monkeypatch.setattr(views, "VIEWS", (replace(NEW, text=lambda comparison: wide),))
    print_comparison(comparison, is_full=True)
    rows = capsys.readouterr().out.partition(NEW.note(comparison))[2]
    assert rows == f"\n\none: {'x' * 85}\nother: {'y' * 85}\n\none: short\nother: {'z' * 87}...\n"


def test_of_many_changes_some_of_each_kind_are_listed(
    comparison: RunComparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    (changes,) = (view for view in VIEWS if view.name == "changes")
    monkeypatch.setattr(views, "MOST_CHANGES", 2)
    kinds = [row[0] for row in changes.text(comparison).rows]
    counts = comparison.changes()["change"].value_counts()
    assert kinds == [
        kind for kind in ("fixed", "broken", "changed") for _ in range(min(2, counts.get(kind, 0)))
    ]
