"""The workbench: two encoders on the same sentences, as maps and in figures."""

from collections.abc import Callable, Mapping

import numpy as np
import streamlit as st

from app.address import draw_link, kept_tab
from app.background import Done
from app.cache import encoded, outcome_of, start_helpers
from app.context import Context, context
from app.forms.model_name import RUN
from app.maps import FIRST_POINTS, MOST_POINTS, sample
from app.panels.accuracy import draw_accuracy
from app.panels.run_table import run_facts
from app.panels.widgets import (
    choose_languages,
    draw_chart,
    draw_note,
    errors_shown,
)
from app.state import data_sha_of, is_from_scratch
from app.vectors import weights_of
from app.wording import literal, sentence
from app.workbench.epochs import draw_epochs
from app.workbench.forgetting import draw_forgetting
from app.workbench.inspector import draw_inspector
from app.workbench.maps import draw_space
from app.workbench.neighbours import draw_neighbours
from app.workbench.predict import draw_predictions
from app.workbench.similarity import draw_similarity
from app.workbench.subject import Space, Subject
from app.workbench.takeaway import draw_take_away
from app.workbench.triples import draw_triples
from emu_core import charts
from emu_core.api.compare import ALL, choose_rows, training_notes
from emu_core.data.languages import language_name
from emu_core.data.wording import counted, listed
from emu_core.encoders.base import FloatArray
from emu_core.encoders.registry import available_encoders
from emu_core.errors import DataError
from emu_core.evaluation.comparison import Comparison
from emu_core.runs.run import Run

LANGUAGES = "measured-languages"


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Workbench")
    now = context()
    with errors_shown():  # of a damaged run folder, vectors that are not numbers
        draw_workbench(now)


def draw_workbench(now: Context) -> None:
    """Draw the verdict, the maps with their inspector, and the drawer."""
    space = _space(now)
    if space is None:
        return
    subject = None
    verdict, maps = st.container(key="verdict"), st.container()
    with verdict:
        if len(space.specs) == 2:
            subject = _measure(space, now)
        else:
            st.info(
                "There is no encoder B to compare with: train a run on these data, or choose one above.",
                icon=":material/compare_arrows:",
            )
            draw_link("views/train.py", "Train a run", ":material/model_training:")
        if subject is not None and subject.is_measured:
            _draw_verdict(subject, now)
    with maps:
        st.fragment(_draw_maps)(space, subject, now)
    if subject is not None or len(space.specs) == 1:
        draw_drawer(space, subject, now)


def _draw_maps(space: Space, subject: Subject | None, now: Context) -> None:
    with st.container(key="space"):
        left, middle, right = st.columns([3, 11, 5], gap="small")
    draw_space(space, now, left, middle)
    with right:
        draw_inspector(space, subject, now)


def _space(now: Context) -> Space | None:
    """Return the sentences to draw with their vectors; None, with what is waited for drawn, until they are there."""
    total, most = min(len(now.chosen.labelled), MOST_POINTS), FIRST_POINTS
    if total > FIRST_POINTS and st.toggle(
        f"Draw {total:,} sentences, which takes longer", key="explore-all", persist_state="session"
    ):
        most = MOST_POINTS
    points = sample(now.chosen.labelled, most)
    vectors = encoded(now.specs, now.chosen.sha256, points["text"].tolist())
    return None if vectors is None else Space(now.specs, points, vectors)


def _measure(space: Space, now: Context) -> Subject | None:
    """Return A and B on the rows that the bar names; None, with the reason drawn, while they can't be measured."""
    languages = list(st.session_state.get(_languages_key(now), []))
    try:
        part, notes = choose_rows(now.chosen.labelled, now.on, languages)
    except DataError as error:
        st.warning(sentence(error), icon=":material/filter_alt_off:")
        return None
    for run in now.runs:
        notes += training_notes(
            run, now.chosen.labelled, now.on, sha256=now.chosen.sha256, title=now.chosen.title
        )
    notes += _strangers(now)
    for note in dict.fromkeys(notes):
        draw_note(literal(note))
    key = f"{now.chosen.sha256}:{now.on}:{','.join(languages)}"
    vectors = _vectors(space, key, part.frame["text"].tolist())
    if vectors is None:
        return None
    (base, other), (first, second) = vectors.values(), now.titles
    comparison = Comparison(part.frame, base, other, (first, second))
    weights = ":".join(map(weights_of, space.specs.values()))
    outcome = outcome_of(
        f"compare:{key}:{weights}",
        f"Finding the nearest neighbours of {counted(len(part), 'sentence')}",
        Comparison.computed,
        comparison,
    )
    if outcome is None:
        return None
    if isinstance(outcome, Done):
        comparison.with_computed(outcome.value)
    return Subject(space.specs, key, comparison, isinstance(outcome, Done))


def _strangers(now: Context) -> list[str]:
    """Return a note for each encoder that knows some of the data's languages not, where it is known which it knows."""
    known = {encoder.spec: encoder.languages for encoder in available_encoders()}
    known |= {f"{RUN}{run.folder}": run.config().languages for run in now.runs}
    notes = []
    for title, spec in zip(now.titles, now.specs.values(), strict=True):
        languages = known.get(spec, ())
        strange = [code for code in now.chosen.labelled.languages if code not in languages]
        if languages and strange:
            names = listed(list(map(language_name, strange)))
            notes.append(f"{title} was not trained on {names}: it may know little of it.")
    return notes


def _vectors(space: Space, key: str, texts: list[str]) -> Mapping[str, FloatArray] | None:
    """Return the vectors of texts, taken from those of the maps where all of them are drawn."""
    place = {text: row for row, text in enumerate(space.points["text"])}
    if not all(text in place for text in texts):
        return encoded(space.specs, key, texts)
    rows = np.array([place[text] for text in texts])
    return {name: vectors[rows] for name, vectors in space.vectors.items()}


def _seen(now: Context) -> bool:
    """Return whether a run was trained on rows that are measured."""
    splits = now.chosen.labelled.splits
    own = any(data_sha_of(run) == now.chosen.sha256 for run in now.runs)
    return own and (now.on in ("train", ALL) or not splits)


def _draw_verdict(subject: Subject, now: Context) -> None:
    """Draw in a line what B gains over A."""
    row = subject.comparison.means.iloc[-1]
    better, worse = len(subject.comparison.risen), len(subject.comparison.fallen)
    seen = _seen(now)
    colour = (
        "gray" if seen else "green" if row["difference"] > 0 and not worse else "orange" if worse else "gray"
    )
    stamp = " :gray-badge[seen in training]" if seen else ""
    st.markdown(
        f"Mean Acc@1 of {row['over']}: **{row['base']:.1f} → {row['other']:.1f} %** "
        f":{colour}-badge[{row['difference']:+.1f} points]{stamp} · "
        f"{better} {'direction' if better == 1 else 'directions'} better, {worse} worse",
        help="Leave-one-out accuracy of the nearest neighbour, by A and by B, each direction counting once.",
    )


def draw_drawer(space: Space, subject: Subject | None, now: Context) -> None:
    """Draw the tabs below the maps; only the open one is computed."""
    run = now.run
    tabs: dict[str, Callable[[], None]] = {}
    if subject is not None:
        which = (subject.key, *subject.weights)
        if subject.is_measured:
            tabs["Accuracy"] = lambda: draw_accuracy(subject.comparison, which, seen=_seen(now))
            tabs["Changed neighbours"] = lambda: draw_neighbours(subject)
        tabs["Sentence triples"] = lambda: draw_triples(subject)
        tabs["Similarity"] = lambda: draw_similarity(subject)
        if subject.is_measured:
            tabs["Confusions"] = lambda: _draw_confusions(subject)
    tabs["Predict"] = lambda: draw_predictions(now)
    if now.runs:
        tabs["Training"] = lambda: _draw_training(now)
    if run is not None:
        tabs["Forgetting"] = lambda: _draw_forgetting(run)
        tabs["Epochs"] = lambda: draw_epochs(run)
    if subject is not None:
        tabs["Take away"] = lambda: draw_take_away(space, subject, now)
    if len(now.chosen.labelled.languages) > 1 and subject is not None:
        choose_languages(
            "Languages measured",
            now.chosen.labelled.languages,
            _languages_key(now),
            placeholder="All languages",
            width=420,
        )
    drawn = st.tabs(list(tabs), **kept_tab("drawer", list(tabs)))
    for place, draw in zip(drawn, tabs.values(), strict=True):
        with place:
            if place.open:
                draw()


def _languages_key(now: Context) -> str:
    return f"{LANGUAGES}-{now.chosen.sha256[:12]}"


def _draw_confusions(subject: Subject) -> None:
    draw_chart(
        charts.confusion(subject.comparison),
        "confusions",
        "Heat map of which intents A and B take for each other, and what changed.",
    )


def _draw_forgetting(run: Run) -> None:
    if is_from_scratch(run):
        draw_note(
            "An encoder that was trained from scratch has no base of which it could have forgotten anything; "
            "specialise it, and look at that run."
        )
    else:
        draw_forgetting(run)


def _draw_training(now: Context) -> None:
    """Draw the curves of the runs among A and B, over each other where both have some."""
    titles = [
        title for title, spec in zip(now.titles, now.specs.values(), strict=True) if spec.startswith(RUN)
    ]
    histories = {}
    for title, run in zip(titles, now.runs, strict=True):
        st.caption(f"{literal(title)}: {run_facts(run)}")
        if history := run.history():
            histories[title] = history
        else:
            draw_note(f"{literal(title)} has no curves: its method is fitted in one step.")
    if histories:
        draw_chart(
            charts.loss_curves(histories),
            "losses",
            "Each part of the loss, and the accuracy on dev, over the steps of training; a line for each run.",
        )


page()
