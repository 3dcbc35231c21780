"""Accuracy before and after, and where it fell."""

import pandas as pd
import streamlit as st

from app.columns import roomy_columns
from app.compare.measure import SIGNIFICANT, Comparison, matrix
from app.encoders import BASE, NEW
from app.guard_panel import draw_guard
from app.wording import literal
from emu_core import charts
from emu_core.data.export_csv import safe_csv
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.evaluation.leakage import Leakage

MOST_SIDE_BY_SIDE = 7  # languages; wider matrices get a tab each
MOST_NAMED = 6  # directions named in a sentence
_CHANCE_POINTS = 1.0  # the leakage of a few hundred sentences differs so much by chance
_POINTS = 0.05  # differences below it are nothing to the first decimal


def draw_accuracy(comparison: Comparison) -> None:
    """Draw the means, what got worse, the three matrices, the leakage, and a table of every direction."""
    _draw_means(comparison)
    _draw_verdict(comparison)
    draw_guard(comparison.guard, key="guard")
    _draw_matrices(comparison)
    if comparison.leakage is not None:
        _draw_leakage(*comparison.leakage)
    _draw_table(comparison.directions)


def _draw_means(comparison: Comparison) -> None:
    base, new, directions = comparison.base, comparison.new, comparison.directions
    means = {f"Mean of {counted(len(directions), 'direction')}": (base.mean, new.mean)}
    if "en" in base.languages and len(base.languages) > 1:
        name = f"Mean of the {2 * len(base.languages) - 1} with English"
        means[name] = (base.mean_with("en"), new.mean_with("en"))
    cells = roomy_columns(len(means) + 2, 260, "means", border=True)
    for cell, (name, (before, after)) in zip(cells, means.items(), strict=False):
        cell.metric(
            name,
            f"{after:.1f} %",
            f"{after - before:+.1f} points from {before:.1f}",
            help="Leave-one-out accuracy of the nearest neighbour (Acc@1), each direction counting once.",
        )
    better, worse = directions["difference"] > _POINTS, directions["difference"] < -_POINTS
    sure = directions["p_value"] < SIGNIFICANT
    for cell, name, which in ((cells[-2], "better", better), (cells[-1], "worse", worse)):
        cell.metric(
            f"Directions that got {name}",
            int(which.sum()),
            f"{int((which & sure).sum())} significantly",
            delta_color="off",
            delta_arrow="off",
        )


def _draw_verdict(comparison: Comparison) -> None:
    """Say in words which directions got worse."""
    fallen = comparison.directions[comparison.directions["difference"] < -_POINTS].sort_values("difference")
    if fallen.empty:
        st.success("No direction got worse.", icon=":material/trending_up:")
        return
    named = "; ".join(_fall(row) for _, row in fallen.head(MOST_NAMED).iterrows())
    more = f"; and {len(fallen) - MOST_NAMED} more in the table below" if len(fallen) > MOST_NAMED else ""
    st.warning(
        f"**{counted(len(fallen), 'direction')} of {len(comparison.directions)} got worse:** {named}{more}.",
        icon=":material/trending_down:",
    )


def _fall(row: "pd.Series[float]") -> str:
    direction = f"{_named(row['queries'])} queries in a pool of {_named(row['pool'])}"
    return f"{direction} {row['base']:.1f} → {row['new']:.1f} ({_p(row['p_value'])})"


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


def _named(code: object) -> str:
    return literal(language_name(str(code)), 40)


def _draw_matrices(comparison: Comparison) -> None:
    directions = comparison.directions
    base, new, difference = (matrix(directions, column) for column in ("base", "new", "difference"))
    significant = matrix(directions, "p_value") < SIGNIFICANT
    lowest, highest = (getattr(pd.concat([base, new]).stack(), extreme)() for extreme in ("min", "max"))
    span = (float(lowest), max(float(highest), float(lowest) + 1.0))
    figures = {
        BASE: charts.accuracy_matrix(base, f"{BASE}: Acc@1, %", span),
        NEW: charts.accuracy_matrix(new, f"{NEW}: Acc@1, %", span),
        "Difference": charts.accuracy_difference(difference, significant, "Difference, points"),
    }
    side_by_side = len(base) <= MOST_SIDE_BY_SIDE
    places = roomy_columns(len(figures), 370, "matrices") if side_by_side else st.tabs(list(figures))
    for place, (name, figure) in zip(places, figures.items(), strict=True):
        place.plotly_chart(
            figure,
            key=f"matrix-{name}",
            config={"displayModeBar": False},
            alt=f"Heat map of Acc@1 by language of queries and pool: {name}. The table below has the numbers.",
        )
    by_chance = SIGNIFICANT * len(directions)
    st.caption(
        "Each sentence's nearest neighbour in the pool's language decides; the sentence itself and its translations "
        f"are left out (leave-one-out, Acc@1). A star: p < {SIGNIFICANT} in an exact McNemar test of this direction "
        f"alone; with {counted(len(directions), 'direction')}, chance gives about {by_chance:.1f} stars. "
        f"All directions together: {_p(comparison.wilcoxon_p)} (Wilcoxon signed-rank test)."
    )


def _draw_leakage(base: Leakage, new: Leakage) -> None:
    """Draw how well the vectors tell the language, before and after."""
    st.subheader("How well the vectors tell the language")
    told = {
        "A linear probe tells the language": (base.probe, new.probe, base.probe_chance),
        "Nearest neighbours in the own language": (base.neighbours, new.neighbours, base.neighbours_chance),
    }
    for cell, (name, (before, after, chance)) in zip(
        st.columns(len(told), border=True), told.items(), strict=True
    ):
        cell.metric(
            f"{name} (chance {chance:.1f} %)",
            f"{after:.1f} %",
            f"{after - before:+.1f} points from {before:.1f}",
            delta_color="inverse" if abs(after - before) >= _CHANCE_POINTS else "off",
        )
    st.caption(
        f"Of {counted(base.sentences, 'sentence')} in {base.languages} languages. The nearer to chance, the less the "
        "vectors say of the language; a sentence's own translations are left out. The probe's balanced accuracy is "
        "cross-validated."
    )


def _draw_table(directions: pd.DataFrame) -> None:
    with st.expander("Every direction, with 95 % intervals and the paired test", icon=":material/table:"):
        table = pd.DataFrame(
            {
                "Queries": directions["queries"].map(language_name),
                "Pool": directions["pool"].map(language_name),
                "Sentences": directions["n"],
                "Base %": directions["base"],
                "Base, 95 %": _range(directions, "base"),
                "Specialised %": directions["new"],
                "Specialised, 95 %": _range(directions, "new"),
                "Difference": directions["difference"],
                "Difference, 95 %": _range(directions, "difference"),
                "Mended": directions["mended"],
                "Broken": directions["broken"],
                "p (McNemar)": directions["p_value"],
            }
        )
        one, three = (
            st.column_config.NumberColumn(format="%.1f"),
            st.column_config.NumberColumn(format="%.3f"),
        )
        st.dataframe(
            table,
            hide_index=True,
            column_config={"Base %": one, "Specialised %": one, "Difference": one, "p (McNemar)": three},
        )
        st.download_button(
            "Download as CSV",
            safe_csv(directions),
            file_name="emu-accuracy.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )


def _range(directions: pd.DataFrame, column: str) -> "pd.Series[str]":
    low, high = directions[f"{column}_low"], directions[f"{column}_high"]
    return low.map("{:.1f}".format) + " to " + high.map("{:.1f}".format)
