"""A trainer of Emu on a tiny encoder, its losses by hand, and a record of what its steps do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from emu_core.encoders.base import TokenIds
from emu_core.methods.emu.batches import EmuBatch, TrainingData
from emu_core.methods.emu.settings import Adversary, EmuConfig
from emu_core.methods.emu.trainer import EmuTrainer
from emu_core.methods.registry import configure
from tests.support.tiny_encoder import CLASSES, COUNT, FIRST_TOKEN, TinyEncoder, sentences

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


def language_loss(critic: nn.Module, adversary: Adversary, u: Tensor, v: Tensor) -> Tensor:
    own, other = critic(u).flatten(), critic(v).flatten()
    if adversary is Adversary.WASSERSTEIN:
        return other.sum() / len(other) - own.sum() / len(own)
    return -torch.log(torch.sigmoid(own)).mean() - torch.log(1 - torch.sigmoid(other)).mean()


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
