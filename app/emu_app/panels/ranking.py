"""The ranking by right intents of the runs on one's own data."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from emu_app.data.library import ChosenData
from emu_app.panels.context import as_b
from emu_app.panels.run_table import method_words
from emu_app.shell.address import draw_link
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import plain_name
from emu_app.shell.state import config_of, data_sha_of, metrics_of, status_of
from emu_app.shell.widgets import draw_table
from emu_app.shell.wording import literal
from emu_core.evaluation.significance import binomial_interval
from emu_core.runs.run import Run, RunState

RANKED = ("Run", "Method", "Encoder", "Right intents, %", "95 % interval", "Minutes")


def ranked(runs: Sequence[Run], chosen: ChosenData) -> list[Run]:
    """Return the finished runs on these data whose right intents were measured, the best first.

    Of equal ones, the one that trained for less time comes first.
    """
    measured = [
        run
        for run in runs
        if data_sha_of(run) == chosen.sha256
        and status_of(run).state is RunState.FINISHED
        and metrics_of(run).right_intents is not None
    ]
    return sorted(measured, key=lambda run: (-_percent(run), metrics_of(run).seconds))


def ranking_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the columns of `RANKED`, a row for each run, and one for each encoder as it is, the best first."""
    rows, bases = list[tuple[object, ...]](), dict[str, tuple[object, ...]]()
    for run in runs:
        config, metrics = config_of(run), metrics_of(run)
        if config is None or metrics.right_intents is None:
            continue
        overall, encoder = metrics.right_intents.overall, plain_name(config.encoder)
        minutes = round(metrics.seconds / 60, 1)
        rows.append(
            (run.name, method_words(config), encoder, *_cells(overall.specialised, overall.queries), minutes)
        )
        base = ("", "none: the encoder as it is", encoder, *_cells(overall.base, overall.queries), None)
        bases.setdefault(encoder, base)
    table = pd.DataFrame([*rows, *bases.values()], columns=list(RANKED))
    return table.sort_values(RANKED[3], ascending=False, kind="stable", ignore_index=True)


def draw_ranking(runs: Sequence[Run], chosen: ChosenData) -> None:
    """Draw the ranking of two runs or more on these data, and a link that opens the best."""
    best = ranked(runs, chosen)
    if len(best) < 2:
        return
    st.header("Ranking on these data")
    draw_table(
        ranking_table(best),
        "ranking",
        "emu-ranking.csv",
        {
            RANKED[3]: st.column_config.NumberColumn(format="%.1f", help=help_on(Word.RIGHT_INTENTS)),
            RANKED[5]: st.column_config.NumberColumn(format="%.1f", help="How long it trained."),
        },
    )
    st.caption("Where two intervals overlap, the order of the two may be chance.")
    draw_link("workbench", f"Open the best: {literal(best[0].name)}", ":material/trophy:", **as_b(best[0]))


def _percent(run: Run) -> float:
    changes = metrics_of(run).right_intents
    return 0.0 if changes is None else changes.overall.specialised


def _cells(percent: float, queries: int) -> tuple[float, str]:
    interval = binomial_interval(round(percent * queries / 100), queries)
    return percent, f"{interval.low:.1f} to {interval.high:.1f}"
