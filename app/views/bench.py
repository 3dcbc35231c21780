"""Evidence: the papers' experiments and today's peers on data of one's own, started, followed and read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from app.cache import start_helpers
from app.forms.encoder import KEPT, draw_encoder, is_transformer
from app.forms.model_name import short_name
from app.forms.settings import draw_fields
from app.forms.starting import Plan, draw_device, draw_name, draw_start_button
from app.forms.training import draw_pairs, draw_train_languages
from app.library import ChosenData, chosen_data
from app.panels.monitor import draw_resume, draw_runs
from app.panels.run_table import run_row
from app.panels.widgets import choose, draw_chart
from app.state import config_of, is_bench, runs_root, status_of
from app.upload.parallel import draw_other_texts, draw_texts
from app.wording import literal, sentence, time_span
from emu_core.bench.emu.data import BenchData
from emu_core.bench.emu.experiment import BASE
from emu_core.bench.experiment import Outlook
from emu_core.bench.job import experiment_of
from emu_core.bench.paper import words
from emu_core.bench.papers import PAPERS, BenchSettings, Paper
from emu_core.bench.report import JSON, MARKDOWN, PAGE, Report, load_report, shown_fact
from emu_core.bench.tables import Table
from emu_core.charts.systems import Gain, system_gains
from emu_core.config.settings import infos
from emu_core.data.texts.tasks import Tasks
from emu_core.data.wording import counted
from emu_core.errors import EmuError, RunError, TrainingError
from emu_core.methods.method import Needs
from emu_core.runs.run import Run, RunState, list_runs

WATCHED = "bench-watched"
PLACE = "bench"
PACKAGES_S = 60.0  # what is not installed now may be by then
NOT_AS_IN_THE_PAPERS = """\
Measured with this app's encoders on the demo set, SIB-200 and generated commands:
- Fine-tuning with a plain softmax does not ruin the encoder. On the demo set it gains what Emu gains (46.0 and 45.9 %,\
 from 25.8).
- Emu's language discriminator hides the language, and adds little to the accuracy: 0.4 points, within chance.
- FMDA's template embedding finds templates no better than mean pooling without training (15.6 and 15.7 %), unless it \
is trained in two stages.
- A logistic regression on the vectors as they are is ahead of the default method on the demo set.
"""
_MIME = {"html": "text/html", "md": "text/markdown", "json": "application/json", "csv": "text/csv"}
_LABELS = {PAGE: "Report, HTML", MARKDOWN: "Report, Markdown", JSON: "Numbers, JSON"}


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Evidence")
    st.caption(
        "The papers' tables and what others do today, measured on your data: what each system gains, how sure that is, "
        "and what it costs. A benchmark goes on when you leave this page or close the tab."
    )
    with st.expander("What did not come out as in the papers", icon=":material/rule:"):
        st.markdown(NOT_AS_IN_THE_PAPERS)
    form, watched = st.columns([5, 7], gap="large")
    with form:
        name, plan = draw_form(chosen_data())
        draw_start_button(PLACE, name, plan, WATCHED, "Start the benchmark")
    benches = [run for run in list_runs(runs_root()) if is_bench(run)]
    with watched:
        run = draw_runs(benches, WATCHED, "Benchmark")
    if run is not None and (run.folder / JSON).is_file():
        draw_found(run)
    if benches:
        st.subheader("All benchmarks")
        draw_benches(benches)
    draw_earlier()


def draw_found(run: Run) -> None:
    """Draw a report, and offer the other try that it needs."""
    over = status_of(run).state is RunState.FINISHED
    if not over:
        st.info("This is the report as it was before.", icon=":material/history:")
    report = draw_report(run.name, run.folder)
    if over and report is None:
        draw_resume(run, "Write the report again", "The cells that are finished stay.")
    elif over and report is not None and report.errors:
        draw_resume(
            run,
            "Try again what was not measured",
            "Once it is fixed, such as by installing a package: the cells that are finished stay.",
        )


def draw_benches(benches: Sequence[Run]) -> None:
    """Draw all benchmarks, the newest first."""
    st.dataframe(
        pd.DataFrame(map(_row, benches)),
        hide_index=True,
        placeholder="",
        column_config={"Started": st.column_config.DatetimeColumn(format="calendar")},
        key="benches",
    )


def draw_earlier() -> None:
    """Draw the report of a benchmark that an earlier version of this app has run, if there is one."""
    reports: dict[str, Path] = {
        path.parents[1].name: path.parent for path in sorted((runs_root() / ".bench").glob(f"*/out/{JSON}"))
    }
    if not reports:
        return
    st.subheader("Reports of an earlier version")
    name = st.selectbox("Report", list(reports), index=None, placeholder="Choose one", key="bench-earlier")
    if name is not None:
        draw_report(name, reports[name])


def _row(run: Run) -> dict[str, object]:
    status, config, row = status_of(run), config_of(run), run_row(run)
    settings = {} if config is None else config.hyperparameters
    return {
        "Benchmark": run.name,
        "State": row["State"],
        "Paper": row["Method"],
        "Data": "" if config is None else config.data,
        "Encoder": row["Encoder"],
        "Trained on": row["Trained on"],
        "Parts": _joined(settings.get("parts")),
        "Seeds": _joined(settings.get("seeds")),
        "Cells": f"{status.steps if status.state is RunState.FINISHED else status.step} of {status.steps}",
        "Started": row["Started"],
    }


def _joined(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else ""


def draw_form(chosen: ChosenData) -> tuple[str, Plan | str]:
    """Draw the form, and what the benchmark would be; return its name, and its plan or why it can't be started."""
    name = choose("Paper", list(PAPERS), "bench-paper", format_func=lambda name: PAPERS[name].title)
    paper = PAPERS[name]
    st.caption(sentence(paper.summary))
    about, data, options = (
        _draw_texts(paper, chosen) if paper.needs is Needs.PARALLEL_TEXT else _draw_set(paper, chosen)
    )
    settings = _draw_settings(paper)
    options["device"] = draw_device(PLACE)
    named = draw_name(PLACE, f"bench-{paper.name}", about)
    if problem := options.pop("problem", ""):
        return named, problem
    if isinstance(settings, str):
        return named, settings
    made = _plan(chosen.token, chosen, data, paper=paper.name, key=about, settings=settings, options=options)
    if isinstance(made, str):
        return named, made
    plan, outlook = made
    _draw_outlook(outlook)
    return named, plan


def _draw_set(paper: Paper, chosen: ChosenData) -> tuple[str, Any, dict[str, Any]]:
    """Ask for the encoder and languages; return what names the run, the data, and what its plan takes."""
    st.markdown(chosen.line)
    encoder = draw_encoder(f"bench-encoder-{paper.name}", first=paper.encoder)
    options: dict[str, Any] = {"encoder": encoder.spec, "problem": encoder.problem}
    if paper.needs is Needs.SLOTS:
        options["pairs"] = draw_pairs(chosen)
        if not options["pairs"]:
            options["problem"] = "choose two languages whose translations are used"
        elif not is_transformer(encoder.spec):
            options["problem"] = (
                "these experiments read a state for each token; choose e5-small, or a transformer"
            )
    else:
        options["train_languages"] = draw_train_languages(chosen)
        if not options["train_languages"]:
            options["problem"] = "choose a language whose labels are used"
    return short_name(encoder.spec), chosen.labelled, options


def _draw_texts(paper: Paper, chosen: ChosenData) -> tuple[str, Any, dict[str, Any]]:
    """Ask for parallel text, and for other texts that the paper's system is trained on; return as `_draw_set` does."""
    read = draw_texts()
    texts = draw_other_texts() if paper.reads_tasks else {}
    if read is None:
        return "", (), {"problem": "there is no parallel text yet: upload some, or take the example"}
    tasks = Tasks.of([text for one in texts.values() for text in one.texts])
    languages = list(dict.fromkeys(code for text in read.parallel for code in text.languages))
    options: dict[str, Any] = {
        "dialogues": tasks.dialogues,
        "running_text": tasks.running_text,
        "nli": tasks.nli,
    } if paper.reads_tasks else {}  # fmt: skip
    if len(set(languages) & set(chosen.labelled.languages)) > 1 and st.checkbox(
        "Classify across languages, too",
        value=True,
        help=f"With the sentences and intents of the data in use: {chosen.title}.",
        key="bench-documents",
        **KEPT,
    ):
        options["labelled"] = chosen.labelled
    return "-".join(languages), read.parallel, options


def _draw_settings(paper: Paper) -> BenchSettings | str:
    start = paper.settings()
    if parts := getattr(start, "parts", ()):
        first: dict[str, Any] = {"parts": parts[:1]}  # each table takes its time
        start = replace(start, **first)
    values = draw_fields(start, infos(paper.settings), f"bench-{paper.name}")
    if values.get("parts") == ():
        return "choose a table"
    try:
        return replace(start, **values)
    except TrainingError as error:
        return str(error)


def _draw_outlook(found: Outlook) -> None:
    cells = (
        f"**{counted(found.cells, 'cell')}**: each is one system with one seed, trained and measured in a process of "
        "its own, one after another"
    )
    if found.training:
        cells += (
            f"; {counted(found.training, 'cell trains', 'cells train')} the encoder, on {found.passes:,} sentences in "
            "all (each counted as often as it comes). With `use` on two CPU cores that takes roughly "
            f"{time_span(found.seconds)}; a larger encoder takes longer"
        )
    st.markdown(f"{cells}.")
    if found.note:
        st.caption(sentence(found.note))
    if found.missing:
        with st.expander(
            f"{counted(len(found.missing), 'thing')} can't be measured here", icon=":material/info:"
        ):
            st.markdown("\n".join(f"- {sentence(reason)}" for reason in found.missing))


@st.cache_resource(max_entries=4, ttl=PACKAGES_S, show_spinner="Checking whether data and tables fit ...")
def _plan(
    token: str,
    _chosen: ChosenData,
    _data: Any,
    *,
    paper: str,
    key: str,
    settings: BenchSettings,
    options: Mapping[str, Any],
) -> tuple[Plan, Outlook] | str:
    try:
        config, data = PAPERS[paper].plan(_data, **asdict(settings), **options)
        if _chosen.translations and isinstance(data, BenchData):
            data = data.translated(config.train_languages[0], _chosen.translations)
        return (config, data), experiment_of(config, data).outlook()
    except EmuError as error:
        return str(error)


def draw_report(name: str, folder: Path) -> Report | None:
    """Draw what a benchmark found, from the folder of its report; None, and why, where it can't be read."""
    try:
        report = load_report(folder)
        files = {file: (folder / file).read_bytes() for file in report.files}
    except (RunError, OSError) as error:
        st.error(sentence(error), icon=":material/error:")
        return None

    def draw_download(file: str, label: str = "Download as CSV") -> None:
        st.download_button(
            label,
            files[file],
            file_name=f"{name}-{file}",
            mime=_MIME[file.rsplit(".", 1)[-1]],
            icon=":material/download:",
            on_click="ignore",
            key=f"download-{name}-{file}",
        )

    st.header(literal(report.title, 200))
    with st.container(horizontal=True):
        for file, label in _LABELS.items():
            draw_download(file, label)
    with st.expander("What was run", icon=":material/checklist:"):
        facts = report.facts.items()
        st.markdown(_listed(f"{fact.replace('_', ' ')}: {shown_fact(value)}" for fact, value in facts))
    with st.expander("What differs from the paper", icon=":material/difference:"):
        st.markdown(_listed(report.differences))
    for table in report.tables:
        _draw_table(name, table)
        draw_download(f"{table.name}.csv")
    for picture in report.pictures:
        st.subheader(literal(picture.title, 200))
        st.image(picture.svg, width="stretch", alt=picture.title)
        st.caption(literal(picture.note))
    if report.paper:
        with st.expander("The paper's own tables", icon=":material/menu_book:"):
            for table in report.paper:
                st.markdown(f"**{literal(table.title)}**")
                _draw_frame(name, table)
                draw_download(f"{table.name}.csv")
    return report


def gains_of(table: Table) -> list[Gain]:
    """Return what each system that was measured gained; none for a table without gains."""
    rows = [(row.cells[0], table.data.get(row.key, {})) for row in table.rows if row.key != BASE]
    return [
        Gain(label, found["gain"], found["mean_deviation"], tuple(found["below_base"]))
        for label, found in rows
        if "below_base" in found
    ]


def _draw_table(name: str, table: Table) -> None:
    st.subheader(literal(table.title, 200))
    if table.warnings:
        st.warning(_listed(map(str, table.warnings)), icon=":material/warning:")
    if table.verdict:
        st.info("\n\n".join(map(sentence, table.verdict)), icon=":material/lightbulb:")
    if gains := gains_of(table):
        draw_chart(
            system_gains(gains),
            f"gains-{name}-{table.name}",
            "What each system gained over the base encoder: bars of points of mean Acc@1.",
        )
        st.caption(
            "Mean over the directions with the training language on one side. A whisker is one standard deviation over "
            "the seeds; with a single seed there is none."
        )
    _draw_frame(name, table)
    for row in table.rows:
        if row.missing:
            st.markdown(
                f":material/block: **{literal(row.cells[0], 200)}** was not measured: {literal(row.missing)}."
            )
    _draw_notes(table.notes)


def _draw_notes(notes: Sequence[str]) -> None:
    """Draw how to read a table; where there is much to say, what the stars mean stays in view."""
    marks = words("emu")["notes"]["marks"]
    folded = [note for note in notes if note != marks] if len(notes) > 2 else []
    for note in notes:
        if note not in folded:
            st.caption(literal(note))
    if folded:
        with st.expander("How this table is measured", icon=":material/help:"):
            for note in folded:
                st.markdown(literal(note))


def _draw_frame(name: str, table: Table) -> None:
    rows = [row.texts(len(table.head)) for row in table.rows if not row.missing]
    if not rows:
        return
    first, *others = columns = _distinct(table.head)
    st.dataframe(
        pd.DataFrame(rows, columns=columns),
        hide_index=True,
        height="content",
        placeholder="",
        column_config={
            first: st.column_config.TextColumn(pinned=True),
            **{name: st.column_config.TextColumn(alignment="right") for name in others},
        },
        key=f"table-{name}-{table.name}",
    )


def _distinct(head: Iterable[str]) -> list[str]:
    """Return the columns' names, each once: a language may be called anything."""
    names: list[str] = []
    for name in head:
        number = 1 + sum(known == name or known.startswith(f"{name} (") for known in names)
        names.append(name if name not in names else f"{name} ({number})")
    return names


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {sentence(item)}" for item in items)


if __name__ == "__main__":  # not where a test imports this file
    page()
