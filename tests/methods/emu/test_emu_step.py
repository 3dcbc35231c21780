"""Algorithm 1, line by line, on an encoder so small that every claim can be checked by hand."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from emu_core.encoders.base import TokenIds
from emu_core.losses.softmax import scale_to_sphere
from emu_core.methods.emu.batches import EmuBatch, TrainingData
from emu_core.methods.emu.settings import Adversary, EmuConfig
from emu_core.methods.emu.trainer import EmuTrainer
from emu_core.methods.registry import configure
from emu_core.training.intent_regression import sampled_rows
from tests.support.tiny_encoder import CLASSES, COUNT, DIM, FIRST_TOKEN, TinyEncoder, sentences

SIZE = 8
ADVERSARIAL = ("emu", "emu-parallel", "emu-anchored")


@dataclass
class Seen:
    """What a discriminator was given, and the weights that stood at that moment."""

    inputs: list[Tensor] = field(default_factory=list)
    critic: list[list[Tensor]] = field(default_factory=list)
    encoder: list[list[Tensor]] = field(default_factory=list)
    trains: list[bool] = field(
        default_factory=list
    )  # whether any weight of the discriminator takes a gradient


def copies(module: nn.Module) -> list[Tensor]:
    return [p.detach().clone() for p in module.parameters()]


def same(a: Sequence[Tensor], b: Sequence[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def language_of(ids: TokenIds) -> str:
    return next(name for name, first in FIRST_TOKEN.items() if first <= ids[0] < first + 100)


def rows_of(ids: Sequence[TokenIds]) -> list[int]:
    return [i[0] % 100 for i in ids]


def trainer_of(
    method: str = "emu",
    *,
    train: Sequence[str] = ("en",),
    unlabelled: Sequence[str] = ("en", "de", "fr", "ja"),
    seed: int = 0,
    **changes: Any,
) -> tuple[EmuTrainer, TinyEncoder]:
    torch.manual_seed(seed)
    encoder = TinyEncoder()
    encoder.train()
    config = configure(method, None, **({"batch_size": SIZE, "critic_hidden": 10} | changes))
    data = TrainingData(
        {t: sentences(t) for t in train},
        {
            other: dict(
                zip(
                    sentences(other).keys if config.parallel else range(COUNT),
                    sentences(other).ids,
                    strict=True,
                )
            )
            for other in unlabelled
        },
        tuple(map(str, range(CLASSES))),
        (),
        tokens=lambda drawn: drawn,  # tokenised already
    )
    trainer = EmuTrainer(encoder, data, config, seed=seed)
    trainer.start_stage(0)
    return trainer, encoder


def batch_of(trainer: EmuTrainer, language: str = "en", start: int = 0) -> EmuBatch:
    return trainer.data.labelled[language].batch(language, range(start, start + SIZE))


def watch(trainer: EmuTrainer, encoder: TinyEncoder, language: str = "en") -> Seen:
    seen, critic = Seen(), trainer.critics[language]

    def look(_: nn.Module, args: tuple[Tensor]) -> None:
        seen.inputs.append(args[0])
        seen.critic.append(copies(critic))
        seen.encoder.append(copies(encoder))
        seen.trains.append(any(p.requires_grad for p in critic.parameters()))

    critic.register_forward_pre_hook(look)
    return seen


def critic_batches(encoder: TinyEncoder) -> Iterator[tuple[list[TokenIds], list[TokenIds]]]:
    """Sentences of t and of the other language, of each critic update of the last step."""
    ids = encoder.encoded_at_once[-1]
    for i in range(0, len(ids), 2 * SIZE):
        yield ids[i : i + SIZE], ids[i + SIZE : i + 2 * SIZE]


def test_all_critic_batches_are_encoded_in_one_pass_and_given_in_turn() -> None:
    trainer, encoder = trainer_of(critic_steps=5)
    seen = watch(trainer, encoder)
    trainer.step(batch_of(trainer))
    assert len(encoder.encoded_at_once) == 1
    assert len(encoder.encoded_at_once[0]) == 5 * 2 * SIZE
    assert len(seen.inputs) == 5 + 1  # the last is the update of E and C
    before = TinyEncoder()
    before.load_state_dict(dict(zip(encoder.state_dict(), seen.encoder[0], strict=True)))
    for (own, other), given in zip(critic_batches(encoder), seen.inputs[:-1], strict=True):
        assert not given.requires_grad
        exact = torch.from_numpy(before.encode_ids([*own, *other]))  # (2B, dim)
        # What D is shown may be rounded to bfloat16; two sentences here lie much farther apart than that.
        assert torch.pdist(exact).min() > 0.1
        torch.testing.assert_close(given, exact, rtol=0, atol=0.02)


def test_each_critic_update_has_fresh_sentences_and_a_fresh_language() -> None:
    trainer, encoder = trainer_of(critic_steps=5)
    drawn: list[str] = []
    for _ in range(30):
        batch = batch_of(trainer)
        trainer.step(batch)
        own_rows, other_rows, languages = [], [], []
        for own, other in critic_batches(encoder):
            assert {language_of(i) for i in own} == {"en"}
            (language,) = {language_of(i) for i in other}
            assert language != "en"  # although English is among the unlabelled languages
            assert len(set(rows_of(own))) == len(set(rows_of(other))) == SIZE
            own_rows.append(sorted(rows_of(own)))
            other_rows.append(sorted(rows_of(other)))
            languages.append(language)
        for rows in (own_rows, other_rows):
            assert len({tuple(r) for r in rows}) == 5
        assert any(rows != batch.rows for rows in own_rows)
        drawn += languages
    step_draws = [set(drawn[i : i + 5]) for i in range(0, len(drawn), 5)]
    assert sum(len(languages) > 1 for languages in step_draws) > 20  # l is drawn k times a step, not once
    for language in ("de", "fr", "ja"):
        assert drawn.count(language) > 0.2 * len(drawn)


def test_the_last_update_draws_its_own_language_and_sentences() -> None:
    trainer, encoder = trainer_of(critic_steps=1)
    drawn, repeated = set(), 0
    for _ in range(20):
        batch = batch_of(trainer)
        trainer.step(batch)
        assert encoder.collated[-1][:SIZE] == batch.ids
        other = encoder.collated[-1][SIZE:]
        assert len(other) == SIZE
        (language,) = {language_of(i) for i in other}
        assert language != "en"
        drawn.add(language)
        repeated += other == next(critic_batches(encoder))[1]
    assert drawn == {"de", "fr", "ja"}
    assert repeated == 0


def test_a_language_smaller_than_a_batch_is_drawn_with_replacement() -> None:
    trainer, encoder = trainer_of()
    trainer.data = replace(
        trainer.data,
        labelled={"en": sentences("en", 3)},
        unlabelled={"de": dict(enumerate(sentences("de", 2).ids))},
    )
    trainer.step(trainer.data.labelled["en"].batch("en", range(3)))
    for own, other in critic_batches(encoder):
        assert set(rows_of(own)) <= set(range(3))
        assert set(rows_of(other)) <= set(range(2))
        assert len(own) == len(other) == SIZE


@pytest.mark.parametrize("adversary", [Adversary.CROSS_ENTROPY, Adversary.WASSERSTEIN])
def test_d_is_clipped_after_every_update_and_e_and_c_never(adversary: Adversary) -> None:
    trainer, encoder = trainer_of(
        critic_steps=4, critic_clip=0.01, critic_learning_rate=0.1, adversary=adversary
    )
    seen = watch(trainer, encoder)
    trainer.step(batch_of(trainer))
    largest = [max(float(p.abs().max()) for p in weights) for weights in seen.critic]
    assert largest[0] > 0.1  # not yet updated
    assert largest[1:] == pytest.approx([0.01] * 4)
    for module in (encoder, trainer.classifier):
        assert max(float(p.abs().max()) for p in copies(module)) > 0.1
        assert all(float(p.abs().max()) > 0.01 for p in copies(module))


def test_e_and_c_stand_still_while_d_trains_and_d_while_they_do() -> None:
    trainer, encoder = trainer_of(critic_steps=5)
    start = copies(encoder), copies(trainer.classifier)
    seen = watch(trainer, encoder)
    trainer.step(batch_of(trainer))
    assert all(same(weights, start[0]) for weights in seen.encoder)
    for earlier, later in zip(seen.critic, seen.critic[1:], strict=False):
        assert not same(earlier, later)
    assert same(seen.critic[-1], copies(trainer.critics["en"]))
    assert seen.trains == [True] * 5 + [False]
    assert not same(copies(encoder), start[0])
    assert not same(copies(trainer.classifier), start[1])
    trainer.step(batch_of(trainer, start=SIZE))  # and D trains again in the next step
    assert not same(seen.critic[-1], seen.critic[5])


def test_the_discriminator_is_in_every_third_step_and_weighs_three_times_as_much() -> None:
    trainer, encoder = trainer_of(adversary_every=3, critic_steps=2, critic_dropout=0.0)
    always, _ = trainer_of(critic_steps=2, critic_dropout=0.0)
    for number in range(7):
        before = copies(trainer.critics["en"])
        encoder.collated.clear()
        encoder.encoded_at_once.clear()
        parts = trainer.step(batch_of(trainer))
        assert ("critic" in parts) == ("adversarial" in parts) == (number % 3 == 0)
        assert same(before, copies(trainer.critics["en"])) == (number % 3 != 0)
        assert len(encoder.collated[-1]) == (2 * SIZE if number % 3 == 0 else SIZE)
        assert len(encoder.encoded_at_once) == (number % 3 == 0)
        if number == 0:
            alone = always.step(batch_of(always))
            assert parts["critic"] == alone["critic"]
            assert parts["adversarial"] == pytest.approx(3 * alone["adversarial"], rel=1e-6)
            assert parts["loss"] == pytest.approx(alone["loss"] + 2 * alone["adversarial"], rel=1e-6)


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


def language_loss(critic: nn.Module, adversary: Adversary, u: Tensor, v: Tensor) -> Tensor:
    own, other = critic(u).flatten(), critic(v).flatten()
    if adversary is Adversary.WASSERSTEIN:
        return other.sum() / len(other) - own.sum() / len(own)
    return -torch.log(torch.sigmoid(own)).mean() - torch.log(1 - torch.sigmoid(other)).mean()


@pytest.mark.parametrize("adversary", [Adversary.CROSS_ENTROPY, Adversary.WASSERSTEIN])
def test_each_critic_update_is_adam_on_its_own_batch_then_the_clip(adversary: Adversary) -> None:
    trainer, encoder = trainer_of(critic_steps=4, critic_dropout=0.0, critic_clip=0.2, adversary=adversary)
    critic = deepcopy(trainer.critics["en"])
    seen = watch(trainer, encoder)
    optimizer = torch.optim.Adam(critic.parameters(), lr=trainer.config.critic_learning_rate)
    for step in range(2):  # Adam's moments go on from step to step
        trainer.step(batch_of(trainer, start=SIZE * step))
        for given, expected in zip(seen.inputs[:-1], seen.critic[1:], strict=True):
            optimizer.zero_grad()
            language_loss(critic, adversary, *given.split(SIZE)).backward()
            optimizer.step()
            with torch.no_grad():
                for p in critic.parameters():
                    p.clamp_(-0.2, 0.2)
            for ours, theirs in zip(critic.parameters(), expected, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)
        seen.inputs.clear()
        seen.critic.clear()


def semantic_loss(
    u: Tensor, labels: Sequence[int], head: nn.Linear, centers: Tensor, config: EmuConfig
) -> Tensor:
    scaled = config.alpha * u / u.norm(dim=1, keepdim=True)
    total = torch.zeros((), dtype=u.dtype)
    for x, label in zip(scaled, labels, strict=True):
        scores = head.weight @ x + head.bias
        total = total - (scores[label] - torch.logsumexp(scores, dim=0)) / len(u)
        total = total + config.center_weight * 0.5 * ((x - centers[label]) ** 2).sum()
    return total


def encode(encoder: TinyEncoder, ids: Sequence[TokenIds]) -> Tensor:
    """By hand: every sentence here is one token twice, so its mean is the token's embedding."""
    mean = encoder.embedding.weight[torch.tensor([i[0] for i in ids])]
    return torch.tanh(mean @ encoder.layer.weight.T + encoder.layer.bias)


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


def test_the_reported_critic_loss_is_the_last_updates() -> None:
    trainer, encoder = trainer_of(critic_steps=3, critic_dropout=0.0)
    seen = watch(trainer, encoder)
    parts = trainer.step(batch_of(trainer))
    critic = deepcopy(trainer.critics["en"])
    critic.load_state_dict(dict(zip(critic.state_dict(), seen.critic[2], strict=True)))
    u, v = seen.inputs[2].split(SIZE)
    assert parts["critic"] == pytest.approx(
        language_loss(critic, Adversary.WASSERSTEIN, u, v).item(), abs=1e-6
    )


def test_one_discriminator_a_training_language_and_only_its_own_trains() -> None:
    trainer, encoder = trainer_of(train=("en", "de"))
    assert set(trainer.critics) == {"en", "de"}
    start = {t: copies(critic) for t, critic in trainer.critics.items()}
    assert not same(start["en"], start["de"])
    trainer.step(batch_of(trainer, "de"))
    for own, other in critic_batches(encoder):
        assert {language_of(i) for i in own} == {"de"}
        assert "de" not in {language_of(i) for i in other}
    assert same(copies(trainer.critics["en"]), start["en"])
    assert not same(copies(trainer.critics["de"]), start["de"])


def test_another_training_language_may_be_the_other_language() -> None:
    trainer, encoder = trainer_of(train=("en", "de"), unlabelled=("en", "de"))
    for t, other in (("en", "de"), ("de", "en")):
        trainer.step(batch_of(trainer, t))
        assert {language_of(i) for _, ids in critic_batches(encoder) for i in ids} == {other}
        assert {language_of(i) for i in encoder.collated[-1][SIZE:]} == {other}


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


PARTS = {
    "emu": {"critic", "softmax", "center", "adversarial"},
    "emu-parallel": {"critic", "softmax", "center", "adversarial"},
    "emu-anchored": {"critic", "softmax", "center", "adversarial"},
    "emu-without-ld": {"softmax", "center"},
    "emu-without-ld-cl": {"softmax"},
    "softmax": {"softmax"},
    "contrastive": {"contrastive"},
    "n-pair": {"n_pair"},
}


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
