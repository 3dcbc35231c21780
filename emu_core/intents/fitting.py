"""Fitting regression and kernel on parts of the examples, and what is chosen by the sentences that are held out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import Vectors
from emu_core.intents.calibration_by_language import labelled_languages
from emu_core.intents.examples import Examples, Units
from emu_core.intents.factors import Factors, Regression, Rule
from emu_core.intents.kernel import Kernel
from emu_core.intents.regression import MANY, sampled_rows
from emu_core.intents.search import Search, Weighing
from emu_core.intents.space import SentenceSpace
from emu_core.threads import one_thread_for_small_products

ERRORS, ERRORS_OF_ONE_LANGUAGE = (
    1.0,
    2.0,
)  # standard errors of the folds by which a simpler model must be ahead
MANY_LABELS = (
    2_000  # sentences of one language from which a regression can be seen to be ahead of both factors
)
_WORK = (
    6e8  # numbers that a regression multiplies in each step at most; of a larger pool, a sample is fitted on
)
_LEAST_FITTED = 3_000  # that a sample has at least
_INTENT_PARTS, _PARTS_ASKED = 8, 4  # parts of the intents, of which some are left out in turn
_MOST_OF_A_PART = 350  # sentences to ask then, of known and of new intents


class Unseen(NamedTuple):
    """Labelled sentences that are neither in the pool nor learnt by the encoder: vectors (Q, d), intents, languages."""

    vectors: Vectors
    intents: Sequence[str]
    languages: Sequence[str]


@dataclass(frozen=True, eq=False)
class Asked:
    """Q sentences whose answers are seen: of the pool, from which their fold is hidden then, or others, of fold -1."""

    units: Units
    labels: NDArray[np.int64]
    languages: NDArray[np.object_]
    folds: NDArray[np.int64]

    def of(self, rows: NDArray[Any]) -> "Asked":
        """Return some of them."""
        return Asked(*(array[rows] for array in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Part:
    """Sentences that are asked, the rows of the pool that are hidden meanwhile, and what is fitted on the others."""

    asked: Asked
    is_hidden: NDArray[np.bool_]
    fit: Factors


class Choice(NamedTuple):
    """How strongly names count, which factors decide, and the factors fitted without each part of the sentences."""

    name_strength: float
    rule: Rule
    parts: list[Part]


@dataclass(frozen=True, eq=False)
class LeftOutAnswers:
    """Q answers to sentences of intents that are left out, and to held-out ones of intents that are not.

    Attributes:
        signs: (Q, s), of a known intent.
        is_known: (Q,), whether the intent is not left out.
        is_right: (Q,).
        parts: (Q,), the parts of the intents that are left out together.
        intents: (Q,).
    """

    signs: NDArray[np.float64]
    is_known: NDArray[np.bool_]
    is_right: NDArray[np.bool_]
    parts: NDArray[np.int64]
    intents: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fitting:
    """The examples in the space where regressions are fitted.

    Attributes:
        examples: P labelled sentences, n names, and others.
        space: before the variance within intents is evened out.
        languages: (P,) codes, "" for an unknown one.
        groups: (P,), from 0, equal for translations and repeats.
        weights: (P,), how much each sentence counts in the regression; None for alike.
        x: (P, d), the sentences in the space.
        name_x: (n, d), the names.
    """

    examples: Examples
    space: SentenceSpace
    languages: NDArray[np.object_]
    groups: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    x: Units
    name_x: Units

    @classmethod
    def of(
        cls,
        examples: Examples,
        space: SentenceSpace,
        groups: NDArray[np.int64],
        languages: Sequence[str],
        weights: NDArray[np.float64] | None,
    ) -> "Fitting":
        """Take examples with P groups, languages and weights, in the order of the examples."""
        return cls(
            examples,
            space,
            np.asarray(languages, dtype=object),
            groups,
            weights,
            space.neutral(examples.units),
            space.neutral(examples.names),
        )

    @property
    def known_languages(self) -> tuple[str, ...]:
        """The languages with labels of their own."""
        return labelled_languages(self.languages.tolist())

    def factors(
        self,
        is_met: NDArray[np.bool_],
        strength: float,
        most: int | None = None,
        *,
        with_bare: bool = True,
    ) -> Factors:
        """Fit regression and kernel on some of the sentences, a sample of many, and on the names that count.

        Names whose intent has no such sentence count if they are of intents without any, which nothing leaves out.

        Args:
            is_met: (P,), which sentences.
            strength: how strongly the names count; 0 for not at all.
            most: the number of sentences in a sample; None for the usual one.
            with_bare: whether the regression without names is needed, too.
        """
        labels, name_labels, k = self.examples.labels, self.examples.name_labels, len(self.examples.intents)
        d = self.x.shape[1]
        rows = np.flatnonzero(is_met)
        met = np.bincount(labels[rows], minlength=k) > 0
        labelled = np.bincount(labels, minlength=k) > 0
        counts = (met | ~labelled)[name_labels] if strength else np.zeros(len(name_labels), dtype=bool)
        if most is None:
            most = max(_LEAST_FITTED, int(_WORK / (min(k, MANY) * d)))
        sample = rows[sampled_rows(np.unique(labels[rows], return_inverse=True)[1].tolist(), most)]
        names, of_names = self.name_x[counts], name_labels[counts]
        prior = np.zeros((k, d))
        if len(names):
            prior[of_names] = strength * (names - names.mean(axis=0))
        x, classes = np.concatenate([self.x[rows], names]), np.concatenate([labels[rows], of_names])
        weights = None if self.weights is None else self.weights[sample]
        # A name is no repeat of any sentence.
        groups = np.concatenate([self.groups[rows], len(self.groups) + np.arange(len(names))])
        with one_thread_for_small_products():
            space = self.space.evening(x, np.unique(classes, return_inverse=True)[1], groups)
            regression = Regression.fit(
                np.concatenate([self.x[sample], names]),  # freed before the kernel takes as much
                np.concatenate([labels[sample], of_names]),
                prior,
                None if weights is None else np.concatenate([weights, np.ones(len(names))]),
            )
            bare = regression
            if with_bare and len(names):
                bare = Regression.fit(self.x[sample], labels[sample], np.zeros((k, d)), weights)
        return Factors(space, regression, Kernel.of(space.evened(x), classes, k), bare)

    def of_all(self, strength: float) -> Factors:
        """Fit them on all sentences."""
        return self.factors(np.ones(len(self.x), dtype=bool), strength)

    def choose(self, of_parts: Sequence[tuple[Asked, NDArray[np.bool_]]], strength: float) -> Choice:
        """Choose whether names and the kernel count, by the answers to held-out sentences.

        Args:
            of_parts: sentences, and which of the labelled ones (P,) are hidden from them.
            strength: how strongly names count if they do; 0 without any.
        """
        strengths = (strength, 0.0) if strength else (0.0,)
        fits = {
            tried: [self.factors(~is_hidden, tried, with_bare=False) for _, is_hidden in of_parts]
            for tried in strengths
        }
        one_language = len(self.known_languages) < 2
        rules = [Rule.BOTH]
        if not one_language or len(self.x) >= MANY_LABELS:
            rules.append(Rule.REGRESSION)
        right_of: dict[tuple[float, Rule], NDArray[np.float64]] = {}
        for tried, of_strength in fits.items():
            for rule in rules:
                right_of[tried, rule] = np.concatenate(
                    [
                        fit.scores(self.space.neutral(asked.units), rule.weight).argmax(axis=1)
                        == asked.labels
                        for (asked, _), fit in zip(of_parts, of_strength, strict=True)
                    ]
                ).astype(float)
        usual = next(iter(right_of))
        best = max(right_of, key=lambda candidate: right_of[candidate].mean())
        ahead = right_of[best] - right_of[usual]
        errors = ERRORS_OF_ONE_LANGUAGE if one_language else ERRORS
        if ahead.mean() <= errors * ahead.std() / np.sqrt(len(ahead)):
            best = usual
        parts = [
            Part(asked, is_hidden, replace(fit, bare=bare.regression))
            for (asked, is_hidden), fit, bare in zip(of_parts, fits[best[0]], fits[0.0], strict=True)
        ]
        return Choice(*best, parts)

    def left_out(
        self, search: Search, asked: Asked, folds: NDArray[np.int64], strength: float, usual: float
    ) -> LeftOutAnswers | None:
        """Ask sentences of intents that are left out, and held-out sentences of the others; None if none can be.

        Args:
            search: of the examples.
            asked: sentences that may be asked.
            folds: (P,), those of the labelled sentences.
            strength: how strongly names count.
            usual: the weight of the kernel.
        """
        labels, k, draws = self.examples.labels, len(self.examples.intents), np.random.default_rng(0)
        part_of_intent = draws.permutation(k) % min(_INTENT_PARTS, k)
        is_other = asked.folds < 0
        found: list[LeftOutAnswers] = []
        for part in range(min(_PARTS_ASKED, k)):
            is_hidden = (part_of_intent[labels] == part) | (folds == part)
            if is_other.all():
                is_hidden = part_of_intent[labels] == part
            if len(set(labels[~is_hidden])) < 2:
                continue
            fit = self.factors(~is_hidden, strength, _LEAST_FITTED)
            is_new = part_of_intent[asked.labels] == part
            has_class = np.isfinite(fit.regression.bias)[asked.labels]
            is_known = ~is_new & (is_other | (asked.folds == part)) & has_class
            for number, of_kind in enumerate((is_new, is_known)):
                rows = draws.permutation(np.flatnonzero(of_kind))[:_MOST_OF_A_PART]
                if not len(rows):
                    continue
                weighing = Weighing.even(usual, len(rows))
                answers = search.ask(asked.units[rows], 1, fit, weighing, is_hidden=is_hidden)
                truth = asked.labels[rows]
                found.append(
                    LeftOutAnswers(
                        answers.signs,
                        np.full(len(rows), bool(number)),
                        answers.labels == truth,
                        np.full(len(rows), part),
                        truth,
                    )
                )
        if not found:
            return None
        return LeftOutAnswers(*map(np.concatenate, zip(*(vars(one).values() for one in found), strict=True)))
