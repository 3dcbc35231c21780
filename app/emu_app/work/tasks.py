"""The tasks of the background worker, in its process. They raise EncoderError if an encoder can't be loaded."""

import gc
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_app.work.background import report
from emu_app.work.vectors import prune
from emu_core.api.compare import asked_intents
from emu_core.api.export import export
from emu_core.api.intent_classifier import IntentClassifier
from emu_core.api.split import SplitSentence, split_sentence, splitting_encoder
from emu_core.api.start import Started, start
from emu_core.api.suggest import Suggester
from emu_core.data.cleaning import normalised
from emu_core.data.detection import detected_or_stated
from emu_core.data.languages import language_code
from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.remembered import close_encoders, opened_encoder, remembered_vectors
from emu_core.encoders.specs import is_run
from emu_core.errors import DataError
from emu_core.evaluation.active_learning import mostly_right_from
from emu_core.evaluation.prediction import RightIntents
from emu_core.exporting import ExportFormat
from emu_core.files import disk_fault, whole_file
from emu_core.intents.answers import PredictionFacts
from emu_core.runs.run import Run, cant_write
from emu_core.threads import give_memory_back

MOST_WORDS = 20_000  # the most frequent words of each language; a page can't hold them all


def encode_to_file(spec: str, weights: str, texts: Sequence[str], path: Path) -> None:
    """Write the vectors (N, dim), float32, of N texts to a .npy file, whole or not at all.

    Texts that were encoded before, such as those that are measured and then drawn, are not encoded again.
    """
    _write(remembered_vectors(_encoder(spec, weights), texts, on_progress=report), path)


def parts_to_file(spec: str, weights: str, texts: Sequence[str], path: Path) -> None:
    """Write every embedding of each text (P, N, dim), in the order of `part_names`, as `encode_to_file` does."""
    encoder = splitting_encoder(_encoder(spec, weights))
    parts = encoder.parts(texts, on_progress=report)
    _write(np.stack([parts[part] for part in encoder.part_names]), path)


def split(spec: str, weights: str, text: str) -> SplitSentence:
    """Split one sentence."""
    return split_sentence(splitting_encoder(_encoder(spec, weights)), text)


def word_spaces(spec: str, weights: str) -> dict[str, tuple[tuple[str, ...], FloatArray]]:
    """Return each language's most frequent words and their vectors (words, dim)."""
    encoder = _encoder(spec, weights).bare
    spaces = {code: encoder.word_vectors(code) for code in encoder.languages}
    return {code: (words[:MOST_WORDS], vectors[:MOST_WORDS]) for code, (words, vectors) in spaces.items()}


def started(intents: Mapping[str, str], sentences: pd.DataFrame) -> Started:
    """Return the intents of sentences (text and language) by the names or descriptions of these alone."""
    return start(intents, sentences)


def export_to_zip(spec: str, format: ExportFormat, name: str, path: Path) -> int:
    """Export an encoder to a folder in a zip file, whole or not at all, and return its size in bytes."""
    source = Run(Path(spec.removeprefix("run:"))) if is_run(spec) else spec
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent) as made, whole_file(path) as partial:
            # Exporting has two parts; packing is the third.
            folder = export(
                source,
                Path(made) / name,
                format=format,
                on_progress=lambda done, _: report(done, 3),
            )
            files = sorted(file for file in folder.rglob("*") if file.is_file())
            sizes = [file.stat().st_size for file in files]
            # Stored: compressing weights takes minutes and saves little.
            with ZipFile(partial, "w", ZIP_STORED) as archive:
                for number, file in enumerate(files):
                    report(2 + sum(sizes[:number]) / sum(sizes), 3)
                    archive.write(file, file.relative_to(made))
    except OSError as error:
        raise cant_write(path.parent, disk_fault(error)) from error
    prune(path.parent)
    return path.stat().st_size


NEIGHBOURS = 5  # labelled sentences behind a prediction
# As many may be the sentence itself, with other intents or in other splits.
_ASKED_NEIGHBOURS = 2 * NEIGHBOURS
# The ends of a neighbour's columns, and what a missing one has there.
_OF_A_NEIGHBOUR: dict[str, Any] = {"": "", "_intent": "", "_language": "", "_cosine": np.nan}


def right_intents(
    specs: Mapping[str, str], part: LabelledSet, vectors: Mapping[str, FloatArray]
) -> RightIntents | None:
    """Return how many intents of sentences both encoders name right, by name, given their vectors; None of no run."""
    by_spec = {spec: vectors[name] for name, spec in specs.items()}
    return asked_intents(list(specs.values()), part, by_spec, pick_device("auto"))


@dataclass(frozen=True)
class Answerer:
    """An encoder, and the intent model that answers with it."""

    spec: str
    weights: str
    plain: str  # the encoder whose vectors, before any head, the model takes: `spec` or the base of its head
    plain_weights: str
    model: str  # identifies the model
    source: str  # whose labelled sentences it knows, in words
    run: Path | None = None  # whose model it is; None for one that is fitted on a pool
    pool_vectors: Path | None = None  # the file with the vectors of `plain` for all rows of that


@dataclass(frozen=True, eq=False)
class Answer:
    """The answers of one encoder to N sentences."""

    table: pd.DataFrame  # of `IntentClassifier.explain`, see `without_repeats`
    facts: PredictionFacts
    model: str  # that of the `Answerer`, and so is the next
    source: str
    vectors: FloatArray  # (N, dim), the encoder's own, as maps have them; (0, dim) unless they are asked for


def answers(
    answerers: Mapping[str, Answerer],
    pool: LabelledSet,
    asked: NDArray[np.intp],
    texts: Sequence[str],
    languages: Sequence[str] | None,
    adapts: bool,
    with_vectors: bool,
) -> dict[str, Answer]:
    """Encode N texts by several encoders, and predict their intents, with five labelled neighbours each.

    Args:
        answerers: by name.
        pool: labelled sentences, for the models that no run has stored.
        asked: the rows of the pool that may be held out.
        texts: N sentences.
        languages: theirs, "" for one to detect; None for no language, so that no answer depends on other sentences.
        adapts: whether to calibrate for the languages of many of the texts; see `IntentClassifier.adapt`.
        with_vectors: whether the encoders' own vectors are wanted, too.
    """
    by_encoder, plain_vectors = dict[str, Answer](), dict[str, FloatArray]()
    spoken_of = dict[tuple[str, ...], list[str]]()  # by the languages that an encoder reads
    stated = None if languages is None else [language_code(language) or "" for language in languages]
    for number, (name, answerer) in enumerate(answerers.items()):
        progress = partial(_report_part, number, len(answerers))
        encoder = _encoder(answerer.plain, answerer.plain_weights)
        bare = encoder.without_head
        if answerer.plain not in plain_vectors:
            plain_vectors[answerer.plain] = bare.encode(texts, on_progress=progress)
        plain = plain_vectors[answerer.plain]
        classifier = copy(_classifier(answerer, pool, asked))  # the one that is kept adapts to nothing
        known = bare.read_languages
        if known not in spoken_of:
            spoken_of[known] = [] if stated is None else detected_or_stated(texts, stated, known)[0]
        spoken = spoken_of[known]
        if adapts:
            classifier.adapt(texts, spoken, vectors=plain)
        explained = classifier.explain(texts, vectors=plain, languages=spoken)
        own = plain[:0]
        if with_vectors:
            if answerer.spec != answerer.plain:
                encoder = _encoder(answerer.spec, answerer.weights)
            own = plain if encoder is bare else encoder.encode(texts)
        # A plain table, since Streamlit's cache knows no other.
        table, facts = without_repeats(pd.DataFrame(explained)), explained.attrs["facts"]
        by_encoder[name] = Answer(table, facts, answerer.model, answerer.source, own)
    return by_encoder


def without_repeats(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `IntentClassifier.explain` with the nearest neighbours that don't repeat the sentence itself.

    That a labelled sentence is most like its own copy says nothing. The column `repeats` has the number of those left
    out; a neighbour that is missing then is "" with the cosine NaN.
    """
    count = sum(f"nearest_{rank}" in table for rank in range(1, _ASKED_NEIGHBOURS + 1))
    ranks = [f"nearest_{rank}" for rank in range(1, count + 1)]
    forms = np.array(normalised(table["text"]), dtype=object)
    is_repeat = np.array([np.array(normalised(table[rank]), dtype=object) == forms for rank in ranks])  # k, N
    order = np.argsort(is_repeat, axis=0, kind="stable")[:NEIGHBOURS]
    is_missing = np.take_along_axis(is_repeat, order, axis=0)
    kept = table.drop(columns=[f"{rank}{end}" for rank in ranks[NEIGHBOURS:] for end in _OF_A_NEIGHBOUR])
    for end, missing in _OF_A_NEIGHBOUR.items():
        values = np.take_along_axis(np.array([table[f"{rank}{end}"] for rank in ranks]), order, axis=0)
        for rank, of_rank, none in zip(ranks, values, is_missing, strict=False):
            kept[f"{rank}{end}"] = np.where(none, missing, of_rank)
    return kept.assign(repeats=is_repeat.sum(axis=0))


def _report_part(part: int, parts: int, done: int, total: int) -> None:
    report(part + done / total, parts)


# Classifiers stay open, since fitting one takes longer than to answer a sentence: those of A and B.
_CLASSIFIERS: dict[str, IntentClassifier] = {}


def _classifier(answerer: Answerer, pool: LabelledSet, asked: NDArray[np.intp]) -> IntentClassifier:
    if answerer.model not in _CLASSIFIERS:
        classifier = _opened_or_fitted(answerer, pool, asked)
        while len(_CLASSIFIERS) > 1:
            del _CLASSIFIERS[next(iter(_CLASSIFIERS))]
        _CLASSIFIERS[answerer.model] = classifier
    return _CLASSIFIERS[answerer.model]


def _opened_or_fitted(answerer: Answerer, pool: LabelledSet, asked: NDArray[np.intp]) -> IntentClassifier:
    if answerer.run is not None:
        return IntentClassifier.from_run(answerer.run, n_neighbors=_ASKED_NEIGHBOURS)
    classifier = IntentClassifier(answerer.plain, n_neighbors=_ASKED_NEIGHBOURS)
    encoder = _encoder(answerer.plain, answerer.plain_weights)
    if answerer.pool_vectors is None or encoder.without_head is not encoder:  # those in the file are moved
        return classifier.fit_labelled(pool, asked=asked)
    of_pool, of_none = np.split(np.load(answerer.pool_vectors), [len(pool)])
    return classifier.fit_labelled(pool, vectors=of_pool, none_vectors=of_none, asked=asked)


def suggestions(
    encoder: str,
    labelled: LabelledSet,
    unlabelled: UnlabelledSet,
    count: int,
    texts: Sequence[str],
    vectors: FloatArray,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the sentences to label next and, if sentences are held out, the score on them, also by language.

    The score also has, by language without held-out sentences, how many labelled ones are guessed right by a method
    that is fitted without them, and of how many (`left_out`); and from which probability on guesses are mostly right
    (`sure_from`). `vectors` (N, dim) are those of all N texts that are encoded. Raises EmuError if nothing can be
    learnt of the set.
    """
    suggester, held_out = _suggester(encoder, labelled, texts, vectors), labelled.held_out_part()
    score: dict[str, Any] = {}
    if held_out is not None:
        guesses = suggester.guesses(held_out)
        others = guesses[~guesses["language"].isin(held_out.languages)].groupby("language")["is_right"]
        score = {
            **suggester.score(held_out),
            "by_language": suggester.accuracies(held_out),
            "left_out": {language: [int(right.sum()), len(right)] for language, right in others},
            "sure_from": mostly_right_from(guesses["probability"].to_numpy(), guesses["is_right"].to_numpy()),
        }
    return suggester.suggest(unlabelled, count), score


def gains_of_labels(
    encoder: str, labelled: LabelledSet, more: int, texts: Sequence[str], vectors: FloatArray
) -> dict[str, tuple[float, float, float]]:
    """Return the forecast gain of more labels, low and high, by language and for "", their mean.

    The arguments are those of `suggestions`. Raises EmuError if there are too few labels, or no held-out sentences.
    """
    if (held_out := labelled.held_out_part()) is None:
        raise DataError("no sentences are held out, so what labels add can't be measured; hold out a share")
    gains = _suggester(encoder, labelled, texts, vectors).forecast(held_out, more)
    return {language: (gain.gain, gain.low, gain.high) for language, gain in gains.items()}


def _suggester(encoder: str, labelled: LabelledSet, texts: Sequence[str], vectors: FloatArray) -> Suggester:
    row = {text: row_number for row_number, text in enumerate(texts)}
    suggester = Suggester(encoder, encode=lambda wanted: vectors[[row[text] for text in wanted]])
    return suggester.fit(labelled)


def fetch(spec: str) -> bool:
    """Download a model of the hub into the cache."""
    load_encoder(spec)
    return True


_WEIGHTS: dict[str, str] = {}  # of the encoders that were opened


def _encoder(spec: str, weights: str) -> Encoder:
    """Open an encoder, again if its weights have another hash.

    A base and a specialised encoder stay open, so that a typed sentence is answered at once; a third may be too large.
    Classifiers share them.
    """
    if _WEIGHTS.setdefault(spec, weights) != weights:
        close_encoders()
        _WEIGHTS.clear()
        _WEIGHTS[spec] = weights
    return opened_encoder(spec, pick_device("auto"))


def forget_encoders() -> None:
    """Close the open encoders, and return their memory to the system."""
    _CLASSIFIERS.clear()
    _WEIGHTS.clear()
    close_encoders()
    gc.collect()
    give_memory_back()


def _write(vectors: FloatArray, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial, partial.open("wb") as file:
        np.save(file, vectors)
    prune(path.parent)
