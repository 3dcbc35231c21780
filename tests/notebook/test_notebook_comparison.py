"""A comparison in a notebook: its verdict, figures that hold the tables' numbers, and nobody's text as markup."""

import json
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from IPython.core.formatters import DisplayFormatter

from emu_core.charts.comparison import MOST_CONFUSED
from emu_core.errors import DataError, RunError
from emu_core.evaluation.comparison import Trained
from emu_core.evaluation.prediction import Predicted, Share
from emu_core.notebook.comparison import RunComparison
from emu_core.notebook.comparisons import Compared, RunComparisons
from emu_core.reports.verdict import comparison_verdict
from emu_core.runs.run import Run
from tests.support.raises import raises
from tests.support.sentences import random_sentences

DATA = random_sentences(60, ("en", "de", "ja"), seed=6)
OTHER = DATA.vectors + 0.5 * np.random.default_rng(1).normal(size=(60, 5))
HOSTILE = "<script>alert(1)</script>"
SENTENCES = pd.DataFrame(
    {
        "text": [HOSTILE, *(f"sentence {row}" for row in range(1, 60))],
        "intent": [f"<b>{intent}" for intent in DATA.intents],
        "language": DATA.languages,
        "id": DATA.ids,
    }
)
FORGETTING = pd.DataFrame(
    [
        ("sts", "de", 0.8, 0.7, -0.1, -0.15, -0.05, 99, True),
        ("translations", "de-en", 90.0, 91.0, 1.0, -1.0, 2.0, 99, False),
    ],
    columns=["part", "name", "base", "specialised", "difference", "low", "high", "count", "flagged"],
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def comparison(run: Run) -> RunComparison:
    trained = Trained(12.0, ("the vectors have collapsed",))
    names = ("A", "<i>B")
    return RunComparison(
        SENTENCES, DATA.vectors, OTHER, names, FORGETTING, ("a note <u>",), trained=trained, run=run
    )


def heats(figure: go.Figure) -> list[go.Heatmap]:
    return [trace for trace in figure.data if trace.type == "heatmap"]


def test_jupyter_shows_the_verdict(comparison: RunComparison) -> None:
    shown, _ = DisplayFormatter().format(comparison)
    page, verdict = shown["text/html"], comparison_verdict(comparison)
    assert escape(verdict.sentence) in page and f"<b>{verdict.similar.amounts}</b>" in page
    assert "a note &lt;u&gt;" in page and "&lt;i&gt;B compared with A" in page
    for tag in ("<script", "<i>B", "<u>"):
        assert tag not in page
    for words in ("STS de fell too far.", "the vectors have collapsed"):
        assert words in page
    change = comparison.gains.iloc[0]
    assert f"<td>{change['difference']:+.1f}</td>" in page
    assert verdict.sentence in shown["text/plain"]
    assert len(shown["text/plain"]) < 200  # not the frames of a dataclass


def test_too_few_sentences_are_a_sentence_and_no_traceback() -> None:
    one = RunComparison(SENTENCES.iloc[:2], DATA.vectors[:2], OTHER[:2])
    assert "leave-one-out needs two" in repr(one) and "leave-one-out needs two" in one._repr_html_()


@pytest.mark.slow
def test_figures_hold_the_tables(comparison: RunComparison) -> None:
    accuracy = heats(comparison.plot.accuracy())
    for trace, column in zip(accuracy, ("base", "other", "difference"), strict=True):
        np.testing.assert_array_equal(trace.z, comparison.matrix(column))
    assert len(heats(comparison.plot.accuracy("base"))) == 1
    rows = comparison.example_rows()
    base, other = heats(comparison.plot.similarity())
    np.testing.assert_array_equal(base.z, comparison.similarity(rows)["A"])
    np.testing.assert_array_equal(other.z, comparison.similarity(rows)["<i>B"])
    assert (base.xaxis, other.xaxis) == ("x", "x2")
    bars = comparison.plot.changes().data
    assert sum(sum(bar.x) for bar in bars) == len(SENTENCES)
    for figure in (comparison.plot.gains(), comparison.plot.triple(), comparison.plot.forgetting()):
        assert figure.data and figure.layout.paper_bgcolor == "white"
    names = [name.removesuffix("()") for name in repr(comparison.plot)[:-1].partition(": ")[2].split(", ")]
    assert {"accuracy", "gains", "map"} <= set(names) and all(
        hasattr(comparison.plot, name) for name in names
    )


def test_confusion_counts_the_neighbours(comparison: RunComparison) -> None:
    table = comparison.confusion()
    changes = comparison.changes()
    for row in table.to_dict("records"):
        of = changes[changes["intent"] == row["intent"]]
        for side in ("base", "other"):
            assert row[side] == (of[f"{side}_intent"] == row["neighbour"]).sum()
        assert row["base"] + row["other"] > 0 and row["difference"] == row["other"] - row["base"]
    assert table["base"].sum() == table["other"].sum() == len(SENTENCES)
    base, other, difference = heats(comparison.plot.confusion())
    assert len(set(SENTENCES["intent"])) <= MOST_CONFUSED
    np.testing.assert_allclose(base.z.sum(axis=1), 100)
    better = np.where(
        np.eye(len(base.z)), other.z - base.z, base.z - other.z
    )  # more right ones, fewer wrong ones
    np.testing.assert_allclose(better, difference.z)
    row, column = np.argwhere((better != 0) & ~np.eye(len(better), dtype=bool))[0]
    assert f"{other.z[row][column] - base.z[row][column]:+.0f} points" in difference.text[row][column]
    own = changes[changes["intent"] == sorted(set(SENTENCES["intent"]))[0]]
    assert base.z[0][0] == pytest.approx(100 * (own["base_intent"] == own["intent"]).mean())
    assert "<b>" not in base.text[0][0]


def test_of_many_intents_the_confused_are_drawn() -> None:
    n, rng = 4 * MOST_CONFUSED, np.random.default_rng(0)
    intents = [f"i{place // 2:03}" for place in range(n)]
    texts = [f"sentence {place}" for place in range(n)]
    frame = pd.DataFrame({"text": texts, "intent": intents, "language": "en", "id": ""})
    apart = np.repeat(np.eye(n // 2), 2, axis=0) + 1e-3 * rng.normal(size=(n, n // 2))
    mixed = apart.copy()
    mixed[[6, 8]] = mixed[[8, 6]]  # i003 and i004 are taken for each other
    (drawn,) = heats(RunComparison(frame, apart, mixed).plot.confusion("other"))
    assert drawn.z.shape == (MOST_CONFUSED, MOST_CONFUSED)
    found = [(row, column) for row, column in np.argwhere(drawn.z > 0) if row != column]
    assert {drawn.text[row][column].split("<br>")[0] for row, column in found} == {"i003", "i004"}


def test_the_map_is_laid_out_once(comparison: RunComparison) -> None:
    figure = comparison.plot.map("pca", "language", sentences=30)
    maps, points = comparison.layout("pca", 30)
    assert comparison.layout("pca", 30)[0] is maps and len(points) == 30
    drawn = {}
    for trace in figure.data:
        for row, x in zip(trace.customdata if trace.customdata is not None else (), trace.x, strict=False):
            drawn[(trace.xaxis, int(row))] = x
    assert len(drawn) == 60
    for axis, places in zip(("x", "x2"), maps.values(), strict=True):
        assert [drawn[axis, row] for row in points["row"]] == pytest.approx(places[:, 0].tolist())
    with raises(DataError, fix=None, match="'mds'; .*pca, tsne, umap"):
        comparison.plot.map("mds")


@pytest.mark.slow
def test_what_is_not_there_is_said(comparison: RunComparison, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no triple 999"):
        comparison.plot.triple(999)
    with pytest.raises(DataError, match="forgetting was not measured; call"):
        RunComparison(SENTENCES, DATA.vectors, OTHER).plot.forgetting()
    (tmp_path / "file").write_text("")
    with raises(RunError, fix=None, match=r"page\.html"):
        comparison.to_html(tmp_path / "file" / "page.html")


def test_the_curves_are_those_of_the_runs(comparison: RunComparison, tmp_path: Path) -> None:
    runs = [Run(tmp_path / name) for name in ("first", "second", "fitted in one step")]
    for place, run in enumerate(runs[:2]):
        run.folder.mkdir()
        record = {"kind": "step", "step": 1, "epoch": 1, "seconds": 0.1, "loss": 1.0 + place}
        (run.folder / "log.jsonl").write_text(json.dumps(record))
    both = RunComparison(SENTENCES, DATA.vectors, OTHER, runs=runs)
    assert [(trace.name, list(trace.y)) for trace in both.plot.curves().data] == [
        ("first", [1]),
        ("second", [2]),
    ]
    with pytest.raises(DataError, match="no curves to draw"):
        comparison.plot.curves()


def test_the_page_is_the_commands(comparison: RunComparison, tmp_path: Path) -> None:
    page = comparison.to_html(tmp_path / "new" / "page.html").read_text("utf-8")
    assert "<h2>Confused intents</h2>" in page and "&lt;b&gt;" in page and "<script>alert" not in page


def test_a_map_turns_from_one_encoders_into_the_others(comparison: RunComparison) -> None:
    figure = comparison.morph("pca", sentences=30)
    places, points = comparison.layout("pca", 30)
    changes = comparison.changes()["change"].iloc[points["row"]]
    drawn = {trace.name: len(trace.x) for trace in figure.data if trace.mode == "markers"}
    counts = {kind: int((changes == kind).sum()) for kind in ("fixed", "broken")}
    assert drawn == {"the others": 30 - sum(counts.values())} | {
        f"{kind}: {count}": count for kind, count in counts.items()
    }
    assert [figure.layout.sliders[0].steps[end].label for end in (0, -1)] == ["A", "&lt;i&gt;B"]
    assert np.array_equal(comparison.morphed("pca", 30).places, np.stack(list(places.values())))
    page = comparison.morph_page("pca", sentences=30)
    assert "default-src 'none'" in page and HOSTILE not in page and "<i>B" not in page


def several(*notes: str) -> RunComparisons:
    third = DATA.vectors + 2.0 * np.random.default_rng(2).normal(size=(60, 5))
    encoders = (
        Compared("use", "use", DATA.vectors),
        Compared("run:x/<i>B", "<i>B", OTHER, notes=("trained on these",)),
        Compared("e5-small", "e5-small", third),
    )
    return RunComparisons(SENTENCES, encoders, notes)


def test_several_encoders_are_compared_with_the_first() -> None:
    compared = several("a sample")
    assert len(compared) == 2 and [pair.names for pair in compared] == [("use", "<i>B"), ("use", "e5-small")]
    (first, second), last = compared, compared.between("<i>B", "e5-small")
    assert first.notes == ("a sample", "trained on these") and second.notes == ("a sample",)
    for pair in (first, second, last):
        alone = RunComparison(SENTENCES, pair.base, pair.other)
        pd.testing.assert_frame_equal(pair.accuracy, alone.accuracy)
    for name, of_pair in (("means", "means"), ("by_language", "gains"), ("accuracy", "accuracy")):
        table, sides = getattr(compared, name), [getattr(pair, of_pair) for pair in (first, second)]
        of = {encoder: rows.reset_index(drop=True) for encoder, rows in table.groupby("encoder", sort=False)}
        assert list(of) == ["use", "<i>B", "e5-small"] and not {"base", "other"} & {*table.columns}
        assert of["use"]["accuracy"].tolist() == sides[0]["base"].tolist()
        assert of["use"]["difference"].isna().all()
        for encoder, side in zip(("<i>B", "e5-small"), sides, strict=True):
            assert of[encoder]["accuracy"].tolist() == side["other"].tolist()
            assert of[encoder]["difference"].tolist() == side["difference"].tolist()
    assert {"low", "high", "verdict", "queries"} <= {*compared.by_language.columns}
    assert {"queries", "pool", "n", "fixed", "p_value", "difference_low"} <= {*compared.accuracy.columns}


def test_several_encoders_show_themselves() -> None:
    compared = several("a note <u>")
    page, means = compared._repr_html_(), compared.means
    for row in means.to_dict("records"):
        assert f"<td>{row['accuracy'] * 60 / 100:.1f}".removesuffix(".0") + " of 60</td>" in page
    assert "Right intents" not in page and compared.intents.empty  # no run was asked
    assert "&lt;i&gt;B" in page and "a note &lt;u&gt; trained on these" in page
    for tag in ("<i>B", "<u>"):
        assert tag not in page
    assert repr(compared).startswith(
        "<3 encoders on 60 sentences: Similar sentences: mean of 5 language pairs with English on a side, use "
    )
    few = RunComparisons(
        SENTENCES.iloc[:2], tuple(Compared(name, name, OTHER[:2]) for name in ("a", "b", "c"))
    )
    assert "leave-one-out needs two" in repr(few) and "leave-one-out needs two" in few._repr_html_()


def test_of_several_encoders_right_intents_are_compared_too() -> None:
    languages, groups = tuple(SENTENCES["language"]), np.arange(60)
    known, none = np.ones(60, dtype=bool), Share(0, 0)
    right = [np.arange(60) % 10 < share for share in (4, 6, 5)]
    answers = tuple(Predicted(9, "both", languages, groups, of, known, none, None) for of in right)
    compared = RunComparisons(SENTENCES, several().encoders, answers=answers)
    assert compared.table.head[1:3] == ["Right intents: all 3 languages", "change"]
    assert [row[1] for row in compared.table.rows] == ["24 of 60", "36 of 60", "30 of 60"]
    shares = compared.intents.groupby("encoder", sort=False)["right"].mean()
    assert shares.to_dict() == pytest.approx({"use": 40, "<i>B": 60, "e5-small": 50}, abs=2)
    last = compared.between("<i>B", "e5-small").intents
    assert last is not None and (last.overall.base, last.overall.specialised) == pytest.approx((60, 50))
    assert "Right intents: all 3 languages" in compared._repr_html_()


@pytest.mark.parametrize("names", [("use", "use"), ("use", "laser"), ("laser", "use")])
def test_only_two_of_the_encoders_are_compared(names: tuple[str, str]) -> None:
    with raises(DataError, fix=None):
        several().between(*names)
