"""Tile schedulers: each visits every tile once, in the order that it promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini import lang
from tirx_mini.ir import PrimFunc, TirxError, structural_equal
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T

CTAS = 4


def kernel(make: str, fields: str, tiles: int) -> PrimFunc:
    """A kernel whose CTA `bx` notes its tiles, in order, in row `bx` of A."""
    names = {name: getattr(lang, name) for name in lang.__all__}
    text = f"""
@T.prim_func
def kernel(A: T.Buffer(({CTAS}, {tiles}), "int32"), rows: T.int32):
    T.device_entry()
    bx = T.cta_id([{CTAS}])
    T.thread_id([32])
    count: T.int32 = 0
    s = {make}
    s.init(bx)
    while s.valid():
        if T.threadIdx.x == 0:
            A[bx, count] = {fields}
        count = count + 1
        s.next_tile()
"""
    made = from_source(text, names)
    assert structural_equal(made, from_source(made.script()))
    return made


def visited(make: str, fields: tuple[str, ...], tiles: int, rows: int = 0) -> list[tuple[int, ...]]:
    """The tiles in the order of the scheduler."""
    place = "0"
    for field in fields:
        place = f"({place}) * 64 + s.{field}"
    a = np.full((CTAS, tiles), -1, np.int32)
    report = tirx_mini.simulate(kernel(make, place, tiles), a, rows)
    assert report.verdict == "ok", report
    order = [int(place) for place in a.T.reshape(-1) if place >= 0]  # CTA c has the tiles c, c + CTAS, …
    return [tuple(place >> 6 * k & 63 for k in reversed(range(len(fields)))) for place in order]


@pytest.mark.parametrize(("m", "n", "group"), [(4, 4, 2), (5, 3, 2), (7, 2, 8), (1, 5, 3)])
@pytest.mark.parametrize("runtime", [False, True])
def test_group_major(m: int, n: int, group: int, runtime: bool) -> None:
    make = f"ClusterPersistentScheduler2D('s', {'rows' if runtime else m}, {n}, {CTAS}, {group})"
    groups = [range(first, min(first + group, m)) for first in range(0, m, group)]
    want = [(row, col) for rows in groups for col in range(n) for row in rows]
    assert visited(make, ("m_idx", "n_idx"), m * n, m) == want


def test_clusters_of_tiles() -> None:
    make = f"ClusterPersistentScheduler2D('s', 6, 4, {CTAS}, 2, cluster_m=2, cluster_n=2)"
    want = [
        (2 * row + i, 2 * col + j)
        for first in (0, 2)
        for col in range(2)
        for row in range(first, min(first + 2, 3))
        for j in range(2)
        for i in range(2)
    ]
    assert visited(make, ("m_idx", "n_idx"), 24) == want


@pytest.mark.parametrize(("m", "n", "size"), [(4, 4, 2), (5, 3, 2), (6, 7, 3), (2, 5, 3), (5, 2, 3)])
def test_serpentine(m: int, n: int, size: int) -> None:
    make = f"ClusterPersistentScheduler2D('s', {m}, {n}, {CTAS}, {size}, serpentine=True)"
    size = min(size, m)
    down, across = m // size, n // size
    want = []
    for column in range(across):
        for row in range(down) if column % 2 == 0 else reversed(range(down)):
            want += [(row * size + i, column * size + j) for i in range(size) for j in range(size)]
    want += [(row, col) for col in range(across * size, n) for row in range(m)]
    want += [(row, col) for row in range(down * size, m) for col in range(across * size)]
    assert visited(make, ("m_idx", "n_idx"), m * n) == want and len(set(want)) == m * n


@pytest.mark.parametrize("m", [4, 5])
def test_three_dimensions(m: int) -> None:
    make = f"GroupMajor3D('s', {m}, 3, 2, 2, step={CTAS})"
    want = [
        (row, col, k)
        for first in range(0, m, 2)
        for k in range(2)
        for col in range(3)
        for row in range(first, min(first + 2, m))
    ]
    assert visited(make, ("m_idx", "n_idx", "k_idx"), m * 6) == want


BLOCK = ("batch_idx", "head_idx", "m_block_idx")


def test_blocks_of_attention_in_order() -> None:
    make = f"FlashAttentionLinearScheduler('s', 2, 3, 4, {CTAS})"
    assert visited(make, BLOCK, 24) == [(b, h, q) for b in range(2) for h in range(3) for q in range(4)]


@pytest.mark.parametrize("group", [1, 2, 4, 8])
def test_blocks_of_attention_by_the_longest_time(group: int) -> None:
    make = f"FlashAttentionLPTScheduler('s', 2, 3, 4, {group}, num_ctas={CTAS})"
    want = []
    for first in range(0, 6, group):
        want += [(h // 3, h % 3, q) for q in reversed(range(4)) for h in range(first, min(first + group, 6))]
    assert visited(make, BLOCK, 24) == want
    alone = visited(f"FlashAttentionLPTScheduler('s', 2, 3, 4, {group})", BLOCK, 24)
    assert alone == want[:CTAS]


def test_tiles_by_lists() -> None:
    """CTA c has the tiles from first[c] to first[c + 1]; the second one has none."""
    source = """
@T.prim_func
def kernel(b: T.Buffer((5,), "int32"), h: T.Buffer((5,), "int32"), q: T.Buffer((5,), "int32"),
           first: T.Buffer((4,), "int32"), D: T.Buffer((3, 8), "int32")):
    T.device_entry()
    bx = T.cta_id([3])
    T.thread_id([32])
    count: T.int32 = 0
    s = IndexedTripleTileScheduler("s", b, h, q, first)
    s.init(bx)
    while s.valid():
        if T.threadIdx.x == 0:
            D[bx, count] = s.b_idx * 100 + s.h_idx * 10 + s.q_idx
        count = count + 1
        s.next_tile()
"""
    made = from_source(source, {"IndexedTripleTileScheduler": lang.IndexedTripleTileScheduler})
    lists = [np.array(values, np.int32) for values in ([0, 0, 1, 1, 2], [3, 4, 3, 4, 3], [5, 6, 7, 8, 9], [0, 2, 2, 5])]
    d = np.full((3, 8), -1, np.int32)
    report = tirx_mini.simulate(made, *lists, d)
    assert report.verdict == "ok", report
    assert [[int(value) for value in row if value >= 0] for row in d] == [[35, 46], [], [137, 148, 239]]


def test_a_scheduler_of_ones_own() -> None:
    """A subclass of `BaseTileScheduler` says where a tile is."""

    class Columns(lang.BaseTileScheduler):
        @T.inline
        def update_current_m_n_idx(self, linear_idx: Any) -> None:
            self.m_idx = linear_idx % 3
            self.n_idx = linear_idx // 3

    source = """
@T.prim_func
def kernel(D: T.Buffer((4, 3), "int32")):
    T.device_entry()
    bx = T.cta_id([4])
    T.thread_id([32])
    s = Columns("s")
    s.init(bx)
    while s.valid(12):
        D[s.n_idx, s.m_idx] = s.linear_idx
        s.next_tile(4)
"""
    d = np.zeros((4, 3), np.int32)
    assert tirx_mini.simulate(from_source(source, {"Columns": Columns}), d).ok
    np.testing.assert_array_equal(d, np.arange(12).reshape(4, 3))


def test_in_the_dialect_of_tvm_schedulers_count_their_tiles() -> None:
    source = """
@T.prim_func(dialect="tvm")
def kernel(D: T.Buffer((2,), "int32")):
    T.device_entry()
    T.cta_id([1])
    T.thread_id([32])
    s = ClusterPersistentScheduler2D("s", 4, 4, 3)
    s.init(0)
    while s.valid():
        D[0] = s.tile_idx
        D[1] = s.tile_count
        s.next_tile()
"""
    d = np.zeros(2, np.int32)
    made = from_source(source, {"ClusterPersistentScheduler2D": lang.ClusterPersistentScheduler2D})
    tirx_mini.simulate(made, d)
    assert tuple(d) == (5, 5)


def test_a_step_of_another_length() -> None:
    """TVM's `work_idx` is the number of the tile; from it, `next_tile_stride` goes on."""
    text = kernel(f"ClusterPersistentScheduler2D('s', 4, 4, {CTAS})", "s.work_idx", 16).script()
    assert "= s_linear_idx\n" in text and "s_linear_idx = s_linear_idx + 4" in text
    source = f"""
@T.prim_func
def kernel(A: T.Buffer((8,), "int32")):
    T.device_entry()
    T.cta_id([1])
    T.thread_id([32])
    s = ClusterPersistentScheduler2D("s", 4, 2, {CTAS}, 4)
    s.init(0)
    s.next_tile_stride(5)
    A[0] = s.m_idx
    A[1] = s.n_idx
"""
    a = np.zeros(8, np.int32)
    made = from_source(source, {"ClusterPersistentScheduler2D": lang.ClusterPersistentScheduler2D})
    tirx_mini.simulate(made, a)
    assert tuple(a[:2]) == (1, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            "ClusterPersistentScheduler2D('s', 5, 4, 4, cluster_m=2)",
            "are not a whole number of 2 × 1 tiles",
        ),
        ("ClusterPersistentScheduler2D('s', rows, 4, 4, serpentine=True)", "needs num_m_tiles to be known"),
        ("GroupMajor3D('s', 5, 3, 2.0, 2)", "k_tiles of GroupMajor3D must be a positive integer"),
        ("GroupMajor3D(5, 3, 2, 2, 2)", "the prefix of its names"),
        ("FlashAttentionLinearScheduler('s', 2, 0, 4, 8)", "num_heads of FlashAttentionLinearScheduler"),
        ("FlashAttentionLPTScheduler('s', 2, 3, 4, 0)", "l2_swizzle of FlashAttentionLPTScheduler"),
        ("FlashAttentionLPTScheduler('s', 2, 3, 4, 2, num_ctas=rows)", "num_ctas of FlashAttentionLPTScheduler"),
    ],
)
def test_wrong_arguments(make: str, message: str) -> None:
    with pytest.raises(TirxError) as raised:
        kernel(make, "0", 4)
    assert message in raised.value.diagnostic.message and raised.value.span is not None
