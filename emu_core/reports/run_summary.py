"""The summary of a run that a notebook shows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emu_core.charts.curves import small_curves
from emu_core.reports import figures_as_text as metric_rows
from emu_core.reports.figures_as_text import TextTable, named, text_rows
from emu_core.reports.markup import cards, escaped, html_table, new_intent_verdict, paragraph
from emu_core.runs.config import RunConfig
from emu_core.runs.log import Record

Facts = Mapping[str, Any]


def run_summary(
    name: str, config: RunConfig, metrics: Facts, history: Sequence[Record], unfinished: str
) -> Iterator[str]:
    """Yield a run as HTML for a notebook: settings, results, guards and curves.

    `history` is the log so far; `unfinished` the progress of a run that is not finished, else "".
    """
    what = f"{config.method} on {config.data}" + (f", from {config.encoder}" if config.encoder else "")
    yield f"<h3>{escaped(name)}</h3>"
    yield paragraph(what, "note")
    if unfinished:
        yield paragraph(unfinished, "worse")
    if "mean_base" in metrics:
        base, specialised = metrics["mean_base"], metrics["mean_specialised"]
        yield cards(
            [
                ("Base encoder", f"{base:.1f} %", f"mean of {metrics['mean_over']}"),
                ("Specialised", f"{specialised:.1f} %", f"{specialised - base:+.1f} points"),
            ]
        )
    elif note := metrics.get("note"):
        yield paragraph(note, "note")
        if "cross_validation" in metrics:
            yield paragraph(metric_rows.cross_validation_sentence(metrics["cross_validation"]))
    if guard := metrics.get("guard"):
        sentences = metric_rows.guard_sentences(guard).values()
        yield from (paragraph(one, "worse") for one in sentences)
        if not sentences:
            yield paragraph("No language is seen to lose.", "better")
        yield html_table(metric_rows.guard_table(guard))
    if "new_intents" in metrics:
        yield new_intent_verdict(metrics["new_intents"])
    yield from (paragraph(warning, "worse") for warning in metrics.get("warnings", ()))
    if translation := metrics.get("translation"):
        rows = text_rows(named(translation), "{name} | {p_at_1:.1f} | {candidates:,}")
        yield html_table(TextTable(("direction", "P@1 %", "among"), rows))
    yield small_curves(history)
