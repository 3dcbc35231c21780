"""The processes that train or encode together: one, or several that `accelerate launch` or `torchrun` started.

Every process draws the same batches. Each encodes its part of a batch; the vectors are gathered, so that each computes
the loss of the whole batch, and the gradients of the parts add up to those of one process that did it all. Losses
that look across the batch (centers, pairs, the discriminator's) thereby stay what they are.
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
    """Return whether this process is the one that writes files and talks to people."""
    return int(os.environ.get("RANK", "0")) == 0


@dataclass(frozen=True)
class Processes:
    """This process's number among those that work together.

    Attributes:
        index: from 0; 0 writes files and talks to people.
        count: how many there are.
    """

    index: int = 0
    count: int = 1

    @property
    def main(self) -> bool:
        """True in the process that writes files and talks to people."""
        return self.index == 0

    def part(self, items: Sequence[Item]) -> list[Item]:
        """Return this process's share, neighbours; the first item fills up the last shares to the same length."""
        if self.count == 1:
            return list(items)
        width = -(-len(items) // self.count)
        own = list(items[self.index * width : (self.index + 1) * width])
        return own + [items[0]] * (width - len(own))

    def gather(self, own: "Tensor", total: int) -> "Tensor":
        """Put the rows of all processes' parts (width, dim) together: (total, dim).

        The gradient flows into this process's own rows alone; `sum_gradients` adds the others'.
        """
        if self.count == 1:
            return own
        import torch
        from accelerate.utils import gather

        rows = list(gather(own.detach().contiguous()).split(len(own)))
        rows[self.index] = own
        return torch.cat(rows)[:total]

    def sum_gradients(self, weights: Iterable["nn.Parameter"]) -> None:
        """Add the gradients of all processes, for weights that each reached by its own part of the batch."""
        self._reduce(weights, "sum")

    def average_gradients(self, weights: Iterable["nn.Parameter"]) -> None:
        """Average gradients that each process computed from the whole batch: they stay equal."""
        self._reduce(weights, "mean")

    def agree(self, flag: bool) -> bool:
        """Return process 0's flag."""
        if self.count == 1:
            return flag
        from accelerate.utils import broadcast_object_list

        answer = [flag]
        broadcast_object_list(answer)
        return answer[0]

    def gather_objects(self, own: Item) -> list[Item]:
        """Return one object of each process, in order, on every process."""
        if self.count == 1:
            return [own]
        from accelerate.utils import gather_object

        gathered: list[Item] = gather_object([own])
        return gathered

    def wait(self) -> None:
        """Wait for the others."""
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
        for gradient, total in zip(
            gradients, flat.split([gradient.numel() for gradient in gradients]), strict=True
        ):
            gradient.copy_(total.view_as(gradient))


ALONE = Processes()


def join_processes(device: str = "auto") -> Processes:
    """Meet the other processes of a launcher, if there are any.

    Args:
        device: "cpu" where all compute on their CPUs although there are GPUs.
    """
    if not launched():
        return ALONE
    state = _state(device)
    return Processes(state.process_index, state.num_processes)


def own_device() -> str:
    """Return the device that the launcher gave this process."""
    return str(_state("auto").device)


def _state(device: str) -> "PartialState":
    import torch
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    # accelerate meets processes on CPUs only when told that there is nothing else.
    cpu = device == "cpu" or parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.cuda.is_available()
    return PartialState(cpu=cpu)
