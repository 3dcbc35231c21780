"""Temperatures and what agreement lets expect, by plain loops and known answers."""

import math

import numpy as np
import pytest

from emu_core.intents.calibration import Agreement, fitted_temperature, temperature_of
from emu_core.intents.coverage import expected_surprise


def logits(n: int = 4_000, k: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and labels that are drawn with their probabilities."""
    rng = np.random.default_rng(seed)
    scores = 2 * rng.standard_normal((n, k))
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return scores, (rng.random((n, 1)) > shares.cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize("times", [0.5, 1.0, 4.0])
def test_the_temperature_is_that_by_which_labels_were_drawn(times: float) -> None:
    scores, labels = logits()
    assert fitted_temperature(times * scores, labels) == pytest.approx(times, rel=0.07)


def test_no_temperature_is_fitted_to_answers_of_one_kind() -> None:
    scores, _ = logits(100)
    answers = scores.argmax(axis=1)
    assert fitted_temperature(scores, answers) is None
    wrong = (answers + 1) % 5
    assert fitted_temperature(scores, wrong) is None
    assert fitted_temperature(scores, np.where(np.arange(100) < 5, wrong, answers)) is not None


@pytest.mark.parametrize("share", [0.35, 0.6, 0.9])
def test_the_mean_confidence_is_the_share_that_was_asked_for(share: float) -> None:
    scores, _ = logits(300)
    temperature = temperature_of(scores, share)
    means = [
        max(math.exp(x / temperature) for x in row) / sum(math.exp(x / temperature) for x in row)
        for row in scores
    ]
    assert math.fsum(means) / 300 == pytest.approx(share, abs=1e-3)


def test_a_share_that_no_temperature_gives_is_met_as_far_as_possible() -> None:
    scores, _ = logits(300)
    assert temperature_of(scores, 1.0) == pytest.approx(math.exp(-2))
    assert temperature_of(scores, 0.1) == pytest.approx(math.exp(4))


def test_right_answers_are_expected_to_fall_as_agreement_does() -> None:
    is_one = np.array([True, True, True, False])
    margins = np.array([0.1, -0.1, 0.2, 0.3], dtype=np.float32)
    here = Agreement.of(is_one, margins)
    assert here == (0.75, 0.5)
    assert here.expected(0.9, here) == 0.9
    assert here.expected(0.9, Agreement(1.0, 0.8)) == pytest.approx(0.9 * (0.75 + 0.625) / 2)
    assert here.expected(0.9, Agreement(0.5, 0.4)) == 0.9, "no more than of held-out sentences"
    assert here.expected(0.9, Agreement(0.0, 0.0)) == 0.9


def test_the_expected_surprise_is_that_of_labels_drawn_by_the_probabilities() -> None:
    scores, labels = logits()
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    expected = expected_surprise(log_p)
    assert len(expected) == 1_000 and (np.diff(expected) >= 0).all()
    for share in (0.5, 0.8, 0.9, 0.97):
        bound = expected[int(share * 1_000)]
        assert (-log_p[np.arange(4_000), labels] <= bound).mean() == pytest.approx(share, abs=0.02)
    assert len(expected_surprise(log_p[:40])) == 40
