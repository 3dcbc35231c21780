"""Measure catastrophic forgetting: sentence similarity and translation retrieval before and after training."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from emu_core.api.inputs import RUN_SPEC, finished_run, languages_of
from emu_core.api.pretrain import Texts, parallel_texts
from emu_core.data.commands.generate import generate_commands
from emu_core.data.demo import DEMO, load_demo
from emu_core.data.languages import unknown_languages
from emu_core.data.texts.parallel import ParallelText
from emu_core.devices import pick_device
from emu_core.encoders.base import FloatArray, ReportProgress
from emu_core.encoders.registry import load_encoder
from emu_core.errors import DataError, Fix, RunError
from emu_core.evaluation.arrays import DistinctTexts, Vectors, pair_name
from emu_core.evaluation.forgetting import (
    PARTS,
    Forgetting,
    ForgettingFigures,
    MeasureChange,
    retrieval_change,
    similarity_change,
)
from emu_core.formats.in_memory import Sources
from emu_core.formats.parallel.files import check_pairs, read_translations
from emu_core.formats.texts.scored_pairs import read_scored_pairs
from emu_core.reports.card import write_card
from emu_core.runs.forgetting import FORGETTING_FILE
from emu_core.runs.run import Run
from emu_core.runs.trained_on import trained_rows

COMMANDS = ("en", "de", "es", "fr", "it", "nl", "pl", "pt", "ru")
COMMANDS_MEASURED = 300


class ForgettingResult(ForgettingFigures):
    """The result of `forgetting`: the contents of forgetting.json and the run's folder."""

    run: str


@dataclass(frozen=True)
class _Measure:
    """A measure to take: the sentence pairs, and how their vectors by both encoders are compared."""

    part: str  # of `PARTS`
    name: str  # a language, or a direction such as "de-en"
    first: Sequence[str]
    second: Sequence[str]
    compare: Callable[[tuple[Vectors, Vectors], tuple[Vectors, Vectors]], MeasureChange]

    @property
    def title(self) -> str:
        return f"{PARTS[self.part].short} {self.name}"


def forgetting(
    folder: str | Path | Run,
    *,
    sts: Sources | None = None,
    translations: Texts | None = None,
    device: str = "auto",
    on_progress: ReportProgress | None = None,
) -> ForgettingResult:
    """Measure what a run's encoder has forgotten, and write forgetting.json and the card into the run's folder.

    Without either, translation retrieval is measured on a small built-in set (`small_set`).

    Args:
        folder: that of a finished run, or the run.
        sts: a folder of files such as de.dev.csv, with two sentences and a score a row and no header; or a table, as
            `read_scored_pairs` takes it.
        translations: a folder of files such as tatoeba.deu-eng.deu and tatoeba.deu-eng.eng, one sentence a line; or
            tables or parallel texts, as `read_parallel` takes or returns them.
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

    Examples:
        >>> import emu_core
        >>> import pandas as pd
        >>> pairs = pd.DataFrame({"en": ["the pool", "a taxi", "my car"], "de": ["der Pool", "ein Taxi", "mein Auto"]})
        >>> measured = emu_core.forgetting("runs/hotel", translations=pairs)
        >>> measured["translations"]["en-de"]["count"], measured["flagged"]
        (3, [])
    """
    run = finished_run(folder, "measure")
    if not run.config().encoder:
        raise RunError(
            f"{run.folder} was trained from scratch, so there is nothing that it could have forgotten; specialise its "
            "encoder (",
            Fix("encoder", f"run:{run.folder}"),
            "), and measure that run",
        )
    # First read what is to be measured, then encode each sentence once by both encoders.
    measures, measured_on = _measures(run, sts, translations)
    sentences = DistinctTexts(text for measure in measures for text in (*measure.first, *measure.second))
    base, specialised = _vectors_of_both(run, sentences.texts, pick_device(device), on_progress)
    # Then take the measures, and store them beside the run and on its card.
    changes: dict[str, dict[str, MeasureChange]] = {part: {} for part in PARTS}
    for measure in measures:
        first, second = sentences.rows(measure.first), sentences.rows(measure.second)
        try:
            change = measure.compare((base[first], base[second]), (specialised[first], specialised[second]))
        except DataError as error:
            raise DataError(f"{PARTS[measure.part].short} of {measure.name}: ", error) from None
        changes[measure.part][measure.name] = change
    flagged = [measure.title for measure in measures if changes[measure.part][measure.name].flagged]
    measured = Forgetting(**changes, flagged=flagged, measured_on=measured_on)
    figures: ForgettingFigures = msgspec.to_builtins(measured)
    run.write(FORGETTING_FILE, figures)
    write_card(run)
    return {"run": str(run.folder), **figures}


def _measures(run: Run, sts: Sources | None, translations: Texts | None) -> tuple[list[_Measure], str]:
    """Return the measures on the sentences that are given, or else on the small set, and a description of that."""
    scored = {} if sts is None else read_scored_pairs(sts)
    measured_on = ""
    if sts is None and translations is None:
        parallel, measured_on = small_set(run)
    else:
        parallel = [] if translations is None else _translations(translations)
    measures = [
        _Measure("sts", code, pairs.first, pairs.second, partial(similarity_change, scores=pairs.scores))
        for code, pairs in scored.items()
    ]
    measures += [
        _Measure(
            "translations",
            pair_name(*way.languages),
            way.first,
            way.second,
            partial(retrieval_change, answers=way.second),
        )
        for text in parallel
        for way in (text, text.turned())
    ]
    counts = Counter((measure.part, measure.name) for measure in measures)
    if repeated := [name for (_, name), count in counts.items() if count > 1]:
        raise DataError(f"there are two sets of translations {repeated[0]}; leave one")
    return measures, measured_on


def _translations(given: Texts) -> list[ParallelText]:
    """Return the translations of a folder, or of tables or texts. Raises DataError if a text has too many pairs."""
    if isinstance(given, str | Path) and not Path(given).is_file():
        return read_translations(Path(given))
    texts = parallel_texts(given)
    for text in texts:
        check_pairs(len(text), text.name)
    return texts


def _vectors_of_both(
    run: Run, texts: Sequence[str], device: str, on_progress: ReportProgress | None
) -> list[FloatArray]:
    """Encode texts by a run's base encoder and by its specialised one."""
    vectors: list[FloatArray] = []
    for spec in (run.config().encoder, f"{RUN_SPEC}{run.folder}"):

        def tell(done: int, total: int, before: int = len(vectors)) -> None:
            if on_progress is not None:
                on_progress(before * total + done, 2 * total)

        vectors.append(load_encoder(spec, device=device).encode(texts, on_progress=tell))
    return vectors


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
