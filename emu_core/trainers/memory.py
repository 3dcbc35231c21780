"""When memory runs out: which batch would have fitted."""

import gc
from dataclasses import replace

from emu_core.trainers.emu import EmuTrainer
from emu_core.trainers.sampling import Batch

_SIGNS = ("out of memory", "can't allocate memory", "failed to allocate", "bad allocation", "bad_alloc")


def ran_out(error: BaseException) -> bool:
    """Whether an error says that a device's memory, or the machine's, is used up."""
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _SIGNS)


def largest_batch_that_fits(trainer: EmuTrainer, batch: Batch) -> int:
    """Try halves, quarters ... of a batch that did not fit; 0 where not even two sentences do.

    The trainer's weights move: it is of no more use afterwards.
    """
    size = len(batch.ids)
    if trainer.processes.count > 1:
        return size // 2  # a trial would need the other processes, which wait in the step that failed
    while (size := size // 2) >= 2:
        _release()
        trainer.config = replace(trainer.config, batch_size=size)
        trainer.steps = 0  # the heaviest kind of step, with the language discriminator
        part = Batch(batch.language, batch.rows[:size], batch.ids[:size], batch.labels[:size])
        try:
            trainer.step(part)
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise
        else:
            return size
    return 0


def _release() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
