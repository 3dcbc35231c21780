"""The dual encoder's experiments: the systems, how each is trained, and what is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from emu_core.bench.papers import DualBench, Preset
from emu_core.bench.parallel.experiment import ParallelExperiment, Recipe, encode_pairs, rank_values
from emu_core.bench.parallel.texts import BenchTexts
from emu_core.bench.results import Cell, CellResult, Key, cells_of, numbers, pair_names
from emu_core.data.texts.parallel import ParallelText
from emu_core.encoders.base import Encoder, encode_in
from emu_core.errors import DataError, in_words
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.eigen_similarity import eigen_similarity
from emu_core.evaluation.similarity import Correlation, scores_of, sts, sts_across
from emu_core.evaluation.transfer import LabelledVectors, TransferSettings, few_shot, zero_shot
from emu_core.evaluation.translation_ranking import DOT, PAPER_DISTRACTORS
from emu_core.methods.dual_encoder.encoder import DualEncoder
from emu_core.methods.dual_encoder.settings import SUM_OF_WORDS, TUNED_DUAL_ENCODER, DualEncoderConfig

HARD_NEGATIVES = 5  # section 2.2
# The paper's network (512 wide, batches of 16, 20 epochs) takes minutes, too long for a check.
CLASSIFIER = TransferSettings(hidden=128, learning_rate=0.002, batch_size=32, epochs=10)
_MOST_SENTENCES = 6_000  # so many of a language train the classifier, as in the paper
_LEAST_FOR_EIGEN = 10  # pairs, the paper's sample


class DualEncoderSystem(StrEnum):
    """A system of the tables."""

    SUM_OF_WORDS = "sum-of-words"
    TRANSLATION = "translation"
    HARD_NEGATIVES = "hard-negatives"
    QUICK_THOUGHT = "quick-thought"
    DIALOGUES = "dialogues"
    NLI = "nli"
    MULTI_TASK = "multi-task"
    PAPER = "paper"


class DualExperiment(ParallelExperiment):
    """The dual encoder's experiments on parallel text and other tasks."""

    plain: ClassVar[str] = DualEncoderSystem.SUM_OF_WORDS
    settings_class = DualBench

    @property
    def systems(self) -> tuple[DualEncoderSystem, ...]:
        """The systems that there is text for, and one of all tasks if there are two; the paper's last, if asked for."""
        tasks = self.data.tasks
        given = {
            DualEncoderSystem.QUICK_THOUGHT: tasks.running_text,
            DualEncoderSystem.DIALOGUES: tasks.dialogues,
            DualEncoderSystem.NLI: tasks.nli,
        }
        others = [system for system, is_given in given.items() if is_given]
        together = [DualEncoderSystem.MULTI_TASK] if len(others) > 1 else []
        paper = [DualEncoderSystem.PAPER] if self.settings.preset is Preset.PAPER else []
        return (
            DualEncoderSystem.SUM_OF_WORDS,
            DualEncoderSystem.TRANSLATION,
            DualEncoderSystem.HARD_NEGATIVES,
            *others,
            *together,
            *paper,
        )

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell, starting with the plain sum of words; as in the paper, each pair has its own model."""
        return tuple(cells_of(self.systems, [pair_names([pair]) for pair in self.pairs], self.seeds))

    def recipe(self, system: str) -> Recipe:
        """Return how a system is trained."""
        kind = DualEncoderSystem(system)
        base = SUM_OF_WORDS if kind is DualEncoderSystem.SUM_OF_WORDS else TUNED_DUAL_ENCODER
        values = {
            **({} if kind is DualEncoderSystem.PAPER else base),
            "epochs": base["epochs"],
            **self.epochs_of(base["epochs"]),
        }
        if kind is DualEncoderSystem.HARD_NEGATIVES:
            values["hard_negatives"] = HARD_NEGATIVES
        has_all_tasks = kind in (DualEncoderSystem.MULTI_TASK, DualEncoderSystem.PAPER)
        return Recipe(
            DualEncoderConfig(**values),
            dialogues=has_all_tasks or kind is DualEncoderSystem.DIALOGUES,
            running=has_all_tasks or kind is DualEncoderSystem.QUICK_THOUGHT,
            nli=has_all_tasks or kind is DualEncoderSystem.NLI,
        )

    def evaluate(self, cell: Cell, encoder: Encoder | None) -> CellResult:
        """Measure translation ranking, similarity, classification, and eigen-similarity of the languages."""
        if encoder is None:
            raise TypeError("every system of this benchmark has an encoder")
        (text,) = self.data.of_pairs(cell.on)[1]
        correlations, warning = _sts(encoder, self.data, text.languages)
        values = {
            **_translations(encoder, text),
            **correlations,
            **_classified(encoder, self.data, text.languages, cell.seed),
            **_judged(encoder, self.data, text.languages),
        }
        return CellResult(numbers(values), facts={"warnings": [warning]} if warning else {})


def _translations(encoder: Encoder, text: ParallelText) -> dict[Key, Any]:
    """Measure translation ranking (section 3.4) and eigen-similarity (section 5)."""
    first, second = encode_pairs(encoder, text)
    values = rank_values(text, first, second, [DOT], min(PAPER_DISTRACTORS, len(text) - 1) or None)
    if len(text) >= _LEAST_FOR_EIGEN:
        spectra = eigen_similarity(first, second)
        for field in ("mean", "variance", "standard_error"):
            values["eigen", field, pair_name(*text.languages)] = getattr(spectra, field)
    return values


def _sts(encoder: Encoder, texts: BenchTexts, languages: Sequence[str]) -> tuple[dict[Key, Any], str]:
    """Measure Pearson's and Spearman's correlations; also return a warning if there are none across languages."""
    scored_pairs = {code: texts.sts[code] for code in languages if code in texts.sts}
    vectors = {
        code: (encode_in(encoder, pairs.first, code), encode_in(encoder, pairs.second, code))
        for code, pairs in scored_pairs.items()
    }
    scores, warning = scores_of(scored_pairs), ""
    correlations: Mapping[str, Correlation] = sts(vectors, scores) if scored_pairs else {}
    if len(scored_pairs) > 1:
        try:
            correlations = {**correlations, **sts_across(vectors, scores)}
        except DataError as error:
            warning = error.message.worded(in_words)
    values = {
        ("sts", field, where): value
        for where, correlation in correlations.items()
        for field, value in asdict(correlation).items()
    }
    return values, warning


def _judged(encoder: Encoder, texts: BenchTexts, languages: Sequence[str]) -> dict[Key, Any]:
    """Measure Table 4: the accuracy of the NLI head that was trained with the encoder."""
    head = encoder.relations if isinstance(encoder, DualEncoder) else None
    if head is None:
        return {}
    values: dict[Key, Any] = {}
    for code in languages:
        right = [
            head.predict(encode_in(encoder, text.premises, code), encode_in(encoder, text.hypotheses, code))
            == text.labels
            for text in texts.test_nli
            if text.language == code
        ]
        if right:
            values["nli", "", code] = np.concatenate(right)
    return values


def _classified(encoder: Encoder, texts: BenchTexts, languages: tuple[str, str], seed: int) -> dict[Key, Any]:
    """Measure zero-shot classification both ways, and few-shot in the pair's second language (section 4.2)."""
    if any(code not in texts.documents for code in languages):
        return {}
    train, test = dict[str, LabelledVectors](), dict[str, LabelledVectors]()
    for code in languages:
        for part, documents in zip((train, test), texts.documents[code], strict=True):
            vectors = encode_in(encoder, documents.texts[:_MOST_SENTENCES], code)
            part[code] = LabelledVectors(vectors, documents.labels[:_MOST_SENTENCES])
    values: dict[Key, Any] = {
        ("zero_shot", "", pair_name(source, target)): right
        for source in languages
        for target, right in zero_shot(train[source], test, CLASSIFIER, seed=seed).items()
    }
    source, target = languages
    for accuracy in few_shot(train[source], train[target], test[target], settings=CLASSIFIER, seed=seed):
        for kind in ("few_shot", "monolingual"):
            if getattr(accuracy, kind) is not None:
                values[kind, f"{accuracy.share:g}", pair_name(source, target)] = getattr(accuracy, kind)
    return values
