"""The evaluation of each of a run's embeddings, as it was measured when the run ended."""

import streamlit as st

from app.panels.widgets import draw_csv_button
from app.split.parts import NAMES
from app.wording import sentence
from emu_core.api.split import PROBE, direction, part_table
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.runs.run import Run


def draw_numbers(run: Run) -> None:
    """Draw a row for each embedding."""
    metrics = run.metrics()
    measured = metrics.get("parts")
    if not measured:
        st.info(
            "Nothing was measured: the run's data had no rows of split test or dev.", icon=":material/info:"
        )
        return
    table = part_table(measured)
    table["Embedding"] = table["Embedding"].map(NAMES)
    columns = {
        name: st.column_config.NumberColumn(format="%.1f", help=_help(name)) for name in table.columns[1:]
    }
    st.dataframe(table, hide_index=True, column_config=columns, key="split-numbers")
    counts = measured["counts"]
    asked = [
        f"{direction(pair)}: {counted(count, 'query', 'queries')}"
        for pair, count in counts["translation"].items()
    ] + [
        f"templates {code}: {counted(count, 'query', 'queries')}"
        for code, count in counts["template"].items()
    ]
    st.caption(
        "Percent. A direction: how often the nearest sentence in the other language is the translation (Acc@1). "
        "Templates: how often the nearest sentence, of those made by putting other values into the slots, is of the "
        f"same template (Acc@1). {PROBE}: how well a linear layer identifies the language: high is right for "
        "the language part, low for the meaning."
    )
    if asked:
        st.caption(sentence(f"on split {metrics.get('split', 'test')}: {'; '.join(asked)}"))
    for note in measured.get("notes", []):
        st.info(sentence(note), icon=":material/info:")
    draw_csv_button(table, (run.name, str(measured)), "emu-split-numbers.csv", key="numbers-csv")


def _help(name: str) -> str:
    if name == PROBE:
        return "How well a linear layer identifies the language."
    if name.startswith("Templates "):
        return f"Template retrieval in {language_name(name.removeprefix('Templates '))}, Acc@1."
    source, target = name.split(" → ")
    return f"Queries in {language_name(source)}, translations in {language_name(target)}, Acc@1."
