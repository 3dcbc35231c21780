"""Evidence: the papers' experiments and today's peers on your data, started, followed and read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from emu_app.data.library import ChosenData, chosen_data
from emu_app.data.texts import draw_other_texts, draw_texts
from emu_app.forms.encoder import draw_encoder, is_transformer
from emu_app.forms.settings import draw_fields
from emu_app.forms.starting import RunPlan, draw_device, draw_name, draw_start_button
from emu_app.forms.training import draw_pairs, draw_train_languages
from emu_app.panels.context import USUAL_ENCODER
from emu_app.panels.monitor import draw_form_and_runs, draw_resume
from emu_app.panels.run_table import run_row
from emu_app.shell.glossary import Word, help_on, help_on_terms
from emu_app.shell.model_name import plain_name, short_name
from emu_app.shell.state import config_of, is_bench, status_of
from emu_app.shell.widgets import KEPT, choose, draw_chart, draw_download, draw_note, errors_shown
from emu_app.shell.wording import literal, sentence, time_span, worded
from emu_core.bench.emu.experiment import BASE, BenchData
from emu_core.bench.experiment import Outlook
from emu_core.bench.job import experiment_of
from emu_core.bench.papers import PAPERS, BenchSettings, Paper
from emu_core.bench.report import JSON, MARKDOWN, PAGE, BenchReport, lists_of, load_report, shown_fact
from emu_core.bench.tables import Table
from emu_core.charts.intervals import SystemGain, system_gains
from emu_core.data.texts.tasks import Tasks
from emu_core.data.wording import counted
from emu_core.errors import EmuError, TrainingError
from emu_core.runs.run import Run, RunState
from emu_core.settings import infos
from emu_core.training.method import Needs

_WATCHED = "bench-watched"
_PAGE = "bench"
PACKAGES_S = 60.0  # missing packages may be installed by then
NOT_AS_IN_THE_PAPERS = """\
Measured with this app's encoders on the demo set, SIB-200 and generated commands:
- Fine-tuning with a plain softmax does not ruin the encoder. On the demo set it gains as much as Emu (46.0 and 45.9 %,\
 from 25.8).
- Emu's language discriminator hides the language and adds little to the accuracy: 0.4 points, within chance.
- FMDA's template embedding finds templates no better than mean pooling without training (15.6 and 15.7 %), unless it \
is trained in two stages.
- A logistic regression on the unchanged vectors beats the default method on the demo set.
"""
_LABELS = {PAGE: "Report, HTML", MARKDOWN: "Report, Markdown", JSON: "Numbers, JSON"}


def page() -> None:
    """Draw the page."""
    st.caption(
        "The papers' tables and today's alternatives, measured on your data: the gain of each system, its uncertainty "
        "and its cost. A benchmark continues when you leave this page or close the tab.",
        help=help_on(Word.SIMILAR, Word.SEED, Word.CLEAR),
    )
    with st.expander("Results that differ from the papers", icon=":material/rule:"):
        st.markdown(NOT_AS_IN_THE_PAPERS)
    benches, run = draw_form_and_runs(_draw_start, is_bench, _WATCHED, "Benchmark")
    if run is not None and (run.folder / JSON).is_file():
        _draw_found(run)
    if benches:
        st.header("All benchmarks")
        st.dataframe(
            pd.DataFrame(map(_row, benches)),
            hide_index=True,
            placeholder="",
            column_config={"Started": st.column_config.DatetimeColumn(format="calendar")},
            key="benches",
        )


def _draw_found(run: Run) -> None:
    """Draw a report, and offer to resume the benchmark if something is missing."""
    over = status_of(run).state is RunState.FINISHED
    if not over:
        draw_note("This is the earlier report.")
    label, about = "Write the report again", "The finished runs are kept."
    with errors_shown():
        report = draw_report(run.name, run.folder)
        if not report.errors:
            return
        label = "Try again what was not measured"
        about = "After the problem is fixed, for example by installing a package; the finished runs are kept."
    if over:
        draw_resume(run, label, about)


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
        "Parts": shown_fact(settings.get("parts", "")),
        "Seeds": shown_fact(settings.get("seeds", "")),
        "Runs": f"{status.steps if status.state is RunState.FINISHED else status.step} of {status.steps}",
        "Started": row["Started"],
    }


def _draw_start() -> None:
    """Draw the form with the benchmark's outlook, and start it."""
    chosen = chosen_data()
    name = choose("Paper", list(PAPERS), "bench-paper", format_func=lambda name: PAPERS[name].title)
    paper = PAPERS[name]
    st.caption(sentence(paper.summary))
    draw_data = _draw_texts if paper.needs is Needs.PARALLEL_TEXT else _draw_set
    about, data, options = draw_data(paper, chosen)
    settings = _draw_settings(paper)
    options["device"] = draw_device(_PAGE)
    named = draw_name(_PAGE, f"bench-{paper.name}", about)
    plan: RunPlan | str = options.pop("problem", "")
    if isinstance(settings, str):
        plan = plan or settings
    elif not plan:
        plan, outlook = _plan(chosen.token, chosen, data, name, about, settings, options)
        if outlook is not None:
            _draw_outlook(outlook)
    draw_start_button(_PAGE, named, plan, _WATCHED, "Start the benchmark")


def _draw_set(paper: Paper, chosen: ChosenData) -> tuple[str, Any, dict[str, Any]]:
    """Ask for encoder and languages; return the run's subject, the data, and options of the plan or a "problem"."""
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
    """Ask for parallel text and the other texts that the paper's system can use; return as `_draw_set` does."""
    read = draw_texts()
    others = draw_other_texts() if paper.reads_tasks else []
    if read is None:
        return "", (), {"problem": "there is no parallel text yet: upload some, or take the example"}
    languages = list(dict.fromkeys(code for text in read.parallel for code in text.languages))
    options: dict[str, Any] = {}
    if paper.reads_tasks:
        tasks = Tasks.of([text for other in others for text in other.training_texts])
        options = {"dialogues": tasks.dialogues, "running_text": tasks.running_text, "nli": tasks.nli}
    if len(set(languages) & set(chosen.labelled.languages)) > 1:
        label, about = "Also classify across languages", "With the sentences and intents of the data in use: "
        if st.checkbox(label, value=True, help=f"{about}{chosen.title}.", key="bench-documents", **KEPT):
            options["labelled"] = chosen.labelled
    return "-".join(languages), read.parallel, options


def _draw_settings(paper: Paper) -> BenchSettings | str:
    start = paper.settings()
    if parts := getattr(start, "parts", ()):
        start = replace(start, **{"parts": parts[:1]})  # each table takes time
    values = draw_fields(start, infos(paper.settings), f"bench-{paper.name}")
    if values.get("parts") == ():
        return "choose a table"
    try:
        return replace(start, **values)
    except TrainingError as error:
        return worded(error)


def _draw_outlook(outlook: Outlook) -> None:
    cells = (
        f"**{counted(outlook.cells, 'run')}**: each is one system with one seed, trained and evaluated in its own "
        "process, one after another"
    )
    if outlook.training:
        cells += (
            f"; {counted(outlook.training, 'run trains', 'runs train')} the encoder, on {outlook.passes:,} sentences "
            f"in all (counting every epoch). With {plain_name(USUAL_ENCODER)} on two CPU cores that takes roughly "
            f"{time_span(outlook.seconds)}; a larger encoder takes longer"
        )
    st.markdown(f"{cells}.")
    if outlook.note:
        st.caption(sentence(outlook.note))
    if outlook.missing:
        what = counted(len(outlook.missing), "thing")
        with st.expander(f"{what} can't be measured here", icon=":material/info:"):
            st.markdown(_listed(outlook.missing))


@st.cache_resource(max_entries=4, ttl=PACKAGES_S, show_spinner="Checking whether data and tables fit ...")
def _plan(
    token: str,
    _chosen: ChosenData,
    _data: Any,
    paper: str,
    key: str,
    settings: BenchSettings,
    options: Mapping[str, Any],
) -> tuple[RunPlan | str, Outlook | None]:
    try:
        config, data = PAPERS[paper].plan(_data, **asdict(settings), **options)
        if _chosen.translations and isinstance(data, BenchData):
            data = data.translated(config.train_languages[0], _chosen.translations)
        return (config, data), experiment_of(config, data).outlook()
    except EmuError as error:
        return worded(error), None


def draw_report(name: str, folder: Path) -> BenchReport:
    """Draw a benchmark's report. Raises RunError or OSError if it can't be read."""
    report = load_report(folder)
    files = {file: (folder / file).read_bytes() for file in report.files}

    def draw_file(file: str, label: str = "Download as CSV") -> None:
        draw_download(label, files[file], f"{name}-{file}", key=f"download-{name}-{file}")

    about = f"`{USUAL_ENCODER}` is {plain_name(USUAL_ENCODER)}."
    st.header(literal(report.title, 200), help=help_on(Word.ENCODER, text=about))
    with st.container(horizontal=True):
        for file, label in _LABELS.items():
            draw_file(file, label)
    icons = (":material/checklist:", ":material/difference:")
    for icon, (title, items) in zip(icons, lists_of(report).items(), strict=True):
        with st.expander(title, icon=icon):
            st.markdown(_listed(items), help=help_on_terms(" ".join(map(str, items))))
    for table in report.tables:
        _draw_table(name, table)
        draw_file(f"{table.name}.csv")
    for picture in report.pictures:
        st.header(literal(picture.title, 200), help=help_on_terms(picture.title))
        st.image((folder / f"{picture.name}.svg").read_text("utf-8"), width="stretch", alt=picture.title)
        st.caption(literal(picture.note), help=help_on_terms(picture.note))
    if report.paper:
        with st.expander("The paper's own tables", icon=":material/menu_book:"):
            for table in report.paper:
                st.markdown(f"**{literal(table.title)}**", help=help_on_terms(table.title))
                _draw_frame(name, table)
                draw_file(f"{table.name}.csv")
    return report


def gains_of(table: Table) -> list[SystemGain]:
    """Return the gains of the systems that were measured; none for a table without gains."""
    rows = [(row.cells[0], table.data.get(row.key, {})) for row in table.rows if row.key != BASE]
    return [
        SystemGain(label, row_data["gain"], row_data["mean_deviation"], tuple(row_data["below_base"]))
        for label, row_data in rows
        if "below_base" in row_data
    ]


def _draw_table(name: str, table: Table) -> None:
    st.header(literal(table.title, 200), help=help_on_terms(table.title))
    if table.warnings:
        st.warning(_listed(map(str, table.warnings)), icon=":material/warning:")
    if table.verdict:
        st.info("\n\n".join(map(sentence, table.verdict)), icon=":material/lightbulb:")
    if gains := gains_of(table):
        draw_chart(
            system_gains(gains),
            f"gains-{name}-{table.name}",
            "Bars of each system's gain over the base encoder, in similar sentences of 100.",
        )
        st.caption(
            "Mean over the language pairs with the training language on one side. A whisker is one standard deviation "
            "over the seeds; with a single seed there is none.",
            help=help_on(Word.SIMILAR, Word.PAIR, Word.SEED),
        )
    _draw_frame(name, table)
    for row in table.rows:
        if row.missing:
            st.markdown(
                f":material/block: **{literal(row.cells[0], 200)}** was not measured: {literal(row.missing)}."
            )
    _draw_notes(table.notes)


def _draw_notes(notes: Sequence[str]) -> None:
    """Draw how to read a table; if there are many notes, only the meaning of the stars is in view."""
    folded = [note for note in notes if len(notes) > 2 and not note.startswith("***")]
    for note in notes:
        if note not in folded:
            st.caption(literal(note), help=help_on_terms(note))
    if folded:
        with st.expander("How this table is measured", icon=":material/help:"):
            for note in folded:
                st.markdown(literal(note), help=help_on_terms(note))


def _draw_frame(name: str, table: Table) -> None:
    rows = [row.texts(len(table.head)) for row in table.rows if not row.missing]
    if not rows:
        return
    first, *others = columns = _distinct(table.head)
    text = st.column_config.TextColumn
    helps = dict(zip(columns, map(help_on_terms, table.head), strict=True))
    st.dataframe(
        pd.DataFrame(rows, columns=columns),
        hide_index=True,
        height="content",
        placeholder="",
        column_config={first: text(pinned=True, help=helps[first])}
        | {name: text(alignment="right", help=helps[name]) for name in others},
        key=f"table-{name}-{table.name}",
    )


def _distinct(head: Iterable[str]) -> list[str]:
    """Make the columns' names distinct: a language may have any name."""
    names: list[str] = []
    for name in head:
        number = 1 + sum(known == name or known.startswith(f"{name} (") for known in names)
        names.append(name if name not in names else f"{name} ({number})")
    return names


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {sentence(item)}" for item in items)


if __name__ == "__main__":  # not where a test imports this file
    page()
