"""Training of a student on its teacher's similarities."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.devices import Precision
from emu_core.encoders.base import Encoder, FloatArray, TokenIds
from emu_core.errors import Fix, Message
from emu_core.losses.relations import cosine_difference, cosines_to_others, neighbour_divergence
from emu_core.methods.distil.settings import DistilConfig
from emu_core.processes import SINGLE_PROCESS, Processes
from emu_core.runs.checkpoint import CheckpointState
from emu_core.training.fit import Stage, Trainer, Weights
from emu_core.training.trained_weights import restore_weights, trained_weights, weights_in_training

Rows = list[int]


class DistilTrainer(Trainer[Rows]):
    """Trains the student; a batch is the numbers of its sentences.

    Attributes:
        encoder: the student, trained in place.
        steps: number of steps taken.
    """

    weighs_by_size = True
    memory_advice = Message(
        "train fewer weights (",
        Fix("trained", "last-layers"),
        ", or lora for a transformer), or take another device",
    )

    def __init__(
        self,
        encoder: Encoder,
        ids: Sequence[TokenIds],
        teacher_vectors: FloatArray,
        config: DistilConfig,
        *,
        seed: int,
        precision: Precision = Precision.FP32,
        processes: Processes = SINGLE_PROCESS,
    ) -> None:
        """Initialise the trainer.

        Args:
            encoder: the student, on its device.
            ids: the student's tokens of N sentences, N at least 2.
            teacher_vectors: (N, dim of the teacher).
            config: hyper-parameters.
            seed: decides the order of the sentences.
            precision: of the student's forward pass; weights, loss and optimiser are always float32.
            processes: the processes that share each batch.
        """
        self.model = self.encoder = encoder
        self.ids, self.teacher_vectors, self.config, self.seed = ids, teacher_vectors, config, seed
        self.precision, self.processes = precision, processes
        self.stages = [Stage(config.epochs, max(1, round(len(ids) / config.batch_size)))]
        self.steps = 0

    @contextmanager
    def training(self) -> Iterator[None]:
        """Make only the weights that the settings name require gradients."""
        torch.manual_seed(self.seed)
        with trained_weights(self.encoder, self.config):
            yield

    def start_stage(self, number: int) -> None:
        """Create the optimiser."""
        self.optimizer = torch.optim.Adam(
            [weight for weight in self.encoder.parameters() if weight.requires_grad],
            lr=self.config.learning_rate,
            fused=True,
        )

    def batches(self, epoch: int, done: int) -> list[Rows]:
        """Draw the order of all sentences, and cut it into batches of almost equal size: the softmax depends on it."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.ids))
        return [batch.tolist() for batch in np.array_split(order, self.stages[0].steps)[done:]]

    def step(self, batch: Rows) -> dict[str, float]:
        """Update the student once; return the parts of the loss by name."""
        config = self.config
        student = cosines_to_others(self._vectors([self.ids[row] for row in batch]))
        teacher = cosines_to_others(torch.from_numpy(self.teacher_vectors[batch]).to(student.device))
        parts = {
            "neighbours": neighbour_divergence(student, teacher, config.temperature),
            "difference": config.difference_weight * cosine_difference(student, teacher),
        }
        loss = torch.stack(list(parts.values())).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.processes.sum_gradients(self.encoder.parameters())
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * max(0.0, 1 - self.steps / self.total_steps)
        self.optimizer.step()
        self.steps += 1
        return {name: part.item() for name, part in parts.items()} | {"loss": loss.item()}

    def _vectors(self, ids: Sequence[TokenIds]) -> Tensor:
        """Encode with gradient: (len(ids), dim)."""
        device, enabled = self.encoder.device.type, self.precision is Precision.BF16
        with torch.autocast(device, torch.bfloat16, enabled=enabled):
            vectors = self.encoder.vectors_with_gradient(self.processes.part(ids))
        return self.processes.gather(vectors, len(ids))

    def weights(self) -> Weights:
        """Return the encoder's trained weights by name."""
        return weights_in_training(self.encoder)

    def load_weights(self, weights: Weights) -> None:
        """Restore the encoder's trained weights."""
        restore_weights(self.encoder, weights)

    def parts(self) -> dict[str, Tensor | nn.Module | torch.optim.Optimizer]:
        """Return the optimiser."""
        return {"optimizer": self.optimizer}

    def state_dict(self) -> CheckpointState:
        """Return the optimiser's state, the encoder's trained weights and the number of steps."""
        return super().state_dict() | {"encoder": self.weights(), "steps": self.steps}

    def load_state_dict(self, state: CheckpointState) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(state)
        self.load_weights(state["encoder"])
        self.steps = state["steps"]

    def shortened(self, batch: Rows, size: int) -> Rows:
        """Return the first sentences."""
        return batch[:size]
