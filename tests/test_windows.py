"""`WindowLinear` equals a plain loop over windows, and so does its gradient."""

import pytest
import torch
from torch import Tensor

from emu_core.encoders.use.network import WindowLinear

ORDERS = [(2, 0), (3, 1), (5, 2)]  # n-gram order, rows that stand before the row itself
ROWS = [0, 1, 2, 3, 4, 7]  # shorter than the window, as long, longer
CHANNELS, OUT = 3, 4


def inputs(rows: int, order: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows + 10 * order)

    def tensor(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    return tensor(rows, CHANNELS), tensor(OUT, order * CHANNELS), tensor(OUT)


def plain_loop(x: Tensor, weight: Tensor, bias: Tensor, order: int, left: int) -> list[list[float]]:
    rows, starts = [], bias.tolist()
    for r in range(len(x)):
        window: list[float] = []
        for k in range(order):
            inside = 0 <= r + k - left < len(x)
            window += x[r + k - left].tolist() if inside else [0.0] * CHANNELS
        products = [sum(w * v for w, v in zip(row, window, strict=True)) for row in weight.tolist()]
        rows.append([start + product for start, product in zip(starts, products, strict=True)])
    return rows


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("order", "left"), ORDERS)
def test_equal_to_a_plain_loop(order: int, left: int, rows: int) -> None:
    x, weight, bias = inputs(rows, order)
    expected = torch.tensor(plain_loop(x, weight, bias, order, left), dtype=torch.float64).reshape(rows, OUT)
    torch.testing.assert_close(WindowLinear.apply(x, weight, bias, left), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rows", ROWS[1:])
@pytest.mark.parametrize(("order", "left"), ORDERS)
def test_gradcheck(order: int, left: int, rows: int) -> None:
    assert torch.autograd.gradcheck(
        lambda *tensors: WindowLinear.apply(*tensors, left),
        inputs(rows, order),
    )


@pytest.mark.parametrize(("order", "left"), ORDERS)
def test_inputs_are_left_as_they_were(order: int, left: int) -> None:
    tensors = inputs(6, order)
    before = [t.detach().clone() for t in tensors]
    WindowLinear.apply(*tensors, left).square().sum().backward()
    assert all(torch.equal(a, b) for a, b in zip(tensors, before, strict=True))


def test_autocast_computes_in_its_type_and_gives_gradients_in_the_weights() -> None:
    x, weight, bias = (t.detach().float().requires_grad_() for t in inputs(7, 3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = WindowLinear.apply(x, weight, bias, 1)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    exact = [t.detach().double().requires_grad_() for t in (x, weight, bias)]
    WindowLinear.apply(*exact, 1).sum().backward()
    for half, full in zip((x, weight, bias), exact, strict=True):
        assert half.grad is not None and full.grad is not None
        assert half.grad.dtype == torch.float32
        torch.testing.assert_close(half.grad, full.grad.float(), rtol=2e-2, atol=5e-2)
