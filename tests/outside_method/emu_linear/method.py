"""The entry of the registry, the settings and the trainer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emu_core.settings import Settings, setting
from emu_core.training.method import Method, Needs

if TYPE_CHECKING:
    from emu_core.training.job import Job, Outcome


@dataclass(frozen=True)
class LinearMapConfig(Settings):
    """Settings of the linear map."""

    epochs: int = setting(3, "Passes over the labelled sentences.", label="Epochs", low=1, source="ours")
    batch_size: int = setting(8, "Labelled sentences in a step.", label="Batch size", low=2, source="ours")
    stretch: float = setting(0.05, "How far a step moves the map.", label="Stretch", above=0, source="ours")


def _train(job: "Job", config: LinearMapConfig) -> "Outcome":
    import numpy as np
    import torch
    from torch import nn

    from emu_core.training.fit import Stage, Trainer
    from emu_core.training.job import Outcome
    from emu_linear.encoder import LinearMapEncoder

    part = job.labelled_data.labelled.train_part().select(languages=job.config.train_languages).frame
    job.measure_base(job.encoder.encode)
    vectors = torch.from_numpy(job.encoder.encode(part["text"].tolist()))
    labels = torch.from_numpy(part["intent"].astype("category").cat.codes.to_numpy().astype("int64"))
    torch.manual_seed(job.config.seed)
    encoder = LinearMapEncoder.identity(job.encoder)
    classifier = nn.Linear(encoder.dim, int(labels.max()) + 1)

    class LinearTrainer(Trainer[list[int]]):
        def __init__(self) -> None:
            self.model = encoder.head
            self.stages = [Stage(config.epochs, steps=-(-len(labels) // config.batch_size))]
            weights = [*encoder.head.parameters(), *classifier.parameters()]
            self.optimizer = torch.optim.SGD(weights, lr=config.stretch, momentum=0.9)

        def batches(self, epoch: int, done: int) -> Iterator[list[int]]:
            rows = np.random.default_rng((job.config.seed, epoch)).permutation(len(labels)).tolist()
            starts = range(0, len(rows), config.batch_size)
            return iter([rows[start : start + config.batch_size] for start in starts][done:])

        def step(self, batch: list[int]) -> dict[str, float]:
            loss = nn.functional.cross_entropy(classifier(encoder.head(vectors[batch])), labels[batch])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return {"loss": loss.item()}

        def state_dict(self) -> dict[str, Any]:
            modules: Sequence[Any] = (encoder.head, classifier, self.optimizer)
            return {str(number): module.state_dict() for number, module in enumerate(modules)}

        def load_state_dict(self, state: dict[str, Any]) -> None:
            for number, module in enumerate((encoder.head, classifier, self.optimizer)):
                module.load_state_dict(state[str(number)])

    fitted = job.fit(LinearTrainer())
    return Outcome(encoder, encoder.encode, fitted)


LINEAR_MAP = Method(
    name="linear-map",
    title="Linear map from outside",
    summary="A linear map over the frozen encoder, from another package.",
    settings=LinearMapConfig,
    needs=Needs.INTENTS,
    train=_train,
)
