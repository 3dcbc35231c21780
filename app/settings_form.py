"""A run's settings on the Train page."""

from collections.abc import Sequence
from itertools import combinations

import streamlit as st

from app.encoder_choice import KEPT, Choice, draw_encoder
from app.fit import problem
from app.forms.hyper_parameters import draw_hyper_parameters, draw_method, is_transformer
from app.model_name import short_name
from app.request import TrainRequest
from app.state import ChosenData, runs_root, runs_to_specialise
from app.wording import literal
from emu_core.config.settings import Settings
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name
from emu_core.data.wording import listed
from emu_core.devices import available_devices
from emu_core.encoders.registry import EncoderInfo
from emu_core.errors import DataError, TrainingError
from emu_core.methods.method import Method, Needs
from emu_core.runs.run import NAME, new_run_name


def draw_form(chosen: ChosenData, started: int) -> tuple[TrainRequest, str]:
    """Draw the form.

    Args:
        chosen: the data.
        started: how many runs this session has started; each begins with a fresh name.

    Returns:
        The request, its data still unnamed, and why it can't be started ("" when it can).
    """
    method = draw_method(Needs.INTENTS, Needs.SLOTS, key="method")
    unlabelled: list[str] = []
    pairs: list[tuple[str, str]] = []
    if method.needs is Needs.SLOTS:
        encoder = draw_encoder("encoder-of-tokens", first=method.encoder)
        pairs = draw_pairs(chosen)
        train = list(dict.fromkeys(code for pair in pairs for code in pair))
    else:
        encoder = draw_encoder(runs=runs_to_specialise())
        train = draw_train_languages(chosen)
        if method.reads_unlabelled(method.configure()):
            unlabelled = draw_unlabelled_languages(chosen, train)
    _say_strangers(encoder.info, (*train, *unlabelled))
    devices = {device.name: device.label for device in available_devices()}
    device = st.selectbox(
        "Device",
        list(devices),
        format_func=devices.__getitem__,
        key="device",
        **KEPT,
    )
    free = new_run_name(runs_root(), method.name, short_name(encoder.spec))
    name_place, seed_place = st.columns([3, 1])
    name = name_place.text_input("Name of the run", free, max_chars=80, key=f"name-{started}-{free}", **KEPT)
    seed = seed_place.number_input(
        "Seed", 0, 2**31 - 1, 0, help="The same seed on the same CPU gives the same run.", key="seed", **KEPT
    )
    preset, changes = draw_hyper_parameters(method, encoder.spec)
    request = TrainRequest(
        name=name.strip(),
        data="",
        method=method.name,
        encoder=encoder.spec,
        train_languages=tuple(train),
        unlabelled_languages=tuple(unlabelled),
        seed=int(seed),
        device=device,
        preset=preset,
        changes=changes,
        pairs=tuple(pairs),
    )
    return request, why_not(chosen, request, method, encoder)


def why_not(chosen: ChosenData, request: TrainRequest, method: Method, encoder: Choice) -> str:
    """Return why a run can't be started, in a sentence; "" when it can."""
    if encoder.problem:
        return encoder.problem
    if not NAME.fullmatch(request.name):
        return "the run's name begins with a lower-case letter or a digit, and more of them, '.', '_' and '-' follow"
    if (runs_root() / request.name).exists():
        return f"there is a run '{request.name}' already; choose another name"
    if method.reads_tokens and not is_transformer(encoder.spec):
        return (
            f"this method reads a state for each word of a sentence, which {encoder.info.name} does not give; choose "
            "Multilingual E5, small, or a transformer"
        )
    try:
        config = request.settings()
    except TrainingError as error:
        return str(error)
    return _problem(
        chosen.sha256,
        chosen.labelled,
        method.name,
        request.train_languages,
        request.unlabelled_languages,
        config,
        request.pairs,
    )


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


@st.cache_data(max_entries=64, show_spinner="Looking whether data and settings fit ...")
def _problem(
    sha256: str,
    _labelled: LabelledSet,
    method: str,
    train_languages: tuple[str, ...],
    unlabelled_languages: tuple[str, ...],
    settings: Settings,
    pairs: tuple[tuple[str, str], ...],
) -> str:
    return problem(_labelled, method, train_languages, unlabelled_languages, settings, pairs)
