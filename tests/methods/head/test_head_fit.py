"""The head is fitted as it says: its penalty, its gate, and what is held out for them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from emu_core.errors import TrainingError
from emu_core.evaluation.classifier import regression
from emu_core.intents import regression as intent_regression
from emu_core.intents.regression import sampled_rows
from emu_core.methods.head import fit as head_fit
from emu_core.methods.head.fit import (
    USUAL_PENALTY,
    Examples,
    choose_inverse_penalty,
    fit_head,
    learn_known,
)
from emu_core.methods.head.head import IntentHead
from tests.support.head_by_hand import (
    FULL,
    PLAIN,
    classes,
    signs,
    unit,
)
from tests.support.raises import raises


def test_the_gate_is_learnt_of_intents_that_are_left_out() -> None:
    """Against the same divisions, one sentence at a time, with scikit-learn's own standardisation."""
    x, labels = classes(60, 4, 12)
    of = np.array(labels)
    draws = np.random.default_rng(0)
    sentence_part = draws.permutation(60) % 4
    draws.permutation(60)  # which sentences are taken of very many
    intent_part = draws.permutation(4) % 3
    rows, known = [], []
    for part in range(3):
        new = intent_part[of] == part
        held = ~new & (sentence_part == part)
        rest = ~new & ~held
        for asked, is_known in ((new, False), (held, True)):
            for v in x[asked]:
                rows.append(signs(v, x[rest], of[rest].tolist(), 30.0, FULL))
                known.append(is_known)
    scaler = StandardScaler().fit(rows)
    gate = LogisticRegression(class_weight="balanced").fit(scaler.transform(rows), known)
    found = learn_known(torch.from_numpy(x).float(), of, FULL, 30.0).numpy()
    log_odds = found[0] + np.array(rows) @ found[1:]
    np.testing.assert_allclose(log_odds, gate.decision_function(scaler.transform(rows)), atol=5e-3)


def test_too_few_intents_leave_the_gate_of_nearness() -> None:
    x, labels = classes(40, 2, 6)
    head = fit_head(Examples(x.astype(np.float32), labels), FULL)
    assert len(head.known) == 0 and len(head.spread) == 6
    alone = fit_head(Examples(np.eye(3, dtype=np.float32), [0, 1, 2]), FULL)
    assert len(alone.spread) == 0  # no intent has two sentences


def test_a_whitening_of_directions_without_differences_is_refused() -> None:
    x, labels = classes(200, 3, 4)
    x = np.hstack([x * [1, 1, 3, 5], np.zeros((200, 1))])
    with raises(TrainingError, fix="whitening"):
        fit_head(Examples(unit(x).astype(np.float32), labels), replace(PLAIN, whitening=1.0))


def test_one_intent_is_too_few() -> None:
    with pytest.raises(TrainingError, match="two intents"):
        fit_head(Examples(np.eye(20, dtype=np.float32), [0] * 20), PLAIN)


@pytest.mark.filterwarnings("error")
def test_two_sentences_an_intent_are_no_reason_for_warnings() -> None:
    x, labels = classes(8, 4, 6)
    head = fit_head(Examples(x.astype(np.float32), labels), FULL)
    assert head(torch.from_numpy(x).float()).isfinite().all()
    fit_head(Examples(np.eye(3, 6, dtype=np.float32), [0, 0, 1]), FULL)  # a single pair


def test_as_few_sentences_as_intents_are_enough() -> None:
    """Nothing can be held out then: the usual penalty is taken."""
    x = np.eye(3, dtype=np.float32)
    assert choose_inverse_penalty(x.astype(np.float64), np.arange(3), 0.05) == USUAL_PENALTY
    out = fit_head(Examples(x, [0, 1, 2]), PLAIN)(torch.from_numpy(x))
    assert out.isfinite().all() and out.argmax(dim=1).tolist() == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("penalties", "alike", "left"),
    [((0.01, 3000.0), 0.0, 1), ((0.01, 3.0, 3000.0), 0.0, 1), ((0.01, 3.0, 3000.0), 1.0, 0)],
)
def test_the_penalty_is_the_smallest_that_is_as_good_as_the_best(
    penalties: tuple[float, ...], alike: float, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against scikit-learn's own splits and cold fits: far apart the best is taken, else the smallest."""
    monkeypatch.setattr(head_fit, "INVERSE_PENALTIES", penalties)
    monkeypatch.setattr(head_fit, "ALIKE", alike)
    rng = np.random.default_rng(7)
    labels = np.arange(90) % 3
    x = unit(np.eye(40)[labels] + 0.45 * rng.normal(size=(90, 40)))
    order = np.random.default_rng(0).permutation(90)
    shuffled, of = x[order], labels[order]
    losses = []
    for c in penalties:
        scores = np.zeros((90, 3))
        for others, part in KFold(5).split(shuffled):
            fitted = LogisticRegression(C=c, tol=1e-8, max_iter=5000).fit(shuffled[others], of[others])
            kernel = np.exp((shuffled[part] @ shuffled[others].T - 1) / 0.05)
            for k in range(3):
                mine = of[others] == k
                scores[part, k] = np.log(kernel[:, mine].sum(axis=1) / np.sqrt(mine.sum()) + 1e-30)
            scores[part] += fitted.decision_function(shuffled[part])
        at = [-np.log(softmax(scores / t, axis=1)[np.arange(90), of]) for t in np.geomspace(0.5, 8, 400)]
        losses.append(min(at, key=np.mean))
    best = min(losses, key=np.mean)
    as_good = [
        c
        for c, loss in zip(penalties, losses, strict=True)
        if np.mean(loss - best) <= max(np.std(loss - best) / np.sqrt(90), alike)
    ]
    assert choose_inverse_penalty(x, labels, 0.05) == min(as_good)
    assert best is losses[-1]
    assert as_good == list(penalties[left:])


def test_a_looser_fit_goes_on_from_the_one_before_it_to_its_own_end() -> None:
    """The steps are small there: with scikit-learn's own tolerance the second fit would end where it begins."""
    x, labels = classes(120, 6, 64)
    fitted = regression(300.0).fit(x, labels)
    loose = fitted.set_params(C=1000.0).fit(x, labels).coef_
    alone = LogisticRegression(C=1000.0, tol=1e-9, max_iter=5000).fit(x, labels).coef_
    assert np.linalg.norm(loose - alone) < 0.02 * np.linalg.norm(alone)


@pytest.mark.slow
def test_translations_are_held_out_together() -> None:
    """Of labels that say nothing, the least can be learnt; a translation that is not held out would tell them.

    The kernel is so wide that it tells nothing.
    """
    rng = np.random.default_rng(1)
    labels = np.tile(np.arange(120) % 3, 2)
    x = unit(np.tile(rng.normal(size=(120, 60)), (2, 1)) + 0.05 * rng.normal(size=(240, 60)))
    ids = [f"s{i}" for i in range(120)] * 2
    assert choose_inverse_penalty(x, labels, 10.0, ids) == min(head_fit.INVERSE_PENALTIES)
    assert choose_inverse_penalty(x, labels, 10.0) > min(head_fit.INVERSE_PENALTIES)
    assert choose_inverse_penalty(x, labels, 10.0, [""] * 240) == choose_inverse_penalty(x, labels, 10.0)


def test_of_very_many_sentences_some_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(head_fit, "GATE_MAX_ROWS", 40)
    monkeypatch.setattr(head_fit, "regression", lambda c: seen.append(c) or regression(c))
    x, labels = classes(200, 3, 8)
    assert choose_inverse_penalty(x, np.array(labels), 0.05) in head_fit.INVERSE_PENALTIES
    assert len(seen) == head_fit.HEAD_FOLDS


def test_many_intents_are_told_apart_in_groups_and_kept_by_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    x, labels = classes(120, 12, 16)
    vectors = x.astype(np.float32)
    whole = fit_head(Examples(vectors, labels), FULL, 10.0)
    monkeypatch.setattr(head_fit, "DENSE", 0)
    numbered = fit_head(Examples(vectors, labels), FULL, 10.0)
    assert numbered.members.shape == (120,) and whole.members.shape == (120, 12)
    out = numbered(torch.from_numpy(vectors))
    np.testing.assert_allclose(out, whole(torch.from_numpy(vectors)), atol=1e-6)
    again = IntentHead(numbered.state_dict(), **numbered.numbers())
    torch.testing.assert_close(again(torch.from_numpy(vectors)), out)
    with pytest.raises(ValueError, match="classes"):
        IntentHead(numbered.state_dict() | {"members": numbered.members + 1}, **numbered.numbers())
    monkeypatch.setattr(head_fit, "MANY", 6)
    monkeypatch.setattr(intent_regression, "MANY", 6)
    monkeypatch.setattr(intent_regression, "GROUP", 4)
    monkeypatch.setattr(head_fit, "FEW_SENTENCES", 5)
    seen = []
    monkeypatch.setattr(intent_regression, "regression", lambda c: seen.append(c) or regression(c))
    grouped = fit_head(Examples(vectors, labels), PLAIN, 10.0)
    assert len(seen) == 3 and grouped.weight.shape == (12, 16)
    seen.clear()
    assert head_fit.choose_penalty(Examples(vectors, labels), FULL) in head_fit.INVERSE_PENALTIES
    right = [
        head.posterior(torch.from_numpy(vectors)).argmax(dim=1).numpy() == labels for head in (whole, grouped)
    ]
    assert right[1].mean() >= right[0].mean() - 0.05 > 0.8
    given = Examples(vectors, labels, ids=[""] * 120), ["en"] * 120, FULL, 10.0
    found = head_fit.new_intents(*given)
    assert found is not None and found.queries < 120
    assert "12 intents" in head_fit.samples(labels)[0]


def test_of_many_sentences_every_intent_keeps_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [0] * 800 + [1] * 198 + [2] * 2
    rows = sampled_rows(labels, 100)
    assert rows == sorted(set(rows)) and rows == sampled_rows(labels, 100)
    assert np.bincount(np.array(labels)[rows]).tolist() == [80, 19, 2]
    assert sampled_rows(labels, 1000) == list(range(len(labels)))
    assert sampled_rows([0, 1, 0, 1, 2, 2], 5) == list(range(6))  # each intent keeps the three it may
    assert head_fit.samples(labels) == ()
