"""The table of losses on the labelled sentences."""

import numpy as np
import pytest
import torch

from emu_core.methods.emu import objectives
from emu_core.methods.emu.batches import TrainingData
from emu_core.methods.emu.objectives import LABELLED_LOSSES, LabelledLoss
from emu_core.methods.emu.settings import Objective
from emu_core.methods.emu.trainer import EmuTrainer
from emu_core.methods.registry import configure
from tests.support.tiny_encoder import CLASSES, TinyEncoder, sentences


def test_every_objective_has_a_row() -> None:
    assert set(LABELLED_LOSSES) == set(Objective)


def test_a_new_row_is_trained_with_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trainer encodes what the row draws and minimises what the row computes."""
    labelled = sentences("en")
    row = LabelledLoss(
        "distance",
        lambda x, config: config.alpha * (x.u - x.partners).square().sum() + 0 * x.labels.sum(),
        lambda batch, labelled, _config, _rng: (
            labelled.batch(batch.language, batch.rows[:3]),
            labelled.batch(batch.language, [9, 8, 7]),
        ),
    )
    monkeypatch.setitem(objectives.LABELLED_LOSSES, Objective.SOFTMAX, row)
    encoder = TinyEncoder()
    data = TrainingData({"en": labelled}, {}, tuple(map(str, range(CLASSES))), (), tokens=lambda ids: ids)
    trainer = EmuTrainer(encoder, data, configure("softmax", None, alpha=3.0), seed=0)
    trainer.start_stage(0)
    vectors = encoder.encode_ids([labelled.ids[r] for r in (0, 1, 2, 9, 8, 7)])
    before = [weight.detach().clone() for weight in encoder.parameters()]
    losses = trainer.step(labelled.batch("en", range(5)))
    expected = 3.0 * np.square(vectors[:3] - vectors[3:]).sum()
    assert losses == {"distance": pytest.approx(expected, rel=1e-5), "loss": losses["distance"]}
    assert any(not torch.equal(a, b) for a, b in zip(before, encoder.parameters(), strict=True))
