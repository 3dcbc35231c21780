"""The figures of a run, which are the contents of metrics.json: on a labelled set, and on parallel text."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.data.texts.held_out import joined_by_pivot
from emu_core.data.texts.parallel import ParallelText
from emu_core.evaluation.arrays import DistinctTexts, Encode, Vectors, pair_name, unit_vectors
from emu_core.evaluation.changes import Changes, LeftOut
from emu_core.evaluation.comparison import Measured, Trained
from emu_core.evaluation.disentangled import DisentangledMetrics
from emu_core.evaluation.eigen_similarity import eigen_similarity
from emu_core.evaluation.leakage import LeakageChange
from emu_core.evaluation.leave_one_out import LeaveOneOut, leave_one_out
from emu_core.evaluation.prediction import Predicted, RightIntents
from emu_core.evaluation.translation_ranking import TranslationRanking, both_ways


@dataclass(frozen=True)
class RankingMetrics:
    """Translation ranking in one direction.

    Attributes:
        p_at_1: percent of sentences whose translation is ranked first.
        p_at_3: among the first three.
        p_at_10: among the first ten.
        low: lower end of the 95 % interval of `p_at_1`.
        high: its upper end.
        candidates: the number of sentences ranked.
        trained: whether the encoder was trained on pairs of the two languages.
    """

    p_at_1: float
    p_at_3: float
    p_at_10: float
    low: float
    high: float
    candidates: int
    trained: bool


@dataclass(frozen=True)
class EigenMetrics:
    """Eigen-similarity of two languages; `trained` as in `RankingMetrics`."""

    mean: float
    variance: float
    standard_error: float
    trained: bool


@dataclass(frozen=True)
class StrengthMetrics:
    """The strength that a method chose on intents left out: its settings, and the gain of the stronger ones."""

    whitening: float
    share: float
    is_stronger: bool
    gain: float  # points
    error: float  # standard error of the gain


@dataclass(frozen=True)
class NewIntentMetrics(LeftOut):
    """How similar sentences of new intents are found, with the chosen strength; None if there was nothing to choose."""

    strength: StrengthMetrics | None = None


@dataclass(frozen=True, repr=False)
class Metrics:
    """The figures of a finished run, by the names of metrics.json, which lacks those that were not measured.

    Attributes:
        selected_epoch: the epoch whose weights the encoder has, from 1; 0 if training has no epochs.
        seconds: the duration of the run.
        peak_memory_mb: the most resident memory of the process that trained it, with libraries and data, in MiB; 0 if
            that is unknown. Of a resumed run it is that since it was resumed; a GPU's memory does not count.
        warnings: one sentence each.
        note: why nothing was measured on held-out sentences; "" if it was.
        measured_on: the pairs that an encoder trained from scratch is measured on.
        split: the split of the held-out sentences.
        languages: their languages.
        counts: the number of queries in each direction, such as "en-de" (queries in en, pool in de).
        base: leave-one-out Acc@1 of the base encoder in each direction, in percent.
        specialised: that of the specialised encoder.
        mean_over: the directions that the means are over, in words.
        mean_base: the mean of `base`; NaN if nothing was measured.
        mean_specialised: the mean of `specialised`.
        right_intents: how many held-out sentences' intents are named right by the run's intent model, before and after.
        similar_sentences: how often the sentence nearest to a held-out one has its intent, over the directions of the
            means; None if there were no held-out sentences.
        leakage: how much language identity the vectors carry; None if it could not be measured.
        translation: translation ranking in each direction.
        eigen_similarity: of each language pair.
        new_intents: the gain or loss of intents without labels; None if there were too few intents, and UNSET for a
            method that does not measure it.
        cross_validation: the gain or loss of sentences left out, where none were held out.
        parts: the measures of each embedding, of a method that splits vectors.
        others: figures without an attribute, by name, as plain values: those of rows of `FIGURES` in
            `emu_core.reports.figures` that have a type, and of methods of other packages.
    """

    selected_epoch: int = 0
    seconds: float = 0.0
    peak_memory_mb: float = 0.0
    warnings: tuple[str, ...] = ()
    note: str = ""
    measured_on: str = ""
    split: str = ""
    languages: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    base: Mapping[str, float] = field(default_factory=dict)
    specialised: Mapping[str, float] = field(default_factory=dict)
    mean_over: str = ""
    mean_base: float = math.nan
    mean_specialised: float = math.nan
    right_intents: RightIntents | None = None
    similar_sentences: Changes | None = None
    leakage: LeakageChange | UnsetType | None = UNSET
    translation: Mapping[str, RankingMetrics] | None = None
    eigen_similarity: Mapping[str, EigenMetrics] | None = None
    new_intents: NewIntentMetrics | UnsetType | None = UNSET
    cross_validation: LeftOut | None = None
    parts: DisentangledMetrics | None = None
    others: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the means of what was measured, and not every number; `to_json` has all of them."""
        measured = {"right intents": self.right_intents, "similar sentences": self.similar_sentences}
        words = [
            f"{name} {changes.overall.base:.1f} → {changes.overall.specialised:.1f} % "
            f"of {changes.overall.queries:,} ({changes.overall.verdict})"
            for name, changes in measured.items()
            if changes is not None
        ]
        if self.trained_p_at_1 is not None:
            words.append(f"translations found {self.trained_p_at_1:.1f} %")
        return f"<metrics: {', '.join(words) or 'nothing measured'}>"

    @property
    def is_measured(self) -> bool:
        """Whether both encoders were measured on held-out sentences."""
        return not math.isnan(self.mean_base)

    @property
    def trained(self) -> Trained:
        """The cost of the training."""
        return Trained(self.seconds, self.warnings, self.peak_memory_mb)

    @property
    def trained_p_at_1(self) -> float | None:
        """The mean P@1 over the directions trained on; None if nothing was measured."""
        trained = [ranking.p_at_1 for ranking in (self.translation or {}).values() if ranking.trained]
        return sum(trained) / len(trained) if trained else None

    def with_figures(self, values: Mapping[str, Any]) -> Self:
        """Return these figures and others by name, without those that are None and have no attribute."""
        known = {name: value for name, value in values.items() if name in _DEFAULTS}
        others = {
            name: msgspec.to_builtins(value)
            for name, value in values.items()
            if name not in _DEFAULTS and value is not None
        }
        return replace(self, **known, others={**self.others, **others})

    def to_json(self) -> dict[str, object]:
        """Return the contents of metrics.json."""
        values = {**asdict(self), "parts": self.parts and self.parts.to_json()}
        measured = {
            name: values[name]
            for name, default in _DEFAULTS.items()
            if name in _ALWAYS
            or not (values[name] is default or values[name] == default)  # NaN is itself only
        }
        return {**measured, **self.others}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Check and take over the contents of metrics.json.

        Raises:
            msgspec.ValidationError: a field is not of its type.
        """
        known = {name: value for name, value in values.items() if name in _DEFAULTS}
        if isinstance(known.get("parts"), dict):
            known["parts"] = DisentangledMetrics.fields_of(known["parts"])
        for name in ("new_intents", "cross_validation"):
            if isinstance(measured := known.get(name), dict):  # earlier versions had other verdicts
                known[name] = {key: value for key, value in measured.items() if key != "verdict"}
        others = {name: value for name, value in values.items() if name not in _DEFAULTS}
        return msgspec.convert({**known, "others": others}, cls)


_ALWAYS = {"selected_epoch", "seconds", "warnings"}
_DEFAULTS = {
    entry.name: getattr(Metrics(), entry.name) for entry in fields(Metrics) if entry.name != "others"
}


def measure_accuracy(labelled: LabelledSet, encode: Encode) -> LeaveOneOut:
    """Return leave-one-out Acc@1 of every ordered pair of a labelled set's languages."""
    frame = labelled.frame
    texts, intents, languages = (frame[column].tolist() for column in ("text", "intent", "language"))
    return leave_one_out(encode(texts), intents, languages, sentence_groups(frame))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out sentences by one encoder.

    Attributes:
        sentences: the N sentences.
        vectors: (N, d).
        measured: their retrieval among each other.
        predicted: their prediction from the sentences that are learnt; None if no sentence can be asked.
    """

    sentences: LabelledSet
    vectors: Vectors
    measured: Measured
    predicted: Predicted | None


def labelled_metrics(known: Metrics, base: HeldOut | None, specialised: HeldOut | None) -> Metrics:
    """Return the figures that are known, and the accuracy of both encoders on held-out sentences, if there are any."""
    if base is None or specialised is None:
        return replace(
            known,
            note="no rows of split test or dev, so nothing was measured: evaluate the run on other sentences",
        )
    held_out = base.sentences
    before, after = base.measured.accuracy, specialised.measured.accuracy
    return replace(
        known,
        split=held_out.splits[0],
        languages=held_out.languages,
        counts=before.counts,
        base=before.accuracy,
        specialised=after.accuracy,
        mean_over=before.mean_over,
        mean_base=before.paper_mean,
        mean_specialised=after.paper_mean,
    )


_LEAST_FOR_EIGEN = 10  # pairs: the sample size of the paper


def parallel_metrics(
    encode: Encode, held_out: Sequence[ParallelText], known: Metrics | None = None
) -> Metrics:
    """Return translation ranking and eigen-similarity of each held-out language pair, with the figures that are known.

    The ranking is by cosine, in both directions. Two languages whose sentences are translations of the same sentences
    in a third are measured, too: an encoder may align them without having been trained on pairs of the two.
    """
    translation: dict[str, RankingMetrics] = {}
    eigen: dict[str, EigenMetrics] = {}
    joined = joined_by_pivot(held_out)
    for text, sides, ways in _rankings(encode, [*held_out, *joined]):
        trained = text not in joined
        for way, ranking in zip((text, text.turned()), ways, strict=True):
            low, high = ranking.interval()
            translation[pair_name(*way.languages)] = RankingMetrics(
                p_at_1=ranking.precision(1),
                p_at_3=ranking.precision(3),
                p_at_10=ranking.precision(10),
                low=low,
                high=high,
                candidates=ranking.candidates,
                trained=trained,
            )
        if len(text) >= _LEAST_FOR_EIGEN:
            spectra = eigen_similarity(*sides)
            eigen[pair_name(*text.languages)] = EigenMetrics(
                spectra.mean, spectra.variance, spectra.standard_error, trained
            )
    return replace(known or Metrics(), translation=translation, eigen_similarity=eigen)


def mean_p_at_1(encode: Encode, held_out: Sequence[ParallelText]) -> float:
    """Return P@1 of translation ranking by cosine in percent, averaged over language pairs and directions."""
    return float(
        np.mean([ranking.precision() for *_, ways in _rankings(encode, held_out) for ranking in ways])
    )


def _rankings(
    encode: Encode, texts: Sequence[ParallelText]
) -> Iterator[tuple[ParallelText, list[Vectors], tuple[TranslationRanking, TranslationRanking]]]:
    """Yield each text with the unit vectors of its two sides and `both_ways`; each sentence is encoded once."""
    distinct = DistinctTexts(
        sentence for text in texts for side in (text.first, text.second) for sentence in side
    )
    units = unit_vectors(encode(distinct.texts))
    for text in texts:
        first, second = (units[distinct.rows(side)] for side in (text.first, text.second))
        yield text, [first, second], both_ways((first, text.first), (second, text.second))
