"""AdaGrad (Duchi et al. 2011), for some rows of a table at a time."""

import torch
from torch import Tensor

EPSILON = 1e-10


class AdaGrad:
    """Steps of `learning_rate / sqrt(sum of squared gradients)`, number by number.

    A row whose gradient is zero does not move, so that it may be left out.

    Attributes:
        total: the table's shape, the sum of squared gradients so far.
    """

    def __init__(self, table: Tensor, learning_rate: float) -> None:
        """Start with sums of zero."""
        self._table = table
        self._learning_rate = learning_rate
        self.total = torch.zeros_like(table)

    @torch.no_grad()
    def step(self, rows: Tensor, gradient: Tensor) -> None:
        """Move the rows (R,), each named once, by their gradient (R, d)."""
        total = self.total[rows].addcmul_(gradient, gradient)
        self.total[rows] = total
        change = gradient / total.sqrt_().add_(EPSILON)
        self._table.index_add_(0, rows, change, alpha=-self._learning_rate)
