"""A training step of the distillation, by hand, and what a student learns."""

from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from emu_core.encoders.registry import load_encoder
from emu_core.methods.distil.settings import DistilConfig
from emu_core.methods.distil.trainer import DistilTrainer
from emu_core.methods.registry import configure
from emu_core.training.fit import fit
from tests.support.tiny_encoder import TinyEncoder, sentences

COUNT, TEACHER_DIM = 20, 9


def teacher_vectors(count: int = COUNT) -> NDArray[np.float32]:
    return np.random.default_rng(1).normal(size=(count, TEACHER_DIM)).astype(np.float32)


def trainer(count: int = COUNT, **changes: Any) -> DistilTrainer:
    torch.manual_seed(1)
    config = DistilConfig(**{"epochs": 1, "batch_size": 5, **changes})
    return DistilTrainer(TinyEncoder(), sentences("en", count).ids, teacher_vectors(count), config, seed=3)


def cosines(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """(B, B) without the diagonal, as (B, B - 1)."""
    units = vectors.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    products = units @ units.T
    return products[~np.eye(len(units), dtype=bool)].reshape(len(units), -1)


def test_a_step_adds_divergence_and_weighted_difference() -> None:
    one = trainer(temperature=0.2, difference_weight=3.0)
    batch = [7, 0, 3, 12]
    student = cosines(one.encoder.encode_ids([one.ids[row] for row in batch]))
    teacher = cosines(teacher_vectors()[batch])
    p, q = (np.exp(of / 0.2) / np.exp(of / 0.2).sum(axis=1, keepdims=True) for of in (teacher, student))
    neighbours, difference = (p * np.log(p / q)).sum(axis=1).mean(), 3 * ((teacher - student) ** 2).mean()
    with one.training():
        one.start_stage(0)
        losses = one.step(batch)
    expected = {"neighbours": neighbours, "difference": difference, "loss": neighbours + difference}
    assert losses == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("count", "sizes"), [(20, [5] * 4), (22, [6, 6, 5, 5]), (23, [5, 5, 5, 4, 4]), (5, [5])]
)
def test_an_epoch_has_every_sentence_once_in_batches_of_almost_equal_size(
    count: int, sizes: list[int]
) -> None:
    one = trainer(count)
    first, second = one.batches(1, 0), one.batches(2, 0)
    assert [len(batch) for batch in first] == sizes and one.total_steps == len(sizes)
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(count)) and first != second
    assert one.batches(2, 1) == second[1:]


def test_the_learning_rate_falls_linearly_to_zero() -> None:
    one = trainer(epochs=2, learning_rate=0.08)
    rates: list[float] = []
    with one.training():
        one.start_stage(0)
        for epoch in (1, 2):
            for batch in one.batches(epoch, 0):
                one.step(batch)
                rates.append(one.optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.08 * (8 - number) / 8 for number in range(8)])


def test_only_the_chosen_weights_move_and_the_cosines_come_closer() -> None:
    teacher, one = TinyEncoder(), trainer(epochs=60, learning_rate=0.02)
    teacher.embedding.load_state_dict(
        one.encoder.embedding.state_dict()
    )  # another layer on the same embeddings
    one.teacher_vectors = teacher.encode_ids(one.ids)
    embedding = one.encoder.embeddings()[0].detach().clone()
    target, before = cosines(one.teacher_vectors), cosines(one.encoder.encode_ids(one.ids))
    fit(one, on_record=lambda _: None, should_stop=lambda: False)
    after = cosines(one.encoder.encode_ids(one.ids))
    assert torch.equal(one.encoder.embeddings()[0], embedding)
    assert np.square(after - target).mean() < 0.1 * np.square(before - target).mean()


def test_a_student_of_itself_does_not_move() -> None:
    """The gradient at the teacher's own weights is zero, whatever the temperature."""
    encoder = load_encoder("use")
    texts = [
        "Where is the pool?",
        "Wo ist der Pool?",
        "I need a taxi.",
        "プールはどこですか",
        "Ein Taxi, bitte.",
    ]
    vectors = encoder.encode(texts)
    one = DistilTrainer(encoder, encoder.ids_of(texts), vectors, configure("distil", "use"), seed=0)  # type: ignore[arg-type]
    with one.training():
        one.start_stage(0)
        losses = one.step(list(range(len(texts))))
        gradients = [weight.grad for weight in encoder.parameters() if weight.grad is not None]
    assert losses["loss"] == pytest.approx(0, abs=1e-6)
    assert gradients and max(float(gradient.abs().max()) for gradient in gradients) < 1e-3
