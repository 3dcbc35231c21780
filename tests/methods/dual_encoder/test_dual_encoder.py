"""The dual encoder against section 2.1's description, word by word; its folder; what it promises as an encoder."""

import json
import math
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from emu_core.errors import EncoderError, TrainingError
from emu_core.methods.dual_encoder.encoder import DualEncoder, TransformerLayer, positions
from emu_core.methods.dual_encoder.settings import (
    SUM_OF_WORDS,
    TUNED_DUAL_ENCODER,
    DualEncoderConfig,
    Optimizer,
)
from emu_core.methods.emu.batches import prepare_batches
from emu_core.methods.emu.settings import Adversary, EmuConfig
from emu_core.methods.emu.trainer import EmuTrainer
from emu_core.training.fit import fit
from emu_core.training.weight_settings import Trained
from tests.support.raises import raises
from tests.support.small import small_set

TINY = DualEncoderConfig(
    word_buckets=50, ngram_buckets=40, embedding_dim=6, dim=8, layers=2, heads=2, filter_dim=12, max_tokens=5
)
TEXTS = ("ein Hund läuft", "", "zwei Hunde laufen, und ein dritter schläft", "dog", "dog")


def encoder(seed: int = 0, **changes: Any) -> DualEncoder:
    return DualEncoder.random(replace(TINY, **changes), ("en", "de"), seed=seed).eval()


def array(weight: nn.Parameter | torch.Tensor | None) -> np.ndarray:
    assert weight is not None
    return weight.detach().double().numpy()


def linear(layer: nn.Module, x: np.ndarray) -> np.ndarray:
    assert isinstance(layer, nn.Linear)
    return x @ array(layer.weight).T + array(layer.bias)


def norm(layer: nn.LayerNorm, x: np.ndarray) -> np.ndarray:
    z = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + layer.eps)
    return z * array(layer.weight) + array(layer.bias)


def attention(layer: TransformerLayer, x: np.ndarray) -> np.ndarray:
    q, k, v = np.split(linear(layer.projection, x), 3, axis=1)
    width, parts = x.shape[1] // layer.heads, []
    for head in range(layer.heads):
        own = slice(head * width, (head + 1) * width)
        powers = np.exp(q[:, own] @ k[:, own].T / math.sqrt(width))
        parts.append(powers / powers.sum(axis=1, keepdims=True) @ v[:, own])
    return linear(layer.out, np.concatenate(parts, axis=1))


def filtered(layer: TransformerLayer, x: np.ndarray) -> np.ndarray:
    return linear(layer.narrow, np.maximum(linear(layer.wide, x), 0))


def by_hand(model: DualEncoder, ids: list[int]) -> np.ndarray:
    """The vector of one sentence, from ids in which a word's stands before those of its n-grams."""
    buckets, rows = model.config.word_buckets, []
    begins = [*(i for i, one in enumerate(ids) if one < buckets), len(ids)]
    for begin, end in pairwise(begins):
        row = array(model.words)[ids[begin]]
        if model.ngrams is not None:
            summed = sum((array(model.ngrams)[i - buckets] for i in ids[begin + 1 : end]), np.zeros(len(row)))
            row = (row + np.tanh(linear(model.ngram_map, summed))) / 2
        rows.append(row)
    x = np.array(rows)
    if isinstance(model.projection, nn.Linear):
        x = linear(model.projection, x)
    for place in range(len(x)):
        for pair in range(model.dim // 2 if model.config.layers else 0):
            angle = place / 10000 ** (2 * pair / model.dim)
            x[place, 2 * pair] += model.config.position_scale * math.sin(angle)
            x[place, 2 * pair + 1] += model.config.position_scale * math.cos(angle)
    for layer in model.transformer:
        assert isinstance(layer, TransformerLayer)
        if model.config.pre_norm:
            x = x + attention(layer, norm(layer.attention_norm, x))
            x = x + filtered(layer, norm(layer.filter_norm, x))
        else:
            x = norm(layer.attention_norm, x + attention(layer, x))
            x = norm(layer.filter_norm, x + filtered(layer, x))
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean) if model.config.normalised else mean


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pre_norm": True, "normalised": True, "position_scale": 0.25},
        {"layers": 0},
        {"ngram_max": 0, "layers": 0, "embedding_dim": 8},
    ],
)
def test_vectors_are_those_of_the_paper(changes: dict[str, Any]) -> None:
    model = encoder(**changes)
    with torch.no_grad():  # a layer that begins as nothing would hide its own mistakes
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    ids = model.token_ids(TEXTS)
    expected = np.array([by_hand(model, one) for one in ids])
    np.testing.assert_allclose(model.encode(TEXTS), expected, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        np.testing.assert_allclose(model(model.tokenize(TEXTS)).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_positions_are_sinusoids() -> None:
    assert positions(3, 4)[2].tolist() == pytest.approx(
        [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)], abs=1e-6
    )


def test_company_changes_no_vector() -> None:
    model = encoder()
    together, alone = model.encode(TEXTS), np.concatenate([model.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)
    assert np.isfinite(together).all()
    np.testing.assert_allclose(together[3], together[4], rtol=1e-5, atol=1e-6)
    assert model.encode([]).shape == (0, 8)
    np.testing.assert_allclose(model.encode(TEXTS, batch_tokens=2), together, rtol=1e-5, atol=1e-6)


def test_order_counts_and_what_is_past_the_limit_does_not() -> None:
    model = encoder()
    forwards, backwards = model.encode(["dog bites man", "man bites dog"])
    assert not np.allclose(forwards, backwards, atol=1e-4)
    cut, whole = model.encode(["a b c d e", "a b c d e f g"])
    np.testing.assert_allclose(cut, whole, rtol=1e-5, atol=1e-6)  # the last bits are the batch's


def test_gradients_reach_every_weight_and_a_sparse_table_gets_the_same() -> None:
    model, gradients = encoder(), dict[bool, dict[str, torch.Tensor]]()
    for sparse in (False, True):
        model.sparse = sparse
        model.zero_grad()
        model(model.tokenize(TEXTS)).square().sum().backward()
        found = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
        assert found["words"].is_sparse is sparse
        gradients[sparse] = {name: gradient.to_dense() for name, gradient in found.items()}
    assert gradients[False].keys() == dict(model.named_parameters()).keys()
    for name, gradient in gradients[False].items():
        assert gradient.any(), name
        torch.testing.assert_close(gradients[True][name], gradient)
    named = {id(weight) for part in (model.embeddings(), *model.layers()) for weight in part}
    assert named == {id(weight) for weight in model.parameters()}


def test_dropout_is_for_training_alone() -> None:
    model = encoder(dropout=0.5).train()
    with torch.no_grad():
        first, second = (model(model.tokenize(TEXTS)) for _ in range(2))
    assert not torch.equal(first, second)
    assert (model.encode(TEXTS) == model.encode(TEXTS)).all()
    assert model.training


def test_the_seed_makes_the_weights_and_leaves_torchs_generator_alone() -> None:
    before = torch.get_rng_state()
    states = [encoder(seed).state_dict() for seed in (1, 1, 2)]
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())
    assert not torch.equal(states[0]["words"], states[2]["words"])


@pytest.mark.parametrize("changes", [{}, {"ngram_max": 0, "layers": 0, "normalised": True}])
def test_a_folder_gives_the_same_vectors_to_the_bit(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = encoder(**changes)
    model.save(tmp_path / "e")
    again = DualEncoder.open(tmp_path / "e")
    assert (again.encode(TEXTS) == model.encode(TEXTS)).all()
    assert (again.languages, again.dim, again.max_tokens) == (("en", "de"), 8, 5)
    assert not again.training
    assert all(weight.requires_grad for weight in again.parameters())
    assert json.loads((tmp_path / "e" / "config.json").read_text("utf-8"))["encoder"] == "dual-encoder"
    assert {path.name for path in (tmp_path / "e").iterdir()} == {"config.json", "model.safetensors"}


@pytest.mark.parametrize(
    "change",
    [
        {"layers": 3},
        {"layers": 10**9},
        {"word_buckets": 10**12},
        {"word_buckets": 51},
        {"embedding_dim": 0},
        {"dim": "8"},
        {"heads": 3},
        {"ngram_max": 0},
        {"dropout": 2},
        {"languages": None},
    ],
)
def test_a_config_that_is_not_the_weights_own_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    encoder().save(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    with raises(EncoderError, fix=None, match="'dual-encoder'"):
        DualEncoder.open(tmp_path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    weights, config = tmp_path / "model.safetensors", tmp_path / "config.json"
    for damage in (
        lambda: weights.write_bytes(weights.read_bytes()[:-9]),
        lambda: save_file({k: v.double() for k, v in load_file(weights).items()}, weights),
        lambda: save_file({k: v for k, v in load_file(weights).items() if k != "words"}, weights),
        lambda: config.write_text("[1]", "utf-8"),
        lambda: config.write_bytes(b"\xff{"),
    ):
        encoder().save(tmp_path)
        damage()
        with raises(EncoderError, fix=None, match=r"'dual-encoder'|config\.json"):
            DualEncoder.open(tmp_path)
    encoder().save(tmp_path)
    weights.unlink()
    with raises(EncoderError, fix=None, match=r"model\.safetensors"):
        DualEncoder.open(tmp_path)


def test_settings_are_the_papers_and_checked() -> None:
    paper = DualEncoderConfig()
    assert (paper.embedding_dim, paper.dim, paper.layers, paper.heads, paper.filter_dim) == (
        320,
        512,
        3,
        8,
        2048,
    )
    assert (paper.optimizer, paper.learning_rate, paper.embedding_multiplier) == (Optimizer.SGD, 0.008, 100)
    assert (paper.batch_size, paper.steps, paper.max_tokens, paper.hard_negatives) == (100, 30_000_000, 64, 5)
    for preset in (TUNED_DUAL_ENCODER, SUM_OF_WORDS):
        assert DualEncoderConfig(**preset).epochs
    for change in (
        {"heads": 7}, {"batch_size": 1}, {"learning_rate": float("nan")}, {"ngram_min": 5}, {"word_dropout": 1.0},
        {"normalised": "no"}, {"table_range": 0},
        {"epochs": 0}, {"optimizer": "adagrad"}, {"layers": -1}, {"word_buckets": 1}, {"batch_size": 2.0},
    ):  # fmt: skip
        with raises(TrainingError, fix="dim" if "heads" in change else next(iter(change))):
            DualEncoderConfig(**change)
    assert DualEncoderConfig(**json.loads(json.dumps(asdict(paper)))) == paper
    assert DualEncoderConfig(optimizer="sgd").optimizer is Optimizer.SGD  # type: ignore[arg-type]


@pytest.mark.parametrize("trained", [Trained.ALL_BUT_EMBEDDINGS, Trained.ALL])
def test_emu_specialises_it(trained: Trained) -> None:
    model, before = encoder(), encoder()
    config = EmuConfig(epochs=1, adversary=Adversary.NONE, trained=trained)
    data = prepare_batches(model.token_ids, small_set(("en", "de")), None, ["en"], config)
    trainer = EmuTrainer(model, data, config, seed=0)
    fit(trainer, on_record=lambda _: None, should_stop=lambda: False)
    moved = {
        name
        for name, weight in model.named_parameters()
        if not torch.equal(weight, before.state_dict()[name])
    }
    assert ("words" in moved) is (trained is Trained.ALL)
    assert "transformer.1.narrow.weight" in moved
