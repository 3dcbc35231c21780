"""The form of the Train page: a method, an encoder, and the languages of the data to train on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from emu_app.data.library import ChosenData
from emu_app.data.text_files import Read
from emu_app.data.texts import draw_more_sentences
from emu_app.forms.encoder import READS_WORDS, Choice, draw_encoder, encoder_of_preset, is_transformer
from emu_app.forms.settings import draw_settings
from emu_app.forms.starting import RunPlan, draw_forecast, draw_identity, draw_method_or_preset
from emu_app.panels.context import notes_on_reading
from emu_app.shell.model_name import HF, short_name
from emu_app.shell.state import runs_to_specialise
from emu_app.shell.widgets import ADDRESSED, choose_languages, choose_many, draw_note
from emu_app.shell.wording import literal, worded
from emu_core.api.train import plan_training
from emu_core.data.languages import language_name
from emu_core.errors import EmuError
from emu_core.methods.presets import Preset
from emu_core.methods.registry import parts_of_run
from emu_core.settings import settings_by_part
from emu_core.training.method import Method, Needs

TRAIN_PAGE = "train"


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
    with details:
        name, seed, device = draw_identity(TRAIN_PAGE, method.name, short_name(encoder.spec))
        wanted = _wanted(method, encoder)
    if isinstance(wanted, str):
        return name, encoder.problem or wanted
    with language_box:
        languages = _draw_languages(chosen, wanted)
        more = draw_more_sentences() if wanted.needs is Needs.SENTENCES else None
        used = (*languages["train_languages"], *(languages["unlabelled_languages"] or ()))
        title = f"The encoder {encoder.info.name}"
        for note in () if encoder.spec == HF else notes_on_reading(title, encoder.spec, chosen, used):
            draw_note(literal(note))
    alone = more is None
    if problem := encoder.problem or _mismatch(
        wanted, encoder, chosen.train_languages, languages, alone=alone
    ):
        return name, problem
    snapshots = details.toggle(
        "Keep each epoch's vectors",
        key="train-snapshots",
        help="Stores up to 2,000 held-out sentences with their vectors, before training and after each epoch, in the "
        "run's folder, so that the workbench can play how the space folds.",
        **ADDRESSED,
    )
    plan = _plan(
        chosen.token,
        "" if more is None else more.key,
        chosen,
        more,
        snapshots=snapshots,
        learns_intents=wanted.needs is Needs.INTENTS,
        seed=seed,
        device=device,
        **wanted.arguments,
        **languages | {"train_languages": languages["train_languages"] or ["en"]},
    )
    if not isinstance(plan, str):
        with details:
            draw_forecast(chosen.token, plan)
    return name, plan


@dataclass(frozen=True)
class _Wanted:
    """The choice of what is trained, with the data that it learns from."""

    arguments: Mapping[str, Any]  # of `plan_training`
    needs: Needs
    uses_unlabelled: bool
    reads_tokens: bool = False


def _wanted(method: Method | Preset, encoder: Choice) -> _Wanted | str:
    """Ask for a method's settings, and return what is to be trained, or why the settings are invalid."""
    if isinstance(method, Preset):
        parts = parts_of_run(method.of_labels.plan())
        reads = any(part.method.reads_unlabelled(part.settings) for part in parts)
        return _Wanted({"preset": method.name}, parts[0].method.needs, reads)
    settings = draw_settings(method, encoder.spec)
    if isinstance(settings, str):
        return settings
    arguments = {"method": method.name, "encoder": encoder.spec, "config": settings}
    reads = any(map(method.reads_unlabelled, settings_by_part(settings)))
    return _Wanted(arguments, method.needs, reads, method.reads_tokens)


def _draw_encoder(method: Method | Preset) -> Choice:
    """Ask for the encoder to train, which a preset has already."""
    if isinstance(method, Preset):
        return encoder_of_preset(method)
    if method.reads_tokens:
        return draw_encoder("encoder-of-tokens", first=READS_WORDS)
    return draw_encoder(runs=runs_to_specialise())


def _draw_languages(chosen: ChosenData, method: _Wanted) -> dict[str, Any]:
    """Ask for the languages and their use; return arguments of `plan_training`."""
    if method.needs is Needs.SLOTS:
        pairs = draw_pairs(chosen)
        train = list(dict.fromkeys(code for pair in pairs for code in pair))
        return {"train_languages": train, "unlabelled_languages": None, "pairs": pairs}
    if method.needs is Needs.SENTENCES:
        about = "Their labels are not read."
        sentences = _draw_unlabelled(chosen.train_languages, f"sentences-{chosen.sha256[:12]}", about)
        return {"train_languages": [], "unlabelled_languages": sentences}
    train, unlabelled = draw_train_languages(chosen), None
    if method.uses_unlabelled:
        # If several languages have labels, each of them is another language to the rest.
        others = [code for code in chosen.train_languages if len(train) > 1 or code not in train]
        about = "The labels of these sentences are not read. The sentences keep the languages close to each other."
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
            "Multilingual E5, small, or a transformer"
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
    if present and languages["unlabelled_languages"] == []:
        if method.needs is Needs.SENTENCES:
            return "choose a language whose sentences are used, or add sentences" if alone else ""
        return (
            f"this method needs sentences in another language than {language_name(train[0])}; choose one above, or a "
            "method without the language discriminator"
        )
    return ""


@st.cache_resource(max_entries=4, show_spinner="Checking whether data and settings fit ...")
def _plan(
    token: str, more: str, _chosen: ChosenData, _more: Read | None, *, learns_intents: bool, **options: Any
) -> RunPlan | str:
    sentences = None if _more is None else _more.sentences
    try:
        config, data = plan_training(_chosen.labelled, unlabelled=sentences, **options)
    except EmuError as error:
        return worded(error)
    return config, replace(data, audit=tuple(_chosen.audit.summary(learns_intents=learns_intents)))


def draw_train_languages(chosen: ChosenData) -> list[str]:
    """Ask which languages' labels are used."""
    languages = chosen.train_languages
    return choose_languages(
        "Labels in",
        languages,
        f"train-{chosen.sha256[:12]}",
        default=["en"] if "en" in languages else languages[:1],
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
