"""The library of data: the demo set, and the uploaded sets, which are kept until they are deleted."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd
import streamlit as st

from emu_app.data.tables import audited
from emu_app.shell.address import choices_of_session, keep, linked
from emu_app.shell.session import Remembered
from emu_app.shell.state import data_sha_of
from emu_app.shell.users import DATA, runs_root
from emu_app.shell.wording import literal
from emu_core.data.audit import Audit, located
from emu_core.data.cleaning import stripped
from emu_core.data.demo import DEMO
from emu_core.data.languages import is_known, language_codes
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet, UnlabelledSet
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.files import read_json, whole_folder, write_json
from emu_core.formats.labelled import read_labelled
from emu_core.runs.run import RUN_NAME, TRASH, Run, list_runs

_ROWS, _FACTS, _SCORE, _NOT_NAME = "rows.parquet", "data.json", "score.json", r"[^a-z0-9._-]+"
_VERSION = re.compile(r"[- ]v[0-9]+$")
_DAMAGE = (DataError, OSError, ValueError, KeyError, TypeError)
_ENDING = r"(\.[a-z0-9]{2,7})+(?=,| and |$)"  # the endings of a file's name


@dataclass(frozen=True)
class ChosenData:
    """A labelled set with its audit."""

    labelled: LabelledSet
    audit: Audit
    name: str  # in the library and in the address
    translations: Mapping[str, str] = field(default_factory=dict)  # by machine, in the set's files, by text
    hold_out: float = 0.0  # the share of `audited`, drawn with `seed`
    seed: int = 0
    changes: tuple[str, ...] = ()  # what was changed in each version, the earliest first
    no_intents: tuple[str, ...] = ()  # that stand for "none of these", beside those with a usual name
    real_intents: tuple[str, ...] = ()  # that don't, though they have a usual name
    before: str = ""  # the name of the version that was changed into this one

    @property
    def is_demo(self) -> bool:
        """Whether it is the demo set."""
        return self.name == DEMO

    @cached_property
    def sha256(self) -> str:
        """`labelled.sha256()`, computed once."""
        return self.labelled.sha256()

    @cached_property
    def token(self) -> str:
        """A random text that identifies this set and its audit on this server."""
        return uuid4().hex

    @cached_property
    def train_languages(self) -> list[str]:
        """The languages of the sentences to train on; none if there are splits but no split train."""
        try:
            return list(self.labelled.train_part().languages)
        except DataError:  # a run's plan reports it
            return []

    @property
    def usual_train_languages(self) -> list[str]:
        """The languages whose labels are used unless others are chosen: English or else the first."""
        languages = self.train_languages
        return ["en"] if "en" in languages else languages[:1]

    @property
    def title(self) -> str:
        """The name of the set on pages."""
        return "Demo set" if self.is_demo else self.labelled.name

    @property
    def line(self) -> str:
        """A description of the set in a line of Markdown."""
        labelled, languages = self.labelled, literal(", ".join(self.labelled.languages), 80)
        size = f"{len(labelled):,} sentences, {len(labelled.intents):,} intents"
        return f"On **{literal(self.title, 60)}**: {size}, {languages}"


_FRESH = Remembered[ChosenData | None]("data-added", None)  # as it was stored, so that it isn't read again
_UNDO = Remembered("data-deleted", "")  # the name of the set that was deleted last


def chosen_data() -> ChosenData:
    """Return the set that every page works on: the demo set until another is chosen."""
    folder = library().get(choices_of_session().get("data", DEMO))
    if folder is None:
        return _demo()
    if (fresh := _FRESH.get()) is not None and fresh.name == folder.name:
        return fresh
    return _opened(str(folder), _stamp(folder))


def library() -> dict[str, Path]:
    """Return the folders of the uploaded sets by name, the newest first."""
    folders = [
        path for path in _root().glob("*") if RUN_NAME.fullmatch(path.name) and (path / _FACTS).is_file()
    ]
    return {path.name: path for path in sorted(folders, key=_stamp, reverse=True)}


def add(chosen: ChosenData, rows: pd.DataFrame) -> str:
    """Store a set that was made of rows, unless it is stored already; choose it and return its name.

    A set without a name gets one that is made of its title. Raises DataError if it can't be stored.
    """
    if not chosen.name and (stored := next(filter(_is_whole, _with(chosen.sha256)), None)):
        _FRESH.forget()  # the stored set has its own title and rows left out
        keep("data", stored.name)
        return stored.name
    name = chosen.name or free_name(chosen.labelled.name)
    labelled = chosen.labelled
    facts = {
        "title": labelled.name,
        "hold_out": chosen.hold_out,
        "seed": chosen.seed,
        "sha256": chosen.sha256,
    }
    facts |= {"changes": chosen.changes, "sentences": len(labelled), "intents": len(labelled.intents)}
    facts |= {"languages": labelled.languages, "translations": dict(chosen.translations)}
    facts |= {"notes": chosen.audit.notes, "before": chosen.before}
    facts |= {"no_intents": chosen.no_intents, "real_intents": chosen.real_intents}
    try:
        with whole_folder(_root() / name) as new:
            rows.to_parquet(new / _ROWS, index=False)
            write_json(new / _FACTS, facts)
    except OSError as error:
        raise DataError(f"the set can't be stored: {error.strerror or error}; free some space") from error
    _FRESH.set(replace(chosen, name=name))
    keep("data", name)
    return name


def library_table() -> pd.DataFrame:
    """Return a row for each uploaded set: name, source, size, last change and time."""
    rows = []
    for name, folder in library().items():
        facts = _facts(folder)
        rows.append(
            {
                "Name": name,
                "From": facts.get("title"),
                "Sentences": facts.get("sentences"),
                "Intents": facts.get("intents"),
                "Languages": ", ".join(facts.get("languages") or ()),
                "Changed": ", ".join(str(change) for change in (facts.get("changes") or ())[-1:]),
                "Size, MB": sum(file.stat().st_size for file in folder.iterdir()) / 1e6,
                "Stored": datetime.fromtimestamp(_stamp(folder) / 1e9, tz=UTC),
            }
        )
    return pd.DataFrame(rows)


def facts_of_set(name: str) -> dict[str, str]:
    """Return what an uploaded set is, by label."""
    facts = _facts(library()[name])
    hold_out = facts.get("hold_out") or 0.0
    values = {
        "From": facts.get("title"),
        "Sentences": facts.get("sentences"),
        "Intents": facts.get("intents"),
        "Languages": ", ".join(facts.get("languages") or ()),
        "Held out, percent": f"{100 * hold_out:g}",
        "Seed of the draw": facts.get("seed") if hold_out else None,
        "Changes": "; ".join(facts.get("changes") or ()) or None,
        "Intents of none of these": ", ".join(facts.get("no_intents") or ()) or None,
        "Contents": str(facts.get("sha256") or "")[:12],
    }
    return {label: str(value) for label, value in values.items() if value is not None}


def rows_of(chosen: ChosenData) -> pd.DataFrame:
    """Return every row that a set was made of, including those left out: six columns, row and source."""
    folder = library().get(chosen.name)
    return located(chosen.labelled.frame, DEMO) if folder is None else _rows(str(folder), _stamp(folder))


def left_out(chosen: ChosenData) -> pd.DataFrame:
    """Return the rows that the audit leaves out, except exact repeats: six columns."""
    rows, reasons = rows_of(chosen), chosen.audit.dropped
    reasons = reasons[~reasons["reason"].str.startswith("an exact repeat")]
    places = (pd.MultiIndex.from_frame(table[["row", "source"]]) for table in (rows, reasons))
    return rows.loc[next(places).isin(next(places)), list(LABELLED_COLUMNS)]


def all_rows(chosen: ChosenData) -> pd.DataFrame:
    """Return the sentences of a set with their splits, followed by the rows left out."""
    return pd.concat([chosen.labelled.all_rows(), left_out(chosen)], ignore_index=True)


def rows_to_label(chosen: ChosenData) -> pd.DataFrame:
    """Return the sentences of `all_rows` that have no intent and are not reserved for evaluation."""
    rows = all_rows(chosen).iloc[len(chosen.labelled.all_rows()) :]
    rows = rows.assign(text=stripped(rows["text"]), language=language_codes(stripped(rows["language"])))
    known = rows["language"].map(is_known).astype("bool")
    wanted = (rows["intent"].str.strip() == "") & (rows["text"] != "") & known
    return rows[wanted & rows["split"].str.strip().isin(["", "train"])]


def bare_sentences(chosen: ChosenData) -> UnlabelledSet | None:
    """Return the sentences of `rows_to_label`, to learn from as they are; None without any."""
    return None if chosen.is_demo else _bare(chosen.token, chosen)


@st.cache_resource(max_entries=4, show_spinner=False)
def _bare(token: str, _chosen: ChosenData) -> UnlabelledSet | None:
    rows = rows_to_label(_chosen)
    rows = rows[list(UnlabelledSet.columns)].reset_index(drop=True)
    return UnlabelledSet(rows, _chosen.labelled.name) if len(rows) else None


def keep_score(chosen: ChosenData, score: Mapping[str, Any]) -> None:
    """Store what was measured on a version of a set with it."""
    if folder := library().get(chosen.name):
        write_json(folder / _SCORE, dict(score))


def scores(chosen: ChosenData) -> list[dict[str, Any]]:
    """Return what was measured on the versions of a set."""
    return [_json(folder / _SCORE) for folder in _versions(chosen) if (folder / _SCORE).is_file()]


def versions(chosen: ChosenData) -> set[str]:
    """Return the hashes of all versions of a set, and of the demo set if it is one of that."""
    hashes = {str(_facts(folder).get("sha256")) for folder in _versions(chosen)}
    return hashes | {_demo().sha256} if _stem(chosen.name) == DEMO else hashes


def _versions(chosen: ChosenData) -> list[Path]:
    """Return the folders of the versions of a set: those named after it, and those made by changing each other."""
    folders = library()
    made_of = {name: _facts(folder).get("before") or "" for name, folder in folders.items()}
    known, names = set[str](), {chosen.name}
    while names - known:
        known |= names
        stems = {_stem(name) for name in known}
        names = {made_of[name] for name in known & made_of.keys()} - {""}
        names |= {name for name, before in made_of.items() if before in known or _stem(name) in stems}
    return [folder for name, folder in folders.items() if name in known]


def _stem(name: str) -> str:
    return _VERSION.sub("", name)


def add_version(chosen: ChosenData, rows: pd.DataFrame | LabelledSet, change: str) -> str:
    """Store a changed set as a new version, choose it, and return its name.

    `rows` are all rows, as of `rows_of` or `all_rows`, or the changed set, to which the rows left out are added;
    `change` says what was changed. Raises DataError if it can't be stored, or is no longer a labelled set.
    """
    if isinstance(rows, LabelledSet):
        rows = pd.concat([rows.all_rows(), left_out(chosen)], ignore_index=True)
    if "row" not in rows:
        rows = located(rows, chosen.title)
    stem, title = _stem(chosen.name), _stem(chosen.title)
    number = next(n for n in count(2) if f"{stem}-v{n}" not in _taken())
    about = chosen.hold_out, chosen.seed, chosen.audit.notes, chosen.no_intents, chosen.real_intents
    labelled, audit = audited(rows, f"{title} v{number}", *about)
    changes = (*chosen.changes, change)
    new = replace(
        chosen,
        labelled=labelled,
        audit=audit,
        name=f"{stem}-v{number}",
        changes=changes,
        before=chosen.name,
    )
    return add(new, rows)


def can_undo(chosen: ChosenData) -> bool:
    """Return whether a set is a changed version of another one that is still there."""
    return chosen.before in _taken()


def undo_version(chosen: ChosenData) -> None:
    """Choose the version before a set; the set goes to the trash unless a run was trained on it."""
    if not any(data_sha_of(run) == chosen.sha256 for run in list_runs(runs_root())):
        delete(chosen.name)
    keep("data", chosen.before)


def data_of_run(run: Run) -> str:
    """Return the name of the set that a run was trained on. Raises DataError if the library does not have it."""
    sha256 = data_sha_of(run)
    if sha256 and sha256 == _demo().sha256:
        return DEMO
    for folder in _with(sha256) if sha256 else []:
        return folder.name
    raise DataError(f"the data that {run.name} was trained on are not here; upload their file again")


def free_name(title: str) -> str:
    """Return an unused name for a set, made of a title."""
    plain = re.sub(_NOT_NAME, "-", re.sub(_ENDING, "", title.lower())).strip("-._")[:60].rstrip("-._")
    stem, taken = plain or "data", _taken()
    return stem if stem not in taken else next(n for i in count(2) if (n := f"{stem}-{i}") not in taken)


def rename(name: str, new: str) -> None:
    """Rename a set, of which later versions remain versions. Raises DataError if the new name is invalid or taken."""
    if not RUN_NAME.fullmatch(new):
        raise DataError(
            "a name starts with a lower-case letter or a digit; more of them, '.', '_' and '-' may follow"
        )
    if new in _taken():
        raise DataError(f"there is a set '{new}' already; choose another name")
    (_root() / name).rename(_root() / new)
    for folder in library().values():
        facts = _facts(folder)
        if facts.get("before") == name:
            stamp = _stamp(folder)
            write_json(folder / _FACTS, facts | {"before": new})
            os.utime(folder / _FACTS, ns=(stamp, stamp))  # it stays in its place among the sets
    _FRESH.forget()
    keep("data", new)


def delete(name: str) -> None:
    """Move a set to the trash and choose the demo set; `undelete` restores it until another is deleted."""
    trash = _root() / TRASH
    shutil.rmtree(trash, ignore_errors=True)
    trash.mkdir(parents=True)
    (_root() / name).rename(trash / name)
    _UNDO.set(name)
    keep("data", DEMO)


def discard(name: str) -> None:
    """Delete a set for good, such as an upload that was read differently a moment later, unless a run used it."""
    sha256 = _facts(_root() / name).get("sha256")
    if not any(data_sha_of(run) == sha256 for run in list_runs(runs_root())):
        shutil.rmtree(_root() / name, ignore_errors=True)


def deleted() -> str:
    """Return the name of the set that can be restored; "" for none."""
    name = _UNDO.get()
    return name if name and (_root() / TRASH / name).is_dir() and name not in library() else ""


def undelete() -> None:
    """Restore the set that was deleted last, and choose it."""
    if name := deleted():
        (_root() / TRASH / name).rename(_root() / name)
        keep("data", name)


def check_data() -> list[str]:
    """Drop the set that the address names if it can't be opened; return what was wrong with it."""
    choices, problems = choices_of_session(), []
    if (named := choices.get("data", DEMO)) not in (DEMO, *library()):
        problems.append(f"There is no data set {literal(shown(named, 80))} here: this is the demo set.")
        del choices["data"]
    try:
        chosen_data()
    except _DAMAGE:
        problems.append(
            f"The data set {literal(named)} is damaged: this is the demo set. Upload its file again."
        )
        del choices["data"]
    return problems


def draw_data_chooser() -> None:
    """Ask for a set."""
    names = [DEMO, *library()]
    linked("data", "Data", names, format_func=lambda name: "Demo set" if name == DEMO else name, width=190)


def _root() -> Path:
    return runs_root() / DATA


def _taken() -> set[str]:
    return {DEMO, *library()}


def _with(sha256: str) -> list[Path]:
    """Return the folders of the sets that have this hash."""
    return [folder for folder in library().values() if _facts(folder).get("sha256") == sha256]


def _is_whole(folder: Path) -> bool:
    try:
        return bool(_opened(str(folder), _stamp(folder)))
    except _DAMAGE:
        return False


def _stamp(folder: Path) -> int:
    return (folder / _FACTS).stat().st_mtime_ns


def _facts(folder: Path) -> dict[str, Any]:
    return _json(folder / _FACTS)


def _json(file: Path) -> dict[str, Any]:
    try:
        values = read_json(file)
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


@st.cache_resource(max_entries=2, show_spinner="Opening the data ...")
def _rows(folder: str, stamp: int) -> pd.DataFrame:
    return pd.read_parquet(Path(folder) / _ROWS)


@st.cache_resource(max_entries=8, show_spinner="Opening the data ...")
def _opened(folder: str, stamp: int) -> ChosenData:
    path, facts = Path(folder), _facts(Path(folder))
    about = float(facts["hold_out"]), int(facts["seed"])
    notes, changes, no_intents, real_intents = (
        tuple(map(str, facts.get(key, ()))) for key in ("notes", "changes", "no_intents", "real_intents")
    )
    made = audited(
        pd.read_parquet(path / _ROWS), str(facts["title"]), *about, notes, no_intents, real_intents
    )
    before = str(facts.get("before", ""))
    named = made[0], made[1], path.name, facts["translations"]
    return ChosenData(*named, *about, changes, no_intents, real_intents, before)


@st.cache_resource(show_spinner="Reading the demo set ...")
def _demo() -> ChosenData:
    return ChosenData(*read_labelled([DEMO]), DEMO)
