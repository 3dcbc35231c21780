"""Texts to train on or to look through: their boxes, the texts of a session, and the choice of pairs among them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from emu_app.data.library import ChosenData, chosen_data
from emu_app.data.text_files import Read, TextKind, read_files
from emu_app.shell.session import Remembered
from emu_app.shell.state import is_from_scratch
from emu_app.shell.widgets import choose, choose_one, draw_note
from emu_app.shell.wording import CONTROLS, literal, sentence, worded
from emu_app.work.cache import read_in_limits
from emu_core.data.demo import load_demo
from emu_core.data.languages import is_known, language_code, language_name
from emu_core.data.sets import UnlabelledSet
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.held_out import hold_out, joined_by_pivot, usual_count
from emu_core.data.texts.labelled_pairs import labelled_pairs
from emu_core.data.texts.nli import LABELS
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.running_text import RunningText
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError, RunError
from emu_core.formats.limits import MAX_FILE_BYTES
from emu_core.formats.tables.formats import FORMAT_TITLES
from emu_core.runs.run import Run
from emu_core.runs.stored_data import texts_digest

# The label of each box, and its help.
_BOXES = {
    TextKind.PARALLEL: (
        "Files of parallel text",
        f"Two or more files with one sentence a line, such as talks.en and talks.de; a table ({FORMAT_TITLES}) with a "
        "column for each language; sentence pairs of Tatoeba or OPUS; or translations in TMX, XLIFF or PO. Text may be "
        "gzipped, and files in a zip archive. Nothing leaves this machine.",
    ),
    TextKind.RUNNING: (
        "Running text",
        "One sentence a line in the original order, with an empty line between documents; the file's name states the "
        "language, as in news.en.txt. It teaches which sentences follow each other.",
    ),
    TextKind.DIALOGUES: (
        "Dialogues",
        "Tables with the columns comment and response; the file's name states the language, as in forum.en.tsv. They "
        "teach which response belongs to which comment.",
    ),
    TextKind.NLI: (
        "Inference pairs",
        "JSON Lines in the format of SNLI, MultiNLI and XNLI. They teach which sentences entail or contradict each "
        "other.",
    ),
    TextKind.SENTENCES: (
        "Files of sentences",
        "Text files with one sentence a line, whose names state the language, as in mails.en.txt; tables "
        f"({FORMAT_TITLES}) with a column of sentences; or a zip archive of these. No labels are needed. Nothing "
        "leaves this machine.",
    ),
}
_OTHERS = (TextKind.RUNNING, TextKind.DIALOGUES, TextKind.NLI)
EXAMPLES = 5
SMALL = 5_000  # pairs; fewer make an encoder for similar sentences only
TRANSLATIONS, PRETRAIN, TRAIN = "translations", "pretrain", "train"  # the pages with boxes
MAX_SHOWN_PAIRS = 5_000  # pairs; each sentence is compared with all sentences of the other language


def typed_languages(typed: str) -> list[str]:
    """Return the codes of languages typed with commas or spaces between them. Raises DataError if one is unknown."""
    codes = []
    for word in filter(None, re.split(r"[,;\s]+", typed)):
        if (code := language_code(word)) is None or not is_known(code):
            raise DataError(
                f"'{shown(word, 40)}' is not a language; give a code such as en, or the language's name"
            )
        codes.append(code)
    return codes


@dataclass(frozen=True)
class _Box:
    """The box of a page for texts of a kind, and the state of the session that belongs to it."""

    page: str
    kind: TextKind

    @property
    def name(self) -> str:
        """A prefix of the box's keys."""
        return f"{self.page}-{self.kind}"

    @property
    def number(self) -> Remembered[int]:
        """A part of the keys of its widgets: with a new one the box is empty, and the bytes are freed."""
        return Remembered(f"{self.name}-number", 0)

    @property
    def texts(self) -> Remembered[Read | None]:
        """The texts that were read from it."""
        return Remembered(f"{self.name}-read", None)

    @property
    def refusal(self) -> Remembered[tuple[object, str] | None]:
        """The files that can't be read as they are, and why; None if nothing was refused."""
        return Remembered(f"{self.name}-refused", None)

    def empty(self) -> None:
        """Drop the files, from the next run of the page on."""
        self.number.set(self.number.get() + 1)


def _draw_box(box: _Box) -> None:
    """Ask for files, read them at once and drop their bytes; files that can't be read stay in the box."""
    label, explanation = _BOXES[box.kind]
    files = st.file_uploader(
        label,
        accept_multiple_files=True,
        max_upload_size=MAX_FILE_BYTES // 2**20,
        key=f"{box.name}-files-{box.number.get()}",
        help=explanation,
    )
    if not files:
        box.refusal.forget()
        return
    # Files that were refused are read again when their languages or incomplete pairs are dealt with otherwise.
    refusal, typed, drop_empty = box.refusal.get(), "", False
    if refusal is not None and box.kind in (TextKind.PARALLEL, TextKind.SENTENCES):
        typed, drop_empty = _draw_fixes(box)
    asked = ("-".join(file.file_id for file in files), typed, drop_empty)
    if refusal is None or refusal[0] != asked:
        named = [(file.name, file.getvalue()) for file in files]
        try:
            languages = typed_languages(typed)
            read = read_in_limits(
                f"{box.name}:{asked}", named, read_files, box.kind, asked[0], named, languages, drop_empty
            )
        except DataError as error:
            box.refusal.set((asked, worded(error)))
            if refusal is None:
                st.rerun()  # to draw the possible fixes
        else:
            if read is None:  # still being read
                return
            box.refusal.forget()
            box.texts.set(read)
            box.empty()
            st.rerun()
    if (refusal := box.refusal.get()) is not None:
        st.error(sentence(refusal[1]), icon=":material/error:")


def _draw_fixes(box: _Box) -> tuple[str, bool]:
    """Ask for possible fixes of files that can't be read: their languages, and leaving out incomplete pairs."""
    in_pairs = box.kind is TextKind.PARALLEL
    typed = st.text_input(
        CONTROLS["languages"] if in_pairs else CONTROLS["language"],
        placeholder="en, de" if in_pairs else "en",
        max_chars=200,
        key=f"{box.name}-languages-{box.number.get()}",
        help="Codes or English names, in the order of the files or of a table's columns."
        if in_pairs
        else "A code or an English name, of the sentences whose language nothing states.",
    )
    if not in_pairs:
        return typed.strip(), False
    drop_empty = st.checkbox(
        CONTROLS["drop_empty"], key=f"{box.name}-drop-{box.number.get()}", help="Otherwise one is an error."
    )
    return typed.strip(), drop_empty


def _draw_notes(read: Read) -> None:
    for note in read.notes:
        draw_note(literal(note))


def draw_texts() -> Read | None:
    """Ask for parallel text or the example and draw it; the session keeps it on every page."""
    st.header("Parallel text")
    box = _Box(PRETRAIN, TextKind.PARALLEL)
    _draw_box(box)
    parallel = box.texts.get()
    if parallel is None or parallel.key != "example":
        st.caption(
            "No files at hand? The demo set has 504 sentences in each of six languages: small, but fast."
        )
        if st.button("Take the example", icon=":material/hotel:"):
            texts = tuple(labelled_pairs(load_demo()))
            box.texts.set(Read("example", "Example: the demo set's translations", texts))
            st.rerun()
    if parallel is not None:
        _draw_parallel(parallel)
    return parallel


def draw_other_texts() -> list[Read]:
    """Ask for the other kinds of text that a dual encoder can learn from."""
    with st.expander("More to train on (optional)", icon=":material/library_add:"):
        for kind in _OTHERS:
            _draw_box(_Box(PRETRAIN, kind))
        reads = [read for kind in _OTHERS if (read := _Box(PRETRAIN, kind).texts.get()) is not None]
        for read in reads:
            for text in read.texts:
                if isinstance(text, Dialogues):
                    what = f"{counted(len(text), 'comment')} with responses"
                elif isinstance(text, RunningText):
                    what = f"{counted(len(text.documents), 'document')} of running text"
                elif not isinstance(text, ParallelText | UnlabelledSet):
                    what = f"{counted(len(text), 'inference pair')} ({', '.join(LABELS)})"
                else:
                    continue
                st.markdown(f"{what} in {literal(language_name(text.language))}: {literal(text.name, 80)}")
            _draw_notes(read)
        if reads and st.button("Leave these out", icon=":material/close:"):
            for kind in _OTHERS:
                _Box(PRETRAIN, kind).texts.forget()
            st.rerun()
    return reads


def draw_more_sentences() -> Read | None:
    """Ask for sentences without labels besides those of the chosen data."""
    box = _Box(TRAIN, TextKind.SENTENCES)
    with st.expander("More sentences, without labels (optional)", icon=":material/library_add:"):
        _draw_box(box)
        if (read := box.texts.get()) is not None:
            languages = ", ".join(map(language_name, read.languages))
            st.markdown(
                f"{counted(len(read), 'sentence')} in {literal(languages, 200)}: {literal(read.title, 80)}"
            )
            if st.button("Leave these out", icon=":material/close:", key="train-sentences-out"):
                box.texts.forget()
                st.rerun()
    return read


def _draw_parallel(read: Read) -> None:
    """Draw the number of pairs of each two languages, and the first rows."""
    st.markdown(f"**{literal(read.title, 100)}**")
    rows = [
        (" and ".join(map(language_name, text.languages)), len(text), len(text.documents) or None, text.name)
        for text in read.parallel
    ]
    table = pd.DataFrame(rows, columns=["Languages", "Pairs", "Documents", "File"])
    pairs = {"Pairs": st.column_config.NumberColumn(format="localized")}
    table = table.dropna(axis="columns", how="all")
    st.dataframe(table, hide_index=True, column_config=pairs, key="pretrain-pairs")
    _draw_notes(read)
    if (smallest := min(map(len, read.parallel))) < SMALL:
        of_each = " of each two languages" if len(read.parallel) > 1 else ""
        draw_note(
            f"Only {counted(smallest, 'pair')}{of_each}: the encoder will only work for very similar sentences. A "
            "useful one takes tens of thousands."
        )
    with st.expander("The first rows", icon=":material/table_rows:"):
        for text in read.parallel:
            first = list(zip(text.first, text.second, strict=True))[:EXAMPLES]
            names = [language_name(code) for code in text.languages]
            st.dataframe(pd.DataFrame(first, columns=names), hide_index=True)


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of two languages."""

    key: str  # identifies them in all sessions
    text: ParallelText  # the pairs; the first language has the queries

    @property
    def sentences(self) -> list[str]:
        """The 2N sentences, those of the first language first."""
        return [*self.text.first, *self.text.second]


def choose_source() -> Read | None:
    """Ask for parallel text; None, with what to do, while there is none."""
    uploaded, data = _Box(TRANSLATIONS, TextKind.PARALLEL).texts.get(), chosen_data()
    of_data = Read(data.sha256[:16], data.title, _of_data(data.sha256, data))
    sources = {
        "Uploaded here": uploaded,
        "On the Pretrain page": _Box(PRETRAIN, TextKind.PARALLEL).texts.get(),
        "Loaded data": of_data,
    }
    offered = {
        f"{source}: {read.title}": read for source, read in sources.items() if read is not None and read.texts
    }
    with st.expander("Upload parallel text", expanded=not offered, icon=":material/upload_file:"):
        _draw_box(_Box(TRANSLATIONS, TextKind.PARALLEL))
        if uploaded is not None:
            _draw_notes(uploaded)
    if not offered:
        draw_note("Upload parallel text, or choose data whose translations share an id.")
        return None
    return offered[choose("Parallel text", list(offered), f"translations-text-{'|'.join(offered)}")]


def choose_pairs(source: Read, languages: Sequence[str]) -> Pairs:
    """Ask for two languages and the direction; a pair of `languages`, if these are known, comes first."""
    texts = _with_joined(source.key, source.parallel)
    which, whose = st.columns([3, 2])
    at = choose(
        "Languages",
        range(len(texts)),
        f"translations-pair-{source.key}-{'-'.join(languages)}",
        container=which,
        index=next((at for at, text in enumerate(texts) if set(text.languages) <= set(languages)), 0),
        format_func=lambda at: (
            f"{' and '.join(map(language_name, texts[at].languages))}: {counted(len(texts[at]), 'pair')}"
        ),
    )
    text, key = texts[at], f"{source.key}:{at}"
    asking = choose_one(
        "Asked in",
        text.languages,
        f"translations-asking-{source.key}-{at}",
        container=whose,
        format_func=language_name,
        help="Their translations are looked for in the other language.",
    )
    sampled = _sampled(key, text)
    if len(sampled) < len(text):
        draw_note(f"{MAX_SHOWN_PAIRS:,} of {counted(len(text), 'pair')} are used, drawn at random.")
    return Pairs(f"{key}:{asking}", sampled if asking == text.source else sampled.turned())


def say_trained_on(run: Run | None, source: Read) -> None:
    """Say so if a run was trained on these very texts."""
    if run is None or not is_from_scratch(run):
        return
    try:
        facts, reached, seed = run.data(), run.metrics().trained_p_at_1, run.config().seed
    except RunError:
        return
    if facts.sha256 == _trained_digest(source.key, seed, source.parallel):
        on_them = "" if reached is None else f", of which it found {reached:.1f} % of the translations"
        draw_note(
            "The run was trained on this text, except for the pairs that it held out"
            f"{on_them}. Translations are found more easily here than in new text."
        )


@st.cache_resource(max_entries=8, show_spinner="Looking for translations ...")
def _of_data(sha256: str, _chosen: ChosenData) -> tuple[ParallelText, ...]:
    return tuple(labelled_pairs(_chosen.labelled))


@st.cache_resource(max_entries=16, show_spinner=False)
def _with_joined(key: str, _texts: tuple[ParallelText, ...]) -> tuple[ParallelText, ...]:
    """Return the texts, and those that two of them make through a third language."""
    return (*_texts, *joined_by_pivot(_texts))


@st.cache_data(max_entries=16, show_spinner=False)
def _trained_digest(key: str, seed: int, _texts: tuple[ParallelText, ...]) -> str:
    """Return the checksum of what a run with this seed is trained on; "" if nothing can be held out."""
    try:
        return texts_digest(hold_out(_texts, usual_count(_texts), seed)[0])
    except DataError:
        return ""


@st.cache_resource(max_entries=16, show_spinner=False)
def _sampled(key: str, _text: ParallelText) -> ParallelText:
    if len(_text) <= MAX_SHOWN_PAIRS:
        return _text
    return _text.take(np.sort(np.random.default_rng(0).permutation(len(_text))[:MAX_SHOWN_PAIRS]))
