"""What a specialised encoder has forgotten, where `emu forgetting` measured it."""

import json
import shlex
from typing import Any

import pandas as pd
import streamlit as st

from app.csv_button import draw_csv_button
from app.vectors import weights_of
from app.wording import literal
from emu_core import charts
from emu_core.api.forgetting import FILE
from emu_core.charts.intervals import ROW
from emu_core.data.languages import language_name
from emu_core.errors import RunError
from emu_core.evaluation.forgetting import MOST_FALL_POINTS, MOST_FALL_SPEARMAN
from emu_core.runs.run import Run

MOST_ROWS = 20  # of a picture in view; a taller one scrolls
STS, TRANSLATIONS = "sts", "translations"
# What each part is called, what its differences are, how far it may fall, its decimals.
_PARTS = {
    STS: ("Similarity of sentences", "Spearman's correlation, specialised minus base", MOST_FALL_SPEARMAN, 3),
    TRANSLATIONS: ("Finding translations", "points, specialised minus base", MOST_FALL_POINTS, 1),
}
_NUMBERS = ("base", "specialised", "difference", "low", "high")


def draw_forgetting(run: Run) -> None:
    """Draw what the run's forgetting check measured, or say which command does."""
    measured = read_forgetting(run)
    if measured is None:
        st.markdown(
            "Whether this encoder forgot what its base could do was not measured. This command does it:"
        )
        folder = shlex.quote(str(run.folder))
        st.code(
            f"emu forgetting {folder} --sts FOLDER --translations FOLDER", language="bash", wrap_lines=True
        )
        return
    fallen = measured[measured["flagged"]]
    if fallen.empty:
        st.success("Nothing was forgotten: no measure fell too far.", icon=":material/check_circle:")
    else:
        named = "; ".join(_fall(row) for _, row in fallen.iterrows())
        st.error(f"**Forgotten:** {named}.", icon=":material/trending_down:")
    parts = {part: rows for part in _PARTS if len(rows := measured[measured["part"] == part])}
    for place, (part, rows) in zip(st.columns(max(1, len(parts))), parts.items(), strict=False):
        with place:
            _draw_part(part, rows)
    st.caption(
        "What the encoder could do before it was specialised, and still can, on sentences that are not of your data. "
        "Similarity: how well its cosines order pairs of sentences as people do (Spearman's correlation). "
        "Translations: how often the nearest neighbour of a sentence is its translation. Lines are 95 % intervals. "
        f"The dotted line is the largest harmless fall, of {MOST_FALL_SPEARMAN:g} or of {MOST_FALL_POINTS:g} point."
    )
    _draw_table(measured, weights_of(f"run:{run.folder}"))


def read_forgetting(run: Run) -> pd.DataFrame | None:
    """Return a row for each measure of a run's forgetting.json; None where there is none.

    Its columns: `part` ("sts" or "translations"), `name` (a language, or two), `base`, `specialised`, `difference`,
    `low`, `high`, `count`, `flagged`.

    Raises:
        RunError: the file is damaged.
    """
    path = run.folder / FILE
    try:
        found = json.loads(path.read_text("utf-8"))
        rows = [
            _row(part, name, kept)
            for part in _PARTS
            for name, kept in found[part].items()
        ]  # fmt: skip
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise RunError(f"{path} can't be read; make it again with emu forgetting") from None
    return pd.DataFrame(rows, columns=["part", "name", *_NUMBERS, "count", "flagged"])


def _row(part: str, name: str, kept: dict[str, Any]) -> tuple[Any, ...]:
    between = " to ".join(map(language_name, name.split("-"))) if name.count("-") == 1 else name
    what = language_name(name) if part == STS else between
    return (
        part,
        what,
        *(float(kept[number]) for number in _NUMBERS),
        int(kept["count"]),
        bool(kept["flagged"]),
    )


def _draw_part(part: str, rows: pd.DataFrame) -> None:
    name, title, most_fall, places = _PARTS[part]
    st.subheader(name)
    with st.container(height=ROW * MOST_ROWS if len(rows) > MOST_ROWS else "content", border=False):
        st.plotly_chart(
            charts.kept_intervals(rows, most_fall, title, places),
            key=f"forgetting-{part}",
            config={"displayModeBar": False},
            alt=f"{name}: what rose and fell, with 95 % intervals around zero. The table below has the numbers.",
        )


def _fall(row: "pd.Series[Any]") -> str:
    name, _, _, places = _PARTS[row["part"]]
    return (
        f"{name.lower()}, {literal(row['name'], 60)} {row['base']:.{places}f} → "
        f"{row['specialised']:.{places}f}"
    )


def _draw_table(measured: pd.DataFrame, weights: str) -> None:
    table = pd.DataFrame(
        {
            "Measure": measured["part"].map(lambda part: _PARTS[part][0]),
            "Language": measured["name"],
            "Base": _shown(measured, "base"),
            "Specialised": _shown(measured, "specialised"),
            "Difference": _shown(measured, "difference", "+"),
            "Difference, 95 %": _shown(measured, "low", "+") + " to " + _shown(measured, "high", "+"),
            "Pairs": measured["count"],
            "Verdict": measured["flagged"].map({True: "fell too far", False: ""}),
        }
    )
    counts = st.column_config.NumberColumn(format="localized", help="Of sentences.")
    st.dataframe(table, hide_index=True, column_config={"Pairs": counts}, key="forgetting-table")
    draw_csv_button(
        measured, ("forgetting", weights, *measured["difference"], *measured["base"]), "emu-forgetting.csv"
    )


def _shown(measured: pd.DataFrame, column: str, sign: str = "") -> "pd.Series[str]":
    """Numbers with the decimals of their part."""
    shown = [
        f"{value:{sign}.{_PARTS[part][3]}f}"
        for part, value in zip(measured["part"], measured[column], strict=True)
    ]
    return pd.Series(shown, index=measured.index, dtype=str)
