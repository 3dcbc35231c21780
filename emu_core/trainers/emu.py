"""One training step of Emu (Hirota et al. 2020, algorithm 1), and of the baselines it is compared with."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.config import Adversary, EmuConfig, Objective
from emu_core.devices import Precision, reduced_precision
from emu_core.encoders.base import Encoder, TokenIds
from emu_core.losses.center import center_loss, move_centers
from emu_core.losses.contrastive import contrastive_loss
from emu_core.losses.language import language_cross_entropy, language_wasserstein
from emu_core.losses.n_pair import n_pair_loss
from emu_core.losses.softmax import l2_constrained_softmax_loss, scale_to_sphere, softmax_loss
from emu_core.models.language_discriminator import LanguageDiscriminator
from emu_core.processes import ALONE, Processes
from emu_core.trainers.collapse import gradient_length
from emu_core.trainers.sampling import Batch, Labelled, draw_rows, n_pairs, partners

Parts = dict[str, Tensor]


class EmuTrainer:
    """Encoder E, classifier C and one discriminator D_t a training language t, with their optimisers.

    Attributes:
        encoder: trained in place.
        classifier: the linear layer of the softmax losses; only training uses it, never retrieval.
        centers: (classes, dim) class centres of the center loss.
        critics: D_t by training language; empty without an adversary.
        gradient: the length of the encoder's gradient at the last step.
        steps: taken so far; whoever restores a state sets it.
    """

    gradient: float = 0.0
    steps: int = 0

    def __init__(
        self,
        encoder: Encoder,
        labelled: Mapping[str, Labelled],
        unlabelled: Mapping[str, Sequence[TokenIds]],
        translations: Mapping[str, Mapping[str, TokenIds]],
        n_classes: int,
        config: EmuConfig,
        rng: np.random.Generator,
        precision: Precision = Precision.FP32,
        processes: Processes = ALONE,
    ) -> None:
        """Set up the models; torch's own generator must be seeded by the caller.

        Args:
            encoder: E.
            labelled: labelled sentences by training language.
            unlabelled: the adversarial languages' sentences; not read by Emu-Parallel.
            translations: by adversarial language, the translation of each labelled sentence by parallel id; read by
                Emu-Parallel alone.
            n_classes: number of intents.
            config: hyper-parameters.
            rng: draws every batch.
            precision: of the encoder's forward pass; weights, losses and optimisers are float32 in any case.
            processes: those that share each batch.
        """
        self.encoder, self.config, self.rng = encoder, config, rng
        self.precision, self.processes = precision, processes
        self.labelled, self.unlabelled, self.translations = labelled, unlabelled, translations
        device = encoder.device
        self.classifier = nn.Linear(encoder.dim, n_classes).to(device)
        self.centers = torch.zeros(n_classes, encoder.dim, device=device)
        self.optimizer = torch.optim.Adam(
            [
                {"params": [p for p in encoder.parameters() if p.requires_grad], "lr": config.learning_rate},
                {"params": self.classifier.parameters(), "lr": config.classifier_learning_rate},
            ],
            fused=True,
        )
        self.critics: dict[str, LanguageDiscriminator] = {}
        self.critic_optimizers: dict[str, torch.optim.Optimizer] = {}
        if config.adversary is not Adversary.NONE:
            for language in labelled:
                critic = LanguageDiscriminator(encoder.dim, config.critic_hidden, config.critic_dropout).to(
                    device
                )
                self.critics[language] = critic
                self.critic_optimizers[language] = torch.optim.Adam(
                    critic.parameters(), lr=config.critic_learning_rate, fused=True
                )

    def step(self, batch: Batch) -> dict[str, float]:
        """Update the critic k times, then E and C once; the value of each part of the loss, by name.

        Where `adversary_every` is above 1, the critic and its part of the loss are in the first of so many steps only.
        """
        values: dict[str, float] = {}
        adversarial = self.steps % self.config.adversary_every == 0
        critic = self.critics.get(batch.language) if adversarial else None
        self.steps += 1
        if critic is not None:
            values["critic"] = self._train_critic(critic, batch.language)
            critic.requires_grad_(False)  # fixed parameters; the gradient still passes through to u and v
        try:
            parts = self._loss_parts(batch, critic)
            loss = torch.stack(list(parts.values())).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.processes.sum_gradients(self.encoder.parameters())
            self.processes.average_gradients(self.classifier.parameters())
            self.gradient = gradient_length(self.encoder.parameters())
            self.optimizer.step()
        finally:
            if critic is not None:
                critic.requires_grad_(True)
        return values | {name: part.item() for name, part in parts.items()} | {"loss": loss.item()}

    def _loss_parts(self, batch: Batch, critic: LanguageDiscriminator | None) -> Parts:
        """L_C - gamma L_D (eq. 4) in named parts, from one forward pass over everything the step needs."""
        config = self.config
        own = batch.ids
        second: list[TokenIds] = []
        if config.objective is Objective.CONTRASTIVE:
            partner = partners(batch, self.labelled[batch.language], self.rng)
            second = partner.ids
        elif config.objective is Objective.N_PAIR:
            sentences = self.labelled[batch.language]
            anchors, positives = n_pairs(sentences, config.batch_size, self.rng)
            own, second = [sentences.ids[r] for r in anchors], [sentences.ids[r] for r in positives]
        other = self._other_language(batch.language, batch.rows) if critic is not None else []
        vectors = self._vectors([*own, *second, *other])
        u, w, v = vectors.split([len(own), len(second), len(other)])  # (B, dim), (B or 0, dim), (B or 0, dim)

        parts: Parts = {}
        labels = torch.tensor(batch.labels, device=u.device)
        if config.objective is Objective.L2_SOFTMAX:
            parts["softmax"] = l2_constrained_softmax_loss(u, labels, *self._head(), config.alpha)
        elif config.objective is Objective.SOFTMAX:
            parts["softmax"] = softmax_loss(u, labels, *self._head())
        elif config.objective is Objective.CONTRASTIVE:
            same = labels == torch.tensor(partner.labels, device=labels.device)
            parts["contrastive"] = contrastive_loss(u, w, same, config.contrastive_margin)
        else:
            parts["n_pair"] = n_pair_loss(u, w, config.n_pair_scale)
        if config.center_weight:
            scaled = scale_to_sphere(u, config.alpha)
            parts["center"] = config.center_weight * center_loss(scaled, labels, self.centers)
            move_centers(self.centers, scaled, labels, config.center_rate)
        if critic is not None:
            weight = config.adversary_weight * config.adversary_every
            parts["adversarial"] = -weight * self._language_loss(critic, u, v)
        return parts

    def _train_critic(self, critic: LanguageDiscriminator, language: str) -> float:
        """K updates of D_t, each on fresh sentences and a fresh language; the last loss.

        The encoder stands still meanwhile, so the sentences of all k updates are encoded in one pass.
        """
        size, k = self.config.batch_size, self.config.critic_steps
        ids: list[TokenIds] = []
        for _ in range(k):
            rows = draw_rows(len(self.labelled[language].ids), size, self.rng)
            ids += [self.labelled[language].ids[r] for r in rows]
            ids += self._other_language(language, rows)
        with reduced_precision(self.encoder.device):
            own_part = self.processes.part(ids)
            encoded = self.encoder.vectors(own_part, batch_tokens=self.encoder.step_tokens)
            gathered = self.processes.gather(encoded, len(ids))
        vectors = gathered.split(size)  # own, other, own, other, ...: each (B, dim)
        optimizer = self.critic_optimizers[language]
        for own, other in zip(vectors[::2], vectors[1::2], strict=True):
            loss = self._language_loss(critic, own, other)
            optimizer.zero_grad()
            loss.backward()
            self.processes.average_gradients(critic.parameters())
            optimizer.step()
            critic.clip_weights(self.config.critic_clip)
        return loss.item()

    def _vectors(self, ids: Sequence[TokenIds]) -> Tensor:
        """Encode with gradient: (len(ids), dim)."""
        own = self.processes.part(ids)
        with self._autocast():
            vectors = self.encoder.vectors_with_gradient(own)
        return self.processes.gather(vectors, len(ids))

    def _autocast(self) -> AbstractContextManager[object]:
        if self.precision is Precision.FP32:
            return nullcontext()
        return torch.autocast(self.encoder.device.type, torch.bfloat16)

    def _language_loss(self, critic: LanguageDiscriminator, own: Tensor, other: Tensor) -> Tensor:
        scores = critic(torch.cat([own, other]))
        loss = (
            language_wasserstein if self.config.adversary is Adversary.WASSERSTEIN else language_cross_entropy
        )
        return loss(scores[: len(own)], scores[len(own) :])

    def _other_language(self, language: str, rows: Sequence[int]) -> list[TokenIds]:
        """Sentences of a random adversarial language: fresh ones, or the translations of `rows` (Emu-Parallel)."""
        if self.config.parallel:
            options = [other for other in self.translations if other != language]
            translated = self.translations[options[int(self.rng.integers(len(options)))]]
            return [translated[self.labelled[language].keys[r]] for r in rows]
        options = [other for other in self.unlabelled if other != language]
        sentences = self.unlabelled[options[int(self.rng.integers(len(options)))]]
        return [sentences[r] for r in draw_rows(len(sentences), len(rows), self.rng)]

    def _head(self) -> tuple[Tensor, Tensor]:
        return self.classifier.weight, self.classifier.bias

    def state(self) -> Parts:
        """Everything a step changes but the random generators: weights that train, centers, optimisers, by name."""
        tensors = {f"encoder/{name}": weight for name, weight in trained_state(self.encoder).items()}
        tensors["centers"] = self.centers
        for part, module in self._heads().items():
            tensors |= {f"{part}/{name}": weight for name, weight in module.state_dict().items()}
        for part, optimizer in self._optimizers().items():
            for row, values in optimizer.state_dict()["state"].items():
                tensors |= {f"{part}/{row}/{name}": value for name, value in values.items()}
        return tensors

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `state` gave."""
        load_trained(self.encoder, _under(tensors, "encoder"))
        self.centers.copy_(tensors["centers"])
        for part, module in self._heads().items():
            module.load_state_dict(_under(tensors, part))
        for part, optimizer in self._optimizers().items():
            rows: dict[int, Parts] = {}
            for name, value in _under(tensors, part).items():
                row, key = name.split("/")
                rows.setdefault(int(row), {})[key] = value
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": rows, "param_groups": groups})

    def _heads(self) -> dict[str, nn.Module]:
        return {"classifier": self.classifier} | {f"critic-{t}": c for t, c in self.critics.items()}

    def _optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return {"optimizer": self.optimizer} | {
            f"critic-optimizer-{t}": o for t, o in self.critic_optimizers.items()
        }


def trained_state(encoder: Encoder) -> Parts:
    """The weights that train, by name."""
    return {name: weight.detach() for name, weight in encoder.named_parameters() if weight.requires_grad}


@torch.no_grad()
def load_trained(encoder: Encoder, weights: Mapping[str, Tensor]) -> None:
    """Put weights that `trained_state` gave back."""
    for name, weight in encoder.named_parameters():
        if weight.requires_grad:
            weight.copy_(weights[name])


def _under(tensors: Mapping[str, Tensor], part: str) -> Parts:
    prefix = f"{part}/"
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
