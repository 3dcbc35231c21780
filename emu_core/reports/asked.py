"""One sentence asked in several languages, in plain words and as a table."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from emu_core.charts.style import short
from emu_core.data.languages import language_name
from emu_core.data.wording import shown
from emu_core.reports.templating import render_html

_MOST_NAMED = 3  # languages in a sentence
_INTENT = 40  # characters


def asked_sentence(table: pd.DataFrame, names: Sequence[str]) -> str:
    """Return in how many languages each encoder is right, the last one first, and which it leaves behind.

    Args:
        table: of `nearest_by_language`.
        names: of the encoders in the table's columns.
    """
    *others, last = names
    wrong = table[~table[f"{last}_right"]]
    sentences = [f"{last} is right in {len(table) - len(wrong)} of {len(table)} languages"]
    if 0 < len(wrong) < len(table):
        behind = [
            f"{language_name(row['language'])} (taken for {_intent(row[f'{last}_intent'])})"
            for _, row in wrong.head(_MOST_NAMED).iterrows()
        ]
        more = len(wrong) - len(behind)
        listed = ", ".join(behind) + (f" and {more} more" if more else "")
        sentences[0] += f"; left behind: {listed}"
    sentences += [f"{name} is right in {int(table[f'{name}_right'].sum())}" for name in others]
    return ". ".join(sentences) + "."


def asked_table(table: pd.DataFrame, names: Sequence[str]) -> str:
    """Return HTML with a row for each language: what each encoder finds, wrong ones of the last encoder first.

    The arguments are those of `asked_sentence`.
    """
    in_order = table.sort_values(f"{names[-1]}_right", kind="stable")
    rows = [
        {
            "code": row["language"],
            "language": language_name(row["language"]),
            "text": shown(row["text"], 300),
            "cells": [_cell(row, name) for name in names],
        }
        for _, row in in_order.iterrows()
    ]
    return render_html(
        "asked.html.j2", rows=rows, names=names, intent=shown(table["intent"].iloc[0], _INTENT)
    )


def _cell(row: "pd.Series[Any]", name: str) -> dict[str, Any]:
    cosine = row[f"{name}_cosine"]
    return {
        "right": bool(row[f"{name}_right"]),
        "intent": _intent(row[f"{name}_intent"]),
        "cosine": "" if pd.isna(cosine) else f"{cosine:.2f}",
        "text": short(row[f"{name}_text"], 200),
    }


def _intent(intent: str) -> str:
    return shown(intent, _INTENT) if intent else "nothing"
