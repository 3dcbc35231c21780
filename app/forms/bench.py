"""The form of the Evidence page: a paper, the data that its experiments are run on, and their settings."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import streamlit as st

from app.forms.encoder import KEPT, draw_encoder, is_transformer
from app.forms.model_name import short_name
from app.forms.settings import draw_fields
from app.forms.starting import Plan, draw_device, draw_name
from app.forms.training import draw_pairs, draw_train_languages
from app.state import ChosenData
from app.uploads.shown import draw_other_texts, draw_texts
from app.wording import sentence, time_span
from emu_core.bench.emu.data import BenchData
from emu_core.bench.experiment import Outlook
from emu_core.bench.job import experiment_of
from emu_core.bench.papers import PAPERS, BenchSettings, Paper
from emu_core.config.settings import infos
from emu_core.data.texts.tasks import Tasks
from emu_core.data.wording import counted
from emu_core.errors import EmuError, TrainingError
from emu_core.methods.method import Needs

PLACE = "bench"
PACKAGES_S = 60.0  # what is not installed now may be by then


def draw_form(chosen: ChosenData) -> tuple[str, Plan | str]:
    """Draw the form, and what the benchmark would be; return its name, and its plan or why it can't be started."""
    name = st.selectbox(
        "Paper", list(PAPERS), format_func=lambda name: PAPERS[name].title, key="bench-paper", **KEPT
    )
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
