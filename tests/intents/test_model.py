"""The intent model: its formula by plain loops, what it chooses, names, thresholds, other languages, and its state."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

from emu_core.errors import DataError
from emu_core.evaluation import retrieval
from emu_core.evaluation.arrays import unit_vectors
from emu_core.intents import fitting as intent_fitting
from emu_core.intents import model as intent_model
from emu_core.intents.answers import Answers
from emu_core.intents.factors import Factors, Rule, stacked_weight
from emu_core.intents.fitting import Unseen
from emu_core.intents.kernel import KERNEL_TEMPERATURE
from emu_core.intents.model import LEAST_ASKED, LEAST_UNLABELLED, SHIFTED, IntentModel
from tests.support.sentences import Sentences, cosine, random_sentences

Floats = NDArray[np.float32]


def plain_answer(query: Floats, intent: str, data: Sentences) -> tuple[float, list[tuple[float, int]]]:
    """The margin of an intent, and (cosine, row) of the pool, the nearest first."""
    near = sorted(
        ((cosine(query, row), n) for n, row in enumerate(data.vectors)), key=lambda x: (-x[0], x[1])
    )
    own = max(value for value, row in near if data.intents[row] == intent)
    others = [value for value, row in near if data.intents[row] != intent]
    return own - max(others) if others else math.nan, near


@pytest.fixture(scope="module")
def data() -> Sentences:
    return random_sentences(90, ("fr", "en", "zh-tw"), seed=1)


def same(first: Answers, second: Answers) -> None:
    for name, found in vars(first).items():
        np.testing.assert_array_equal(found, vars(second)[name], err_msg=name)


@pytest.mark.parametrize("block", [7, 2**22])
def test_margins_and_neighbours_are_those_of_plain_loops(
    block: int, data: Sentences, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "BLOCK", block)  # 7: one query at a time
    fitted = IntentModel().fit(data.vectors, data.intents, data.ids)
    queries = np.random.default_rng(5).standard_normal((20, data.vectors.shape[1])).astype(np.float32)
    answers = fitted.predict(queries, 4)
    for query, label, margin, rows, cosines in zip(
        queries, answers.labels, answers.margins, answers.rows, answers.cosines, strict=True
    ):
        gap, near = plain_answer(query, fitted.intents_[label], data)
        assert margin == pytest.approx(gap, abs=1e-5)
        assert rows.tolist() == [row for _, row in near[:4]]
        assert cosines == pytest.approx([value for value, _ in near[:4]], abs=1e-5)


def names_of(data: Sentences) -> dict[str, Floats]:
    """The mean of each intent's unit vectors for its name, and the name of an intent without a sentence."""
    units = data.vectors / np.linalg.norm(data.vectors, axis=1, keepdims=True)
    means = {
        intent: units[np.array(data.intents) == intent].mean(axis=0) for intent in sorted(set(data.intents))
    }
    return {**means, "new": -sum(means.values())}


@pytest.mark.parametrize("rule", list(Rule))
@pytest.mark.parametrize("has_names", [False, True])
def test_probabilities_are_those_of_the_regression_and_of_the_kernel(
    rule: Rule, has_names: bool, data: Sentences
) -> None:
    """p(c) ~ softmax(W x + b)[c] * density(c), with names as examples, whatever was chosen."""
    names = names_of(data) if has_names else {}
    fitted = IntentModel().fit(data.vectors, data.intents, data.ids, names=names)
    assert fitted.name_strength_ == (intent_model.NAME_STRENGTH if has_names else 0), (
        "nothing speaks against them"
    )
    fitted.rule_ = rule
    facts, arrays = fitted.state()
    examples = [*zip(arrays["labels"].tolist(), arrays["units"], strict=True)]
    examples += [*zip(arrays["name_labels"].tolist(), arrays["names"], strict=True)]

    def evened(x: Floats) -> NDArray[np.float64]:
        mapped = x.astype(float) @ arrays["spread"].astype(float)
        return mapped / np.linalg.norm(mapped)

    queries = np.random.default_rng(5).standard_normal((20, data.vectors.shape[1])).astype(np.float32)
    found, answers = fitted.probabilities(queries), fitted.predict(queries, 1)
    for query, shares, label in zip(queries, found, answers.labels, strict=True):
        x = query / np.linalg.norm(query)
        scores = []
        for number in range(len(facts["intents"])):
            score = math.exp(
                float(arrays["weight"][number].astype(float) @ x) + float(arrays["bias"][number])
            )
            kernels = [
                math.exp((float(evened(x) @ evened(row)) - 1) / KERNEL_TEMPERATURE)
                for of, row in examples
                if of == number
            ]
            density = math.fsum(kernels) / math.sqrt(len(kernels))
            scores.append(score * density if rule is Rule.BOTH else score)
        np.testing.assert_allclose(shares, np.array(scores) / math.fsum(scores), atol=1e-4)
        assert label == int(np.argmax(scores))


@pytest.mark.parametrize("spread", [1.5, 2.0])
@pytest.mark.parametrize("languages", [[], ["en", ""] * 150])
def test_the_highest_probability_is_the_confidence(spread: float, languages: list[str]) -> None:
    """The log-probabilities of all are divided by one temperature, and those of each sentence keep their order."""
    vectors, intents = clusters(6, 50, spread)
    spoken = ["en", "de"] * 150
    fitted = IntentModel().fit(vectors, intents, [""] * len(intents), languages=spoken)
    queries = clusters(6, 50, 1.5 * spread, seed=1)[0]
    found, confidence = (
        fitted.calibrated_probabilities(queries, languages),
        fitted.predict(queries, 1, languages),
    )
    assert fitted.has_confidence
    np.testing.assert_allclose(found.max(axis=1), confidence.confidence, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
    bare = fitted.probabilities(queries)
    np.testing.assert_array_equal(found.argsort(axis=1)[:, -3:], bare.argsort(axis=1)[:, -3:])
    first, *others = np.log(np.sort(found, axis=1)[:, ::-1].T), *np.log(np.sort(bare, axis=1)[:, ::-1].T)
    softened = (first[0] - first[1]) / (others[0] - others[1])
    np.testing.assert_allclose(first[0] - first[2], softened * (others[0] - others[2]), rtol=1e-6)
    alone = np.concatenate(
        [
            fitted.calibrated_probabilities(queries[row : row + 1], languages[row : row + 1])
            for row in range(20)
        ]
    )
    np.testing.assert_allclose(alone, found[:20], rtol=0, atol=1e-6)


def test_without_a_confidence_probabilities_are_the_shares_in_the_decision() -> None:
    vectors, intents = clusters(3, 4, 0.1)
    fitted = IntentModel().fit(vectors, intents, [""] * 12)
    assert not fitted.has_confidence
    np.testing.assert_allclose(
        fitted.calibrated_probabilities(vectors), fitted.probabilities(vectors), rtol=0, atol=1e-12
    )


def test_no_answer_is_less_sure_than_a_guess() -> None:
    """Each sentence is nearest to one of the other intent, so that answers are worse than guesses."""
    rng = np.random.default_rng(3)
    points = rng.standard_normal((150, 16))
    vectors = np.concatenate([points, points + 0.01 * rng.standard_normal(points.shape)]).astype(np.float32)
    fitted = IntentModel().fit(vectors, ["i0"] * 150 + ["i1"] * 150, [""] * 300)
    confidence = fitted.predict(vectors, 1).confidence
    assert fitted.has_confidence and fitted.accuracy_ < 40 and 0.5 <= confidence.min() < 0.51
    np.testing.assert_allclose(fitted.calibrated_probabilities(vectors).max(axis=1), confidence, atol=1e-5)


def clusters(
    intents: int, each: int, spread: float, seed: int = 0, dim: int = 16
) -> tuple[Floats, list[str]]:
    """Sentences round the corners of a cube, `each` of every intent."""
    rng = np.random.default_rng(seed)
    centers = rng.choice([-1.0, 1.0], (intents, dim))
    vectors = np.repeat(centers, each, axis=0) + spread * rng.standard_normal((intents * each, dim))
    return vectors.astype(np.float32), [f"i{n // each}" for n in range(intents * each)]


def centers(vectors: Floats, intents: Sequence[str]) -> dict[str, Floats]:
    """The mean of each intent, as the vector of a name that fits it."""
    return {intent: vectors[np.array(intents) == intent].mean(axis=0) for intent in dict.fromkeys(intents)}


def bent() -> tuple[Floats, list[str]]:
    """Two intents of many small clusters on a circle that alternate, which no line divides."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    kind = (angle // (np.pi / 6)).astype(int) % 2
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32), [f"i{n}" for n in kind]


def noisy() -> tuple[Floats, list[str]]:
    """Two intents that differ in one of many directions, in which all are noise: a neighbour is of either."""
    rng = np.random.default_rng(0)
    vectors, kind = 3 * rng.standard_normal((400, 16)), rng.integers(0, 2, 400)
    vectors[:, 0] = vectors[:, 0] / 10 + np.where(kind, 1.0, -1.0)
    return vectors.astype(np.float32), [f"i{n}" for n in kind]


def test_the_pool_chooses_what_predicts_its_held_out_sentences() -> None:
    chosen = {}
    for name, (vectors, intents) in (("bent", bent()), ("noisy", noisy())):
        fitted = IntentModel().fit(vectors, intents, [""] * 400, languages=["en", "de"] * 200)
        chosen[name] = fitted.rule_
        assert fitted.accuracy_ is not None and fitted.accuracy_ > 80
    assert chosen == {"noisy": Rule.REGRESSION, "bent": Rule.BOTH}


def test_folds_of_one_language_choose_the_regression_of_many_labels_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They say little about other languages, where the regression often is behind."""
    vectors, intents = noisy()
    of_one: tuple[dict[str, Any], ...] = ({"languages": ["en"] * 400}, {})
    for given in of_one:
        assert IntentModel().fit(vectors, intents, [""] * 400, **given).rule_ is Rule.BOTH
    monkeypatch.setattr(intent_fitting, "MANY_LABELS", 400)
    for given in of_one:
        assert IntentModel().fit(vectors, intents, [""] * 400, **given).rule_ is Rule.REGRESSION


def test_a_language_with_labels_has_a_weight_of_its_own() -> None:
    """Its own folds speak of it: the kernel, which all others have in full, is left out where it is noise."""
    vectors, intents = noisy()
    pool, asked, truth = vectors[:300], vectors[300:], np.array(intents[300:])
    fitted = IntentModel().fit(pool, intents[:300], [""] * 300, languages=["en"] * 300)
    assert fitted.rule_ is Rule.BOTH and fitted.weights_["en"] <= 0.1
    names = np.array(fitted.intents_)

    def right(model: IntentModel, code: str) -> float:
        return float((names[model.predict(asked, 1, [code] * 100).labels] == truth).mean())

    assert right(fitted, "en") > right(fitted, "de") + 0.02
    bare = IntentModel().fit(pool, intents[:300], [""] * 300)
    assert bare.weights_ == {} and right(bare, "en") == right(fitted, "de") == right(fitted, "")
    scores = fitted.scores(asked)
    np.testing.assert_array_equal(
        scores, bare.scores(asked), "whether an intent is known does not depend on it"
    )
    again = IntentModel.from_state(*fitted.state())
    same(again.predict(asked, 2, ["en"] * 100), fitted.predict(asked, 2, ["en"] * 100))
    facts, arrays = fitted.state()
    for weight in (2.0, -1.0, float("nan"), "1"):
        with pytest.raises(ValueError, match="not the state"):
            IntentModel.from_state({**facts, "weights_": {"en": weight}}, arrays)
    vectors, intents = bent()
    assert (
        IntentModel().fit(vectors, intents, [""] * 400, languages=["en"] * 400).weights_.get("en", 1.0) == 1.0
    )


def test_the_weight_is_that_with_the_least_surprise_at_its_best_temperature() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 200)
    good, bad = rng.standard_normal((2, 200, 4))
    good[np.arange(200), labels] += 2
    for factors, usual in (((good, bad), 1.0), ((bad, good), 0.0), ((good, good), 0.25), ((bad, bad), 1.0)):
        found = stacked_weight(factors, labels, usual)
        least = {}
        for weight in (usual, 0.0, 0.1, 0.25, 0.5, 1.0):
            scores = factors[0] + weight * factors[1]
            least[weight] = min(
                -np.mean(
                    [
                        row[label] / t - np.log(np.exp(row / t).sum())
                        for row, label in zip(scores, labels, strict=True)
                    ]
                )
                for t in np.exp(np.linspace(-2, 4, 121))
            )
        assert least[found] <= min(least.values()) + 1e-3
    assert stacked_weight((good, 0 * bad), labels, 0.5) == 0.5, "the usual one stays where none is better"


def test_translations_are_held_out_together() -> None:
    """Twins of one vector, of random intents: without the ids, each is the other's answer."""
    rng = np.random.default_rng(0)
    vectors = np.repeat(rng.standard_normal((120, 32)), 2, axis=0).astype(np.float32)
    intents = np.repeat(rng.integers(0, 4, 120), 2).astype(str).tolist()
    twins = [str(row // 2) for row in range(240)]
    apart, together = (IntentModel().fit(vectors, intents, ids) for ids in ([""] * 240, twins))
    assert apart.accuracy_ is not None and together.accuracy_ is not None
    assert apart.accuracy_ > 60 and together.accuracy_ < 45


def test_only_rows_that_may_be_asked_are_asked(data: Sentences) -> None:
    few = IntentModel().fit(data.vectors, data.intents, data.ids, asked=np.arange(3))
    assert (few.accuracy_, few.threshold_, few.has_confidence, few.rule_) == (None, None, False, Rule.BOTH)
    answers = few.predict(data.vectors[:2], 1)
    assert np.isnan(answers.confidence).all() and answers.is_known.all()


def test_rows_that_may_be_asked_stay_the_same_sentences() -> None:
    """They have another intent than most of their neighbours, in whatever order the rows are kept."""
    vectors, intents = clusters(6, 60, 0.3)
    asked = np.sort(np.random.default_rng(1).permutation(360)[:120])
    mixed = np.array(intents)
    mixed[asked] = [f"i{(int(intent[1]) + 1) % 6}" for intent in mixed[asked]]
    rest = np.setdiff1d(np.arange(360), asked)
    of_asked, of_rest = (
        IntentModel().fit(vectors, mixed.tolist(), [""] * 360, asked=rows).accuracy_ for rows in (asked, rest)
    )
    assert of_asked is not None and of_asked < 20
    assert of_rest is not None and of_rest > 80


def test_a_pool_of_one_intent_or_of_one_sentence_answers(data: Sentences) -> None:
    one = IntentModel().fit(data.vectors, ["only"] * 90, data.ids)
    answers = one.predict(data.vectors[:3], 2)
    assert np.isnan(answers.margins).all() and not one.has_confidence and one.accuracy_ == 100
    single = IntentModel().fit(data.vectors[:1], ["only"], ["1"]).predict(data.vectors[:3], 5)
    assert single.rows.tolist() == [[0]] * 3
    with pytest.raises(DataError, match="ask for 1 or more"):
        one.predict(data.vectors[:3], 0)


def test_what_does_not_go_together_is_refused(data: Sentences) -> None:
    def fit(**given: Any) -> IntentModel:
        return IntentModel().fit(data.vectors, data.intents, data.ids, **given)

    with pytest.raises(DataError):
        fit(names={"i0": np.ones(4, np.float32)})
    with pytest.raises(DataError):
        fit(none=np.ones((2, 4), np.float32))
    with pytest.raises(DataError):
        fit(languages=["en"] * 89)
    with pytest.raises(DataError, match="is zero"):
        fit(names={"i0": np.zeros(5, np.float32)})
    for ask in (fit().predict, fit().probabilities, fit().scores):
        with pytest.raises(DataError):
            ask(np.ones((2, 4), np.float32))


@pytest.mark.parametrize("has_names", [False, True])
def test_shuffled_rows_give_the_same_answers(has_names: bool) -> None:
    vectors, intents = clusters(8, 40, 1.2)
    languages, ids = np.resize(["en", "de"], 320), np.array([str(row // 2) for row in range(320)])
    names = centers(vectors, intents) if has_names else {}
    none = np.random.default_rng(2).standard_normal((40, 16)).astype(np.float32)
    queries = clusters(8, 40, 1.2, seed=0)[0] + 0.3 * none.repeat(8, axis=0)
    order = np.random.default_rng(1).permutation(320)
    asked = np.arange(200)
    first = IntentModel().fit(
        vectors, intents, ids.tolist(), names=names, languages=languages.tolist(), asked=asked, none=none
    )
    second = IntentModel().fit(
        vectors[order],
        np.array(intents)[order].tolist(),
        ids[order].tolist(),
        names=dict(reversed(names.items())),
        languages=languages[order].tolist(),
        asked=np.flatnonzero(np.isin(order, asked)),
        none=none,
    )
    one, other = first.predict(queries, 3, ["de"] * 320), second.predict(queries, 3, ["de"] * 320)
    assert np.isfinite(one.confidence).all() and len(np.unique(one.confidence)) > 3
    np.testing.assert_array_equal(
        np.array(first.intents_)[one.labels], np.array(second.intents_)[other.labels]
    )
    np.testing.assert_array_equal(one.confidence, other.confidence)
    np.testing.assert_array_equal(one.is_known, other.is_known)
    np.testing.assert_array_equal(one.rows, order[other.rows])
    assert (first.accuracy_, first.threshold_, first.new_found_) == (
        second.accuracy_,
        second.threshold_,
        second.new_found_,
    )


def shuffled(names: Mapping[str, Floats]) -> dict[str, Floats]:
    """Names of which none is that of its intent."""
    return dict(zip(names, [*list(names.values())[1:], next(iter(names.values()))], strict=True))


def test_an_intent_without_a_sentence_is_predicted_by_its_name() -> None:
    vectors, intents = clusters(8, 30, 0.4)
    labels, names = np.array(intents), centers(vectors, intents)
    is_new = labels == "i3"
    fitted = IntentModel().fit(
        vectors[~is_new], labels[~is_new].tolist(), [""] * int((~is_new).sum()), names=names
    )
    assert fitted.names_that_count == 8 and set(fitted.intents_) == set(names)
    found = np.array(fitted.intents_)[fitted.predict(vectors, 1).labels]
    assert (found[is_new] == "i3").mean() > 0.9 and (found[~is_new] == labels[~is_new]).mean() > 0.9


def test_names_help_where_labels_are_few() -> None:
    vectors, intents = clusters(12, 40, 1.5, dim=24)
    names = centers(*clusters(12, 40, 0.5, dim=24))
    few = np.arange(480) % 40 < 2
    rest = np.array(intents)[~few]
    right = {}
    for which, given in (("with", names), ("without", {})):
        fitted = IntentModel().fit(vectors[few], np.array(intents)[few].tolist(), [""] * 24, names=given)
        right[which] = (np.array(fitted.intents_)[fitted.predict(vectors[~few], 1).labels] == rest).mean()
    assert right["with"] > right["without"] + 0.05


def test_names_that_do_not_fit_count_for_nothing() -> None:
    """Held-out labels say so: names of other intents lead away from their sentences."""
    vectors, intents = clusters(24, 8, 1.8, dim=48)
    names = centers(*clusters(24, 40, 1.0, dim=48))
    bare, fitting, wrong = (
        IntentModel().fit(vectors, intents, [""] * 192, names=given) for given in ({}, names, shuffled(names))
    )
    assert fitting.names_that_count == 24 and wrong.names_that_count == 0 == wrong.name_strength_
    assert fitting.accuracy_ is not None and bare.accuracy_ is not None
    assert fitting.accuracy_ > bare.accuracy_ + 5 and wrong.accuracy_ == bare.accuracy_
    queries = vectors + 0.5 * np.random.default_rng(1).standard_normal(vectors.shape).astype(np.float32)
    same(wrong.predict(queries, 2), bare.predict(queries, 2))
    opened = IntentModel.from_state(*wrong.state())
    same(opened.predict(queries, 2), bare.predict(queries, 2))
    assert np.array_equal(opened.probabilities(queries), bare.probabilities(queries))


def test_names_stay_unless_leaving_them_out_is_clearly_ahead() -> None:
    """By less than two standard errors of the folds of one language, which says little about others."""
    vectors, intents = clusters(8, 40, 1.2)
    bare, named = (
        IntentModel().fit(vectors, intents, [""] * len(intents), names=given)
        for given in ({}, centers(vectors, intents))
    )
    assert bare.accuracy_ is not None and named.accuracy_ is not None and bare.accuracy_ > named.accuracy_
    assert named.names_that_count == 8


def test_the_threshold_keeps_what_it_promises_and_finds_new_intents() -> None:
    vectors, intents = clusters(24, 60, 0.9, dim=24)
    names = np.array(intents)
    is_pool = np.random.default_rng(1).random(len(names)) < 0.5
    is_new = np.isin(names, ["i0", "i1", "i2", "i3"])
    pool = is_pool & ~is_new
    fitted = IntentModel().fit(vectors[pool], names[pool].tolist(), [""] * int(pool.sum()))
    assert not fitted.by_cosine_ and fitted.threshold_ is not None and 0 < fitted.threshold_ < 1
    old, new = (fitted.predict(vectors[~is_pool & which], 1) for which in (~is_new, is_new))
    right = np.array(fitted.intents_)[old.labels] == names[~is_pool & ~is_new]
    rejected = 100 * (~old.is_known[right]).mean()
    found = 100 * (~new.is_known).mean()
    assert rejected <= 5 and fitted.new_found_ is not None
    assert found > 50 and abs(found - fitted.new_found_) < 20


def test_sentences_with_none_of_the_intents_teach_where_they_end() -> None:
    """They lie beside one intent, which no intent that is left out shows."""
    vectors, intents = clusters(12, 40, 0.5, dim=24)
    beside = vectors[:40].mean(axis=0) + 0.3 * vectors[40:80].mean(axis=0)
    strange = beside + 0.4 * np.random.default_rng(2).standard_normal((240, 24))
    known, asked = strange[:120].astype(np.float32), strange[120:].astype(np.float32)
    bare, taught = (
        IntentModel().fit(vectors, intents, [""] * len(intents), none=none) for none in (None, known)
    )
    assert bare.none_found_ is None and taught.none_found_ is not None
    found_bare, found = (100 * (~fitted.predict(asked, 1).is_known).mean() for fitted in (bare, taught))
    assert found > found_bare and abs(found - taught.none_found_) < 15


def test_a_sentence_of_none_does_not_answer_for_its_translation() -> None:
    vectors, intents = clusters(8, 40, 0.6)
    strange = np.random.default_rng(3).standard_normal((60, 16))
    twice = np.repeat(strange, 2, axis=0)
    ids = [str(row // 2) for row in range(120)]
    apart, together = (
        IntentModel().fit(vectors, intents, [""] * len(intents), none=twice, none_ids=of).none_found_
        for of in ([""] * 120, ids)
    )
    assert apart is not None and together is not None and together < apart


def test_a_threshold_that_is_given_is_a_cosine(data: Sentences) -> None:
    fitted = IntentModel().fit(data.vectors, data.intents, data.ids, threshold=0.9)
    answers = fitted.predict(data.vectors + 0.3, 1)
    assert fitted.by_cosine_ and fitted.threshold_ == 0.9 and fitted.new_found_ is not None
    assert answers.is_known.tolist() == (answers.cosines[:, 0] >= 0.9).tolist()


def test_a_language_is_calibrated_by_itself_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intent_model, "LEAST_OF_LANGUAGE", 80)
    vectors, intents = clusters(6, 60, 0.5)
    languages = np.resize(["en", "en", "de"], len(intents))
    vectors[languages == "de"] += np.random.default_rng(0).standard_normal((120, 16)) * 1.5  # farther apart
    languages[:3] = "fr"
    fitted = IntentModel().fit(vectors, intents, [""] * len(intents), languages=languages.tolist())
    assert fitted.languages_ == ("de", "en")
    thresholds = {code: fitted._calibrations.held_out[code].threshold for code in ("de", "en", "")}
    assert thresholds["de"] < thresholds[""] < thresholds["en"]  # type: ignore[operator]
    rows = vectors[languages == "de"] + np.random.default_rng(1).standard_normal((119, 16)).astype(np.float32)
    known = {
        code: fitted.predict(rows, 1, [code] * len(rows)).is_known.sum() for code in ("de", "en", "fr", "")
    }
    assert known["de"] >= known[""] > known["en"] and known["fr"] == known[""]


def abroad(vectors: Floats, seed: int = 4) -> Floats:
    """The sentences in another language, whose vectors are farther from all labelled ones."""
    away = 1.2 * np.random.default_rng(seed).standard_normal(vectors.shape[1])
    return (vectors + away).astype(np.float32)


@pytest.fixture(scope="module")
def english() -> IntentModel:
    vectors, intents = clusters(12, 60, 1.0, dim=24)
    return IntentModel().fit(vectors, intents, [""] * 720, languages=["en"] * 720)


def asked_abroad() -> tuple[Floats, NDArray[np.str_]]:
    vectors, intents = clusters(12, 120, 1.0, dim=24)
    new = np.arange(1440) % 120 >= 60
    return abroad(vectors[new]), np.array(intents)[new]


def test_right_answers_in_another_language_are_kept_once_it_has_been_seen(english: IntentModel) -> None:
    vectors, intents = asked_abroad()
    adapted = english.adapted({"de": vectors})
    found = [of.predict(vectors, 1, ["de"] * len(vectors)) for of in (english, adapted)]
    right = np.array(english.intents_)[found[0].labels] == intents
    assert right.mean() > 0.5
    rejected, left = (100 * (~of.is_known[right]).mean() for of in found)
    assert rejected > 15 and left < 6
    assert adapted.adapted_languages == ("de",) and english.adapted_languages == ()
    # Neighbours are the same, and answers are less sure.
    before, after = (of.predict(vectors, 2, ["de"] * len(vectors)) for of in (english, adapted))
    for name in ("rows", "cosines"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    assert after.confidence.mean() < before.confidence.mean()
    same(adapted.predict(vectors, 2), english.predict(vectors, 2))
    same(adapted.predict(vectors, 2, ["fr"] * len(vectors)), english.predict(vectors, 2))


def test_strangers_open_the_gate_no_further_than_the_bound(english: IntentModel) -> None:
    strangers = (3 * np.random.default_rng(7).standard_normal((200, 24))).astype(np.float32)
    assert english.gap_ is not None and english.median_ is not None and english.threshold_ is not None
    scores = english.scores(strangers)
    assert english.median_ - np.median(scores) > SHIFTED * english.gap_, "or the bound would change nothing"
    answers = english.adapted({"de": strangers}).predict(strangers, 1, ["de"] * 200)
    at = float(logit(english.threshold_))
    np.testing.assert_array_equal(answers.is_known, scores + SHIFTED * english.gap_ >= at)
    unbounded = (scores + english.median_ - np.median(scores) >= at).sum()
    assert answers.is_known.sum() < unbounded


def test_unlabelled_sentences_also_decide(english: IntentModel) -> None:
    vectors, intents = asked_abroad()
    adapted = english.adapted({"de": vectors})
    assert adapted.prototype_languages == ("de",) and english.prototype_languages == ()
    codes = ["de"] * len(vectors)
    right = {
        name: (np.array(of.intents_)[of.predict(vectors, 1, codes).labels] == intents).mean()
        for name, of in (("before", english), ("after", adapted))
    }
    assert right["after"] > right["before"] + 0.05
    # By independent arithmetic, but for a constant of each sentence.
    x = english._fit.space.evened(english._search.space.neutral(unit_vectors(vectors))).astype(np.float64)
    away = x - x.mean(axis=0)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    p = english.probabilities(vectors, codes)
    met = (p**2).T @ away
    counts = (p**2).sum(axis=0)
    expected = np.log(p) + away @ (counts / (counts + 3) * met.T / np.linalg.norm(met, axis=1)) / 0.05
    got = np.log(adapted.probabilities(vectors, codes))
    np.testing.assert_allclose(
        got - got[:, :1], expected - expected[:, :1], rtol=0, atol=0.05
    )  # rounded to two bytes


def test_too_few_sentences_and_languages_that_are_calibrated_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intent_model, "LEAST_OF_LANGUAGE", 80)
    vectors, intents = clusters(12, 60, 0.8, dim=24)
    fitted = IntentModel().fit(vectors, intents, [""] * 720, languages=["en"] * 720)
    asked, _ = asked_abroad()
    few = asked[: LEAST_UNLABELLED - 1]
    assert fitted.languages_ == ("en",)
    for unlabelled in ({}, {"de": few}, {"en": asked}, {"": asked}):
        adapted = fitted.adapted(unlabelled)
        assert adapted.adapted_languages == ()
        for code in ("de", "en", ""):
            same(adapted.predict(asked, 1, [code] * 720), fitted.predict(asked, 1, [code] * 720))
    assert fitted.adapted({"de": asked[:LEAST_UNLABELLED]}).adapted_languages == ("de",)


def test_languages_that_were_adapted_before_stay_so(english: IntentModel) -> None:
    asked, _ = asked_abroad()
    once = english.adapted({"de": asked})
    both = once.adapted({"fr": abroad(asked, 8)})
    assert both.adapted_languages == both.prototype_languages == ("de", "fr")
    of_both, of_one = (of.predict(asked, 1, ["de"] * 720) for of in (both, once))
    np.testing.assert_array_equal(of_both.is_known, of_one.is_known)
    assert (of_both.labels == of_one.labels).mean() > 0.9  # by the French ones, too
    # Sentences that are met again are not counted twice.
    again = both.adapted({"de": asked}).predict(asked, 1, ["de"] * 720)
    np.testing.assert_array_equal(again.labels, of_both.labels)


def test_strangers_do_not_decide_and_unlike_ones_open_the_gate_as_translations_would(
    english: IntentModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, _ = asked_abroad()
    monkeypatch.setitem(english._calibrations.expected, "de", 0.7)

    def shift(likeness: float) -> float:
        monkeypatch.setattr(intent_model.Subject, "likeness", lambda *_arguments: likeness)
        adapted = english.adapted({"de": asked})
        assert adapted.prototype_languages == (("de",) if likeness >= 0.5 else ())
        assert adapted.strange_languages == (() if likeness >= 0.75 else ("de",))
        return adapted._calibrations.shift("de").score

    like = shift(1.0)
    assert like > 0.7
    assert [shift(of) for of in (0.0, 0.25, 0.5, 0.75)] == pytest.approx([0, 0.35, 0.7, (0.7 + like) / 2])


def test_few_labels_are_adapted_without_calibration() -> None:
    vectors, intents = clusters(6, 40, 1.0, dim=24)
    first = np.arange(240) % 40 == 0
    few = IntentModel().fit(vectors[first], np.array(intents)[first].tolist(), [""] * 6, languages=["en"] * 6)
    asked, truth = vectors[~first], np.array(intents)[~first]
    codes = ["de"] * len(asked)
    adapted = few.adapted({"de": asked})
    right = [
        (np.array(of.intents_)[of.predict(asked, 1, codes).labels] == truth).mean() for of in (few, adapted)
    ]
    assert right[1] > right[0] + 0.03 and not adapted.has_confidence


def test_a_model_that_nothing_is_held_out_of_does_not_adapt(data: Sentences) -> None:
    few = IntentModel().fit(data.vectors, data.intents, data.ids, asked=np.arange(3))
    assert few.adapted({"de": data.vectors}).adapted_languages == ()


def test_a_larger_pool_is_asked_in_a_sample(data: Sentences, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intent_model, "MOST_ASKED", 40)
    fitted = IntentModel().fit(data.vectors, data.intents, data.ids)
    assert fitted.accuracy_ is not None
    assert (fitted.accuracy_ / 100 * 40) == pytest.approx(round(fitted.accuracy_ / 100 * 40))


def test_many_intents_are_told_apart_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    from emu_core.intents import regression as intent_regression

    monkeypatch.setattr(intent_regression, "MANY", 5)
    monkeypatch.setattr(intent_regression, "GROUP", 4)
    vectors, intents = clusters(12, 30, 0.3, dim=24)
    fitted = IntentModel().fit(vectors, intents, [""] * len(intents))
    fitted.rule_ = Rule.REGRESSION
    labels = fitted.predict(vectors, 1).labels
    assert (np.array(fitted.intents_)[labels] == np.array(intents)).mean() > 0.95


@pytest.fixture(scope="module")
def whole() -> IntentModel:
    """A model with all that can be stored: of two languages, names, sentences of none, and an adapted language."""
    vectors, intents = clusters(8, 60, 1.2)
    rng = np.random.default_rng(2)
    fitted = IntentModel().fit(
        vectors,
        intents,
        [""] * 480,
        names={**centers(vectors, intents), "new": rng.standard_normal(16).astype(np.float32)},
        languages=["en"] * 400 + ["fr"] * 80,
        none=rng.standard_normal((40, 16)).astype(np.float32),
        dims=(6, 10),
        reference={code: rng.standard_normal((30, 16)).astype(np.float32) for code in ("en", "de", "fr")},
    )
    assert fitted.has_confidence and fitted.languages_ and not fitted.by_cosine_
    return fitted.adapted({"de": abroad(vectors)})


@pytest.mark.slow
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("asked", [None, np.arange(3)])
def test_a_model_is_the_same_from_its_state(
    compact: bool, asked: NDArray[np.intp] | None, whole: IntentModel
) -> None:
    vectors, intents = clusters(8, 60, 1.2)
    fitted = IntentModel().fit(
        vectors, intents, [""] * 480, names=centers(vectors, intents), asked=asked, compact=compact
    )
    queries = vectors + 0.5 * np.random.default_rng(1).standard_normal(vectors.shape).astype(np.float32)
    for model in (fitted, *([] if compact or asked is not None else [whole])):
        facts, arrays = model.state()
        assert arrays["units"].dtype == (np.float16 if compact else np.float32)
        again = IntentModel.from_state(json.loads(json.dumps(facts)), arrays)
        for code in ("", "en", "fr", "de"):
            same(again.predict(queries, 3, [code] * 480), model.predict(queries, 3, [code] * 480))
        np.testing.assert_array_equal(again.probabilities(queries), model.probabilities(queries))
        np.testing.assert_array_equal(again.scores(queries), model.scores(queries))
        assert again.threshold_ == model.threshold_ and again.rule_ is model.rule_
        assert again.shape == model.shape and again.adapted_languages == model.adapted_languages
        more = {"pl": abroad(vectors, 9)}
        same(
            again.adapted(more).predict(queries, 1, ["pl"] * 480),
            model.adapted(more).predict(queries, 1, ["pl"] * 480),
        )
        second, same_arrays = again.state()
        assert second == facts and all(np.array_equal(arrays[name], same_arrays[name]) for name in arrays)


def test_a_model_predicts_with_what_it_stores() -> None:
    """Rounded vectors, in which it answers before it is stored, too."""
    vectors, intents = clusters(8, 60, 1.2)
    exact, compact = (IntentModel().fit(vectors, intents, [""] * 480, compact=of) for of in (False, True))
    assert not np.array_equal(exact.probabilities(vectors), compact.probabilities(vectors))
    np.testing.assert_allclose(exact.probabilities(vectors), compact.probabilities(vectors), atol=0.05)


def _without(name: str) -> dict[str, Any]:
    return {name: None}


@pytest.mark.parametrize(
    ("facts", "arrays"),
    [
        ({"rule": "neighbours"}, {}),
        ({"intents": ["i0"] * 9}, {}),
        ({"intents": [f"i{n}" for n in range(8)]}, {}),
        ({"intents": list(range(9))}, {}),
        ({"intents": [["i0"]] * 9}, {}),
        ({"intents": None}, {}),
        ({"calibrations": {}}, {}),
        ({"calibrations": {"": ["0", None]}}, {}),
        ({"calibrations": {"": [math.nan, None]}}, {}),
        ({"calibrations": {"": [0.0, 0.0]}}, {}),
        ({"calibrations": {"": [0.0, -1.0]}}, {}),
        ({"calibrations": {"": [0.0]}}, {}),
        ({"calibrations": []}, {}),
        ({"shifts": {"de": [1.0]}}, {}),
        ({"shifts": {"de": [1.0, 1.0, 1.0, 1.0]}}, {}),
        ({"expected": {"de": -1.0}}, {}),
        ({"expected": {"de": "1"}}, {}),
        ({"expected": None}, {}),
        ({"labelled_languages": [1]}, {}),
        ({"subject_languages": ["de"]}, {}),
        ({"prototype_languages": ["de", "fr"]}, {}),
        ({"prototype_languages": [1]}, {}),
        ({}, {"prototype_means": np.zeros((1, 15), np.float16)}),
        ({}, {"prototype_sums": np.zeros((1, 8, 16), np.float16)}),
        ({}, {"prototype_sums": np.full((1, 9, 16), np.nan, np.float16)}),
        ({}, {"prototype_counts": np.full((1, 9), -1.0)}),
        ({}, {"prototype_counts": np.zeros((1, 9), np.int64)}),
        ({"shifts": {"de": [-1.0, 1.0]}}, {}),
        ({"shifts": {"de": [math.nan, 1.0]}}, {}),
        ({"shifts": {"de": ["1", 1.0]}}, {}),
        ({"shifts": {"de": 1}}, {}),
        ({"shifts": [3]}, {}),
        ({"accuracy_": "90"}, {}),
        ({"median_": math.nan}, {}),
        ({"gap_": math.inf}, {}),
        ({"right_": [1]}, {}),
        ({"agreement_": [1.0]}, {}),
        ({"agreement_": [1.0, math.nan]}, {}),
        ({"agreement_": [1.0, -1.0]}, {}),
        ({"name_strength_": -1.0}, {}),
        ({"name_strength_": None}, {}),
        ({"by_cosine_": True}, {}),
        ({}, {"units": np.zeros((480, 15), np.float32)}),
        ({}, {"units": np.zeros(480, np.float32)}),
        ({}, {"units": np.full((480, 16), np.nan, np.float32)}),
        ({}, {"units": np.zeros((0, 16), np.float32)}),
        ({}, {"labels": np.full(480, 9)}),
        ({}, {"labels": np.full(480, -1)}),
        ({}, {"labels": np.zeros(479, np.int64)}),
        ({}, {"labels": np.zeros((480, 1), np.int64)}),
        ({}, {"labels": np.zeros(480)}),
        ({}, {"name_labels": np.full(9, 9)}),
        ({}, {"name_labels": np.zeros(8, np.int64)}),
        ({}, {"names": np.zeros((9, 15), np.float32)}),
        ({}, {"order": np.zeros(480, np.int64)}),
        ({}, {"order": np.arange(1, 481)}),
        ({}, {"order": np.arange(480.0)}),
        ({}, {"none": np.zeros((40, 15), np.float32)}),
        ({}, {"none": np.zeros((0, 16), np.float32)}),
        ({}, {"known": np.zeros(5)}),
        ({}, {"known": np.full(6, np.inf)}),
        ({}, {"weight": np.zeros((8, 16), np.float32)}),
        ({}, {"weight": np.full((9, 16), np.inf, np.float32)}),
        ({}, {"weight": np.zeros((9, 16))}),
        ({}, {"bias": np.full(9, np.nan, np.float32)}),
        ({}, {"bias": np.full(9, np.inf, np.float32)}),
        ({}, {"bare_weight": np.zeros((9, 15), np.float32)}),
        ({}, {"bare_bias": np.zeros(8, np.float32)}),
        ({}, {"dims": np.array([6, 9])}),
        ({}, {"spread": np.zeros((16, 15), np.float16)}),
        ({}, {"surprise ": np.array([1.0, 0.0], np.float32)}),
        *(({}, _without(name)) for name in ("units", "labels", "order", "known", "weight", "bias", "center")),
        *((_without(name), {}) for name in ("rule", "intents", "calibrations", "shifts", "gap_")),
    ],
)
def test_a_damaged_state_is_refused(
    facts: dict[str, Any], arrays: dict[str, Any], whole: IntentModel
) -> None:
    old_facts, old_arrays = whole.state()
    assert len(old_facts["intents"]) == 9 and old_arrays["known"].shape == (6,)
    is_gone = {name for name, value in (facts | arrays).items() if value is None and name not in ("intents",)}
    new_facts = {name: value for name, value in {**old_facts, **facts}.items() if name not in is_gone}
    new_arrays = {name: value for name, value in {**old_arrays, **arrays}.items() if name not in is_gone}
    with pytest.raises((KeyError, TypeError, ValueError)):
        IntentModel.from_state(new_facts, new_arrays)


@pytest.mark.parametrize("facts", [[], None, "facts", 3])
def test_a_state_that_is_none_is_refused(facts: Any, whole: IntentModel) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        IntentModel.from_state(facts, whole.state()[1])


def test_more_in_a_state_changes_nothing(whole: IntentModel) -> None:
    facts, arrays = whole.state()
    again = IntentModel.from_state(
        {**facts, "fit": "none", "__class__": "IntentModel"}, {**arrays, "more": np.zeros(3)}
    )
    vectors = clusters(8, 60, 1.2)[0]
    same(again.predict(vectors), whole.predict(vectors))
    assert expit(again._calibrations.usual.threshold) == whole.threshold_


def test_a_pool_that_the_encoder_has_learnt_is_calibrated_on_unseen_sentences() -> None:
    """As if it had been divided by hand: what is measured is the share of right answers to those."""
    vectors, intents = clusters(12, 60, 1.6, dim=24)
    is_pool = np.arange(720) % 60 < 30
    pool, others = vectors[is_pool], vectors[~is_pool]
    of_pool, of_others = (np.array(intents)[rows].tolist() for rows in (is_pool, ~is_pool))
    unseen = Unseen(others, of_others, ["de"] * 360)
    fitted = IntentModel().fit(
        pool, of_pool, [""] * 360, languages=["en"] * 360, asked=np.arange(0), unseen=unseen
    )
    answers = fitted.predict(others, 1, ["de"] * 360)
    right = np.array(fitted.intents_)[answers.labels] == of_others
    assert fitted.accuracy_ == pytest.approx(100 * right.mean()) and fitted.unseen_ == 360
    assert 0 < 100 * (~answers.is_known[right]).mean() <= 100 * (1 - intent_model._KEPT)
    assert fitted.new_found_ is not None and not fitted.by_cosine_ and fitted.has_confidence
    # The language that was asked is calibrated, and not that of the pool.
    assert fitted.calibrated_languages == ("de",)
    again = IntentModel.from_state(*fitted.state())
    same(again.predict(others, 1, ["de"] * 360), answers)
    # Where the pool itself can be asked, it is; and too few sentences calibrate nothing.
    alone = IntentModel().fit(pool, of_pool, [""] * 360, unseen=unseen)
    same(alone.predict(others), IntentModel().fit(pool, of_pool, [""] * 360).predict(others))
    few = Unseen(
        others[:LEAST_ASKED], [*of_others[: LEAST_ASKED - 1], "no intent of the pool"], [""] * LEAST_ASKED
    )
    assert IntentModel().fit(pool, of_pool, [""] * 360, asked=np.arange(0), unseen=few).accuracy_ is None


def test_unseen_sentences_of_another_length_are_refused() -> None:
    vectors, intents = clusters(2, 30, 1.0)
    with pytest.raises(DataError):
        unseen = Unseen(vectors[:, 1:], intents, [""] * 60)
        IntentModel().fit(vectors, intents, [""] * 60, asked=np.arange(0), unseen=unseen)


def overlapping() -> tuple[Floats, NDArray[np.str_], Floats, NDArray[np.str_]]:
    """A pool whose intents overlap, and as many new sentences."""
    vectors, intents = clusters(8, 200, 2.2)
    is_pool = np.arange(1600) % 200 < 100
    names = np.array(intents)
    return vectors[is_pool], names[is_pool], vectors[~is_pool], names[~is_pool]


def test_sets_hold_the_right_intent_as_often_as_asked_for() -> None:
    pool, of_pool, asked, truth = overlapping()
    fitted = IntentModel().fit(pool, of_pool.tolist(), [""] * 800, languages=["en"] * 800)
    names = np.array(fitted.intents_)
    sizes = []
    for coverage in (0.8, 0.9, 0.97):
        sets = fitted.sets(asked, coverage, ["en"] * 800)
        covered = np.mean([right in names[numbers] for right, numbers in zip(truth, sets, strict=True)])
        assert coverage - 0.04 < covered < coverage + 0.04
        sizes.append(np.mean([len(numbers) for numbers in sets]))
    assert 1 <= sizes[0] < sizes[1] < sizes[2] < 8
    # By plain loops: all whose surprise is at most that of so many held-out sentences, the most probable first.
    surprises = fitted._surprise.by_language["en"]
    bound = surprises[math.ceil((len(surprises) + 1) * 0.9) - 1]
    for row, numbers in zip(
        fitted.calibrated_probabilities(asked[:40], ["en"] * 40),
        fitted.sets(asked[:40], 0.9, ["en"] * 40),
        strict=True,
    ):
        assert set(numbers) == {n for n in range(8) if -math.log(row[n]) <= bound} | {int(row.argmax())}
        assert (np.diff(row[numbers]) <= 0).all()
    again = IntentModel.from_state(*fitted.state())
    for one, other in zip(again.sets(asked, 0.9), fitted.sets(asked, 0.9), strict=True):
        np.testing.assert_array_equal(one, other)


def test_answers_come_with_their_sets_and_scores_are_computed_once(
    data: Sentences, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = IntentModel().fit(data.vectors, data.intents, data.ids)
    expected, computed, factors = fitted.sets(data.vectors, 0.9), [], Factors.factors

    def counted(self: Factors, x: Any) -> Any:
        computed.append(len(x))
        return factors(self, x)

    monkeypatch.setattr(Factors, "factors", counted)
    answers = fitted.predict(data.vectors, 2, coverage=0.9)
    assert sum(computed) == len(data.vectors) and answers.sets is not None
    for one, other in zip(answers.sets, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert fitted.predict(data.vectors, 2).sets is None


def test_unlabelled_sentences_say_how_sure_answers_are_in_another_language() -> None:
    """Fewer are right, and regression, kernel and nearest sentence agree less often, which needs no labels."""
    vectors, intents = clusters(12, 120, 1.0, dim=24)
    new, names = np.arange(1440) % 120 >= 60, np.array(intents)
    fitted = IntentModel().fit(vectors[~new], names[~new].tolist(), [""] * 720, languages=["en"] * 720)
    noise = np.random.default_rng(3).standard_normal((720, 24))
    foreign, truth = (vectors[new] + 1.5 * noise).astype(np.float32), names[new]
    adapted = fitted.adapted({"de": foreign})
    right = (np.array(fitted.intents_)[fitted.predict(foreign, 1).labels] == truth).mean()
    sure, covered, sizes = [], [], []
    for model in (fitted, adapted):
        sure.append(model.predict(foreign, 1, ["de"] * 720).confidence.mean())
        sets = [np.array(model.intents_)[of] for of in model.sets(foreign, 0.9, ["de"] * 720)]
        covered.append(np.mean([intent in of for intent, of in zip(truth, sets, strict=True)]))
        sizes.append(np.mean([len(of) for of in sets]))
    assert fitted.accuracy_ is not None and right < fitted.accuracy_ / 100 - 0.1
    assert abs(sure[1] - right) < 0.04 and sure[0] - right > 0.1
    assert abs(covered[1] - 0.9) < 0.05 < 0.9 - covered[0] and sizes[1] < 2


def test_sets_of_a_model_without_calibration_are_all_intents(data: Sentences) -> None:
    few = IntentModel().fit(data.vectors, data.intents, data.ids, asked=np.arange(3))
    assert {len(numbers) for numbers in few.sets(data.vectors, 0.9)} == {len(few.intents_)}
    for coverage in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(DataError):
            few.sets(data.vectors, coverage)
