"""Measure catastrophic forgetting: sentence similarity and translation retrieval before and after training."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from emu_core.api.execute import Face
from emu_core.api.inputs import RUN_SPEC, finished_run, languages_of
from emu_core.data.commands.generate import generate_commands
from emu_core.data.demo import DEMO, load_demo
from emu_core.data.languages import unknown_languages
from emu_core.data.parallel.files import read_translations
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.scored_pairs import read_scored_pairs
from emu_core.devices import pick_device
from emu_core.encoders.base import FloatArray, ReportProgress
from emu_core.encoders.registry import load_encoder
from emu_core.errors import Call, DataError, Fix, RunError
from emu_core.evaluation.arrays import DistinctTexts, pair_name
from emu_core.evaluation.forgetting import PARTS, MeasureChange, retrieval_change, similarity_change
from emu_core.runs.run import Run
from emu_core.runs.trained_on import trained_rows

_FILE = "forgetting.json"
COMMANDS = ("en", "de", "es", "fr", "it", "nl", "pl", "pt", "ru")
COMMANDS_MEASURED = 300
FORGETTING_COLUMNS = [
    "part", "name", "base", "specialised", "difference", "low", "high", "count", "flagged",
]  # fmt: skip
# A part, a name in it, and what to measure: with which function, on which pairs, and their scores or answers.
_Asked = tuple[str, str, Callable[..., MeasureChange], Sequence[str], Sequence[str], Sequence[Any]]


def forgetting(
    face: Face,
    folder: str | Path,
    *,
    sts: str | Path | None = None,
    translations: str | Path | None = None,
    device: str = "auto",
    on_progress: ReportProgress | None = None,
) -> dict[str, Any]:
    """Measure what a run's encoder has forgotten, and write forgetting.json and the card into the run's folder.

    Without files, translation retrieval is measured on a small built-in set (`small_set`).

    Args:
        face: writes the run's card; `emu_core.forgetting` has one and takes no other.
        folder: a finished run's.
        sts: folder of files such as de.dev.csv: two sentences and a score a row, no header.
        translations: folder of files such as tatoeba.deu-eng.deu and tatoeba.deu-eng.eng, one sentence a line.
        device: "auto", "cpu", "cuda:0".
        on_progress: called with (sentences done, total) during encoding.

    Returns:
        `sts` by language (Spearman's correlation) and `translations` by "s-t" (percentage of sentences in s whose
        nearest neighbour in t is their translation), each with `base`, `specialised`, `difference`, `low`, `high`
        (95 %), `count` and `flagged`; `flagged`, the names of those that fell by more than 0.02 or 1 point, such as
        "STS de"; `measured_on`, a description of the small set, or "" if files were given.

    Raises:
        DataError: a file can't be read, or the encoder knows fewer than two languages of the small set.
        RunError: the run is not finished.
        EncoderError: an encoder can't be opened.
    """
    run = finished_run(folder, "measure")
    if not run.config().encoder:
        raise RunError(
            f"{run.folder} was trained from scratch, so there is nothing that it could have forgotten; specialise its "
            "encoder (",
            Fix("encoder", f"run:{run.folder}"),
            "), and measure that run",
        )
    scored = {} if sts is None else read_scored_pairs(Path(sts))
    parallel = [] if translations is None else read_translations(Path(translations))
    measured_on = ""
    if sts is None and translations is None:
        parallel, measured_on = small_set(run)
    asked: list[_Asked] = [
        ("sts", language, similarity_change, pairs.first, pairs.second, pairs.scores)
        for language, pairs in scored.items()
    ]
    asked += [
        ("translations", pair_name(*way.languages), retrieval_change, way.first, way.second, way.second)
        for text in parallel
        for way in (text, text.turned())
    ]
    distinct = DistinctTexts(text for *_, first, second, _ in asked for text in (*first, *second))
    chosen_device, vectors_of_both = pick_device(device), list[FloatArray]()
    for spec in (run.config().encoder, f"{RUN_SPEC}{run.folder}"):

        def tell(done: int, total: int, before: int = len(vectors_of_both)) -> None:
            if on_progress is not None:
                on_progress(before * total + done, 2 * total)

        vectors_of_both.append(
            load_encoder(spec, device=chosen_device).encode(distinct.texts, on_progress=tell)
        )
    changes: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for part, name, measure, first, second, truth in asked:
        if name in changes[part]:
            raise DataError(f"there are two sets of translations {name} in {translations}; leave one")
        rows = distinct.rows(first), distinct.rows(second)
        try:
            change = measure(*((vectors[rows[0]], vectors[rows[1]]) for vectors in vectors_of_both), truth)
        except DataError as error:
            raise DataError(f"{PARTS[part].short} of {name}: ", error) from None
        changes[part][name] = change.facts()
    flagged = [
        f"{PARTS[part].short} {name}"
        for part, part_changes in changes.items()
        for name, facts in part_changes.items()
        if facts["flagged"]
    ]
    result = {**changes, "flagged": flagged, "measured_on": measured_on}
    run.write(_FILE, result)
    face.write_card(run)
    return {"run": str(run.folder), **result}


def small_set(run: Run) -> tuple[list[ParallelText], str]:
    """Return built-in translations on another subject than the run's data, and a description of them.

    They are the demo set's questions of hotel guests, or, for a run that was trained on those, commands to a home made
    by `generate_commands`. The first language that the encoder knows, usually English, is paired with each other one.

    Raises:
        DataError: the encoder knows fewer than two of their languages.
    """
    demo = load_demo()
    seen, _ = trained_rows(f"{RUN_SPEC}{run.folder}", demo)
    if seen.any() or DEMO in run.data().name.casefold():
        commands, what = generate_commands(COMMANDS, COMMANDS_MEASURED, seed=0), "commands to a home"
        source = "generated from the sentence templates of Home Assistant Intents, CC BY 4.0"
    else:
        commands, what = demo, "questions of hotel guests"
        source = "the demo set, written for Emu"
    strangers = unknown_languages(languages_of(run.config().encoder), commands.languages)
    languages = [code for code in commands.languages if code not in strangers]
    if len(languages) < 2:
        raise DataError(
            f"the run's encoder knows no two languages of the small set ({', '.join(commands.languages)}); name a "
            "folder with ",
            Fix("sts"),
            " or ",
            Fix("translations"),
        )
    table = commands.frame.pivot(index="id", columns="language", values="text")[languages].dropna()
    first, *others = languages
    pairs = [ParallelText(first, code, tuple(table[first]), tuple(table[code]), what) for code in others]
    return pairs, f"{len(table)} {what} in {len(languages)} languages ({source})"


def read_forgetting(run: Run) -> pd.DataFrame | None:
    """Return the measures in a run's forgetting.json, a row each; None if there is no such file.

    The columns are `part` ("sts" or "translations"), `name` (a language, or two such as "de-en"), `base`,
    `specialised`, `difference`, `low`, `high`, `count` and `flagged`; `attrs["measured_on"]` describes the small set.

    Raises:
        RunError: the file is damaged.
    """
    path = run.folder / _FILE
    _, _, *numbers, count, flagged = FORGETTING_COLUMNS
    try:
        values = json.loads(path.read_text("utf-8"))
        rows = [
            (
                part,
                name,
                *(float(facts[number]) for number in numbers),
                int(facts[count]),
                bool(facts[flagged]),
            )
            for part in PARTS
            for name, facts in values[part].items()
        ]
        measured_on = str(values.get("measured_on", ""))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise RunError(
            f"{path} can't be read; make it again with ", Call("forgetting", str(run.folder))
        ) from None
    table = pd.DataFrame(rows, columns=FORGETTING_COLUMNS)
    table.attrs["measured_on"] = measured_on
    return table
