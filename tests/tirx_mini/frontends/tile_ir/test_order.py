"""Blocks that hand results to one another: what an atomic operation releases and acquires."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.tile_ir import ct, simulated

TILE, DEPTH, BLOCKS = 64, 32, 3


@ct.kernel
def split(A, B, D, parts, done):
    """D = A @ B: each block adds up a part of K, and the last one that is done adds up the parts."""
    s, blocks = ct.bid(0), ct.num_blocks(0)
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(s, ct.cdiv(A.shape[1], DEPTH), blocks):
        acc = ct.mma(ct.load(A, (0, k), shape=(TILE, DEPTH)), ct.load(B, (k, 0), shape=(DEPTH, TILE)), acc)
    ct.store(parts, (s, 0, 0), acc.reshape((1, TILE, TILE)))
    if ct.atomic_add(done, 0, 1) == blocks - 1:
        total = ct.zeros((TILE, TILE), dtype=ct.float32)
        for i in range(blocks):
            total = total + ct.load(parts, (i, 0, 0), shape=(1, TILE, TILE)).reshape((TILE, TILE))
        ct.store(D, (0, 0), total)


@ct.kernel
def lengths(A, B, D, counts):
    """D[i] = the sum of the products of the first counts[i] tiles."""
    i = ct.bid(0)
    n = ct.load(counts, (i,), shape=())
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(ct.cdiv(n, DEPTH)):
        acc = ct.mma(ct.load(A, (0, k), shape=(TILE, DEPTH)), ct.load(B, (k, 0), shape=(DEPTH, TILE)), acc)
    ct.store(D, (i, 0), acc)


@pytest.mark.parametrize("gpu", ["h100", "b200"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_last_block_adds_up_what_all_have_stored(dtype: str, gpu: str) -> None:
    numbers = np.random.default_rng(0)
    a, b = (numbers.standard_normal(s).astype(dtype) for s in ((TILE, 4 * DEPTH), (4 * DEPTH, TILE)))
    d, parts, done = np.zeros((TILE, TILE), "f4"), np.zeros((BLOCKS, TILE, TILE), "f4"), np.zeros(1, "i4")
    with simulated(gpu, schedules=10) as reports:
        ct.launch(None, (BLOCKS,), split, (a, b, d, parts, done))
    assert reports[0].ok and np.allclose(d, a.astype("f4") @ b.astype("f4"), atol=0.1)


@pytest.mark.parametrize("gpu", ["h100", "b200"])
def test_a_loop_whose_length_is_in_memory_is_pipelined(gpu: str) -> None:
    numbers = np.random.default_rng(0)
    a, b = (numbers.standard_normal(s).astype("float16") for s in ((TILE, 4 * DEPTH), (4 * DEPTH, TILE)))
    counts, d = np.array([128, 0, 50], np.int32), np.zeros((3 * TILE, TILE), "f4")
    with simulated(gpu, schedules=5) as reports:
        ct.launch(None, (3,), lengths, (a, b, d, counts))
    ends = [-(-n // DEPTH) * DEPTH for n in counts]
    expected = np.concatenate([a[:, :end].astype("f4") @ b[:end].astype("f4") for end in ends])
    assert reports[0].ok and np.allclose(d, expected, atol=1e-2)
