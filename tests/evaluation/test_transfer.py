"""Zero-shot and few-shot transfer on vectors whose answers are known."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from emu_core.errors import DataError
from emu_core.evaluation import transfer as module
from emu_core.evaluation.transfer import (
    LabelledVectors,
    TransferSettings,
    few_shot,
    fit_classifier,
    transfer_accuracy,
    zero_shot,
)

QUICK = TransferSettings(hidden=16, batch_size=8, epochs=12, learning_rate=0.01)


def clusters(n: int, seed: int, *, flipped: bool = False, scale: float = 1.0) -> LabelledVectors:
    """Return two clusters, good to the right of bad; flipped, the other way round and above."""
    rng = np.random.default_rng(seed)
    good = rng.random(n) < 0.5
    right = good != flipped
    centres = np.stack([np.where(right, 1.0, -1.0), np.full(n, 2.0 if flipped else -2.0)], axis=1)
    return LabelledVectors(
        scale * (centres + rng.normal(size=(n, 2)) * 0.2), ["good" if g else "bad" for g in good]
    )


def test_zero_shot_is_right_where_the_languages_are_aligned_and_wrong_where_they_are_not() -> None:
    found = zero_shot(
        clusters(80, 0),
        {"fr": clusters(60, 1, flipped=True), "en": clusters(60, 2), "de": clusters(60, 3)},
        QUICK,
    )

    assert list(found) == ["en", "de", "fr"]
    assert found["en"] > 98
    assert found["de"] > 98
    assert found["fr"] < 20


def test_few_shot_learns_what_the_source_says_otherwise() -> None:
    # The target's labels contradict the source's, which only sentences of the target can tell.
    rows = few_shot(
        clusters(80, 0), clusters(80, 1, flipped=True), clusters(60, 2, flipped=True), (0, 50, 100), QUICK
    )

    assert [row.share for row in rows] == [0, 50, 100]
    assert rows[0].few_shot < 20
    assert rows[0].monolingual is None
    assert min(rows[1].few_shot, rows[2].few_shot) > 95
    assert min(row.monolingual or 0 for row in rows[1:]) > 95


def test_a_share_is_of_the_target_and_holds_the_smaller_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[LabelledVectors] = []

    def fit(train: LabelledVectors, settings: TransferSettings, *, seed: int) -> object:
        trained.append(train)
        return lambda vectors: ["bad"] * len(vectors)

    monkeypatch.setattr(module, "fit_classifier", fit)
    source, target, test = clusters(30, 0), clusters(40, 1), clusters(10, 2)
    rows = few_shot(source, target, test, (10, 40, 100), QUICK)

    alone, both = trained[::2], trained[1::2]
    assert [len(part.labels) for part in alone] == [4, 16, 40]
    assert [len(part.labels) for part in both] == [34, 46, 70]
    for small, large in pairwise(alone):
        assert (large.vectors[: len(small.labels)] == small.vectors).all()
    assert (both[0].vectors[:30] == source.vectors).all()
    assert (both[0].vectors[30:] == alone[0].vectors).all()
    # Each vector kept its label.
    assert all(alone[2].labels[i] == ("good" if alone[2].vectors[i, 0] > 0 else "bad") for i in range(40))
    assert rows[0].few_shot == pytest.approx(10 * sum(label == "bad" for label in test.labels))


def test_an_encoders_unit_does_not_matter() -> None:
    small, large = (
        fit_classifier(clusters(60, 0, scale=scale), QUICK, seed=1)(clusters(60, 5, scale=scale).vectors)
        for scale in (2.0**-12, 2.0**12)
    )

    assert small == large


def test_a_seed_gives_the_same_again_and_leaves_the_callers_draws_alone() -> None:
    noisy = LabelledVectors(np.random.default_rng(0).normal(size=(60, 5)), ["a", "b", "c"] * 20)
    fresh = np.random.default_rng(1).normal(size=(200, 5))
    state = torch.random.get_rng_state()

    answers = [fit_classifier(noisy, QUICK, seed=seed)(fresh) for seed in (3, 3, 4)]

    assert answers[0] == answers[1] != answers[2]
    assert (torch.random.get_rng_state() == state).all()
    assert set(answers[0]) <= {"a", "b", "c"}


def test_held_out_rows_are_a_share_of_each_label() -> None:
    numbers = np.array([0] * 50 + [1] * 20 + [2] * 4)
    np.random.default_rng(0).shuffle(numbers)

    kept, out = module._held_out(numbers, 0.1, seed=2)

    assert sorted([*kept.tolist(), *out.tolist()]) == list(range(74))
    assert np.bincount(numbers[out.numpy()], minlength=3).tolist() == [5, 2, 0]
    few, one = module._held_out(np.array([0, 1, 0, 0]), 0.1, seed=2)
    assert len(few) == 3
    assert one.tolist() != [1]


def noisy(n: int, seed: int) -> LabelledVectors:
    rng = np.random.default_rng(seed)
    return LabelledVectors(rng.normal(size=(n, 8)), [str(label) for label in rng.integers(0, 2, n)])


@pytest.mark.slow
def test_the_epoch_that_is_best_on_held_out_sentences_is_kept() -> None:
    # On labels without sense the held-out accuracy goes up and down, but that of the best epoch so far only up.
    train = noisy(120, 0)
    _, out = module._held_out(np.array([int(label) for label in train.labels]), 0.3, seed=0)
    held_out = train.take(out.numpy())
    best = []
    for epochs in range(1, 16):
        settings = TransferSettings(hidden=16, batch_size=8, epochs=epochs, learning_rate=0.05, dev_share=0.3)
        best.append(transfer_accuracy(fit_classifier(train, settings), held_out))

    assert best == sorted(best)
    assert best[0] < best[-1]


def test_of_equally_good_epochs_the_first_is_kept() -> None:
    train, fresh = clusters(80, 0), np.random.default_rng(2).normal(size=(2000, 2))
    answers = []
    for epochs in (6, 30):  # all held-out sentences are right long before the sixth
        answers.append(fit_classifier(train, TransferSettings(16, epochs=epochs, decay=1.0))(fresh))

    assert answers[0] == answers[1]


def test_the_learning_rate_decays_at_every_epoch() -> None:
    # It is 0 after the first epoch, so that nothing changes any more; without decay a lot does.
    train, fresh = noisy(120, 0), np.random.default_rng(2).normal(size=(300, 8))

    def answers(epochs: int, decay: float) -> list[str]:
        settings = TransferSettings(hidden=16, batch_size=8, epochs=epochs, learning_rate=0.05, decay=decay)
        return fit_classifier(train, settings)(fresh)

    assert answers(1, 0.0) == answers(20, 0.0)
    assert answers(1, 1.0) != answers(20, 1.0)


def test_what_cannot_be_learnt_is_refused() -> None:
    with pytest.raises(DataError, match="3 sentences with the labels a, b are too few"):
        fit_classifier(LabelledVectors(np.ones((3, 2)), ["a", "b", "a"]), QUICK)
    with pytest.raises(DataError, match="labels a are too few"):
        fit_classifier(LabelledVectors(np.ones((5, 2)), ["a"] * 5), QUICK)
    with pytest.raises(DataError, match="dimensions"):
        zero_shot(clusters(20, 0), {"de": LabelledVectors(np.ones((2, 3)), ["good", "bad"])}, QUICK)
    with pytest.raises(DataError, match="dimensions"):
        few_shot(
            clusters(9, 0), LabelledVectors(np.ones((4, 3)), ["good"] * 4), clusters(9, 0), (100,), QUICK
        )
    with pytest.raises(DataError, match="120 % of the sentences"):
        few_shot(clusters(9, 0), clusters(9, 0), clusters(9, 0), (120,), QUICK)
    with pytest.raises(DataError, match="not finite"):
        LabelledVectors(np.array([[1.0, np.nan]]), ["a"])
    with pytest.raises(DataError, match="2 labels for 1 vectors"):
        LabelledVectors(np.ones((1, 2)), ["a", "b"])
    with pytest.raises(DataError, match="an array of"):
        LabelledVectors(np.ones(3), ["a", "b", "c"])
