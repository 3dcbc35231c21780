"""Training of Emu (Hirota et al. 2020, algorithm 1) and of its baselines."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.devices import Precision, reduced_precision
from emu_core.encoders.base import Encoder, FloatArray, TokenIds
from emu_core.errors import Fix, Message
from emu_core.intents.regression import sampled_rows, weights_of_all
from emu_core.losses.center import center_loss, move_centers
from emu_core.losses.language import language_cross_entropy, language_wasserstein
from emu_core.losses.softmax import scale_to_sphere
from emu_core.methods.emu.batches import (
    EmuBatch,
    Spread,
    TrainingData,
    draw_rows,
    epoch_batches,
    gradient_length,
    one_class_warning,
    spread_alarms,
    step_alarms,
    vector_spread,
    watched,
)
from emu_core.methods.emu.objectives import LABELLED_LOSSES, LossInputs
from emu_core.methods.emu.settings import (
    Adversary,
    EmuConfig,
    Objective,
    has_adversary,
    has_classifier,
)
from emu_core.processes import SINGLE_PROCESS, Processes
from emu_core.runs.checkpoint import CheckpointState
from emu_core.runs.log import LogValues
from emu_core.threads import one_thread_for_small_products
from emu_core.training.fit import Stage, Trainer, Weights
from emu_core.training.trained_weights import restore_weights, trained_weights, weights_in_training


class LanguageDiscriminator(nn.Sequential):
    """Two hidden layers with dropout and one output (Emu, "Hyper-parameters": 900 wide, dropout 0.2).

    Maps (B, dim) to scores (B,): logits for the cross-entropy, unbounded scores for the Wasserstein loss.
    """

    def __init__(self, dim: int, hidden: int = 900, dropout: float = 0.2) -> None:
        """Build the layers for vectors of length `dim`."""
        super().__init__(
            nn.Linear(dim, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, 1),
            nn.Flatten(0),
        )

    @torch.no_grad()
    def clip_weights(self, limit: float) -> None:
        """Clip every parameter to [-limit, limit] (Emu, algorithm 1, line 8)."""
        for parameter in self.parameters():
            parameter.clamp_(-limit, limit)


class EmuTrainer(Trainer[EmuBatch]):
    """Trains encoder E, classifier C and a discriminator D_t for each training language t.

    Attributes:
        encoder: trained in place.
        classifier: the linear layer of the softmax losses; runs do not store it.
        centers: (classes, dim) class centres of the center loss.
        critics: D_t by training language; empty without an adversary.
        rng: draws every batch.
        steps: number of steps taken.
        one_class: steps whose batch had a single intent.
        dead: steps in which the encoder's gradient was zero or not finite.
        base: the spread of the watched sentences before training.
    """

    memory_advice = Message(
        "train fewer weights (",
        Fix("trained", "last-layers"),
        ", or lora for a transformer), or take another device",
    )
    base: Spread
    classifier: nn.Linear
    centers: Tensor

    def __init__(
        self,
        encoder: Encoder,
        data: TrainingData,
        config: EmuConfig,
        *,
        seed: int,
        score: Callable[[], float] | None = None,
        precision: Precision = Precision.FP32,
        processes: Processes = SINGLE_PROCESS,
    ) -> None:
        """Initialise the trainer.

        Args:
            encoder: E, on its device.
            data: from `prepare`.
            config: hyper-parameters.
            seed: for all draws and initial weights; the same seed on the same CPU gives the same weights.
            score: measures the held-out accuracy in percent, which chooses the epoch; None takes the last one.
            precision: of the encoder's forward pass; weights, losses and optimisers are always float32.
            processes: the processes that share each batch.
        """
        self.model = self.encoder = encoder
        self.data, self.config, self.seed = data, config, seed
        self.precision, self.processes = precision, processes
        steps = sum(1 for _ in epoch_batches(data.labelled, config.batch_size, np.random.default_rng(0)))
        self.stages = [Stage(config.epochs, steps, score)]
        self.rng = np.random.default_rng(seed)
        self.critics: dict[str, LanguageDiscriminator] = {}
        self.critic_optimizers: dict[str, torch.optim.Optimizer] = {}
        self.steps = self.one_class = self.dead = 0
        self._drawn, self._draws_before = 0, self.rng.bit_generator.state
        self._spread: Spread | None = None

    @contextmanager
    def training(self) -> Iterator[None]:
        """Make only the weights that the settings name require gradients."""
        torch.manual_seed(self.seed)
        self.base = self._measured()
        with trained_weights(self.encoder, self.config, interpolation=self.config.interpolation):
            yield

    def start_stage(self, number: int) -> None:
        """Create classifier, discriminators and optimisers, with weights from torch's generator."""
        config, device, dim = self.config, self.encoder.device, self.encoder.dim
        classes = len(self.data.intents)
        self.classifier = nn.Linear(dim, classes).to(device)
        if config.linear_probe and has_classifier(config):
            self._start_from_probe()
        self.centers = torch.zeros(classes, dim, device=device)
        self.optimizer = torch.optim.Adam(
            [
                {
                    "params": [p for p in self.encoder.parameters() if p.requires_grad],
                    "lr": config.learning_rate,
                },
                {"params": self.classifier.parameters(), "lr": config.classifier_learning_rate},
            ],
            fused=True,
        )
        if not has_adversary(config):
            return
        for language in self.data.labelled:
            critic = LanguageDiscriminator(dim, config.critic_hidden, config.critic_dropout).to(device)
            self.critics[language] = critic
            self.critic_optimizers[language] = torch.optim.Adam(
                critic.parameters(), lr=config.critic_learning_rate, fused=True
            )

    @torch.no_grad()
    def _start_from_probe(self) -> None:
        """Set the classifier to a logistic regression on the base embeddings (Kumar et al. 2022, LP-FT)."""
        labelled = [
            sentence
            for part in self.data.labelled.values()
            for sentence in zip(part.ids, part.labels, strict=True)
        ]
        chosen = [labelled[row] for row in sampled_rows([label for _, label in labelled])]
        x = self.encoder.encode_ids([ids for ids, _ in chosen]).astype(np.float64)
        lengths = np.linalg.norm(x, axis=1, keepdims=True)
        length = float(
            lengths.mean()
        )  # the classifier's inputs have this length, while C is for embeddings of length 1
        x /= length
        if self.config.objective is Objective.L2_SOFTMAX:
            x *= length / np.maximum(lengths, np.finfo(np.float32).tiny)
            length = self.config.alpha
        with one_thread_for_small_products():
            classes = np.array([label for _, label in chosen])
            weight, bias = weights_of_all(x, classes, self.config.linear_probe)
        self.classifier.weight.copy_(torch.from_numpy(weight / length))
        self.classifier.bias.copy_(torch.from_numpy(bias))

    def own_classifier(self) -> Callable[[FloatArray], list[str]]:
        """Return the classifier as a function from the encoder's vectors (N, dim) to N intents."""
        weight, bias = (tensor.detach().cpu().float().numpy() for tensor in self.classifier.parameters())
        intents, config = self.data.intents, self.config

        def classify(vectors: FloatArray) -> list[str]:
            x = torch.from_numpy(np.asarray(vectors, dtype=np.float32))
            if config.objective is Objective.L2_SOFTMAX:
                x = scale_to_sphere(x, config.alpha)
            return [intents[number] for number in (x.numpy() @ weight.T + bias).argmax(axis=1)]

        return classify

    def batches(self, epoch: int, done: int) -> list[EmuBatch]:
        """Draw the order of all labelled sentences."""
        rng = self.rng
        if epoch == self._drawn:  # resumed: draw it again
            rng = np.random.default_rng()
            rng.bit_generator.state = self._draws_before
        self._drawn, self._draws_before = epoch, rng.bit_generator.state
        return list(epoch_batches(self.data.labelled, self.config.batch_size, rng))[done:]

    def step(self, batch: EmuBatch) -> dict[str, float]:
        """Update the critic k times, then E and C once; return the parts of the loss by name.

        If `adversary_every` is n > 1, the critic takes part only in every n-th step.
        """
        values: dict[str, float] = {}
        adversarial = self.steps % self.config.adversary_every == 0
        critic = self.critics.get(batch.language) if adversarial else None
        self.steps += 1
        if critic is not None:
            values["critic"] = self._train_critic(critic, batch.language)
            critic.requires_grad_(False)  # the gradient still passes through it to u and v
        try:
            parts = self._loss_parts(batch, critic)
            loss = torch.stack(list(parts.values())).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.processes.sum_gradients(self.encoder.parameters())
            self.processes.average_gradients(self.classifier.parameters())
            gradient = gradient_length(self.encoder.parameters())
            if self.config.decay:
                self._decay()
            self.optimizer.step()
        finally:
            if critic is not None:
                critic.requires_grad_(True)
        self.one_class += len(set(batch.labels)) == 1
        self.dead += gradient == 0 or not math.isfinite(gradient)
        return values | {name: part.item() for name, part in parts.items()} | {"loss": loss.item()}

    def _decay(self) -> None:
        """Set this step's learning rates, which fall linearly from those of the settings to 0 after the last step."""
        left = max(0.0, 1 - (self.steps - 1) / self.total_steps)
        rates = (self.config.learning_rate, self.config.classifier_learning_rate)
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * left

    def facts(self, batch: EmuBatch) -> dict[str, str]:
        """Return the batch's language."""
        return {"language": batch.language}

    def _loss_parts(self, batch: EmuBatch, critic: LanguageDiscriminator | None) -> dict[str, Tensor]:
        """Compute L_C - gamma L_D (eq. 4) in named parts, from a single forward pass."""
        config, row = self.config, LABELLED_LOSSES[self.config.objective]
        drawn, partners = row.draw(batch, self.data.labelled[batch.language], config, self.rng)
        other = self._other_language(batch.language, batch.rows) if critic is not None else []
        vectors = self._vectors([*drawn.ids, *partners.ids, *other])
        # (B, dim), and (B, dim) each if there are partners and a discriminator, else (0, dim)
        u, w, v = vectors.split([len(drawn), len(partners), len(other)])

        labels, partner_labels = (
            torch.tensor(part.labels, dtype=torch.long, device=u.device) for part in (drawn, partners)
        )
        classifier = self.classifier.weight, self.classifier.bias
        parts = {row.name: row.loss(LossInputs(u, labels, w, partner_labels, classifier), config)}
        if config.center_weight:
            scaled = scale_to_sphere(u, config.alpha)
            parts["center"] = config.center_weight * center_loss(scaled, labels, self.centers)
            move_centers(self.centers, scaled, labels, config.center_rate)
        if critic is not None:
            weight = config.adversary_weight * config.adversary_every
            parts["adversarial"] = -weight * self._language_loss(critic, u, v)
        return parts

    def _train_critic(self, critic: LanguageDiscriminator, language: str) -> float:
        """Update D_t k times, each time on new sentences and a new language; return the last loss.

        The encoder does not change meanwhile, so the sentences of all k updates are encoded in one pass.
        """
        size, labelled = self.config.batch_size, self.data.labelled[language]
        ids: list[TokenIds] = []
        for _ in range(self.config.critic_steps):
            rows = draw_rows(len(labelled.ids), size, self.rng)
            ids += [labelled.ids[r] for r in rows] + self._other_language(language, rows)
        with reduced_precision(self.encoder.device):
            own_part = self.processes.part(ids)
            encoded = self.encoder.vectors(own_part, batch_tokens=self.encoder.step_tokens)
            gathered = self.processes.gather(encoded, len(ids))
        vectors = gathered.split(size)  # own, other, own, other, ...: each (B, dim)
        optimizer = self.critic_optimizers[language]
        for language_vectors, other in zip(vectors[::2], vectors[1::2], strict=True):
            loss = self._language_loss(critic, language_vectors, other)
            optimizer.zero_grad()
            loss.backward()
            self.processes.average_gradients(critic.parameters())
            optimizer.step()
            critic.clip_weights(self.config.critic_clip)
        return loss.item()

    def _vectors(self, ids: Sequence[TokenIds]) -> Tensor:
        """Encode with gradient: (len(ids), dim)."""
        device, enabled = self.encoder.device.type, self.precision is Precision.BF16
        with torch.autocast(device, torch.bfloat16, enabled=enabled):
            vectors = self.encoder.vectors_with_gradient(self.processes.part(ids))
        return self.processes.gather(vectors, len(ids))

    def _language_loss(self, critic: LanguageDiscriminator, u: Tensor, other: Tensor) -> Tensor:
        scores = critic(torch.cat([u, other])).split([len(u), len(other)])
        if self.config.adversary is Adversary.WASSERSTEIN:
            return language_wasserstein(*scores)
        return language_cross_entropy(*scores)

    def _other_language(self, language: str, rows: Sequence[int]) -> list[TokenIds]:
        """Draw sentences in a random adversarial language: any, or the translations of `rows` (Emu-Parallel)."""
        options = [code for code in self.data.unlabelled if code != language]
        pool = self.data.unlabelled[options[int(self.rng.integers(len(options)))]]
        if self.config.parallel:
            keys: list[Any] = [self.data.labelled[language].keys[r] for r in rows]
        else:
            keys = draw_rows(len(pool), len(rows), self.rng)
        return [self.data.tokens(pool[key]) for key in keys]

    def end_epoch(self) -> LogValues:
        """Return the spread of the vectors, the shares of useless steps, and the alarms."""
        self._spread = self._measured()
        alarms = self._alarms(self._spread)
        return {
            **asdict(self._spread),
            **{f"base_{name}": value for name, value in asdict(self.base).items()},
            "one_class_share": self.one_class / self.steps,
            "dead_share": self.dead / self.steps,
            **({"alarm": "; ".join(alarms)} if alarms else {}),
        }

    def warnings(self) -> list[str]:
        """Return the warnings about the data, and the alarms for the restored weights."""
        messages = [*self.data.warnings, *self._alarms(self._spread or self._measured())]
        if self.one_class and (few := one_class_warning(self.steps, self.one_class)) not in messages:
            messages.append(few)
        return messages

    def _measured(self) -> Spread:
        return vector_spread(self.encoder.encode_ids(watched(self.data.labelled, self.seed)))

    def _alarms(self, now: Spread) -> list[str]:
        return [
            *spread_alarms(self.base, now, len(self.data.intents)),
            *step_alarms(self.steps, self.one_class, self.dead),
        ]

    def weights(self) -> Weights:
        """Return the encoder's trained weights by name."""
        return weights_in_training(self.encoder)

    def load_weights(self, weights: Weights) -> None:
        """Restore the encoder's trained weights."""
        restore_weights(self.encoder, weights)
        self._spread = None

    def parts(self) -> dict[str, Tensor | nn.Module | torch.optim.Optimizer]:
        """Return centres, classifier, discriminators and optimisers."""
        return {
            "centers": self.centers,
            "classifier": self.classifier,
            "optimizer": self.optimizer,
            **{f"critic {language}": critic for language, critic in self.critics.items()},
            **{
                f"critic optimizer {language}": optimizer
                for language, optimizer in self.critic_optimizers.items()
            },
        }

    def state_dict(self) -> CheckpointState:
        """Return the parts, the encoder's trained weights, generator states and counts."""
        return super().state_dict() | {
            "encoder": self.weights(),
            "drawn": (self._drawn, self._draws_before, self.rng.bit_generator.state),
            "counts": (self.steps, self.one_class, self.dead),
        }

    def load_state_dict(self, state: CheckpointState) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(state)
        self.load_weights(state["encoder"])
        self._drawn, self._draws_before, self.rng.bit_generator.state = state["drawn"]
        self.steps, self.one_class, self.dead = state["counts"]

    def shortened(self, batch: EmuBatch, size: int) -> EmuBatch:
        """Return the first sentences, and make the next step one with the discriminator, which takes most memory."""
        self.config, self.steps = replace(self.config, batch_size=size), 0
        return EmuBatch(batch.language, batch.rows[:size], batch.ids[:size], batch.labels[:size])
