"""BiCVM's experiments: its systems, how each is trained, and what is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from emu_core.bench.bicvm.glosses import bags, glosses
from emu_core.bench.bicvm.word_lists import Meanings, shown_words
from emu_core.bench.cells import Cell, cells_of, pair_names
from emu_core.bench.experiment import Draw, draw_nothing
from emu_core.bench.parallel.experiment import ParallelExperiment, Recipe
from emu_core.bench.parallel.ranking import COSINE, EUCLID, encode_in, ranking, tested_pairs
from emu_core.bench.parallel.texts import Documents
from emu_core.bench.results import Key, View
from emu_core.config.bicvm import TUNED_BICVM, BicvmConfig, Composition
from emu_core.config.dual_encoder import SUM_OF_WORDS, DualEncoderConfig
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.documents import sentences
from emu_core.encoders.base import Encoder
from emu_core.encoders.bicvm.encoder import BicvmEncoder
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.document_classification import TransferAccuracy, classify_across, document_vectors
from emu_core.evaluation.projection import FEWEST, Projection, project
from emu_core.evaluation.transfer import LabelledVectors
from emu_core.evaluation.word_neighbours import word_neighbours

DRAWS, QUICK_DRAWS = 10, 3
MOST_NEIGHBOURS = 50_000  # words of a language, the most frequent, among which a translation is looked for


class System(StrEnum):
    """A system of the tables."""

    SUM_OF_WORDS = "sum-of-words"
    GLOSSED = "glossed"
    PAPER = "bicvm-paper"
    OURS = "bicvm-ours"
    OURS_BIGRAM = "bicvm-ours-bigram"


class BicvmExperiment(ParallelExperiment):
    """BiCVM's experiments on parallel text."""

    paper: ClassVar[str] = "bicvm"
    plain: ClassVar[str] = System.SUM_OF_WORDS

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell, the plain sum of words of the first pair first.

        Two language pairs or more are trained one by one (BiCVM) and together (BiCVM+). Glosses serve the
        classification of documents alone.
        """
        each, together = [pair_names([pair]) for pair in self.pairs], pair_names(self.pairs)
        glossed = [System.GLOSSED] if self.data.documents else []
        cells = cells_of([System.SUM_OF_WORDS, *glossed, System.PAPER, System.OURS], each, self.seeds)
        cells += cells_of([System.OURS_BIGRAM], each[:1], self.seeds)
        if len(each) > 1:
            cells += cells_of([System.SUM_OF_WORDS, System.PAPER, System.OURS], [together], self.seeds)
        return tuple(cells)

    def recipe(self, system: str) -> Recipe | None:
        """Return how a system is trained; None for glosses, which are counted."""
        match System(system):
            case System.GLOSSED:
                return None
            case System.SUM_OF_WORDS:
                plain = {**SUM_OF_WORDS, **self.epochs_of(SUM_OF_WORDS["epochs"])}
                return Recipe(DualEncoderConfig(**plain))
            case System.PAPER:
                paper = BicvmConfig()
                return Recipe(replace(paper, **self.epochs_of(paper.epochs)))
            case _:
                tuned = {**TUNED_BICVM, **self.epochs_of(TUNED_BICVM["epochs"])}
                if system == System.OURS_BIGRAM:
                    tuned["composition"] = Composition.BIGRAM
                return Recipe(BicvmConfig(**tuned))

    def values(self, cell: Cell, encoder: Encoder | None) -> tuple[dict[Key, Any], dict[str, Any], Draw]:
        """Measure translations found, documents classified across languages, and words laid out."""
        train, test = self.data.of_pairs(cell.on)
        draws = QUICK_DRAWS if self.settings.quick else DRAWS
        documents = {
            code: self.data.documents[code] for code in self.languages_of(cell) if code in self.data.documents
        }
        if encoder is None:
            return _glossed(documents, train[0], draws, cell.seed), {}, draw_nothing
        values = _ranks(encoder, test) | _classified(encoder, documents, draws, cell.seed)
        is_drawn = cell.system in (System.PAPER, System.OURS) and cell.seed == self.seeds[0]
        if is_drawn and cell.on == pair_names(self.pairs) and isinstance(encoder, BicvmEncoder):
            words = encoder
            return values, {}, lambda: _views(words, train)
        return values, {}, draw_nothing


def _ranks(encoder: Encoder, test: Sequence[ParallelText]) -> dict[Key, Any]:
    values: dict[Key, Any] = {}
    for text in tested_pairs(test):
        first, second = (
            (encode_in(encoder, side, code), side)
            for code, side in zip(text.languages, (text.first, text.second), strict=True)
        )
        for name, (own, _), (other, found) in (
            (pair_name(text.source, text.target), first, second),
            (pair_name(text.target, text.source), second, first),
        ):
            for by in (COSINE, EUCLID):
                ranked = ranking(by, own, other, found)
                values["rank", by, name] = ranked.ranks
                values["candidates", "", name] = ranked.candidates
    return values


def _classified(
    encoder: Encoder, documents: Mapping[str, tuple[Documents, Documents]], draws: int, seed: int
) -> dict[Key, Any]:
    if len(documents) < 2:
        return {}
    train, test = (
        {
            code: LabelledVectors(_vectors(encoder, both[part].texts, code), both[part].labels)
            for code, both in documents.items()
        }
        for part in (0, 1)
    )
    return document_values(classify_across(train, test, draws=draws, seed=seed))


def _vectors(encoder: Encoder, documents: Sequence[str], language: str) -> np.ndarray:
    """Return each document's vector: the mean over its sentences (section 4.2)."""
    cut = [sentences(text) or (text,) for text in documents]
    numbers = np.repeat(np.arange(len(cut)), [len(own) for own in cut])
    flat = [sentence for own in cut for sentence in own]
    return document_vectors(encode_in(encoder, flat, language), numbers, len(cut))


def _glossed(
    documents: Mapping[str, tuple[Documents, Documents]], text: ParallelText, draws: int, seed: int
) -> dict[Key, Any]:
    """Measure the paper's baseline: the test documents word for word in the language trained on, as bags of words."""
    found: list[TransferAccuracy] = []
    for way in (text, text.turned()):
        if way.source in documents and way.target in documents:
            train, test = documents[way.source][0], documents[way.target][1]
            own, other = bags(train.texts, test.texts, glosses(way.turned()))
            found += classify_across(
                {way.source: LabelledVectors(own, train.labels)},
                {way.target: LabelledVectors(other, test.labels)},
                draws=draws,
                seed=seed,
            )
    return document_values(found)


def document_values(found: Sequence[TransferAccuracy]) -> dict[Key, Any]:
    """Return accuracies of document classification: the measure "documents", whose parts are sizes, and its facts."""
    values: dict[Key, Any] = {}
    for one in found:
        facts = asdict(one)
        way = pair_name(facts.pop("source"), facts.pop("target"))
        size = facts.pop("size")
        values["documents", str(size), way] = facts.pop("accuracy")
        values["draws", str(size), way] = facts["draws"]
        values["majority", "", way] = facts["majority"]
    return values


def _views(encoder: BicvmEncoder, texts: Sequence[ParallelText]) -> dict[str, View]:
    """Return Figure 3's two charts, of words that the encoder knows; a chart with too few of them is left out."""
    spaces = {}
    for code in encoder.languages:
        known, points = encoder.word_vectors(code)
        spaces[code] = known[:MOST_NEIGHBOURS], points[:MOST_NEIGHBOURS]
    both = shown_words(texts, {code: set(known) for code, (known, _) in spaces.items()})
    return {
        name: _view(meanings, spaces)
        for name, meanings in zip(("left", "right"), both, strict=True)
        if len(meanings.rows) * len(meanings.languages) > FEWEST
    }


def _view(meanings: Meanings, spaces: Mapping[str, tuple[Sequence[str], np.ndarray]]) -> View:
    place = {code: {word: row for row, word in enumerate(known)} for code, (known, _) in spaces.items()}
    shown = [
        (code, row[i]) for i, code in enumerate(meanings.languages) for row in dict.fromkeys(meanings.rows)
    ]
    vectors = np.array([spaces[code][1][place[code][word]] for code, word in shown])
    found = {
        pair_name(a, b): (
            sum(
                word_neighbours(row[i], a, {a: spaces[a], b: spaces[b]}, 1)[b][0][0] == row[j]
                for row in meanings.rows
            ),
            len(meanings.rows),
        )
        for (i, a), (j, b) in permutations(enumerate(meanings.languages), 2)
    }
    points = project(vectors, Projection.TSNE)
    codes, words = zip(*shown, strict=True)
    return View.of(points, codes, words, note=meanings.note, found=found)
