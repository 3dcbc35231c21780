"""The losses of relations against the same formulas in plain Python, and their gradients."""

import math
from itertools import chain

import pytest
import torch
from torch import Tensor

from emu_core.losses.relations import cosine_difference, cosines_to_others, neighbour_divergence

B, DIM, TEACHER_DIM, TEMPERATURE = 5, 4, 7, 0.3


def tensor(*shape: int, seed: int) -> Tensor:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return values.requires_grad_()


def plain_cosines(vectors: Tensor) -> list[list[float]]:
    rows = vectors.tolist()
    lengths = [math.sqrt(sum(x * x for x in row)) for row in rows]
    return [
        [
            sum(x * y for x, y in zip(a, b, strict=True)) / (lengths[i] * lengths[j])
            for j, b in enumerate(rows)
            if j != i
        ]
        for i, a in enumerate(rows)
    ]


def plain_softmax(cosines: list[float]) -> list[float]:
    powers = [math.exp(cosine / TEMPERATURE) for cosine in cosines]
    return [power / sum(powers) for power in powers]


@pytest.fixture
def student() -> Tensor:
    return tensor(B, DIM, seed=1)


@pytest.fixture
def teacher() -> Tensor:
    return tensor(B, TEACHER_DIM, seed=2).detach()


def test_each_sentence_is_compared_with_all_others_but_not_with_itself(student: Tensor) -> None:
    torch.testing.assert_close(cosines_to_others(student).tolist(), plain_cosines(student))
    longer = student * torch.tensor([[0.1], [1], [3], [50], [1e3]])
    torch.testing.assert_close(cosines_to_others(longer), cosines_to_others(student))
    assert torch.autograd.gradcheck(cosines_to_others, student)


def test_divergence_of_the_neighbours(student: Tensor, teacher: Tensor) -> None:
    expected = 0.0
    for of_teacher, of_student in zip(plain_cosines(teacher), plain_cosines(student), strict=True):
        pairs = zip(plain_softmax(of_teacher), plain_softmax(of_student), strict=True)
        expected += sum(p * math.log(p / q) for p, q in pairs) / B

    def loss(vectors: Tensor) -> Tensor:
        return neighbour_divergence(cosines_to_others(vectors), cosines_to_others(teacher), TEMPERATURE)

    assert loss(student).item() == pytest.approx(expected, rel=1e-12)
    assert torch.autograd.gradcheck(loss, student)
    assert loss(teacher).item() == pytest.approx(0, abs=1e-12)


def test_difference_of_the_cosines(student: Tensor, teacher: Tensor) -> None:
    pairs = zip(chain(*plain_cosines(teacher)), chain(*plain_cosines(student)), strict=True)
    expected = sum((a - b) ** 2 for a, b in pairs) / (B * (B - 1))

    def loss(vectors: Tensor) -> Tensor:
        return cosine_difference(cosines_to_others(vectors), cosines_to_others(teacher))

    assert loss(student).item() == pytest.approx(expected, rel=1e-12)
    assert torch.autograd.gradcheck(loss, student)
    assert loss(teacher).item() == 0


def test_the_softmax_leaves_a_shift_of_all_cosines_open_and_the_difference_does_not(teacher: Tensor) -> None:
    cosines = cosines_to_others(teacher)
    assert neighbour_divergence(cosines - 0.2, cosines, TEMPERATURE).item() == pytest.approx(0, abs=1e-12)
    assert cosine_difference(cosines - 0.2, cosines).item() == pytest.approx(0.04)


def test_a_low_temperature_heeds_the_nearest_sentence_alone() -> None:
    teacher = torch.tensor([[0.9, 0.1, 0.0]])
    swapped_far = torch.tensor([[0.9, 0.0, 0.1]])
    swapped_near = torch.tensor([[0.1, 0.9, 0.0]])
    far, near = (
        neighbour_divergence(cosines, teacher, 0.02).item() for cosines in (swapped_far, swapped_near)
    )
    assert far < 1e-6 and near > 10
