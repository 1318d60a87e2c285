"""Whether instances take longer the greater their index, and the order in which CTAs then take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from kernels_ref.tile import attention
from tirx_mini.frontends.tile_ir.context import context_for
from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD
from tirx_mini.frontends.tile_ir.nv_tileaa import standard as std
from tirx_mini.frontends.tile_ir.nv_tileaa.computing import compute
from tirx_mini.frontends.tile_ir.nv_tileas import passes, persistent
from tirx_mini.frontends.tile_ir.nv_tileas.lengths import EQUAL, GROW, SHRINK, lengths
from tirx_mini.frontends.tile_ir.nv_tileas.pipeline_types import I32
from tirx_mini.frontends.tile_ir.ssa import Builder, Value, parse_module, print_module
from tirx_mini.tile_ir import run, simulated


def loops(*bounds: tuple[str, str], definitions: str = "") -> int | None:
    """What is found for loops with these bounds."""
    body = "".join(
        f"scf.for %i{n} = {low} to {high} step %c1 : i32 {{ scf.yield }}\n" for n, (low, high) in enumerate(bounds)
    )
    text = f"""nv_tileaa.module @m {{ func @f(%n: i32) {{
        %x, %y, %z = get_program_id : i32
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %c7 = arith.constant 7 : i32
        %c64 = arith.constant 64 : i32
        {definitions}
        {body} return }} }}"""
    module = passes.convert_tileaa_to_tileas(parse_module(text, [NV_TILEAA, *STANDARD]), context_for("h100"))
    (func,) = module.ops
    return lengths(func.body)


@pytest.mark.parametrize(
    ("high", "definitions", "found"),
    [
        ("%c64", "", EQUAL),
        ("%x", "", GROW),
        ("%y", "", None),
        ("%n", "", None),
        ("%h", "%a = arith.muli %x, %c64 : i32 %h = arith.minsi %a, %c64 : i32", GROW),
        ("%h", "%a = arith.addi %x, %c7 : i32 %h = arith.ceildivsi %a, %c7 : i32", GROW),
        ("%h", "%h = arith.subi %c64, %x : i32", SHRINK),
        ("%h", "%a = arith.subi %c64, %x : i32 %h = arith.maxsi %a, %x : i32", None),
        ("%h", "%h = arith.muli %x, %x : i32", None),
    ],
)
def test_lengths_of_one_loop(high: str, definitions: str, found: int | None) -> None:
    assert loops(("%c0", high), definitions=definitions) == found


def test_the_first_loop_that_varies_counts() -> None:
    assert loops(("%c0", "%c64"), ("%c0", "%x"), ("%x", "%c64")) == GROW
    assert loops(("%x", "%c64")) == SHRINK
    assert loops(("%c0", "%c64"), ("%c0", "%c7")) == EQUAL


def test_causal_attention_begins_with_the_longest_rows() -> None:
    """The pass makes it persistent, and the greatest x comes first."""
    array = torch.zeros((3, 256, 64), dtype=torch.float16)
    args = (array, array, array, torch.zeros_like(array), 0.1, True, 64, 64, 64)
    texts: dict[str, tuple[str, str]] = {}
    program = run.compile(attention.attention_tile, args, "h100")
    program.passes(lambda name, before, after: texts.update({name: (print_module(before), print_module(after))}))
    before, after = texts["tileas-dynamic-persistent"]
    assert "get_program_id" in before and "get_cta_slot" not in before
    assert "get_program_id" not in after and "get_cta_slot" in after and "%x = arith.select" in after


def order(x: int, y: int, most: int, length: int) -> list[tuple[int, int]]:
    """The (x, y) of instances in order, for a grid of x × y and `most` CTAs."""
    b = Builder()
    instance, *grid = (Value(I32) for _ in range(4))
    places = persistent._longest(b, instance, grid, most, length)[:2]
    known: dict[Value, Any] = {value: np.int32(n) for value, n in zip(grid, (x, y, 1), strict=True)}
    known[instance] = np.arange(x * y, dtype=np.int32)
    for op in b.ops:
        known[op.result] = op.value.values if op.kind is std.constant else compute(op, *(known[v] for v in op.operands))
    return list(zip(*(known[value].tolist() for value in places), strict=True))


@pytest.mark.parametrize("heads", [32, 16])
@pytest.mark.parametrize("length", [1024, 2048, 4096, 8192, 16384])
def test_ctas_have_equal_shares_of_causal_attention(length: int, heads: int) -> None:
    """16,384 tokens by tiles of 128 queries: no CTA has much more blocks of keys than others."""
    x, y, ctas = length // 128, 16384 // length * heads, 132
    found = order(x, y, ctas, GROW)
    assert sorted(found) == [(i, j) for i in range(x) for j in range(y)] and found[-1][0] == 0
    shares = [sum(i + 1 for i, _ in found[cta::ctas]) for cta in range(ctas)]
    assert max(shares) < 1.05 * sum(shares) / ctas


def test_the_order_of_few_and_of_shrinking_instances() -> None:
    assert order(3, 2, 132, GROW) == [(2, 0), (2, 1), (1, 0), (1, 1), (0, 0), (0, 1)]
    assert order(3, 2, 132, SHRINK) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert [i for i, _ in order(2, 17, 16, GROW)] == [1] * 8 + [0] * 8 + [0] * 8 + [1] * 8 + [1, 0]


def test_every_instance_is_taken_once() -> None:
    """More CTAs' worth of work than SMs, with groups of y that are not full."""
    q, k, v = (torch.randn((1, 11, 128, 32), generator=torch.Generator().manual_seed(i)).half() for i in range(3))
    o = torch.zeros_like(q)
    with simulated("h100") as reports:
        attention.attention(q, k, v, o, True, tiles=(64, 64))
    assert not reports[0].findings
    want = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
    torch.testing.assert_close(o.float(), want, rtol=2e-3, atol=3e-3)
