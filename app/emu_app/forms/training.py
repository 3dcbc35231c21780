"""The form of the Train page: a method, an encoder, and the languages of the data to train on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from emu_app.data.library import ChosenData, bare_sentences
from emu_app.data.text_files import Read
from emu_app.data.texts import draw_more_sentences
from emu_app.forms.encoder import READS_WORDS, Choice, draw_encoder, encoder_of_preset, is_transformer
from emu_app.forms.settings import draw_settings, more_settings
from emu_app.forms.starting import (
    RunPlan,
    draw_device,
    draw_method_or_preset,
    draw_name,
    draw_precision,
    draw_seed,
)
from emu_app.panels.context import notes_on_reading
from emu_app.panels.labelling import labels_in
from emu_app.shell.model_name import HF, short_name
from emu_app.shell.state import runs_to_specialise
from emu_app.shell.widgets import ADDRESSED, KEPT, choose_languages, choose_many, draw_note
from emu_app.shell.wording import literal, worded
from emu_core.api.train import on_descriptions, plan_training
from emu_core.data.languages import language_name
from emu_core.data.sets import UnlabelledSet
from emu_core.errors import EmuError
from emu_core.formats.descriptions import intents_of_lines
from emu_core.formats.lines import lines_of
from emu_core.methods.presets import Preset
from emu_core.methods.registry import needs_of, reads_unlabelled
from emu_core.settings import settings_by_part
from emu_core.training.method import Method, Needs

TRAIN_PAGE = "train"
MOST_DESCRIBED = 100_000  # characters
_FOR_ALIGNMENT = "The sentences keep the languages close to each other."
_FOR_STUDENT = "The student learns from these sentences, too."


def draw_form(
    chosen: ChosenData, choices: DeltaGenerator, details: DeltaGenerator
) -> tuple[str, RunPlan | str]:
    """Draw the form; return the run's name, and its plan or why it can't be started.

    Method, encoder and languages are drawn in the place `choices`, everything else in `details`.
    """
    with choices:
        method = draw_method_or_preset("method", Needs.INTENTS, Needs.SENTENCES, Needs.SLOTS)
        encoder = _draw_encoder(method)
        language_box = st.container(key="languages")  # for the languages, which depend on the settings
    more_choices: list[_More] = []
    with details:
        device = draw_device(TRAIN_PAGE)
        name = draw_name(TRAIN_PAGE, method.name, short_name(encoder.spec))
        wanted = _wanted(
            method, encoder, lambda needs: more_choices.append(_draw_more(chosen, needs, device))
        )
    if isinstance(wanted, str):
        return name, encoder.problem or wanted
    [rest] = more_choices
    bare = bare_sentences(chosen)
    with language_box:
        languages = _draw_languages(chosen, wanted, () if bare is None else bare.languages)
        more = draw_more_sentences() if wanted.reads_bare else None
        used = (*languages["train_languages"], *(languages["unlabelled_languages"] or ()))
        title = f"The encoder {encoder.info.name}"
        for note in () if encoder.spec == HF else notes_on_reading(title, encoder.spec, chosen, used):
            draw_note(literal(note))
    alone = more is None
    if problem := encoder.problem or _mismatch(
        wanted, encoder, chosen.train_languages, languages, alone=alone
    ):
        return name, problem
    if isinstance(rest.descriptions, str):
        return name, rest.descriptions
    plan = _plan(
        chosen.token,
        "" if more is None else more.key,
        chosen,
        more,
        bare if wanted.reads_bare else None,
        descriptions=rest.descriptions,
        keep_examples=rest.keeps,
        snapshots=rest.keeps,
        learns_intents=wanted.needs is Needs.INTENTS,
        seed=rest.seed,
        device=device,
        precision=rest.precision,
        **wanted.arguments,
        **languages | {"train_languages": languages["train_languages"] or ["en"]},
    )
    return name, plan


@dataclass(frozen=True)
class _More:
    """The choices that are seldom changed, beside the settings of a method."""

    descriptions: dict[str, str] | str  # of intents, or why they can't be read
    keeps: bool  # whether the run keeps sentences
    precision: str | None
    seed: int


def _draw_more(chosen: ChosenData, needs: Needs, device: str) -> _More:
    descriptions = _draw_descriptions(chosen) if needs is Needs.INTENTS else {}
    keeps = st.toggle(
        "Keep sentences in the run",
        value=True,
        key="train-keep-examples",
        help="Labelled ones are shown with the intents that the run names, and up to 1,000 held-out ones move on the "
        "map while it trains. Without them there is no such map; the labelled ones' vectors and intents stay, from "
        "which a sentence can partly be guessed.",
        **ADDRESSED,
    )
    return _More(descriptions, keeps, draw_precision(TRAIN_PAGE, device), draw_seed(TRAIN_PAGE))


def _draw_descriptions(chosen: ChosenData) -> dict[str, str] | str:
    """Ask what intents are about; return the descriptions, or why they can't be read."""
    typed = st.text_area(
        "Intents in words (optional)",
        key=f"train-descriptions-{chosen.sha256[:12]}",
        placeholder="\n".join(f"{name}: what it is about" for name in chosen.labelled.intents[:2]),
        max_chars=MOST_DESCRIBED,
        help="What an intent is about, a line each, in any language: it counts instead of the words of its name. An "
        "intent that is described needs no labelled sentence. Two columns of a spreadsheet can be pasted, too.",
        **KEPT,
    )
    try:
        return intents_of_lines(lines_of(typed), fewest=0)
    except EmuError as error:
        return worded(error)


@dataclass(frozen=True)
class _Wanted:
    """The choice of what is trained, with the data that it learns from."""

    arguments: Mapping[str, Any]  # of `plan_training`
    needs: Needs
    unlabelled_for: str  # what sentences without labels are read for; "" if none are
    reads_tokens: bool = False

    @property
    def reads_bare(self) -> bool:
        """Whether sentences that have no label are learnt from, too."""
        return bool(self.unlabelled_for) or self.needs is Needs.SENTENCES


def _wanted(method: Method | Preset, encoder: Choice, also: Callable[[Needs], None]) -> _Wanted | str:
    """Ask for a method's settings, and return what is to be trained, or why the settings are invalid.

    `also` draws what stands at the end of those that are seldom changed.
    """
    if isinstance(method, Preset):
        needs = needs_of(method.of_labels.plan())
        with more_settings():
            also(needs)
        use = _FOR_STUDENT if method.teacher else _FOR_ALIGNMENT
        reads = use if reads_unlabelled(method.plan()) else ""
        return _Wanted({"preset": method.name}, needs, reads)
    settings = draw_settings(method, encoder.spec, lambda: also(method.needs))
    if isinstance(settings, str):
        return settings
    arguments = {"method": method.name, "encoder": encoder.spec, "config": settings}
    reads = _FOR_ALIGNMENT if any(map(method.reads_unlabelled, settings_by_part(settings))) else ""
    return _Wanted(arguments, method.needs, reads, method.reads_tokens)


def _draw_encoder(method: Method | Preset) -> Choice:
    """Ask for the encoder to train, which a preset has already."""
    if isinstance(method, Preset):
        return encoder_of_preset(method)
    if method.reads_tokens:
        return draw_encoder("encoder-of-tokens", first=READS_WORDS)
    return draw_encoder(runs=runs_to_specialise())


def _draw_languages(chosen: ChosenData, method: _Wanted, bare: Sequence[str]) -> dict[str, Any]:
    """Ask for the languages and their use; return arguments of `plan_training`.

    `bare` are the languages of sentences without a label.
    """
    present = list(dict.fromkeys([*chosen.train_languages, *bare]))
    if method.needs is Needs.SLOTS:
        pairs = draw_pairs(chosen)
        train = list(dict.fromkeys(code for pair in pairs for code in pair))
        return {"train_languages": train, "unlabelled_languages": None, "pairs": pairs}
    if method.needs is Needs.SENTENCES:
        about = "Their labels are not read."
        sentences = _draw_unlabelled(present, f"sentences-{chosen.sha256[:12]}", about)
        return {"train_languages": [], "unlabelled_languages": sentences}
    train, unlabelled = draw_train_languages(chosen), None
    if method.unlabelled_for:
        # If several languages have labels, each of them is another language to the rest.
        others = [code for code in present if len(train) > 1 or code not in train]
        about = f"The labels of these sentences are not read. {method.unlabelled_for}"
        key = f"unlabelled-{chosen.sha256[:12]}-{'-'.join(train)}"
        unlabelled = _draw_unlabelled(others, key, about)
    return {"train_languages": train, "unlabelled_languages": unlabelled}


def _draw_unlabelled(languages: Sequence[str], key: str, about: str) -> list[str]:
    return choose_languages(
        "Sentences without labels in", languages, key, default=languages, help=about, **ADDRESSED
    )


def _mismatch(
    method: _Wanted, encoder: Choice, present: Sequence[str], languages: Mapping[str, Any], *, alone: bool
) -> str:
    """Return why method, encoder and languages do not fit together; "" if they do.

    `alone` says whether there are no other sentences than those of the data.
    """
    if method.reads_tokens and not is_transformer(encoder.spec):
        return (
            f"this method reads a state for each word of a sentence, which {encoder.info.name} does not have; choose "
            "E5 small multilingual, or a transformer"
        )
    train = languages["train_languages"]
    if method.needs is Needs.SLOTS and len(present) == 1:
        return (
            f"this method is trained on translations, and every sentence to train on is in "
            f"{language_name(present[0])}; add the same sentences, with the same ids, in another language"
        )
    if present and not train and method.needs is not Needs.SENTENCES:
        pairs = method.needs is Needs.SLOTS
        return f"choose {'two languages whose translations' if pairs else 'a language whose labels'} are used"
    if present and alone and languages["unlabelled_languages"] == []:
        if method.needs is Needs.SENTENCES:
            return "choose a language whose sentences are used, or add sentences"
        return (
            f"this method needs sentences in another language than {language_name(train[0])}; choose one above, add "
            "sentences without labels, or choose a method without the language discriminator"
        )
    return ""


@st.cache_resource(max_entries=4, show_spinner="Checking whether data and settings fit ...")
def _plan(
    token: str,
    more: str,
    _chosen: ChosenData,
    _more: Read | None,
    _bare: UnlabelledSet | None,
    *,
    descriptions: Mapping[str, str],
    keep_examples: bool,
    learns_intents: bool,
    **options: Any,
) -> RunPlan | str:
    sentences = None if _more is None else _more.sentences
    try:
        labelled, remarks = _chosen.labelled, tuple[str, ...]()
        if descriptions:
            labelled = labelled.described(descriptions)
            remarks = on_descriptions(labelled)
        config, data = plan_training(labelled, unlabelled=sentences, bare=_bare, **options)
    except EmuError as error:
        return worded(error)
    config = config.everywhere(keep_examples=keep_examples)
    findings = _chosen.audit.summary(learns_intents=learns_intents)
    return config, replace(data, audit=(*findings, *remarks))


def draw_train_languages(chosen: ChosenData) -> list[str]:
    """Ask which languages' labels are used."""
    return choose_languages(
        "Labels in",
        chosen.train_languages,
        labels_in(chosen).key,
        default=chosen.usual_train_languages,
        help="Sentences and intents of these languages are used.",
        **ADDRESSED,
    )


def draw_pairs(chosen: ChosenData) -> list[tuple[str, str]]:
    """Ask which language pairs' translations are used."""
    pairs = list(combinations(chosen.train_languages, 2))  # English comes first
    return choose_many(
        "Translations between",
        pairs,
        f"pairs-{chosen.sha256[:12]}",
        default=[pair for pair in pairs if pair[0] == chosen.train_languages[0]],
        format_func=lambda pair: " and ".join(map(language_name, pair)),
        help="Sentences of two languages with the same id are translations of each other. All language pairs are "
        "trained on at once, with the same layers.",
        **ADDRESSED,
    )
