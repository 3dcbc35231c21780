"""Products of a transformer's linear layers in bfloat16, with each weight converted once and not at every call.

`torch.autocast` converts the weights of all layers whenever they are used, if no gradient is needed of them. For a
sentence or for the few tokens of a training step's part, this takes as long as the products themselves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


class ConvertedWeights:
    """The weights in bfloat16 that linear layers were called with, converted again when they have changed.

    It sees changes that torch counts, and not those by fused optimisers or through `Tensor.data`, after which it must
    `forget`.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[ref[Tensor], tuple[int, int], Tensor]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "ConvertedWeights":
        """Return an empty one, for the copy of an encoder."""
        return ConvertedWeights()

    def __reduce__(self) -> tuple[type["ConvertedWeights"], tuple[()]]:
        """Leave the weights out of a pickled encoder."""
        return ConvertedWeights, ()

    def forget(self) -> None:
        """Forget all weights, because they may have changed."""
        self._known.clear()

    def of(self, weight: Tensor) -> Tensor:
        """Return a weight in bfloat16."""
        state = weight._version, weight.data_ptr()
        known = self._known.get(id(weight))
        if known is not None and known[0]() is weight and known[1] == state:
            return known[2]
        converted = weight.detach().bfloat16()
        self._known[id(weight)] = ref(weight), state, converted
        return converted


class _WithConverted(TorchFunctionMode):
    """Replaces float32 weights of linear layers that need no gradient; it holds for the thread that enters it."""

    def __init__(self, weights: ConvertedWeights, frozen_only: bool) -> None:
        super().__init__()
        self._weights, self._frozen_only = weights, frozen_only

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is F.linear:
            x, *weights = args
            args = (x, *map(self._converted, weights))
        return func(*args, **(kwargs or {}))

    def _converted(self, weight: Tensor | None) -> Tensor | None:
        if not isinstance(weight, nn.Parameter) or weight.dtype != torch.float32:
            return weight
        needs_gradient = weight.requires_grad and (self._frozen_only or torch.is_grad_enabled())
        return weight if needs_gradient else self._weights.of(weight)


@contextmanager
def in_bfloat16(device: torch.device, weights: ConvertedWeights, *, frozen_only: bool) -> Iterator[None]:
    """Compute matrix products in bfloat16 for the duration of the block.

    Args:
        device: of the weights.
        weights: those that were converted before; more are added.
        frozen_only: whether weights that are trained are left to `torch.autocast`, because they change at each step.
    """
    with torch.autocast(device.type, torch.bfloat16), _WithConverted(weights, frozen_only):
        yield


def is_reduced(device: torch.device) -> bool:
    """Return whether a caller has the products on a device computed in bfloat16 already."""
    kind = device.type
    return torch.is_autocast_enabled(kind) and torch.get_autocast_dtype(kind) == torch.bfloat16
