"""FMDA's layers and losses against the paper's formulas, written out token by token."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from emu_core.losses.cosine_contrast import clipped_contrast, cosine_contrast
from emu_core.losses.language_embedding import language_attraction, language_repulsion
from emu_core.methods.fmda.layers import Fmda, MeaningLanguage
from emu_core.methods.fmda.parts import Part, mean_over_tokens

LENGTHS, DIM, LANGUAGES = (4, 2, 6), 5, ("en", "de", "ja")


def padded(sentences: list[Tensor]) -> tuple[Tensor, Tensor]:
    width = max(len(one) for one in sentences)
    states = torch.zeros(len(sentences), width, sentences[0].shape[1], dtype=sentences[0].dtype)
    mask = torch.zeros(len(sentences), width, dtype=torch.bool)
    for row, one in enumerate(sentences):
        states[row, : len(one)], mask[row, : len(one)] = one, True
    return states, mask


@pytest.fixture
def sentences() -> list[Tensor]:
    torch.manual_seed(3)
    return [torch.randn(length, DIM) for length in LENGTHS]


@pytest.fixture
def model() -> Fmda:
    torch.manual_seed(4)
    return Fmda(DIM, LANGUAGES, hidden=7, language_hidden=3)


def linear(layer: nn.Module, x: np.ndarray) -> np.ndarray:
    assert isinstance(layer, nn.Linear)
    return x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()


def mlp(layers: nn.Sequential, x: np.ndarray) -> np.ndarray:
    return linear(layers[2], np.maximum(linear(layers[0], x), 0))


def softmax(rows: np.ndarray) -> np.ndarray:
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("standardised", [False, True])
def test_the_four_embeddings_are_those_of_the_whole_attention(
    standardised: bool, model: Fmda, sentences: list[Tensor]
) -> None:
    center, scale = torch.zeros(DIM), torch.ones(DIM)
    if standardised:
        every = torch.cat(sentences)
        model.standard.fit(every)
        center, scale = every.mean(dim=0), every.std(dim=0)
    out = model(*padded(sentences))
    for row, one in enumerate(sentences):
        h = (one.numpy() - center.numpy()) / scale.numpy()
        attention = softmax(linear(model.query, h) @ linear(model.key, h).T)  # L x L, no root of d
        template = (attention @ linear(model.template_value, h))[0]  # the [CLS] position
        residual = (softmax(1 - attention) @ linear(model.residual_value, h))[0]
        expected = {
            Part.LANGUAGE: mlp(model.language, h[0]),
            Part.TEMPLATE: template,
            Part.RESIDUAL: residual,
            Part.MEANING: mlp(model.rebuild, template + residual),
        }
        for part, vectors in out.parts().items():
            np.testing.assert_allclose(vectors[row].detach(), expected[part], rtol=1e-4, atol=1e-5)
        shares = out.attention[row].detach().numpy()
        np.testing.assert_allclose(shares[: len(h)], attention[0], rtol=1e-4, atol=1e-6)
        assert (shares[len(h) :] == 0).all()
        others = out.residual_attention[row].detach().numpy()
        np.testing.assert_allclose(others[: len(h)], softmax(1 - attention)[0], rtol=1e-4, atol=1e-6)
        assert (others[len(h) :] == 0).all()
        rebuilt = mlp(model.rebuild, expected[Part.LANGUAGE] + template + residual)
        np.testing.assert_allclose(model.rebuilt(out)[row].detach(), rebuilt, rtol=1e-4, atol=1e-5)
        other = model.rebuilt(out, out.language.roll(1, dims=0))[row].detach()
        swapped = mlp(model.rebuild, out.language[row - 1].detach().numpy() + template + residual)
        np.testing.assert_allclose(other, swapped, rtol=1e-4, atol=1e-5)
        logits = model.language_logits(out.language)[row].detach()
        np.testing.assert_allclose(logits, mlp(model.identify, expected[Part.LANGUAGE]), rtol=1e-4, atol=1e-5)


def test_gradients_reach_every_layer_through_the_short_way(sentences: list[Tensor]) -> None:
    torch.manual_seed(5)
    model = Fmda(DIM, LANGUAGES, hidden=7, language_hidden=3).double()
    states, mask = padded([one.double() for one in sentences])

    def everything(h: Tensor) -> tuple[Tensor, ...]:
        out = model(h, mask)
        return (out.meaning, out.language, model.rebuilt(out), model.language_logits(out.language))

    assert torch.autograd.gradcheck(everything, (states.requires_grad_(True),))
    sum(part.sum() for part in everything(states)).backward()
    for name, weight in model.named_parameters():
        moved = weight.grad is not None and bool((weight.grad != 0).any())
        assert moved is (name != "key.bias")  # which moves every token's logit alike


def test_residual_attention_is_close_to_even(model: Fmda, sentences: list[Tensor]) -> None:
    out = model(*padded(sentences))
    for row, length in enumerate(LENGTHS):
        own = out.residual_attention[row, :length].detach()
        assert own.max() / own.min() <= math.e + 1e-6  # 1 - attention is between 0 and 1
        assert own.sum().item() == pytest.approx(1)


def test_template_layers_are_all_that_the_template_needs(model: Fmda, sentences: list[Tensor]) -> None:
    states, mask = padded(sentences)
    before = model(states, mask)
    kept = {id(weight) for weight in model.template_layers()}
    with torch.no_grad():
        for weight in model.parameters():
            if id(weight) not in kept:
                weight.add_(1)
    after = model(states, mask)
    assert torch.equal(before.template, after.template)
    assert not torch.allclose(before.meaning, after.meaning)


def test_the_baseline_is_three_linear_layers_on_cls(sentences: list[Tensor]) -> None:
    torch.manual_seed(6)
    model = MeaningLanguage(DIM, LANGUAGES)
    out = model(*padded(sentences))
    for row, one in enumerate(sentences):
        cls = one[0].numpy()
        np.testing.assert_allclose(out.meaning[row].detach(), linear(model.meaning, cls), rtol=1e-5)
        np.testing.assert_allclose(out.language[row].detach(), linear(model.language, cls), rtol=1e-5)
        np.testing.assert_allclose(
            model.language_logits(out.language)[row].detach(),
            linear(model.identify, linear(model.language, cls)),
            rtol=1e-4,
        )


def test_the_mean_leaves_padding_out(sentences: list[Tensor]) -> None:
    means = mean_over_tokens(*padded(sentences))
    for row, one in enumerate(sentences):
        np.testing.assert_allclose(means[row], one.numpy().mean(axis=0), rtol=1e-5)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(
        sum(x * x for x in a) * sum(y * y for y in b)
    )


def test_losses_by_hand() -> None:
    rng = np.random.default_rng(7)
    a, b, a_neg, b_neg = rng.normal(size=(4, 6, 3))
    bare = clipped = attraction = repulsion = 0.0
    for i in range(6):
        bare += -cosine(a[i], b[i]) + cosine(a[i], a_neg[i]) + cosine(b[i], b_neg[i])
        clipped += 1 - cosine(a[i], b[i]) + max(0, cosine(a[i], a_neg[i])) + max(0, cosine(b[i], b_neg[i]))
        attraction += 1 - cosine(a[i], a_neg[i])
        repulsion += max(0, cosine(a[i], b[i]))
    four = [torch.tensor(one) for one in (a, b, a_neg, b_neg)]
    assert cosine_contrast(*four).item() == pytest.approx(bare / 6)
    assert clipped_contrast(*four).item() == pytest.approx(clipped / 6)
    assert language_attraction(four[0], four[2]).item() == pytest.approx(attraction / 6)
    assert language_repulsion(four[0], four[1]).item() == pytest.approx(repulsion / 6)
    assert bare != pytest.approx(clipped - 6)  # some negative stood beyond a right angle


@pytest.mark.parametrize("loss", [cosine_contrast, clipped_contrast])
def test_contrasts_have_the_right_gradients(loss: object) -> None:
    torch.manual_seed(8)
    four = [torch.randn(3, 4, dtype=torch.double, requires_grad=True) for _ in range(4)]
    assert callable(loss)
    assert torch.autograd.gradcheck(loss, four)
