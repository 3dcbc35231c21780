"""The form of the Train page: a method, an encoder, and what of the data it is trained on."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import streamlit as st

from app.encoder_choice import KEPT, draw_encoder
from app.forms.hyper_parameters import TUNED, draw_hyper_parameters, draw_method, is_transformer
from app.forms.run import Asked, Plan, draw_device, draw_name, draw_seed
from app.model_name import short_name
from app.state import ChosenData, runs_to_specialise
from app.wording import literal
from emu_core.api.train import plan_training
from emu_core.config.settings import Settings
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name
from emu_core.data.wording import listed
from emu_core.encoders.base import EncoderInfo
from emu_core.encoders.registry import encoder_kind
from emu_core.errors import DataError, EmuError
from emu_core.methods.method import Needs

PLACE = "train"


def draw_form(chosen: ChosenData) -> Asked:
    """Draw the form for a run on the chosen data."""
    method = draw_method(Needs.INTENTS, Needs.SLOTS, key="method")
    encoder = (
        draw_encoder("encoder-of-tokens", first=method.encoder)
        if method.reads_tokens
        else draw_encoder(runs=runs_to_specialise())
    )
    languages = st.container()  # which are asked for depends on the settings, which come below
    device = draw_device(PLACE)
    name_place, seed_place = st.columns([3, 1])
    with name_place:
        name = draw_name(PLACE, method.name, short_name(encoder.spec))
    with seed_place:
        seed = draw_seed(PLACE)

    def refused(problem: str) -> Asked:
        return Asked(name, problem, _no_plan)

    if encoder.problem:
        return refused(encoder.problem)
    try:
        preset, changes = draw_hyper_parameters(method, encoder.spec)
        settings = method.configure(encoder_kind(encoder.spec) if preset == TUNED else None, **changes)
    except EmuError as error:
        return refused(str(error))
    with languages:
        pairs, train, unlabelled = [], [], []
        if method.needs is Needs.SLOTS:
            pairs = draw_pairs(chosen)
            train = list(dict.fromkeys(code for pair in pairs for code in pair))
        else:
            train = draw_train_languages(chosen)
            if method.reads_unlabelled(settings):
                unlabelled = draw_unlabelled_languages(chosen, train)
        _warn_of_strangers(encoder.info, (*train, *unlabelled))
    if method.reads_tokens and not is_transformer(encoder.spec):
        return refused(
            f"this method reads a state for each word of a sentence, which {encoder.info.name} does not give; choose "
            "Multilingual E5, small, or a transformer"
        )
    there = training_languages(chosen)
    if there and not train:
        return refused(
            "choose two languages whose translations are used"
            if method.needs is Needs.SLOTS and len(there) > 1
            else "choose a language whose labels are used"
            if method.needs is Needs.INTENTS
            else "this method is trained on translations, and every sentence to train on is in "
            f"{language_name(there[0])}; add the same sentences, with the same ids, in another language"
        )
    plan = _plan(
        chosen.token,
        chosen,
        method=method.name,
        encoder=encoder.spec,
        train_languages=train or ["en"],
        unlabelled_languages=unlabelled,
        pairs=pairs,
        seed=seed,
        device=device,
        config=settings,
    )
    return refused(plan) if isinstance(plan, str) else Asked(name, "", lambda: plan)


def draw_train_languages(chosen: ChosenData) -> list[str]:
    """Ask which languages' labels are used."""
    languages = training_languages(chosen)
    return st.multiselect(
        "Labels in",
        languages,
        default=["en"] if "en" in languages else languages[:1],
        format_func=language_name,
        key=f"train-{chosen.sha256}",
        help="Sentences and intents of these languages are used.",
        **KEPT,
    )


def draw_pairs(chosen: ChosenData) -> list[tuple[str, str]]:
    """Ask which language pairs' translations are used."""
    languages = training_languages(chosen)
    pairs = list(combinations(languages, 2))  # English stands first
    return st.multiselect(
        "Translations between",
        pairs,
        default=[pair for pair in pairs if pair[0] == languages[0]],
        format_func=lambda pair: " and ".join(map(language_name, pair)),
        key=f"pairs-{chosen.sha256}",
        help="Sentences of two languages with the same id are translations of each other. All language pairs are "
        "trained on at once, with the same layers.",
        **KEPT,
    )


def draw_unlabelled_languages(chosen: ChosenData, train: Sequence[str]) -> list[str]:
    """Ask which languages are used without labels beside the training ones."""
    # With labels in several languages each of them is another language to the rest.
    others = [code for code in training_languages(chosen) if len(train) > 1 or code not in train]
    return st.multiselect(
        "Sentences without labels in",
        others,
        default=others,
        format_func=language_name,
        key=f"unlabelled-{chosen.sha256}-{'-'.join(train)}",
        help="Only the sentences of these languages are read. They keep the languages alike.",
        **KEPT,
    )


def training_languages(chosen: ChosenData) -> list[str]:
    """Return the languages of the sentences to train on; none where there are splits but no split train."""
    return _training_languages(chosen.sha256, chosen.labelled)


def _warn_of_strangers(encoder: EncoderInfo, languages: Sequence[str]) -> None:
    """Name the languages that the encoder was not trained on, where it is known on which it was."""
    strangers = [code for code in dict.fromkeys(languages) if code not in encoder.languages]
    if encoder.languages and strangers:
        st.info(
            f"The encoder was not trained on {literal(listed(map(language_name, strangers)))}: it may know little of "
            "it.",
            icon=":material/info:",
        )


@st.cache_data(max_entries=64, show_spinner=False)
def _training_languages(sha256: str, _labelled: LabelledSet) -> list[str]:
    try:
        return list(_labelled.train_part().languages)
    except DataError:
        return []


@st.cache_resource(max_entries=4, show_spinner="Checking whether data and settings fit ...")
def _plan(token: str, _chosen: ChosenData, config: Settings, **options: Any) -> Plan | str:
    """Return the plan of a training, or why there is none."""
    try:
        run_config, data = plan_training(_chosen.labelled, config=config, **options)
    except EmuError as error:
        return str(error)
    return run_config, replace(data, audit=tuple(_chosen.audit.summary()))


def _no_plan() -> Plan:
    raise AssertionError("a form with a problem has no plan")
