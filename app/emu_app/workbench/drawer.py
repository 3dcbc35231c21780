"""The drawer below the maps: a tab for each view of the two encoders, in groups; only the open one is computed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from emu_app.panels.accuracy import draw_intents, draw_similar
from emu_app.panels.context import Context
from emu_app.panels.maps import theme
from emu_app.panels.run_table import run_facts
from emu_app.shell.address import TAKE_AWAY, draw_grouped_tabs
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import (
    ADDRESSED,
    KEPT,
    PLAIN_BAR,
    choose,
    choose_languages,
    choose_one,
    draw_chart,
    draw_download,
    draw_note,
    draw_table,
    roomy_columns,
)
from emu_app.shell.wording import literal
from emu_app.work.cache import computed
from emu_app.workbench.confusions import draw_confused_pairs
from emu_app.workbench.forgetting import draw_forgetting
from emu_app.workbench.subject import Space, Subject
from emu_app.workbench.takeaway import draw_take_away
from emu_core import charts
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.encoders.specs import is_run
from emu_core.evaluation.comparison import Change
from emu_core.evaluation.film import PLAIN_MEASURES
from emu_core.reports import views
from emu_core.reports.map_pages import animation_page
from emu_core.reports.views import ComparisonView
from emu_core.runs.run import Run
from emu_core.runs.snapshots import read_film

# Headings and widths in pixels, at which both neighbours are in view.
_TEXTS = {
    "change": ("Change", 70),
    "sentence": ("Sentence", 215),
    "intent": ("Intent", 155),
    "base_neighbour": ("A: nearest", 215),
    "base_intent": ("A: its intent", 155),
    "other_neighbour": ("B: nearest", 215),
    "other_intent": ("B: its intent", 155),
    "language": ("Language", 90),
    "base_language": ("A: language", 90),
    "other_language": ("B: language", 90),
}
_COSINES = {"base_cosine": "A: similarity", "other_cosine": "B: similarity"}
ANYWHERE = "any language"
_CONFUSION = "confusion"
_TRAINING = views.Group.TRAINING
_OTHER_TABS = {
    TAKE_AWAY: TAKE_AWAY,
    "Curves": _TRAINING,
    "Epochs": _TRAINING,
}  # of no view; each with its group


def draw_drawer(space: Space | None, subject: Subject | None, now: Context) -> None:
    """Draw the tabs; the sentences of the maps may not be encoded yet."""
    run = now.run
    tabs: dict[str, Callable[[], None]] = {} if subject is None else _views(subject)
    if now.runs:
        tabs["Curves"] = lambda: _draw_training(now)
    if run is not None:
        tabs["Forgetting"] = lambda: draw_forgetting(run)
        tabs["Epochs"] = lambda: _draw_epochs(run)
    if subject is not None:
        tabs[TAKE_AWAY] = lambda: _draw_take_away(space, subject, now)
        languages = now.chosen.labelled.languages
        if len(languages) > 1:
            about = {"placeholder": "All languages", "width": 420, **ADDRESSED}
            measured = languages_measured(now)
            known = measured.get()
            said = ", ".join(map(language_name, known)) or "all"
            with st.popover(f"Languages measured: {said}", icon=":material/language:", key="measured"):
                chosen = choose_languages("Languages measured", languages, measured.key, **about)
            if chosen != known:
                st.rerun()  # a new session knows those of its address from here on
    group_of = groups_of_tabs()
    groups: dict[str, dict[str, Callable[[], None]]] = {group: {} for group in (*views.Group, TAKE_AWAY)}
    for title, draw in tabs.items():
        groups[group_of[title]][title] = draw
    if tabs:
        draw_grouped_tabs({group: part for group, part in groups.items() if part}, "drawer", "tab")


def groups_of_tabs() -> dict[str, str]:
    """Return the group of each tab by its title."""
    return {view.title: view.group for view in views.VIEWS} | _OTHER_TABS


def _views(subject: Subject) -> dict[str, Callable[[], None]]:
    """Return the tabs of `_ASKING`, which draw some views of `VIEWS` in their own way, and one for each other view."""
    by_name = {view.name: view for view in views.VIEWS}
    tabs: dict[str, Callable[[], None]] = {}
    for tab in _ASKING:
        first, *_ = [by_name.pop(name) for name in tab.views]
        if subject.is_measured:
            tabs[first.title] = partial(tab.draw, subject)
    for view in by_name.values():
        if subject.is_measured and view.name not in _ELSEWHERE:
            tabs[view.title] = partial(_draw_view, view, subject)
    return tabs


def _draw_view(view: ComparisonView, subject: Subject) -> None:
    """Draw a view's figures side by side, and its table."""
    _draw_figures(view, subject)
    table = view.table(subject.comparison)
    if table is None or table.empty:
        draw_note("There is nothing to show.")
    else:
        draw_table(table, f"view-{view.name}-table", f"emu-{view.name.replace('_', '-')}.csv")


def _draw_figures(view: ComparisonView, subject: Subject) -> None:
    """Draw a view's figures side by side, and say how to read them."""
    key = f"view-{view.name}"
    if figures := view.figures(subject.comparison):
        columns = roomy_columns(len(figures), 370, key)
        for number, (column, figure) in enumerate(zip(columns, figures, strict=True), start=1):
            draw_chart(figure, f"{key}-{number}", f"{view.title}, chart {number}.", container=column)
    st.caption(literal(view.note(subject.comparison)))


def _draw_confusions(subject: Subject) -> None:
    """Draw the pairs of intents that are confused and their sentences, then the figures."""
    draw_confused_pairs(subject)
    _draw_figures(next(view for view in views.VIEWS if view.name == _CONFUSION), subject)


def languages_measured(now: Context) -> Remembered[list[str]]:
    """Return the languages that are chosen in the drawer; none for all."""
    return Remembered(f"measured-languages-{now.chosen.sha256[:12]}", [])


def _draw_neighbours(subject: Subject) -> None:
    """Draw the sentences whose nearest neighbour changed from A to B."""
    languages = subject.comparison.languages
    where, whose = st.columns(2)
    pool = choose(
        "Nearest neighbour in",
        [ANYWHERE, *languages],
        f"changed-pool-{subject.key}",
        container=where,
        format_func=language_name,
    )
    queries = choose_languages(
        "Of the sentences in",
        languages,
        f"changed-queries-{subject.key}",
        container=whose,
        placeholder="All languages",
    )
    table = subject.comparison.changes(None if pool == ANYWHERE else pool)
    table = table.drop(columns=["base_row", "other_row"])
    if queries:
        table = table[table["language"].isin(queries)]
    counts = table["change"].value_counts()
    kinds = st.pills(
        "Kind of change",
        list(Change),
        selection_mode="multi",
        default=[Change.FIXED, Change.BROKEN],
        format_func=lambda kind: f"{kind} ({counts.get(kind, 0):,})",
        key="changed-kinds",
        help="; ".join(f"{kind}: {kind.meaning}" for kind in Change),
        **KEPT,
    )
    table = table[table["change"].isin(list(kinds))]
    if table.empty:
        draw_note("No sentence is left; choose more above.")
        return
    st.caption(f"{counted(len(table), 'sentence')}; a sentence's own translations are never its neighbours.")
    column = st.column_config
    draw_table(
        table,
        "changed-table",
        "emu-neighbours.csv",
        {name: column.TextColumn(title, width=width) for name, (title, width) in _TEXTS.items()}
        | {name: column.NumberColumn(title, width=90, format="%.2f") for name, title in _COSINES.items()},
        column_order=[*_TEXTS, *_COSINES],
    )


def _draw_training(now: Context) -> None:
    """Draw the curves of the runs among A and B in one chart."""
    specs = zip(now.titles, now.specs.values(), strict=True)
    titles, histories = [title for title, spec in specs if is_run(spec)], {}
    for title, run in zip(titles, now.runs, strict=True):
        st.caption(f"{literal(title)}: {run_facts(run)}")
        if history := run.history():
            histories[title] = history
        else:
            draw_note(f"{literal(title)} has no curves: its method is fitted in one step.")
    if histories:
        about = (
            "Each part of the loss, and the accuracy on dev, over the steps of training; a line for each run."
        )
        draw_chart(charts.loss_curves(histories), "losses", about)


def _draw_epochs(run: Run) -> None:
    """Play a run's snapshots, or say how to get some."""
    if not run.snapshots_folder.is_dir():
        draw_note(
            "This run stored no vectors. Runs that keep sentences, a switch on the Train page, can be played here."
        )
        return
    colour_by = choose_one("Colour by", ["intent", "language"], "epochs-colour")
    stamp = run.snapshots_folder.stat().st_mtime_ns
    label = f"{run.name}: laying out and measuring the sentences at each epoch"
    film = computed(f"film:{run.folder}:{stamp}", label, read_film, run)
    if film is None:
        return
    st.plotly_chart(charts.animation(film, colour_by, theme()), key="explore-film", config=PLAIN_BAR)
    st.caption(
        "One map for all epochs, each aligned to the next, so that movement means that sentences move relative to "
        f"each other. {PLAIN_MEASURES[film.measure].capitalize()}, by language, on these {len(film.sentences):,} "
        "sentences; the line marks the value before training.",
        help=help_on(Word.SIMILAR, Word.TRANSLATION_FOUND, Word.MAP),
    )
    draw_download(
        "HTML",
        lambda: animation_page(film, colour_by, run.name),
        f"{run.name}-epochs.html",
        help="A page that plays the map, without a network.",
    )


def _draw_take_away(space: Space | None, subject: Subject, now: Context) -> None:
    if space is None:
        draw_note("The sentences of the maps are being encoded.")
    else:
        draw_take_away(space, subject, now)


@dataclass(frozen=True)
class _Tab:
    """A tab that asks for something, and draws some views of `VIEWS` in its own way."""

    views: tuple[str, ...]  # their names; the first one's title is the tab's
    draw: Callable[[Subject], None]


_ASKING = (
    _Tab(("right_intents",), lambda subject: draw_intents(subject.comparison)),
    _Tab(
        ("gains", "accuracy", "leakage"), lambda subject: draw_similar(subject.comparison, seen=subject.seen)
    ),
    _Tab((_CONFUSION,), _draw_confusions),
    _Tab(("changes", "change_counts"), _draw_neighbours),
)
# The tab of a run draws the first one, and offers to measure it; the page Try compares sentences.
_ELSEWHERE = ("forgetting", "triples", "triples_across_languages", "similarity")
