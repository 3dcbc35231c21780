"""The dual encoder's losses and heads against the formulas, written out pair by pair."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from emu_core.losses.inference import inference_loss, relation
from emu_core.losses.ranking import ranking_loss
from emu_core.methods.dual_encoder.heads import TaskHeads


def phi(a: np.ndarray, b: np.ndarray) -> float:
    return sum(float(x) * float(y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("n_hard", [0, 2])
def test_ranking_is_equation_2_with_inputs_in_the_denominator(scale: float, n_hard: int) -> None:
    rng = np.random.default_rng(0)
    inputs, responses = rng.normal(size=(2, 4, 3))
    hard = rng.normal(size=(4, n_hard, 3))
    total = 0.0
    for i in range(4):
        candidates = [*responses, *hard[i]]
        likelihood = math.exp(scale * phi(inputs[i], responses[i])) / sum(
            math.exp(scale * phi(inputs[i], one)) for one in candidates
        )
        total -= math.log(likelihood)
    loss = ranking_loss(
        torch.tensor(inputs), torch.tensor(responses), torch.tensor(hard) if n_hard else None, scale=scale
    )
    assert loss.item() == pytest.approx(total / 4)


def test_inference_is_the_cross_entropy_of_three_classes() -> None:
    rng = np.random.default_rng(1)
    logits, labels = rng.normal(size=(5, 3)), [0, 2, 1, 1, 0]
    total = 0.0
    for row, label in zip(logits, labels, strict=True):
        total -= math.log(math.exp(row[label]) / sum(math.exp(x) for x in row))
    assert inference_loss(torch.tensor(logits), torch.tensor(labels)).item() == pytest.approx(total / 5)


def test_a_relation_is_both_vectors_their_distance_and_product() -> None:
    u, v = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 0.5]])
    assert relation(u, v).tolist() == [[1, -2, 3, 0.5, 2, 2.5, 3, -1]]


def test_losses_have_the_right_gradients() -> None:
    torch.manual_seed(2)
    inputs, responses, hard = (
        torch.randn(*size, dtype=torch.double, requires_grad=True) for size in ((3, 4), (3, 4), (3, 2, 4))
    )
    assert torch.autograd.gradcheck(
        lambda a, b, c: ranking_loss(a, b, c, scale=2.0), (inputs, responses, hard)
    )
    labels = torch.tensor([0, 1, 2])
    weight = torch.randn(3, 16, dtype=torch.double)
    assert torch.autograd.gradcheck(
        lambda a, b: inference_loss(relation(a, b) @ weight.T, labels), (inputs, responses)
    )


def linear(layer: nn.Module, x: np.ndarray) -> np.ndarray:
    assert isinstance(layer, nn.Linear)
    return x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()


def two_layers(head: nn.Sequential, x: np.ndarray) -> np.ndarray:
    return np.tanh(linear(head[2], np.tanh(linear(head[0], x))))


def assert_close(tensor: Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-4, atol=1e-6)


def test_heads_are_two_tanh_layers_and_quick_thought_has_three_of_its_own() -> None:
    torch.manual_seed(3)
    heads = TaskHeads(dim=6, hidden=4, nli_hidden=5, gain=2.0)
    a, b, c = torch.randn(3, 7, 6)
    assert_close(heads.conversation(a), two_layers(heads.response, 2 * a.numpy()))
    for found, head, x in zip(
        heads.quick_thought(a, b, c), (heads.before, heads.sentence, heads.after), (a, b, c), strict=True
    ):
        assert_close(found, two_layers(head, 2 * x.numpy()))
    u, v = 2 * a.numpy(), 2 * b.numpy()
    wide = np.tanh(linear(heads.nli[0], np.concatenate([u, v, abs(u - v), u * v], axis=1)))
    assert_close(heads.inference(a, b), linear(heads.nli[2], wide))


def test_the_papers_widths() -> None:
    heads = TaskHeads(dim=512, hidden=320, nli_hidden=512)
    shapes = {name: tuple(weight.shape) for name, weight in heads.named_parameters() if weight.dim() == 2}
    for head in ("response", "before", "sentence", "after"):
        assert (shapes[f"{head}.first.weight"], shapes[f"{head}.second.weight"]) == ((320, 512), (512, 320))
    assert (shapes["nli.0.weight"], shapes["nli.2.weight"]) == ((512, 2048), (3, 512))
