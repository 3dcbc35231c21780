"""The discriminator's shape is the paper's, and clipping stays inside it."""

import math

import torch
from torch import nn

from emu_core.methods.emu.trainer import LanguageDiscriminator


def test_one_score_a_sentence() -> None:
    critic = LanguageDiscriminator(12)
    for b in (1, 2, 7):
        assert critic(torch.randn(b, 12)).shape == (b,)


def test_two_layers_of_900_and_dropout_of_a_fifth() -> None:
    critic = LanguageDiscriminator(12)
    shapes = [tuple(m.weight.shape) for m in critic.modules() if isinstance(m, nn.Linear)]
    assert shapes == [(900, 12), (900, 900), (1, 900)]
    assert [m.p for m in critic.modules() if isinstance(m, nn.Dropout)] == [0.2, 0.2]


def test_score_equals_plain_arithmetic_in_evaluation() -> None:
    torch.manual_seed(0)
    critic = LanguageDiscriminator(3, hidden=4).double().eval()
    layers = [(m.weight.tolist(), m.bias.tolist()) for m in critic.modules() if isinstance(m, nn.Linear)]
    sentence = [0.3, -1.2, 2.0]
    values = sentence
    for depth, (weight, bias) in enumerate(layers):
        values = [
            sum(w * v for w, v in zip(row, values, strict=True)) + b
            for row, b in zip(weight, bias, strict=True)
        ]
        if depth < 2:
            values = [max(0.0, v) for v in values]
    score = critic(torch.tensor([sentence], dtype=torch.float64)).item()
    assert math.isclose(score, values[0], rel_tol=1e-12)


def test_dropout_works_in_training_only() -> None:
    torch.manual_seed(0)
    critic = LanguageDiscriminator(12)
    vectors = torch.randn(8, 12)
    assert not torch.equal(critic(vectors), critic(vectors))
    critic.eval()
    assert torch.equal(critic(vectors), critic(vectors))


def test_clipping_clamps_every_parameter_and_leaves_small_ones() -> None:
    torch.manual_seed(0)
    critic = LanguageDiscriminator(12, hidden=20)
    before = {name: p.detach().clone() for name, p in critic.named_parameters()}
    assert all((p.abs() > 0.01).any() for p in before.values())
    critic.clip_weights(0.01)
    for name, after in critic.named_parameters():
        expected = [max(-0.01, min(0.01, w)) for w in before[name].flatten().tolist()]
        torch.testing.assert_close(after.detach().flatten(), torch.tensor(expected), rtol=0, atol=0)
        assert after.requires_grad
