"""BiCVM's experiments: the systems, how each is trained, and what is measured."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from emu_core.bench.parallel.experiment import ParallelExperiment, Recipe, encode_pairs, rank_values
from emu_core.bench.pictures import View
from emu_core.bench.results import Cell, CellResult, Key, cells_of, numbers, pair_names
from emu_core.data.calendar_words import MONTHS, WEEKDAYS
from emu_core.data.texts.held_out import joined_by_pivot
from emu_core.data.texts.parallel import ParallelText, languages_of
from emu_core.encoders.base import Encoder, encode_in
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.projection import MIN_POINTS, Projection, project
from emu_core.evaluation.transfer import (
    LabelledVectors,
    TransferAccuracy,
    bags,
    classify_across,
    document_vectors,
)
from emu_core.evaluation.translation_ranking import COSINE, EUCLID
from emu_core.evaluation.word_neighbours import glosses, word_neighbours
from emu_core.formats.texts.documents import Documents, sentences
from emu_core.methods.bicvm.encoder import BicvmEncoder
from emu_core.methods.bicvm.settings import TUNED_BICVM, BicvmConfig, Composition
from emu_core.methods.bicvm.vocabulary import words
from emu_core.methods.dual_encoder.settings import SUM_OF_WORDS, DualEncoderConfig

DRAWS, QUICK_DRAWS = 10, 3
FEWEST_LISTED = 4  # weekdays or months that the texts of every language must have
SHOWN = 12
SURE = 0.5
SHORTEST = 4  # letters, as shorter words are mostly function words
MOST_NEIGHBOURS = 50_000  # the most frequent words of a language, among which a translation is looked for


class BicvmSystem(StrEnum):
    """A system of the tables."""

    SUM_OF_WORDS = "sum-of-words"
    GLOSSED = "glossed"
    PAPER = "bicvm-paper"
    OURS = "bicvm-ours"
    OURS_BIGRAM = "bicvm-ours-bigram"


class BicvmExperiment(ParallelExperiment):
    """BiCVM's experiments on parallel text."""

    plain: ClassVar[str] = BicvmSystem.SUM_OF_WORDS

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell, starting with the plain sum of words of the first pair.

        Several language pairs are trained one by one (BiCVM) and together (BiCVM+). Glosses are only used to classify
        documents.
        """
        single_pairs, together = [pair_names([pair]) for pair in self.pairs], pair_names(self.pairs)
        glossed = [BicvmSystem.GLOSSED] if self.data.documents else []
        cells = cells_of(
            [BicvmSystem.SUM_OF_WORDS, *glossed, BicvmSystem.PAPER, BicvmSystem.OURS],
            single_pairs,
            self.seeds,
        )
        cells += cells_of([BicvmSystem.OURS_BIGRAM], single_pairs[:1], self.seeds)
        if len(single_pairs) > 1:
            cells += cells_of(
                [BicvmSystem.SUM_OF_WORDS, BicvmSystem.PAPER, BicvmSystem.OURS], [together], self.seeds
            )
        return tuple(cells)

    def recipe(self, system: str) -> Recipe | None:
        """Return how a system is trained; None for glosses, which are counts."""
        configs: dict[BicvmSystem, DualEncoderConfig | BicvmConfig] = {
            BicvmSystem.SUM_OF_WORDS: DualEncoderConfig(**SUM_OF_WORDS),
            BicvmSystem.PAPER: BicvmConfig(),
            BicvmSystem.OURS: BicvmConfig(**TUNED_BICVM),
            BicvmSystem.OURS_BIGRAM: BicvmConfig(**{**TUNED_BICVM, "composition": Composition.BIGRAM}),
        }
        config = configs.get(BicvmSystem(system))
        return None if config is None else Recipe(replace(config, **self.epochs_of(config.epochs)))

    def evaluate(self, cell: Cell, encoder: Encoder | None) -> CellResult:
        """Measure translation retrieval and document classification across languages, and lay out words."""
        train, test = self.data.of_pairs(cell.on)
        draws = QUICK_DRAWS if self.settings.quick else DRAWS
        documents = {
            code: self.data.documents[code] for code in languages_of(train) if code in self.data.documents
        }
        if encoder is None:
            return CellResult(numbers(_glossed(documents, train[0], draws, cell.seed)))
        values: dict[Key, Any] = {}
        # Including language pairs that were not trained on, if their translations share a sentence.
        for text in [*test, *joined_by_pivot(test)]:
            values |= rank_values(text, *encode_pairs(encoder, text), (COSINE, EUCLID))
        if len(documents) > 1:
            learnt, tested = (
                {
                    code: _vectors(encoder, train_and_test[part], code)
                    for code, train_and_test in documents.items()
                }
                for part in (0, 1)
            )
            values |= document_values(classify_across(learnt, tested, draws=draws, seed=cell.seed))
        is_drawn = cell.system in (BicvmSystem.PAPER, BicvmSystem.OURS) and cell.seed == self.seeds[0]
        if is_drawn and cell.on == pair_names(self.pairs) and isinstance(encoder, BicvmEncoder):
            return CellResult(numbers(values), draw=partial(_views, encoder, train))
        return CellResult(numbers(values))


def _vectors(encoder: Encoder, documents: Documents, language: str) -> LabelledVectors:
    """Return each document's vector, the mean over its sentences (section 4.2), and its label."""
    cut = [sentences(text) or (text,) for text in documents.texts]
    document = np.repeat(np.arange(len(cut)), [len(document_sentences) for document_sentences in cut])
    flat = [sentence for document_sentences in cut for sentence in document_sentences]
    vectors = document_vectors(encode_in(encoder, flat, language), document, len(cut))
    return LabelledVectors(vectors, documents.labels)


def _glossed(
    documents: Mapping[str, tuple[Documents, Documents]], text: ParallelText, draws: int, seed: int
) -> dict[Key, Any]:
    """Measure the paper's baseline: bags of words of test documents glossed word by word in the training language."""
    accuracies: list[TransferAccuracy] = []
    for way in (text, text.turned()):
        if way.source in documents and way.target in documents:
            train, test = documents[way.source][0], documents[way.target][1]
            gloss = glosses(way.turned(), words)
            glossed = [[gloss[word].word for word in words(text) if word in gloss] for text in test.texts]
            source_bags, other = bags(list(map(words, train.texts)), glossed)
            accuracies += classify_across(
                {way.source: LabelledVectors(source_bags, train.labels)},
                {way.target: LabelledVectors(other, test.labels)},
                draws=draws,
                seed=seed,
            )
    return document_values(accuracies)


def document_values(accuracies: Sequence[TransferAccuracy]) -> dict[Key, Any]:
    """Return the measures "documents" and "draws", whose parts are training sizes, and "majority"."""
    values: dict[Key, Any] = {}
    for accuracy in accuracies:
        way = pair_name(accuracy.source, accuracy.target)
        values["documents", str(accuracy.size), way] = accuracy.accuracy
        values["draws", str(accuracy.size), way] = accuracy.draws
        values["majority", "", way] = accuracy.majority
    return values


def _views(encoder: BicvmEncoder, texts: Sequence[ParallelText]) -> dict[str, View]:
    """Return Figure 3's two charts, of words in the encoder's vocabulary, without those that have too few words."""
    spaces = {}
    for code in encoder.languages:
        known, points = encoder.word_vectors(code)
        spaces[code] = known[:MOST_NEIGHBOURS], points[:MOST_NEIGHBOURS]
    word_lists = shown_words(texts, {code: set(known) for code, (known, _) in spaces.items()})
    return {
        name: _view(meanings, spaces)
        for name, meanings in zip(("left", "right"), word_lists, strict=True)
        if len(meanings.rows) * len(meanings.languages) > MIN_POINTS
    }


def _view(meanings: "Meanings", spaces: Mapping[str, tuple[Sequence[str], np.ndarray]]) -> View:
    """Lay out the words of each language, and count how many have their translation as nearest neighbour."""
    codes, names, vectors = list[str](), list[str](), list[np.ndarray]()
    for code, column in zip(meanings.languages, zip(*dict.fromkeys(meanings.rows), strict=True), strict=True):
        known, points = spaces[code]
        row_of_word = {word: row for row, word in enumerate(known)}
        codes += [code] * len(column)
        names += column
        vectors += [points[row_of_word[word]] for word in column]
    neighbours = {}
    for (i, a), (j, b) in permutations(enumerate(meanings.languages), 2):
        two = {a: spaces[a], b: spaces[b]}
        right = sum(word_neighbours(row[i], a, two, 1)[b][0][0] == row[j] for row in meanings.rows)
        neighbours[pair_name(a, b)] = right, len(meanings.rows)
    return View.of(
        project(np.array(vectors), Projection.TSNE),
        codes,
        names,
        note=meanings.note,
        nearest_right=neighbours,
    )


@dataclass(frozen=True)
class Meanings:
    """Words of the same meanings in several languages."""

    note: str  # what they are
    rows: tuple[tuple[str, ...], ...]  # a row for each meaning, with a word for each language
    languages: tuple[str, ...]


def shown_words(texts: Sequence[ParallelText], known: Mapping[str, set[str]]) -> tuple[Meanings, Meanings]:
    """Return the words of the two pictures: weekdays and months, or frequent words if the texts have too few of them.

    The first picture has all languages; the second has those without parallel text, if there are two. `texts` are
    those that an encoder was trained on, and `known` its words by language.
    """
    languages = tuple(known)
    pivot = set.intersection(*(set(text.languages) for text in texts)) if len(texts) > 1 else set[str]()
    aligned = tuple(code for code in languages if code not in pivot) if len(pivot) == 1 else languages
    frequent = _frequent(texts, known)
    meanings = []
    for lists, name, codes in ((WEEKDAYS, "weekdays", languages), (MONTHS, "months", aligned)):
        note = name
        listed = zip(*(lists.get(code, ()) for code in codes), strict=False)
        rows = [
            row for row in listed if all(word in known[code] for word, code in zip(row, codes, strict=True))
        ]
        if len(rows) < FEWEST_LISTED:
            note = f"frequent words (the texts lack the paper's {name})"
            rows = [tuple(row[code] for code in codes) for row in frequent[:SHOWN]]
            frequent = frequent[SHOWN:]
        meanings.append(Meanings(note, tuple(rows), codes))
    return meanings[0], meanings[1]


def _frequent(texts: Sequence[ParallelText], known: Mapping[str, set[str]]) -> list[dict[str, str]]:
    """Return words of the language that all texts share, the most frequent first, with their glosses, by language.

    A gloss is taken if each of the two words is the other's gloss with a Dice coefficient of at least `SURE`.
    """
    # First the texts are turned so that a language which all share comes first, and glossed in both directions.
    shared = [code for code in known if all(code in text.languages for text in texts)]
    if not shared:
        return []
    ways = [text if text.source == shared[0] else text.turned() for text in texts]
    glosses_by_language = {
        text.target: (glosses(text, words), glosses(text.turned(), words)) for text in ways
    }
    # Then the shared language's words are counted, once a sentence.
    counts = Counter(
        word for text in ways for sentence in text.first for word in dict.fromkeys(words(sentence))
    )
    # From the most frequent on, a word is taken that has a sure gloss in every language.
    rows: list[dict[str, str]] = []
    for word, _ in counts.most_common():
        if len(word) < SHORTEST or not word.isalpha():
            continue
        row = {shared[0]: word}
        for code, (forward, back) in glosses_by_language.items():
            gloss = forward.get(word)
            if gloss is not None and gloss.dice >= SURE and back[gloss.word].word == word:
                row[code] = gloss.word
        if all(row.get(code) in known[code] for code in known):
            rows.append(row)
        if len(rows) == 2 * SHOWN:
            break
    return rows
