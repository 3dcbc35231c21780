"""`over_windows` equals a plain loop over windows, and so does its gradient."""

import pytest
import torch
from torch import Tensor

from emu_core.encoders.use.network import convolved, multiplied, over_windows

ORDERS = [(2, 0), (3, 1), (5, 2)]  # n-gram order, rows that stand before the row itself
ROWS = [1, 2, 3, 4, 7]  # shorter than the window, as long, longer
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
    torch.testing.assert_close(over_windows(x, weight, bias, left), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("order", "left"), ORDERS)
def test_gradcheck(order: int, left: int, rows: int) -> None:
    assert torch.autograd.gradcheck(
        lambda *tensors: over_windows(*tensors, left),
        inputs(rows, order),
    )


@pytest.mark.parametrize(("order", "left"), ORDERS)
def test_inputs_are_left_as_they_were(order: int, left: int) -> None:
    tensors = inputs(6, order)
    before = [t.detach().clone() for t in tensors]
    over_windows(*tensors, left).square().sum().backward()
    assert all(torch.equal(a, b) for a, b in zip(tensors, before, strict=True))


def test_autocast_computes_in_its_type_and_gives_gradients_in_the_weights() -> None:
    x, weight, bias = (t.detach().float().requires_grad_() for t in inputs(7, 3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = over_windows(x, weight, bias, 1)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    exact = [t.detach().double().requires_grad_() for t in (x, weight, bias)]
    over_windows(*exact, 1).sum().backward()
    for half, full in zip((x, weight, bias), exact, strict=True):
        assert half.grad is not None and full.grad is not None
        assert half.grad.dtype == torch.float32
        torch.testing.assert_close(half.grad, full.grad.float(), rtol=2e-2, atol=5e-2)


@pytest.mark.parametrize(("order", "left"), ORDERS)
def test_both_ways_to_apply_a_layer_agree(order: int, left: int) -> None:
    padded, weight, bias = inputs(9, order)
    both = [way(padded, weight, bias) for way in (convolved, multiplied)]
    assert both[0].shape == (9 - order + 1, OUT)
    torch.testing.assert_close(*both, rtol=0, atol=1e-12)
    gradients = [torch.autograd.grad(out.square().sum(), (padded, weight, bias)) for out in both]
    for by_convolution, by_product in zip(*gradients, strict=True):
        torch.testing.assert_close(by_convolution, by_product, rtol=0, atol=1e-12)
