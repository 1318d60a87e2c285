"""A branch leaves a mask out where it holds for a whole tile."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from tests.tirx_mini.frontends.tile_ir.nv_tileas.test_joining import JOINING
from tirx_mini.frontends.tile_ir import program as programs
from tirx_mini.frontends.tile_ir.ssa import print_module
from tirx_mini.tile_ir import ct, run, simulated

TILE = 64
CAUSAL, AFTER, WINDOW, EITHER, SHIFTED, EDGE, PARITY, FIXED = range(8)


@ct.kernel
def masked(q, k, v, out, shift, MASK: ct.Constant[int], T: ct.Constant[int]):
    m = ct.bid(0)
    left = ct.load(q, (m, 0), shape=(T, T))
    total = ct.zeros((T, T), dtype=ct.float32)
    rows = m * T + ct.arange(T, dtype=ct.int32)[:, None]
    for n in range(ct.cdiv(k.shape[0], T)):
        right = ct.load(k, (n, 0), shape=(T, T), padding_mode=ct.PaddingMode.ZERO).transpose()
        scores = ct.mma(left, right, ct.zeros((T, T), dtype=ct.float32))
        columns = n * T + ct.arange(T, dtype=ct.int32)[None, :]
        if MASK == CAUSAL:
            scores = ct.where(columns <= rows, scores, -1.0)
        elif MASK == AFTER:
            scores = ct.where(columns > rows, -1.0, scores)
        elif MASK == WINDOW:
            scores = ct.where((columns <= rows) & (columns + 70 >= rows), scores, -1.0)
        elif MASK == EITHER:
            scores = ct.where((columns > rows) | (columns + 70 < rows), -1.0, scores)
        elif MASK == SHIFTED:
            scores = ct.where(columns <= shift + ct.arange(T, dtype=ct.int32)[:, None], scores, -1.0)
        elif MASK == EDGE:
            scores = ct.where(columns < k.shape[0], scores, -1.0)
        elif MASK == PARITY:
            scores = ct.where((columns + rows) % 2 == 0, scores, -1.0)
        else:
            scores = ct.where(rows < 100, scores, -1.0)
        loaded = ct.load(v, (n, 0), shape=(T, T), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(scores.astype(v.dtype), loaded, total)
    ct.store(out, (m, 0), total)


def arrays(length: int = 4 * TILE) -> tuple[torch.Tensor, ...]:
    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn((rows, TILE), generator=draw).half() for rows in (4 * TILE, length, length))
    return q, k, v, torch.zeros((4 * TILE, TILE))


def branches(mask: int) -> tuple[int, list[str]]:
    """How many branches the pass makes, and the notes of the program."""
    length = 200 if mask == EDGE else 4 * TILE
    program = run.compile(masked, (*arrays(length), 5, mask, TILE), "h100")
    texts: dict[str, str] = {}
    program.passes(lambda name, before, after: texts.update({name: print_module(after)}))
    assert program.nv_tileas
    notes = [note.render() for note in program.context.notes if "mask" in note.message]
    return texts["tileas-guard-masks"].count("scf.if"), notes


@pytest.mark.parametrize("mask", [CAUSAL, AFTER, WINDOW, EITHER, SHIFTED, EDGE])
def test_a_mask_of_some_tiles_is_a_branch(mask: int) -> None:
    assert branches(mask) == (1, [])


def test_a_mask_that_each_tile_needs_is_reported() -> None:
    count, (note,) = branches(PARITY)
    assert count == 0 and "this mask is computed in every iteration of its loop" in note
    assert "scores = ct.where((columns + rows) % 2 == 0, scores, -1.0)" in note


def test_a_mask_that_is_the_same_in_all_iterations_stays() -> None:
    assert branches(FIXED) == (0, [])


@pytest.mark.parametrize(
    ("mask", "shift"), [(CAUSAL, 0), (WINDOW, 0), (EITHER, 0), (SHIFTED, 30), (SHIFTED, 2**31 - 9)]
)
def test_values_are_the_same_bit_for_bit(mask: int, shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the sum of a number and a range wraps around: 2**31 - 9 + 63 is negative."""
    found = []
    whole = programs._passes()
    for passes in (whole, tuple(each for each in whole if each.name not in JOINING)):
        monkeypatch.setattr(programs, "_passes", partial(tuple, passes))
        masked.programs.clear()
        *given, out = arrays()
        with simulated("h100") as reports:
            ct.launch(None, (2,), masked, (*given, out, shift, mask, TILE))
        assert not reports[0].findings
        found.append(out)
    masked.programs.clear()
    assert torch.equal(*found)
