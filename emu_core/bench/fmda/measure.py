"""What a system's embeddings are worth on the test split."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.fmda.cells import FmdaCell, Pair
from emu_core.bench.fmda.data import FmdaData
from emu_core.bench.fmda.result import View
from emu_core.bench.fmda.systems import PartsOf
from emu_core.data.slots.template_pairs import TemplatePairs
from emu_core.data.slots.utterances import SlotPairs
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.leakage import language_leakage
from emu_core.evaluation.projection import Projection, project
from emu_core.evaluation.template_retrieval import TemplateRetrieval, template_retrieval
from emu_core.evaluation.translation_retrieval import translation_retrieval
from emu_core.models.parts import Part

FIVE = 5  # targets a source, appendix A
VIEW_PAIRS = 800  # Figure 4 (a) and (b)
VIEW_TEMPLATES = 4  # Figure 4 (c): of one intent, 5 sentences each
Vectors = NDArray[np.floating]


class Measured:
    """A system's embeddings of every sentence that is measured, each sentence embedded once.

    Attributes:
        pairs: the test utterances of each language pair.
        templates: by language, the queries of template retrieval with one target and with five.
    """

    def __init__(self, cell: FmdaCell, every_pair: Sequence[Pair], data: FmdaData, parts: PartsOf) -> None:
        """Embed the test split in the languages of the cell's pairs; for the frozen encoder, of every pair."""
        pairs = cell.pairs or tuple(every_pair)
        self.pairs = data.test_pairs(pairs)
        languages = dict.fromkeys(code for pair in pairs for code in pair)
        self.templates = {code: (data.templates(code, 1), data.templates(code, FIVE)) for code in languages}
        texts = [one.text for pair in self.pairs for one in (*pair.first, *pair.second)]
        for made in (made for both in self.templates.values() for made in both):
            texts += [*made.source_texts, *made.target_texts]
        self._rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        embedded = parts(list(self._rows))
        self._vectors: Mapping[Part, Vectors] = {part: embedded[part] for part in cell.system.parts}

    def translations(self) -> dict[Part, dict[str, NDArray[np.bool_]]]:
        """Cross-lingual retrieval of each embedding but the language's, both ways, by direction."""
        found: dict[Part, dict[str, NDArray[np.bool_]]] = {}
        for part in self._meant():
            found[part] = {}
            for pair in self.pairs:
                sides = [self._of(part, side) for side in _texts(pair)]
                for name, a, b in (
                    (pair_name(pair.source, pair.target), 0, 1),
                    (pair_name(pair.target, pair.source), 1, 0),
                ):
                    found[part][name] = translation_retrieval(sides[a], sides[b], _texts(pair)[b]).correct
        return found

    def template_accuracy(self) -> dict[Part, dict[str, NDArray[np.bool_]]]:
        """Template retrieval with one target."""
        return {
            part: {code: self._retrieved(part, one).correct for code, (one, _) in self.templates.items()}
            for part in self._meant()
        }

    def template_precision(self) -> dict[Part, dict[str, NDArray[np.float64]]]:
        """Template retrieval with five targets."""
        return {
            part: {
                code: self._retrieved(part, five).average_precision
                for code, (_, five) in self.templates.items()
            }
            for part in self._meant()
        }

    def probes(self) -> dict[Part, dict[str, dict[str, float]]]:
        """How well each embedding tells the two languages of a pair."""
        found: dict[Part, dict[str, dict[str, float]]] = {}
        for part in self._vectors:
            found[part] = {}
            for pair in self.pairs:
                both = (*pair.first, *pair.second)
                leakage = language_leakage(
                    self._of(part, [one.text for one in both]),
                    [one.language for one in both],
                    [one.id for one in both],
                )
                found[part][pair_name(pair.source, pair.target)] = leakage.facts()
        return found

    def views(self) -> dict[str, View]:
        """Figure 4's panels: language and meaning embeddings of one pair, and templates of one intent."""
        pair = self.pairs[0]
        drawn = np.sort(np.random.default_rng(0).permutation(len(pair))[:VIEW_PAIRS])
        both = [side[row] for side in (pair.first, pair.second) for row in drawn]
        texts, labels = [one.text for one in both], tuple(one.language for one in both)
        found = {
            letter: _view(labels, self._of(part, texts))
            for letter, part in (("a", Part.LANGUAGE), ("b", Part.MEANING))
        }
        five = self.templates[pair.source][1]
        sentences = [
            (five.sources[row].template, text)
            for row in _of_one_intent(five)
            for text in (five.sources[row].text, *(one.text for one in five.targets[row][: FIVE - 1]))
        ]
        found["c"] = _view(
            tuple(template for template, _ in sentences),
            self._of(Part.TEMPLATE, [text for _, text in sentences]),
        )
        return found

    def _meant(self) -> list[Part]:
        return [part for part in self._vectors if part is not Part.LANGUAGE]

    def _of(self, part: Part, texts: Sequence[str]) -> Vectors:
        return self._vectors[part][[self._rows[text] for text in texts]]

    def _retrieved(self, part: Part, made: TemplatePairs) -> TemplateRetrieval:
        return template_retrieval(
            self._of(part, made.source_texts), self._of(part, made.target_texts), made.target_texts
        )


def _texts(pair: SlotPairs) -> tuple[list[str], list[str]]:
    return [one.text for one in pair.first], [one.text for one in pair.second]


def _of_one_intent(made: TemplatePairs) -> list[int]:
    """Rows of up to `VIEW_TEMPLATES` sources, far apart in the set, of the intent that has most."""
    rows: dict[str, list[int]] = {}
    for row, one in enumerate(made.sources):
        rows.setdefault(one.intent, []).append(row)
    most = max(rows.values(), key=len)
    count = min(VIEW_TEMPLATES, len(most))
    return [most[i * len(most) // count] for i in range(count)]


def _view(labels: tuple[str, ...], vectors: Vectors) -> View:
    points = project(vectors, Projection.TSNE).astype(float).round(3)
    return View(labels, tuple((x, y) for x, y in points.tolist()))
