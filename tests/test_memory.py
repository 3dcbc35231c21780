"""When memory runs out, the message names a batch that was seen to fit."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from emu_core.encoders.base import Features
from emu_core.errors import TrainingError
from emu_core.trainers.fit import _step, ran_out
from tests.test_emu_step import TinyEncoder, batch_of, trainer_of


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets the encoder's memory hold so many sentences at once."""

    def limit(sentences: int) -> None:
        forward = TinyEncoder.forward

        def limited(self: TinyEncoder, features: Features) -> Tensor:
            if len(features["input_ids"]) > sentences:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
            return forward(self, features)

        monkeypatch.setattr(TinyEncoder, "forward", limited)

    return limit


# A step encodes the batch and as many sentences of another language at once.
@pytest.mark.parametrize(("room", "fits"), [(15, 4), (8, 4), (7, 2), (4, 2)])
def test_the_batch_that_fits_is_named(room: int, fits: int, only: Callable[[int], None]) -> None:
    trainer, _ = trainer_of(critic_steps=1)
    only(room)
    with pytest.raises(
        TrainingError, match=rf"at a batch of 8 sentences; a batch of {fits} fits: --batch-size {fits}"
    ):
        _step(trainer, batch_of(trainer))


def test_the_batch_that_fits_does_so_in_the_heaviest_step(only: Callable[[int], None]) -> None:
    """Though the step that failed had no discriminator."""
    trainer, _ = trainer_of(critic_steps=1, adversary_every=8)
    trainer.step(batch_of(trainer))
    only(7)
    with pytest.raises(TrainingError, match="a batch of 2 fits"):
        _step(trainer, batch_of(trainer))


def test_where_nothing_fits_another_way_is_named(only: Callable[[int], None]) -> None:
    trainer, _ = trainer_of(critic_steps=1)
    only(3)
    with pytest.raises(TrainingError, match="none of 2 fits; train fewer weights"):
        _step(trainer, batch_of(trainer))


def test_another_error_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: TinyEncoder, features: Features) -> Tensor:
        raise RuntimeError("shapes do not match")

    trainer, _ = trainer_of()
    monkeypatch.setattr(TinyEncoder, "forward", broken)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        _step(trainer, batch_of(trainer))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (
            RuntimeError(
                "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
            ),
            True,
        ),
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("could not allocate a name"), False),
        (ValueError("x"), False),
    ],
)
def test_the_signs_of_it(error: Exception, expected: bool) -> None:
    assert ran_out(error) is expected
