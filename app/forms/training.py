"""A run's settings on the Train page."""

from collections.abc import Sequence
from itertools import combinations

import streamlit as st

from app.forms.encoder import KEPT, READS_WORDS, Choice, draw_encoder, is_transformer
from app.forms.model_name import short_name
from app.forms.settings import draw_settings
from app.forms.starting import Plan, draw_device, draw_name, draw_seed
from app.state import ChosenData, runs_to_specialise
from app.wording import literal
from emu_core.api.train import plan_training
from emu_core.config.settings import Settings
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name
from emu_core.data.wording import listed
from emu_core.encoders.registry import EncoderInfo
from emu_core.errors import DataError, EmuError
from emu_core.methods.method import Method, Needs
from emu_core.methods.registry import methods_that_need

PLACE = "train"


def draw_form(chosen: ChosenData) -> tuple[str, Plan | str]:
    """Draw the form; return the run's name, and its plan or why it can't be started."""
    method = draw_method()
    train: list[str] = []
    unlabelled: list[str] | None = None
    pairs: list[tuple[str, str]] | None = None
    if method.reads_tokens:
        encoder = draw_encoder("encoder-of-tokens", first=READS_WORDS)
    else:
        encoder = draw_encoder(runs=runs_to_specialise())
    if method.needs is Needs.SLOTS:
        pairs = draw_pairs(chosen)
        train = list(dict.fromkeys(code for pair in pairs for code in pair))
    else:
        train = draw_train_languages(chosen)
        # By its defaults: where one of the settings below says otherwise, what is chosen here is not read.
        if method.reads_unlabelled(method.configure(encoder.spec)):
            unlabelled = draw_unlabelled_languages(chosen, train)
    _say_strangers(encoder.info, (*train, *(unlabelled or ())))
    device = draw_device(PLACE)
    name_place, seed_place = st.columns([3, 1])
    with name_place:
        name = draw_name(PLACE, method.name, short_name(encoder.spec))
    with seed_place:
        seed = draw_seed(PLACE)
    settings = draw_settings(method, encoder.spec)
    if problem := encoder.problem or _mismatch(method, encoder):
        return name, problem
    if isinstance(settings, str):
        return name, settings
    if method.needs is Needs.SLOTS and not pairs:
        return name, "choose two languages whose translations are used"
    if not train:
        return name, "choose a language whose labels are used"
    plan = _plan(
        chosen.sha256,
        chosen.labelled,
        method.name,
        encoder.spec,
        tuple(train),
        None if unlabelled is None else tuple(unlabelled),
        None if pairs is None else tuple(pairs),
        seed,
        device,
        settings,
    )
    return name, plan


def _mismatch(method: Method, encoder: Choice) -> str:
    if method.reads_tokens and not is_transformer(encoder.spec):
        return (
            f"this method reads a state for each word of a sentence, which {encoder.info.name} does not give; choose "
            "Multilingual E5, small, or a transformer"
        )
    return ""


@st.cache_resource(max_entries=16, show_spinner="Looking whether data and settings fit ...")
def _plan(
    sha256: str,
    _labelled: LabelledSet,
    method: str,
    encoder: str,
    train_languages: tuple[str, ...],
    unlabelled_languages: tuple[str, ...] | None,
    pairs: tuple[tuple[str, str], ...] | None,
    seed: int,
    device: str,
    settings: Settings,
) -> Plan | str:
    try:
        return plan_training(
            _labelled,
            method=method,
            encoder=encoder,
            train_languages=train_languages,
            unlabelled_languages=unlabelled_languages,
            pairs=pairs,
            seed=seed,
            device=device,
            config=settings,
        )
    except EmuError as error:
        return str(error)


def draw_method() -> Method:
    """Ask for the method."""
    known = methods_that_need(Needs.INTENTS, Needs.SLOTS)
    name = st.selectbox(
        "Method", list(known), format_func=lambda name: known[name].title, key="method", **KEPT
    )
    st.caption(known[name].summary)
    return known[name]


def draw_train_languages(chosen: ChosenData) -> list[str]:
    """Ask which languages' labels are used."""
    languages = _training_languages(chosen.sha256, chosen.labelled)
    return st.multiselect(
        "Labels in",
        languages,
        default=["en"] if "en" in languages else languages[:1],
        format_func=language_name,
        key=f"train-{chosen.sha256}",
        help="Of these languages sentences and intents are used.",
        **KEPT,
    )


def draw_pairs(chosen: ChosenData) -> list[tuple[str, str]]:
    """Ask which languages' translations are learnt from."""
    languages = _training_languages(chosen.sha256, chosen.labelled)
    pairs = list(combinations(languages, 2))  # English stands first
    return st.multiselect(
        "Translations between",
        pairs,
        default=[pair for pair in pairs if pair[0] == languages[0]],
        format_func=lambda pair: " and ".join(map(language_name, pair)),
        key=f"pairs-{chosen.sha256}",
        help="Sentences of two languages with the same id are translations of each other. Every pair of languages is "
        "learnt by the same layers at once.",
        **KEPT,
    )


def draw_unlabelled_languages(chosen: ChosenData, train: Sequence[str]) -> list[str]:
    """Ask which languages are used without labels beside the training ones."""
    languages = _training_languages(chosen.sha256, chosen.labelled)
    # With labels in several languages each of them is another language to the rest.
    others = [code for code in languages if len(train) > 1 or code not in train]
    return st.multiselect(
        "Sentences without labels in",
        others,
        default=others,
        format_func=language_name,
        key=f"unlabelled-{chosen.sha256}-{'-'.join(train)}",
        help="Of these languages only the sentences are read. They keep the languages alike.",
        **KEPT,
    )


def _say_strangers(encoder: EncoderInfo, languages: Sequence[str]) -> None:
    """Say which languages the encoder does not know, where it is known which it does."""
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
    except DataError:  # there are splits, and none is train: `problem` says so
        return []
