"""Tiles that are loaded in loops and branches of any kind: through pipelines where that is possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirx_mini.tile_ir import compile, ct, simulated

TILE, DEPTH, STEPS = 64, 32, 3


@ct.kernel
def in_while(A, B, C, n):
    acc, k = ct.zeros((TILE, TILE), dtype=ct.float32), 0
    while k < n:
        acc = ct.mma(ct.load(A, (0, k), shape=(TILE, DEPTH)), ct.load(B, (k, 0), shape=(DEPTH, TILE)), acc)
        k = k + 1
    ct.store(C, (0, 0), acc)


@ct.kernel
def until_break(A, B, C, n):
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(2 * n):
        if k >= n:
            break
        acc = ct.mma(ct.load(A, (0, k), shape=(TILE, DEPTH)), ct.load(B, (k, 0), shape=(DEPTH, TILE)), acc)
    ct.store(C, (0, 0), acc)


@ct.kernel
def in_branch(A, B, C, n):
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(2 * n):
        if k < n:
            acc = ct.mma(ct.load(A, (0, k), shape=(TILE, DEPTH)), ct.load(B, (k, 0), shape=(DEPTH, TILE)), acc)
    ct.store(C, (0, 0), acc)


@ct.kernel
def after_return(A, B, C, n):
    if ct.bid(0) > 0:
        return
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(n):
        acc = ct.mma(ct.load(A, (0, k), shape=(TILE, DEPTH)), ct.load(B, (k, 0), shape=(DEPTH, TILE)), acc)
    ct.store(C, (0, 0), acc)


@ct.kernel
def in_branch_of_a_tile(A, B, C, n):
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(n):
        a = ct.load(A, (0, k), shape=(TILE, DEPTH))
        if ct.max(a) < 100:
            acc = ct.mma(a, ct.load(B, (k, 0), shape=(DEPTH, TILE)), acc)
    ct.store(C, (0, 0), acc)


TMA_LOADS = {in_while: 0, until_break: 0, in_branch: 2, after_return: 2, in_branch_of_a_tile: 1}
NOTES = {in_while: "a while loop", until_break: "a while loop", in_branch_of_a_tile: "a branch whose condition"}


@pytest.mark.parametrize("gpu", ["h100", "b200"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    "kernel", [in_while, until_break, in_branch, after_return, in_branch_of_a_tile], ids=lambda kernel: kernel.__name__
)
def test_products(kernel: Any, dtype: str, gpu: str) -> None:
    numbers = np.random.default_rng(0)
    a, b = (numbers.standard_normal(s).astype(dtype) for s in ((TILE, STEPS * DEPTH), (STEPS * DEPTH, TILE)))
    c = np.zeros((TILE, TILE), np.float32)
    args = (a, b, c, STEPS)
    with simulated(gpu, schedules=5) as reports:
        ct.launch(None, (2,) if kernel is after_return else (1,), kernel, args)
    assert reports[0].ok and np.allclose(c, a.astype("float32") @ b.astype("float32"), atol=0.1)
    program = compile(kernel, args, gpu)
    producer = program.text("nv_tileas").partition("agent producer")[2].partition("agent compute")[0]
    assert producer.count("async.tiled_tma_load") == TMA_LOADS[kernel]
    if dtype == "float16" and gpu == "h100" and kernel in NOTES:
        assert any(NOTES[kernel] in note.message for note in program.context.notes)
