"""A linear layer over windows of neighbouring rows, without copying the windows."""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx


class WindowLinear(torch.autograd.Function):
    """y[r] = bias + sum over k of weight[:, k] @ x[r + k - left], rows outside x being zero.

    The same as a linear layer over concatenated neighbours (or a 1-d convolution), but each neighbour's product is
    added in place: the (rows, order * channels) matrix of windows, most of the cost on a CPU, is never built.

    `apply(x, weight, bias, left)` takes x (rows, channels), weight (out, order * channels), bias (out,) and how many
    rows of the window stand before its own, and returns (rows, out).
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor, left: int) -> Tensor:
        """See the class."""
        if torch.is_autocast_enabled(x.device.type):
            dtype = torch.get_autocast_dtype(x.device.type)
            x, weight, bias = x.to(dtype), weight.to(dtype), bias.to(dtype)
        ctx.save_for_backward(x, weight)
        ctx.left = left  # type: ignore[attr-defined]
        out = bias.expand(len(x), -1).clone()
        for own, neighbour, part in _shifts(x, weight, left):
            out[own].addmm_(x[neighbour], weight[:, part].T)
        return out

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients to x, weight and bias."""
        (grad,) = grads
        x, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        grad_x, grad_weight = torch.zeros_like(x), torch.empty_like(weight)
        for own, neighbour, part in _shifts(x, weight, ctx.left):  # type: ignore[attr-defined]
            grad_x[neighbour].addmm_(grad[own], weight[:, part])
            grad_weight[:, part] = grad[own].T @ x[neighbour]
        return grad_x, grad_weight, grad.sum(dim=0), None


def _shifts(x: Tensor, weight: Tensor, left: int) -> list[tuple[slice, slice, slice]]:
    """For each place in the window: the rows that have that neighbour, the neighbours, the weight's columns."""
    rows, channels = x.shape
    shifts = []
    for k in range(weight.shape[1] // channels):
        by = k - left
        own = slice(max(0, -by), max(0, min(rows, rows - by)))
        neighbour = slice(max(0, by), max(0, min(rows, rows + by)))
        shifts.append((own, neighbour, slice(k * channels, (k + 1) * channels)))
    return shifts
