"""The map of a run while it trains: held-out sentences that move after each epoch, and each language's accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from emu_app.panels.maps import theme
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.state import facts_of_run
from emu_app.shell.widgets import errors_shown
from emu_app.shell.wording import sentence
from emu_app.work import cache
from emu_app.work.background import Done, Failed
from emu_core.charts.marks import GROUP_NAME, ColourBy, cluster_names, groups
from emu_core.charts.style import HOVER, Theme, short
from emu_core.data.languages import language_name, ordered
from emu_core.data.wording import counted
from emu_core.errors import Message
from emu_core.evaluation.film import ACCURACY, PLAIN_MEASURES, TRANSLATIONS, frame_on_axes
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.run import Run
from emu_core.runs.snapshots import StoredFrames, frames_so_far

_HERE = Path(__file__).parent
_GRID = 10_000  # vectors have length 1, so places are within 2 of the middle: integers take less room
MOST_NAMES = 10  # intents named on a frame
_Laid = tuple[NDArray[np.float32], dict[str, float]]  # places (N, 2), and accuracy by language


@dataclass(frozen=True, eq=False)
class LiveFrames:
    """The frames of a run that are laid out so far.

    Attributes:
        stored: all of them, as they are in the run's folder.
        key: identifies the sentences and the frames that are laid out.
        laid: of each frame, up to the first that is not laid out yet.
        problem: why the next one can't be laid out; None if it can.
    """

    stored: StoredFrames
    key: str
    laid: tuple[_Laid, ...]
    problem: Message | None = None

    @property
    def is_whole(self) -> bool:
        """Whether no stored frame is still to be laid out."""
        return self.problem is not None or len(self.laid) == len(self.stored.files)


def live_frames(run: Run, *, is_moving: bool) -> LiveFrames | None:
    """Return the frames of a run that are laid out, beside the page; None if the run has none.

    While the run moves, they are on the axes of the first frame, and then on those of the last.

    Raises:
        RunError: they are damaged.
    """
    stored = frames_so_far(run)
    if stored is None:
        return None
    laid, problem = list[_Laid](), None
    stamps = [f"{file}:{file.stat().st_mtime_ns}" for file in stored.files]
    axes = 0 if is_moving else len(stamps) - 1
    keys = [f"frame:{stamps[axes]}:{stamp}" for stamp in stamps]
    for number, key in enumerate(keys):
        try:
            outcome = cache.mapper().result(key)
        except KeyError:  # not asked for yet
            axes_of, vectors = stored.read(axes)[1], stored.read(number)[1]
            outcome = cache.mapper().run(key, frame_on_axes, stored.sentences, axes_of, vectors)
        if isinstance(outcome, Failed):
            problem = outcome.message
        if not isinstance(outcome, Done):
            break
        laid.append(outcome.value)
    return LiveFrames(stored, " ".join(keys[: len(laid)]), tuple(laid), problem)


def draw_live_map(run: Run, frames: LiveFrames, *, is_moving: bool) -> None:
    """Draw the frames of a run so far: while it trains, the newest, and at all times from the first when played."""
    if frames.problem is not None:
        st.error(sentence(frames.problem), icon=":material/error:")
    drawn = _drawn(frames.key, theme(), frames) if frames.laid else {}
    held_out = "held-out " if _are_held_out(run) else ""
    st.markdown(f"**Where the {held_out}sentences {'go' if is_moving else 'went'}**")
    html, css, js = ((_HERE / f"live_map.{kind}").read_text("utf-8") for kind in ("html", "css", "js"))
    component = st.components.v2.component("emu_live_map", html=html, css=css, js=js)
    first = frames.stored.files[0]
    state = {"run": f"{first} {first.stat().st_mtime_ns}", "live": is_moving, "whole": frames.is_whole}
    component(key="live-map", data={**drawn, **state})
    count = counted(len(frames.stored.sentences), "sentence")
    st.caption(
        f"{count}, on the axes of the {'first' if is_moving else 'last'} map. The mark beside a language is where it "
        "began.",
        help=help_on(Word.MAP, Word.SIMILAR),
    )


def _are_held_out(run: Run) -> bool:
    """Return whether the sentences are held out; data without such are drawn themselves."""
    facts = facts_of_run(run)
    return not isinstance(facts, LabelledFacts) or any(
        part.endswith((" test", " dev")) for part in facts.counts
    )


@st.cache_data(max_entries=8, show_spinner=False)
def _drawn(key: str, colours: Theme, _frames: LiveFrames) -> dict[str, Any]:
    """Return what the script draws; `key` identifies the frames."""
    rows, stored = _frames.stored.sentences, _frames.stored
    is_bare = bool((rows["intent"] == "").all())
    by: ColourBy = "language" if is_bare else "intent"
    groups_drawn = groups(rows, by, theme=colours)
    number = {group.value: group.number for group in groups_drawn}
    languages = ordered(_frames.laid[0][1])
    return {
        "titles": [stored.read(frame)[0] for frame in range(len(_frames.laid))],
        "frames": [_frame(places, rows["intent"].to_numpy(object)) for places, _ in _frames.laid],
        "accuracy": [[round(of_frame[code], 2) for code in languages] for _, of_frame in _frames.laid],
        "languages": [language_name(code) for code in languages],
        "measure": f"{PLAIN_MEASURES[TRANSLATIONS if is_bare else ACCURACY].capitalize()}, %",
        "colours": [group.colour for group in groups_drawn],
        "colour": [number[value] for value in rows[by]],
        "texts": _texts(rows["text"], rows["intent"], rows["language"]),
    }


def _frame(places: NDArray[np.float32], intents: NDArray[np.object_]) -> dict[str, Any]:
    on_grid = np.round(places * _GRID).astype(int)
    names = [
        (short(name.intent, GROUP_NAME), round(name.x), round(name.y))
        for name in cluster_names(on_grid.astype(np.float32), intents, MOST_NAMES)
    ]
    return {"xy": on_grid.ravel().tolist(), "names": names}


def _texts(texts: Sequence[str], intents: Sequence[str], languages: Sequence[str]) -> list[str]:
    return [
        " · ".join(filter(None, (short(text, HOVER), intent, language_name(code))))
        for text, intent, code in zip(texts, intents, languages, strict=True)
    ]


def live_map_fragment(run: Run, *, is_moving: bool, every_s: float) -> None:
    """Draw a run's map and follow it, while the run trains or a frame is still laid out beside the page."""
    with errors_shown():
        frames = live_frames(run, is_moving=is_moving)
        if frames is None and not is_moving:
            return
        waits = is_moving or (frames is not None and not frames.is_whole)

        def follow() -> None:
            with errors_shown():
                now = live_frames(run, is_moving=is_moving)
                if now is None:
                    return
                draw_live_map(run, now, is_moving=is_moving)
            if waits and now.is_whole and not is_moving:
                st.rerun()  # and follow it no longer

        st.fragment(follow, run_every=every_s if waits else None)()
