"""How strong the whitening is, is chosen by what intents that are left out gain."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from emu_core.evaluation.run_metrics import StrengthMetrics
from emu_core.intents import whitening
from emu_core.methods.head import fit as head_fit
from emu_core.methods.head.fit import Examples, Strength, choose_strength, fit_head
from emu_core.methods.head.settings import HeadConfig
from tests.support.head_by_hand import reliability

CONFIG = HeadConfig(intent_parts=0, language_directions=0, centering=0.0)


def sentences(nuisance: float, k: int = 12) -> Examples:
    """Twelve intents in 8 dimensions; in 4 others, whose size is given, all sentences differ whatever their intent."""
    rng = np.random.default_rng(3)
    labels = [row % k for row in range(20 * k)]
    means = np.hstack([rng.normal(size=(k, 8)), np.zeros((k, 4))])
    x = means[labels] + rng.normal(size=(20 * k, 12)) * ([0.5] * 8 + [nuisance] * 4)
    return Examples((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32), labels)


def by_hand(x: NDArray[np.float64], labels: list[int], group: list[int]) -> list[float]:
    found = []
    for i in range(len(x)):
        weight = {
            j: np.exp(x[i] @ x[j] / np.linalg.norm(x[i]) / np.linalg.norm(x[j]) / whitening.TEMPERATURE)
            for j in range(len(x))
            if group[i] != group[j]
        }
        found.append(sum(w for j, w in weight.items() if labels[i] == labels[j]) / sum(weight.values()))
    return found


def test_the_share_of_neighbours_is_its_formula() -> None:
    rng = np.random.default_rng(0)
    x, labels, group = rng.normal(size=(12, 3)), [row % 3 for row in range(12)], [0, 0, 1, 1, *range(2, 10)]
    found = whitening.own_share(x, np.array(labels), np.array(group))
    np.testing.assert_allclose(found, by_hand(x, labels, group), atol=1e-12)


def test_translations_of_a_single_sentence_have_no_neighbours() -> None:
    found = whitening.own_share(np.eye(3), np.array([0, 0, 1]), np.array([5, 5, 5]))
    np.testing.assert_allclose(found, [2 / 3, 2 / 3, 1 / 3])


def test_the_gain_is_the_mean_over_divisions_of_left_out_intents() -> None:
    given = sentences(2.0)
    x, of = given.vectors.astype(np.float64), given.classes
    group = np.arange(len(x)) // 24  # two sentences of each intent, which are not each other's neighbours
    gains, draws = [], np.random.default_rng(0)
    for _ in range(whitening.DIVISIONS):
        first = draws.permutation(12)[:6]
        of_sentence = np.zeros(len(x))
        for new in (np.isin(of, first), ~np.isin(of, first)):
            own = of[~new]
            within = sum(np.cov(x[~new][own == c].T) for c in set(own)) / 6
            for sign, amount in ((-1, 0.15), (1, 0.45)):
                values, axes = np.linalg.eigh(
                    amount * 12 * within / np.trace(within) + (1 - amount) * np.eye(12)
                )
                mapped = x[new] @ axes / np.sqrt(values)
                of_sentence[new] += (
                    sign * 100 * np.array(by_hand(mapped, of[new].tolist(), group[new].tolist()))
                )
        gains.append(of_sentence)
    each = np.mean(gains, axis=0)
    found = whitening.gain_of_new_intents(x, of, group, 0.15, 0.45)
    assert found is not None
    assert found.mean == pytest.approx(each.mean()) and found.error == pytest.approx(
        each.std() / np.sqrt(240)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("nuisance", "stronger"), [(2.0, True), (0.5, False)])
def test_the_stronger_settings_are_used_where_left_out_intents_gain(nuisance: float, stronger: bool) -> None:
    given = sentences(nuisance)
    found = choose_strength(given, CONFIG)
    assert found.gain is not None and found.is_stronger is stronger is found.gain.is_clear
    used = (3 * 0.15, 1.2 * 0.13) if stronger else (0.15, 0.13)
    assert (found.settings.whitening, found.settings.share) == used
    assert found.metrics() == StrengthMetrics(*used, stronger, found.gain.mean, found.gain.error)
    head, alone = fit_head(given, CONFIG), fit_head(given, found.settings)
    assert head.share == used[1]
    np.testing.assert_array_equal(head.spread, alone.spread)
    weak = fit_head(given, replace(CONFIG, whitening_factor=1.0))
    assert np.array_equal(head.spread, weak.spread) is not stronger


@pytest.mark.parametrize(
    ("mean", "error", "clear"), [(0.6, 0.1, True), (0.6, 0.31, False), (0.4, 0.1, False), (-2.0, 0.1, False)]
)
def test_a_gain_must_be_large_and_not_by_chance(mean: float, error: float, clear: bool) -> None:
    assert whitening.NewIntentGain(mean, error).is_clear is clear


def test_without_four_intents_or_a_stronger_whitening_there_is_no_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = choose_strength(sentences(2.0, k=3), CONFIG)
    assert found == Strength(replace(CONFIG, whitening_factor=1.0), None) and found.metrics() is None
    alone = Examples(np.eye(8, dtype=np.float32), list(range(8)))  # no intent has two sentences
    assert choose_strength(alone, CONFIG).gain is None
    monkeypatch.setattr(head_fit, "gain_of_new_intents", lambda *_: pytest.fail("nothing to measure"))
    for config in (replace(CONFIG, whitening=0.95), replace(CONFIG, whitening=0.0)):
        assert choose_strength(sentences(2.0), config).settings == replace(config, whitening_factor=1.0)


def test_what_is_chosen_stays_within_its_limits() -> None:
    config = replace(CONFIG, whitening=0.4, whitening_factor=9.0, share=0.9)
    found = choose_strength(sentences(2.0), config)
    assert found.is_stronger and (found.settings.whitening, found.settings.share) == (0.9, 1.0)


def test_of_many_sentences_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    gain = head_fit.gain_of_new_intents
    monkeypatch.setattr(head_fit, "gain_of_new_intents", lambda x, *of: seen.append(len(x)) or gain(x, *of))
    monkeypatch.setattr(head_fit, "GATE_MAX_ROWS", 150)
    choose_strength(sentences(2.0), CONFIG)
    assert seen == [150]


def test_translations_are_of_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(head_fit, "gain_of_new_intents", lambda x, classes, group, *_: seen.append(group))
    given = sentences(2.0)
    choose_strength(replace(given, ids=["", *(f"{row // 2}" for row in range(1, 240))]), CONFIG)
    assert seen[0].tolist() == [0, *(1 + row // 2 for row in range(1, 240))]


def few(a_intent: int, dim: int = 200, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sentences of seven intents, which differ within an intent in a few directions more than in the others."""
    rng = np.random.default_rng(seed)
    labels = np.arange(7 * a_intent) % 7
    means = np.random.default_rng(1).normal(size=(7, dim))
    x = means[labels] + rng.normal(size=(len(labels), dim)) * np.linspace(4, 0.5, dim)
    return x / np.linalg.norm(x, axis=1, keepdims=True), labels


def test_how_reliable_a_covariance_is_is_its_formula() -> None:
    x, labels = few(5, dim=9)
    x, labels = x[:-2], labels[:-2]  # intents of unequal size
    by_formula = reliability(x, labels.tolist())
    assert 0.1 < by_formula < 0.9
    assert whitening.reliability(x, labels, np.arange(len(x))) == pytest.approx(by_formula)


def test_a_covariance_is_the_more_reliable_the_more_sentences_it_is_measured_from() -> None:
    values = [whitening.reliability(*few(n), np.arange(7 * n)) for n in (4, 16, 64, 256)]
    assert values == sorted(values) and values[0] < whitening.RELIABLE < values[-1]
    alone = np.eye(3)
    assert whitening.reliability(alone, np.arange(3), np.arange(3)) == 0
    a_pair = np.array([0, 0, 1])
    assert whitening.reliability(alone, a_pair, np.arange(3)) == 0


def test_translations_make_a_covariance_no_more_reliable() -> None:
    x, labels = few(8)
    group = np.arange(len(x))
    near = x + 1e-6 * np.random.default_rng(5).normal(size=x.shape)
    twice = whitening.reliability(np.vstack([x, near]), np.tile(labels, 2), np.tile(group, 2))
    assert twice == pytest.approx(whitening.reliability(x, labels, group), abs=1e-4)
    apart = whitening.reliability(np.vstack([x, near]), np.tile(labels, 2), np.arange(2 * len(x)))
    assert apart > 1.2 * twice


def test_the_whitening_is_as_set_once_its_covariance_is_reliable() -> None:
    x, labels = few(256)
    within = whitening.within_intents(x, labels)
    assert within is not None
    spread = whitening.learn_spread(x, labels, np.arange(len(x)), 0.3)
    np.testing.assert_array_equal(spread.numpy(), within.spread(0.3).astype(np.float32))


def test_sentences_like_a_few_labelled_ones_count_as_near_to_them() -> None:
    """A map that drew the few sentences together that it is learnt from would shut the gate for all others."""
    x, labels = few(8)
    queries, _ = few(8, seed=1)
    config = replace(CONFIG, gate_quantile=0.02, gate_temperature=0.1, whitening=0.3, whitening_factor=1.0)
    head = fit_head(Examples(x.astype(np.float32), labels.tolist()), config)
    vectors = torch.from_numpy(queries).float()
    moved = (head(vectors) - head.mapped(vectors)).norm(dim=1)
    assert moved.median() > 0.1
