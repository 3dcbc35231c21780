"""The processes that train or encode together: one, or several started by `accelerate launch` or `torchrun`.

Every process draws the same batches and encodes its part of each. The vectors are gathered, so that every process
computes the loss of the whole batch, and the gradients of the parts add up to those of a single process. Losses that
depend on the whole batch (centers, pairs, the discriminator's) are therefore unchanged.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from accelerate import PartialState
    from torch import Tensor, nn

Item = TypeVar("Item")


def launched() -> bool:
    """Return whether a launcher started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_main() -> bool:
    """Return whether this process writes files and output."""
    return int(os.environ.get("RANK", "0")) == 0


@dataclass(frozen=True)
class Processes:
    """The number of this process and the count of all.

    Attributes:
        index: from 0; process 0 writes files and output.
        count: the number of processes.
    """

    index: int = 0
    count: int = 1

    @property
    def main(self) -> bool:
        """Whether this process writes files and output."""
        return self.index == 0

    def part(self, items: Sequence[Item]) -> list[Item]:
        """Return this process's contiguous share; the first item pads the last shares to the same length."""
        if self.count == 1:
            return list(items)
        width = -(-len(items) // self.count)
        share = list(items[self.index * width : (self.index + 1) * width])
        return share + [items[0]] * (width - len(share))

    def gather(self, share: "Tensor", total: int) -> "Tensor":
        """Concatenate the rows of all processes' parts (width, dim): (total, dim).

        The gradient flows into this process's own rows only; `sum_gradients` adds the others'.
        """
        if self.count == 1:
            return share
        import torch
        from accelerate.utils import gather

        rows = list(gather(share.detach().contiguous()).split(len(share)))
        rows[self.index] = share
        return torch.cat(rows)[:total]

    def sum_gradients(self, weights: Iterable["nn.Parameter"]) -> None:
        """Sum gradients over the processes, for weights whose gradient comes from each one's part of the batch."""
        self._reduce(weights, "sum")

    def average_gradients(self, weights: Iterable["nn.Parameter"]) -> None:
        """Average gradients that each process computed from the whole batch, so that they stay equal."""
        self._reduce(weights, "mean")

    def agree(self, flag: bool) -> bool:
        """Return process 0's flag."""
        return self.gather_objects(flag)[0]

    def gather_objects(self, item: Item) -> list[Item]:
        """Return the objects of all processes, in order, on every process."""
        if self.count == 1:
            return [item]
        from accelerate.utils import gather_object

        gathered: list[Item] = gather_object([item])
        return gathered

    def wait(self) -> None:
        """Wait for all processes."""
        if self.count > 1:
            from accelerate import PartialState

            PartialState().wait_for_everyone()

    def _reduce(self, weights: Iterable["nn.Parameter"], how: str) -> None:
        if self.count == 1:
            return
        import torch
        from accelerate.utils import reduce

        gradients = [weight.grad for weight in weights if weight.grad is not None]
        if not gradients:
            return
        flat = reduce(torch.cat([gradient.reshape(-1) for gradient in gradients]), how)
        totals = flat.split([gradient.numel() for gradient in gradients])
        for gradient, total in zip(gradients, totals, strict=True):
            gradient.copy_(total.view_as(gradient))


SINGLE_PROCESS = Processes()


def join_processes(device: str = "auto") -> Processes:
    """Join the other processes of a launcher, if there are any; `device` is "cpu" to leave GPUs unused.

    Examples:
        >>> import emu_core
        >>> processes = emu_core.join_processes("cpu")
        >>> processes.count, processes.part(["a", "b", "c"])
        (1, ['a', 'b', 'c'])
    """
    if not launched():
        return SINGLE_PROCESS
    state = _state(device)
    return Processes(state.process_index, state.num_processes)


def assigned_device() -> str:
    """Return the device that the launcher assigned to this process."""
    return str(_state("auto").device)


def _state(device: str) -> "PartialState":
    import torch
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    # accelerate joins processes on CPUs only if told to.
    cpu = (
        device.startswith("cpu") or parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.cuda.is_available()
    )
    return PartialState(cpu=cpu)
