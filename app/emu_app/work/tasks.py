"""The tasks of the background worker, in its process. They raise EncoderError if an encoder can't be loaded."""

import gc
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_app.work.background import report
from emu_app.work.vectors import prune
from emu_core.api.export import export
from emu_core.api.intent_classifier import IntentClassifier
from emu_core.api.split import SplitSentence, split_sentence, splitting_encoder
from emu_core.api.suggest import Suggester
from emu_core.data.cleaning import normalised
from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.remembered import close_encoders, remembered_vectors
from emu_core.encoders.specs import is_run
from emu_core.errors import DataError
from emu_core.evaluation.vector_classifier import PredictionFacts
from emu_core.exporting import ExportFormat
from emu_core.files import disk_fault, whole_file
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


@dataclass(frozen=True, eq=False)
class Answer:
    """The answers of one encoder to N sentences."""

    table: pd.DataFrame  # of `IntentClassifier.explain`, see `without_repeats`
    facts: PredictionFacts
    vectors: FloatArray  # (N, dim)


def answers(
    encoders: Mapping[str, tuple[str, str, Path]],
    pool: LabelledSet,
    asked: NDArray[np.intp],
    texts: Sequence[str],
) -> dict[str, Answer]:
    """Encode N texts by several encoders, and predict their intents from a labelled pool and five neighbours each.

    The encoders are by name: the spec, its weights, and the file with its vectors of all rows of the pool. `asked` are
    the rows of the pool that may be held out.
    """
    by_encoder = {}
    for number, (name, (spec, weights, path)) in enumerate(encoders.items()):
        progress = partial(_report_part, number, len(encoders))
        vectors = _encoder(spec, weights).encode(texts, on_progress=progress)
        classifier = _classifier(spec, pool, path, asked)
        # A plain table, since Streamlit's cache knows no other.
        table = without_repeats(pd.DataFrame(classifier.explain(texts, vectors=vectors)))
        by_encoder[name] = Answer(table, classifier.facts, vectors)
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


# Classifiers stay fitted, since fitting one takes longer than to answer a sentence: those of A and B.
_CLASSIFIERS: dict[tuple[Path, str], IntentClassifier] = {}


def _classifier(spec: str, pool: LabelledSet, path: Path, asked: NDArray[np.intp]) -> IntentClassifier:
    key = path, hashlib.sha256(asked.tobytes()).hexdigest()
    if key not in _CLASSIFIERS:
        of_pool, of_none = np.split(np.load(path), [len(pool)])
        classifier = IntentClassifier(spec, n_neighbors=_ASKED_NEIGHBOURS)
        classifier.fit_labelled(pool, vectors=of_pool, none_vectors=of_none, asked=asked)
        while len(_CLASSIFIERS) > 1:
            del _CLASSIFIERS[next(iter(_CLASSIFIERS))]
        _CLASSIFIERS[key] = classifier
    return _CLASSIFIERS[key]


def suggestions(
    encoder: str,
    labelled: LabelledSet,
    unlabelled: UnlabelledSet,
    count: int,
    texts: Sequence[str],
    vectors: FloatArray,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the sentences to label next and, if sentences are held out, the score on them, also by language.

    `vectors` (N, dim) are those of all N texts that are encoded. Raises EmuError if nothing can be learnt of the set.
    """
    suggester, held_out = _suggester(encoder, labelled, texts, vectors), labelled.held_out_part()
    score: dict[str, Any] = {}
    if held_out is not None:
        score = {**suggester.score(held_out), "by_language": suggester.accuracies(held_out)}
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


# A base and a specialised encoder stay loaded, so that a typed sentence is answered at once; a third may be too large.
@lru_cache(maxsize=2)
def _encoder(spec: str, weights: str) -> Encoder:
    """Open an encoder, again if its weights have another hash."""
    return load_encoder(spec, device=pick_device("auto"))


def forget_encoders() -> None:
    """Close the open encoders, and return their memory to the system."""
    _CLASSIFIERS.clear()
    _encoder.cache_clear()
    close_encoders()
    gc.collect()
    give_memory_back()


def _write(vectors: FloatArray, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial, partial.open("wb") as file:
        np.save(file, vectors)
    prune(path.parent)
