"""Sums that a loop carries: each thread's part in the loop, the sum of all threads behind it."""

from __future__ import annotations

import pytest
import torch

from tirx_mini.frontends.tile_ir.ssa import print_module
from tirx_mini.tile_ir import ct, run, simulated

ROWS, STEP, STEPS = 8, 64, 3
ZERO, FIRST, READ, TOTALS = "zero", "first", "read", "totals"


@ct.kernel
def scaled_sums(X, Y, scale, AXIS: ct.Constant[int], KEEP: ct.Constant[bool], KIND: ct.Constant[str]):
    shape = (ROWS, STEP) if AXIS == 1 else (STEP, ROWS)
    held = ROWS if not KEEP else (ROWS, 1) if AXIS == 1 else (1, ROWS)
    total = ct.full(held, 1.0 if KIND == FIRST else 0.0, dtype=ct.float32)
    for n in range(STEPS):
        x = ct.load(X, (0, n) if AXIS == 1 else (n, 0), shape=shape)
        if KIND == READ:
            x = x + ct.max(total)
        total = total * scale + ct.sum(x, axis=AXIS, keepdims=KEEP)
    ct.store(Y, (0,), total.reshape((ROWS,)))


def arguments(axis: int, keep: bool, kind: str) -> tuple[torch.Tensor, torch.Tensor, tuple[object, ...]]:
    x = torch.randn((ROWS, STEP * STEPS), generator=torch.Generator().manual_seed(axis)).round(decimals=2)
    y = torch.zeros(ROWS)
    return x, y, (x if axis == 1 else x.t().contiguous(), y, 0.5, axis, keep, kind)


def loop(text: str) -> tuple[list[str], list[str]]:
    """The lines of the program's loop, and those behind it."""
    before, _, rest = text.partition("scf.for")
    margin = before.splitlines()[-1]
    inside, _, behind = rest.partition(f"\n{' ' * (len(margin) - len(margin.lstrip()))}}}\n")
    return inside.splitlines(), behind.splitlines()


def reductions(axis: int, keep: bool, kind: str) -> tuple[int, int]:
    """The number of sums of whole tiles in the loop, and of sums behind it."""
    texts: dict[str, str] = {}
    program = run.compile(scaled_sums, arguments(axis, keep, kind)[2], "h100")
    program.passes(lambda name, before, after: texts.update({name: print_module(after)}))
    inside, behind = loop(texts["tileas-defer-sums"])
    (own,) = [line for line in inside if "combine = add" in line]
    whole = any(f" : tensor<{rows}x{columns}xf32," in own for rows, columns in ((ROWS, STEP), (STEP, ROWS)))
    return int(whole), sum("combine = add" in line for line in behind)


@pytest.mark.parametrize(("axis", "keep"), [(1, True), (1, False), (0, True)])
def test_threads_carry_their_parts_of_a_scaled_sum(axis: int, keep: bool) -> None:
    assert reductions(axis, keep, ZERO) == (0, 1)
    x, y, args = arguments(axis, keep, ZERO)
    with simulated("h100") as reports:
        ct.launch(None, (1,), scaled_sums, args)
    assert reports[0].ok and not reports[0].findings
    wanted = sum(0.5 ** (STEPS - 1 - n) * x[:, n * STEP : (n + 1) * STEP].sum(1) for n in range(STEPS))
    torch.testing.assert_close(y, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [FIRST, READ])
def test_a_sum_that_is_read_or_does_not_begin_at_zero_is_complete_in_each_iteration(kind: str) -> None:
    assert reductions(1, True, kind) == (1, 0)
