"""Algorithm 1, line by line, on an encoder so small that every claim can be checked by hand."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from emu_core.encoders.base import TokenIds
from emu_core.intents.regression import sampled_rows
from emu_core.losses.softmax import scale_to_sphere
from emu_core.methods.emu.settings import Adversary
from tests.support.emu_steps import (
    ADVERSARIAL,
    PARTS,
    SIZE,
    batch_of,
    copies,
    critic_batches,
    encode,
    language_loss,
    language_of,
    rows_of,
    same,
    semantic_loss,
    trainer_of,
    watch,
)
from tests.support.tiny_encoder import CLASSES, COUNT, DIM, TinyEncoder, sentences


def test_the_sentences_of_a_step_are_computed_in_parts_of_like_lengths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To the same vectors and gradients."""
    _, encoder = trainer_of()
    ids = [[10 + n] * length for n, length in enumerate((7, 1, 4, 2, 7, 3))]
    weights = torch.randn(len(ids), DIM)

    def vectors_and_gradient() -> tuple[Tensor, Tensor]:
        encoder.zero_grad()
        vectors = encoder.vectors_with_gradient(ids)
        (vectors * weights).sum().backward()
        assert encoder.layer.weight.grad is not None
        return vectors.detach(), encoder.layer.weight.grad.clone()

    whole = vectors_and_gradient()
    assert encoder.collated[-1] == ids
    monkeypatch.setattr(TinyEncoder, "step_tokens", 8)
    in_parts = vectors_and_gradient()
    lengths = [[len(i) for i in part] for part in encoder.collated[1:]]
    assert lengths == [[1, 2], [3, 4], [7], [7]]
    for one, other in zip(whole, in_parts, strict=True):
        torch.testing.assert_close(one, other)
    trainer, encoder = trainer_of(critic_steps=1)
    trainer.step(batch_of(trainer))  # both passes, of two tokens a sentence
    assert [len(part) for part in encoder.collated] == [4] * (2 * SIZE // 4) * 2


@pytest.mark.parametrize("adversary", [Adversary.CROSS_ENTROPY, Adversary.WASSERSTEIN])
def test_the_gradient_is_that_of_lc_minus_gamma_ld_through_u_and_v(adversary: Adversary) -> None:
    """Equation 4, with D as its k updates left it and the centres as the last step left them."""
    changes: dict[str, Any] = {
        "adversary": adversary,
        "adversary_weight": 0.7,
        "critic_clip": 0.5,
        "center_weight": 1e-3,
    }
    trainer, encoder = trainer_of(critic_dropout=0.0, **changes)
    trainer.step(batch_of(trainer, start=SIZE))  # the centres leave zero
    twin, head = deepcopy(encoder).double(), deepcopy(trainer.classifier).double()
    centers = trainer.centers.double().clone()
    grads: dict[str, Tensor] = {}

    def keep(*_: object) -> None:
        named = [*encoder.named_parameters(), *trainer.classifier.named_parameters("head")]
        grads.update({name: p.grad.clone() for name, p in named if p.grad is not None})

    trainer.optimizer.register_step_pre_hook(keep)
    batch = batch_of(trainer)
    parts = trainer.step(batch)

    critic = deepcopy(trainer.critics["en"]).double()
    other = encoder.collated[-1][SIZE:]
    u, v = encode(twin, batch.ids), encode(twin, other)
    semantic = semantic_loss(u, batch.labels, head, centers, trainer.config)
    adversarial = -0.7 * language_loss(critic, adversary, u, v)
    assert parts["softmax"] + parts["center"] == pytest.approx(semantic.item(), rel=1e-5)
    assert parts["adversarial"] == pytest.approx(adversarial.item(), rel=1e-4, abs=1e-6)
    assert parts["loss"] == pytest.approx(semantic.item() + adversarial.item(), rel=1e-5)

    (semantic + adversarial).backward()
    expected = dict(twin.named_parameters()) | dict(head.named_parameters("head"))
    assert set(grads) == set(expected)
    for name, grad in grads.items():
        torch.testing.assert_close(grad.double(), expected[name].grad, rtol=1e-3, atol=1e-6)
    # The other language's sentences stand in the adversarial part alone; both sides must feel it.
    u, v = encode(twin, batch.ids), encode(twin, other)
    (to_embedding,) = torch.autograd.grad(
        -0.7 * language_loss(critic, adversary, u, v), [twin.embedding.weight]
    )
    others, own = torch.tensor([i[0] for i in other]), torch.tensor([i[0] for i in batch.ids])
    assert to_embedding[others].abs().max() > 1e-4
    assert to_embedding[own].abs().max() > 1e-4
    torch.testing.assert_close(
        grads["embedding.weight"][others].double(), to_embedding[others], rtol=1e-3, atol=1e-6
    )


@pytest.mark.parametrize("adversary", [Adversary.CROSS_ENTROPY, Adversary.WASSERSTEIN])
def test_the_encoder_raises_the_loss_that_d_lowers(adversary: Adversary) -> None:
    trainer, encoder = trainer_of(
        adversary=adversary, adversary_weight=1e3, critic_dropout=0.0, critic_clip=1.0, critic_steps=20
    )
    seen = watch(trainer, encoder)
    batch = batch_of(trainer)
    trainer.step(batch)
    critic, before = trainer.critics["en"], deepcopy(encoder)
    before.load_state_dict(dict(zip(encoder.state_dict(), seen.encoder[0], strict=True)))
    untrained = deepcopy(critic)
    untrained.load_state_dict(dict(zip(critic.state_dict(), seen.critic[0], strict=True)))
    sides = sentences("en").ids, [i for other in ("de", "fr", "ja") for i in sentences(other).ids]

    def loss(critic: nn.Module, encoder: TinyEncoder, own: list[TokenIds], other: list[TokenIds]) -> float:
        return language_loss(critic, adversary, encode(encoder, own), encode(encoder, other)).item()

    assert loss(critic, before, *sides) < loss(untrained, before, *sides)
    confused = batch.ids, encoder.collated[-1][SIZE:]
    assert loss(critic, encoder, *confused) > loss(critic, before, *confused)


def test_emu_parallel_uses_the_translations_of_the_sentences_drawn() -> None:
    trainer, encoder = trainer_of("emu-parallel")
    drawn = set()
    for start in range(0, COUNT - SIZE, 3):
        batch = batch_of(trainer, start=start)
        trainer.step(batch)
        last = encoder.collated[-1]
        for own, other in [*critic_batches(encoder), (last[:SIZE], last[SIZE:])]:
            (language,) = {language_of(i) for i in other}
            assert language != "en"
            assert rows_of(other) == rows_of(own)
            drawn.add(language)
        assert rows_of(last[:SIZE]) == batch.rows
    assert drawn == {"de", "fr", "ja"}


@pytest.mark.parametrize("method", ["emu", "softmax"])
def test_the_classifier_starts_from_a_linear_probe(method: str) -> None:
    """Against scikit-learn, on embeddings of length 1, or of mean length 1 if the loss does not scale them."""
    trainer, encoder = trainer_of(method, train=("en", "de"), linear_probe=3.0)
    ids = [*sentences("en").ids, *sentences("de").ids]
    vectors = encoder.encode_ids(ids).astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled = vectors / (lengths if method == "emu" else lengths.mean())
    expected = LogisticRegression(C=3.0, tol=1e-8, max_iter=3000).fit(
        scaled, [i[0] % 100 % CLASSES for i in ids]
    )
    features = torch.from_numpy(vectors).float()
    if method == "emu":
        features = scale_to_sphere(features, trainer.config.alpha)
    told = trainer.classifier(features).softmax(dim=1).detach().numpy()
    np.testing.assert_allclose(told, expected.predict_proba(scaled), atol=1e-4)
    trainer.step(batch_of(trainer))  # its weights still learn
    assert not np.allclose(trainer.classifier(features).softmax(dim=1).detach().numpy(), told, atol=1e-5)


@pytest.mark.parametrize("probe", [0.0, 3.0])
def test_only_a_linear_probe_starts_the_classifier_at_the_same_weights(probe: float) -> None:
    trainer, _ = trainer_of(linear_probe=probe)
    first = trainer.classifier.weight
    trainer.start_stage(0)
    assert torch.equal(first, trainer.classifier.weight) == bool(probe)


def test_the_linear_probe_is_fitted_to_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.methods.emu.trainer.sampled_rows", lambda labels: sampled_rows(labels, 12))
    _, encoder = trainer_of(linear_probe=3.0)
    assert [len(ids) for ids in encoder.encoded_at_once] == [12]


@pytest.mark.parametrize("method", list(PARTS))
def test_a_variant_has_its_parts_and_no_others(method: str) -> None:
    trainer, encoder = trainer_of(method)
    before = copies(encoder)
    parts = trainer.step(batch_of(trainer))
    assert set(parts) == PARTS[method] | {"loss"}
    assert parts["loss"] == pytest.approx(sum(parts[name] for name in PARTS[method] - {"critic"}), rel=1e-5)
    assert not same(copies(encoder), before)
    assert bool(trainer.critics) == bool(encoder.encoded_at_once) == (method in ADVERSARIAL)
    assert trainer.centers.any() == ("center" in PARTS[method])
    if method not in ADVERSARIAL:
        assert {language_of(i) for i in encoder.collated[-1]} == {"en"}


@pytest.mark.parametrize("method", ["softmax", "emu-without-ld-cl"])
def test_softmax_is_on_the_bare_vectors_and_emus_on_the_sphere(method: str) -> None:
    trainer, encoder = trainer_of(method)
    batch = batch_of(trainer)
    with torch.no_grad():
        u = encode(encoder, batch.ids)
        scaled = u if method == "softmax" else 50 * u / u.norm(dim=1, keepdim=True)
        scores = scaled @ trainer.classifier.weight.T + trainer.classifier.bias
        chosen = scores[torch.arange(SIZE), torch.tensor(batch.labels)]
        expected = (torch.logsumexp(scores, dim=1) - chosen).mean().item()
    assert trainer.step(batch)["softmax"] == pytest.approx(expected, rel=1e-5)


def test_contrastive_and_n_pair_compare_the_sentences_they_encoded() -> None:
    for method in ("contrastive", "n-pair"):
        trainer, encoder = trainer_of(method, n_pair_scale=2.0)
        twin = deepcopy(encoder)
        value = next(iter(trainer.step(batch_of(trainer)).values()))
        ids = encoder.collated[-1]
        first, second = ids[: len(ids) // 2], ids[len(ids) // 2 :]
        labels = [[row % CLASSES for row in rows_of(side)] for side in (first, second)]
        with torch.no_grad():
            u, w = (nn.functional.normalize(encode(twin, side)) for side in (first, second))
        if method == "contrastive":
            terms = [
                0.5 * (d**2 if a == b else max(0.0, 2.0 - d) ** 2)
                for d, a, b in zip((u - w).norm(dim=1).tolist(), *labels, strict=True)
            ]
            assert len(terms) == SIZE
            assert [a == b for a, b in zip(*labels, strict=True)].count(True) == SIZE // 2
        else:
            scores = trainer.config.n_pair_scale * u @ w.T
            terms = (torch.logsumexp(scores, dim=1) - scores.diagonal()).tolist()
            assert labels[0] == labels[1]
            assert len(terms) == CLASSES
        assert value == pytest.approx(sum(terms) / len(terms), rel=1e-4)


def test_centres_move_by_the_batch_of_before_the_update() -> None:
    trainer, encoder = trainer_of("emu-without-ld", center_rate=0.5)
    batch = batch_of(trainer)
    with torch.no_grad():
        u = encode(encoder, batch.ids)
        scaled = 50 * u / u.norm(dim=1, keepdim=True)
    trainer.step(batch)
    for label in range(CLASSES):
        members = scaled[torch.tensor(batch.labels) == label]
        torch.testing.assert_close(trainer.centers[label], 0.5 * members.sum(dim=0) / (1 + len(members)))


def test_retrieval_never_touches_the_classifier() -> None:
    trainer, encoder = trainer_of()
    trainer.step(batch_of(trainer))
    texts = [" ".join(map(str, ids)) for ids in sentences("de").ids]
    vectors = encoder.encode(texts)
    with torch.no_grad():
        for module in (trainer.classifier, *trainer.critics.values()):
            for p in module.parameters():
                p.fill_(float("nan"))
        trainer.centers.fill_(float("nan"))
    assert np.isfinite(vectors).all()
    assert np.array_equal(encoder.encode(texts), vectors)
    assert vectors.shape == (COUNT, DIM)  # the encoder's own output, not the classes' scores


@pytest.mark.parametrize("method", list(PARTS))
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(method: str) -> None:
    def trained(seed: int) -> list[Tensor]:
        trainer, encoder = trainer_of(method, train=("en", "de"), seed=seed)
        for i in range(4):
            trainer.step(batch_of(trainer, "de" if i == 2 else "en", start=i))
        critics = [p for t in sorted(trainer.critics) for p in copies(trainer.critics[t])]
        return [*copies(encoder), *copies(trainer.classifier), *critics, trainer.centers]

    first = trained(0)
    assert same(first, trained(0))
    assert not same(first, trained(1))
    assert all(p.isfinite().all() for p in first)


@pytest.mark.parametrize("decay", [False, True])
def test_the_rates_of_encoder_and_classifier_fall_in_a_line_where_asked(decay: bool) -> None:
    """Adam's first step is as long as the rate, whatever the gradient; a tenth of it in the last of ten steps."""
    trainer, encoder = trainer_of("emu-without-ld", decay=decay, epochs=2, batch_size=6)
    total = trainer.total_steps
    assert total == 10
    for number in range(total):
        trainer.optimizer.state.clear()
        before = encoder.layer.bias.detach().clone(), trainer.classifier.bias.detach().clone()
        trainer.step(batch_of(trainer))
        now = encoder.layer.bias.detach(), trainer.classifier.bias.detach()
        moved = [float((a - b).abs().max()) for a, b in zip(now, before, strict=True)]
        left = 1 - number / total if decay else 1.0
        rates = trainer.config.learning_rate, trainer.config.classifier_learning_rate
        assert moved == pytest.approx([rate * left for rate in rates], rel=1e-2)


def test_the_batch_that_fits_does_so_in_the_heaviest_step() -> None:
    """Though the step that failed had no discriminator."""
    trainer, encoder = trainer_of(critic_steps=1, adversary_every=8)
    trainer.step(batch_of(trainer))
    shorter = trainer.shortened(batch_of(trainer), 4)
    assert len(shorter) == 4
    encoder.collated.clear()
    assert "adversarial" in trainer.step(shorter)
    assert [len(ids) for ids in encoder.collated] == [8, 8]  # the critic's sentences too are of a batch of 4
