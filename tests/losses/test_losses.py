"""Each loss against the same formula in plain Python, and the gradients the papers state."""

import math

import pytest
import torch
from torch import Tensor

from emu_core.losses.center import center_loss, move_centers
from emu_core.losses.contrastive import contrastive_loss
from emu_core.losses.language import language_cross_entropy, language_wasserstein
from emu_core.losses.n_pair import n_pair_loss
from emu_core.losses.softmax import l2_constrained_softmax_loss, scale_to_sphere, softmax_loss

B, DIM, CLASSES = 5, 4, 3
LABELS = torch.tensor([2, 0, 2, 1, 2])
Vectors = list[list[float]]


def tensor(*shape: int, seed: int) -> Tensor:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return values.requires_grad_()


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def unit(a: list[float], length: float = 1.0) -> list[float]:
    return [length * x / math.sqrt(dot(a, a)) for x in a]


def plain_softmax(u: Vectors, weight: Vectors, bias: list[float]) -> float:
    total = 0.0
    for vector, label in zip(u, LABELS.tolist(), strict=True):
        scores = [dot(w, vector) + b for w, b in zip(weight, bias, strict=True)]
        top = max(scores)
        total -= scores[label] - top - math.log(sum(math.exp(s - top) for s in scores))
    return total / len(u)


@pytest.fixture
def u() -> Tensor:
    return tensor(B, DIM, seed=1)


@pytest.fixture
def head() -> tuple[Tensor, Tensor]:
    return tensor(CLASSES, DIM, seed=2), tensor(CLASSES, seed=3)


def test_softmax(u: Tensor, head: tuple[Tensor, Tensor]) -> None:
    weight, bias = head
    expected = plain_softmax(u.tolist(), weight.tolist(), bias.tolist())
    assert softmax_loss(u, LABELS, weight, bias).item() == pytest.approx(expected, rel=1e-12)
    assert torch.autograd.gradcheck(lambda *t: softmax_loss(t[0], LABELS, t[1], t[2]), (u, weight, bias))


@pytest.mark.parametrize("alpha", [1.0, 3.0, 50.0])
def test_l2_constrained_softmax_on_the_sphere_of_radius_alpha(
    u: Tensor, head: tuple[Tensor, Tensor], alpha: float
) -> None:
    """Weights of any length, and a bias: only u is constrained."""
    weight, bias = head
    expected = plain_softmax([unit(v, alpha) for v in u.tolist()], weight.tolist(), bias.tolist())
    assert l2_constrained_softmax_loss(u, LABELS, weight, bias, alpha).item() == pytest.approx(
        expected, rel=1e-12
    )
    assert torch.autograd.gradcheck(
        lambda *t: l2_constrained_softmax_loss(t[0], LABELS, t[1], t[2], alpha), (u, weight, bias)
    )


def test_l2_constraint_makes_the_length_of_u_not_matter(u: Tensor, head: tuple[Tensor, Tensor]) -> None:
    loss = l2_constrained_softmax_loss(u, LABELS, *head, 50.0)
    longer = l2_constrained_softmax_loss(
        u * torch.tensor([[0.1], [1], [2], [30], [1e4]]), LABELS, *head, 50.0
    )
    torch.testing.assert_close(longer, loss)
    (grad,) = torch.autograd.grad(loss, u)
    torch.testing.assert_close((grad * u).sum(dim=1), torch.zeros(B, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(
        scale_to_sphere(u, 50.0).norm(dim=1), torch.full((B,), 50.0, dtype=torch.float64)
    )


def test_l2_constrained_softmax_is_a_mean_over_the_batch(u: Tensor, head: tuple[Tensor, Tensor]) -> None:
    """The paper prints M as the number of classes; twice the batch would then be twice the loss."""
    one_by_one = [l2_constrained_softmax_loss(u[i : i + 1], LABELS[i : i + 1], *head, 50.0) for i in range(B)]
    loss = l2_constrained_softmax_loss(u, LABELS, *head, 50.0)
    assert loss.item() == pytest.approx(sum(part.item() for part in one_by_one) / B, rel=1e-12)


def test_center_loss_is_half_the_sum_and_its_gradient_u_minus_c(u: Tensor) -> None:
    centers = tensor(CLASSES, DIM, seed=4)
    expected = 0.0
    for vector, label in zip(u.tolist(), LABELS.tolist(), strict=True):
        expected += 0.5 * sum((x - c) ** 2 for x, c in zip(vector, centers[label].tolist(), strict=True))
    loss = center_loss(u, LABELS, centers)
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    loss.backward()
    assert u.grad is not None
    torch.testing.assert_close(u.grad, (u - centers[LABELS]).detach(), rtol=0, atol=1e-15)
    assert centers.grad is None
    assert torch.autograd.gradcheck(lambda v: center_loss(v, LABELS, centers.detach()), (u,))


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_centers_move_by_wens_rule(u: Tensor, rate: float) -> None:
    labels = torch.tensor([2, 0, 2, 0, 2])  # nobody is of class 1
    centers = tensor(CLASSES, DIM, seed=5).detach()
    before, vectors = centers.tolist(), u.tolist()
    move_centers(centers, u, labels, rate)
    for j in range(CLASSES):
        members = [v for v, label in zip(vectors, labels.tolist(), strict=True) if label == j]
        for d in range(DIM):
            moved = before[j][d] - rate * sum(before[j][d] - v[d] for v in members) / (1 + len(members))
            assert centers[j, d].item() == pytest.approx(moved, abs=1e-14)
    assert centers[1].tolist() == before[1]
    assert not centers.requires_grad


def test_contrastive_on_normalised_pairs() -> None:
    first, second = tensor(B, DIM, seed=6), tensor(B, DIM, seed=7)
    same = torch.tensor([True, False, True, False, False])
    margin = 1.5  # among the distances, so that some pairs of two classes lie beyond it and some do not
    expected, beyond = 0.0, 0
    for a, b, pair in zip(first.tolist(), second.tolist(), same.tolist(), strict=True):
        d = math.dist(unit(a), unit(b))
        expected += 0.5 * (d**2 if pair else max(0.0, margin - d) ** 2) / B
        beyond += not pair and d > margin
    assert 0 < beyond < 3
    loss = contrastive_loss(first, second, same, margin)
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    torch.testing.assert_close(contrastive_loss(7 * first, 0.2 * second, same, margin), loss)
    assert torch.autograd.gradcheck(lambda a, b: contrastive_loss(a, b, same, margin), (first, second))


@pytest.mark.parametrize("same", [True, False])
def test_contrastive_of_an_identical_pair_has_a_finite_gradient(same: bool) -> None:
    first, second = tensor(1, DIM, seed=8), tensor(1, DIM, seed=8)
    loss = contrastive_loss(first, second, torch.tensor([same]), 2.0)
    assert loss.item() == pytest.approx(0.0 if same else 2.0, abs=1e-5)
    for grad in torch.autograd.grad(loss, (first, second)):
        assert grad.isfinite().all()


def test_n_pair_on_cosines_times_scale() -> None:
    anchors, positives, scale = tensor(B, DIM, seed=9), tensor(B, DIM, seed=10), 20.0
    expected = 0.0
    for i, anchor in enumerate(anchors.tolist()):
        scores = [scale * dot(unit(anchor), unit(p)) for p in positives.tolist()]
        expected += (math.log(sum(math.exp(s) for s in scores)) - scores[i]) / B
    loss = n_pair_loss(anchors, positives, scale)
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    torch.testing.assert_close(n_pair_loss(7 * anchors, 0.2 * positives, scale), loss)
    assert torch.autograd.gradcheck(lambda a, p: n_pair_loss(a, p, scale), (anchors, positives))


def test_language_cross_entropy_is_equation_3() -> None:
    own, other = tensor(4, seed=11), tensor(6, seed=12)
    ones = sum(-math.log(1 / (1 + math.exp(-s))) for s in own.tolist()) / 4
    zeros = sum(-math.log(1 - 1 / (1 + math.exp(-s))) for s in other.tolist()) / 6
    assert language_cross_entropy(own, other).item() == pytest.approx(ones + zeros, rel=1e-12)
    assert torch.autograd.gradcheck(language_cross_entropy, (own, other))


def test_language_cross_entropy_of_a_sure_and_wrong_discriminator_is_finite() -> None:
    own, other = torch.full((3,), -500.0, requires_grad=True), torch.full((3,), 500.0, requires_grad=True)
    loss = language_cross_entropy(own, other)
    assert loss.item() == pytest.approx(1000.0)
    for grad in torch.autograd.grad(loss, (own, other)):
        assert grad.isfinite().all() and grad.abs().min() > 0


def test_wasserstein_falls_as_the_critic_scores_its_language_higher() -> None:
    own, other = tensor(4, seed=13), tensor(6, seed=14)
    loss = language_wasserstein(own, other)
    assert loss.item() == pytest.approx(sum(other.tolist()) / 6 - sum(own.tolist()) / 4, rel=1e-12)
    to_own, to_other = torch.autograd.grad(loss, (own, other))
    assert to_own.tolist() == [-1 / 4] * 4
    assert to_other.tolist() == [1 / 6] * 6
