"""Which control flow depends on blockIdx, and which kernels may have clusters that differ in more than that."""

from __future__ import annotations

import pytest

from tirx_mini.ir import For, If, PrimFunc, While, walk
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T
from tirx_mini.sim.plans import Equality


def test_the_course_of_all_clusters_is_the_same() -> None:
    @T.prim_func
    def plain(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
        T.device_entry()
        bx = T.cta_id([8])
        tx = T.thread_id([64])
        row = T.alloc_shared((64,), "float32")
        for i in range(3):
            if tx < 32 + i:
                row[tx] = A[bx, tx]
        T.cuda.cta_sync()
        B[bx, tx] = row[tx]

    assert Equality.of(lower(plain)).decided == frozenset()


def test_branches_and_loops_over_block_indices_are_found() -> None:
    @T.prim_func
    def deciding(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
        T.device_entry()
        bx = T.cta_id([8])
        tx = T.thread_id([64])
        tile: T.int32 = bx
        while tile < 8:
            for _ in range(tile):
                if tx < 32:
                    B[tile, tx] = A[tile, tx]
            tile += 3

    func = lower(deciding)
    found = Equality.of(func).decided
    assert found == {node for node in walk(func.body) if isinstance(node, (While, For))}
    assert not any(isinstance(node, If) for node in found)


@T.prim_func
def by_block_in_shared_memory(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([64])
    row = T.alloc_shared((128,), "float32")
    row[tx + bx] = A[bx, tx]
    T.cuda.cta_sync()
    B[bx, tx] = row[tx + bx]


@T.prim_func
def by_data(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([64])
    if A[bx, 0] > 0.0:
        B[bx, tx] = A[bx, tx]


@T.prim_func
def that_reads_its_result(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([64])
    B[bx, tx] = A[bx, tx] + B[bx, tx]


@T.prim_func
def at_named_barriers(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([64])
    T.ptx.bar.sync(1 + bx, 64)
    B[bx, tx] = A[bx, tx]


@T.prim_func
def that_adds(A: T.Buffer((8, 64), "int32"), B: T.Buffer((1,), "int32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([64])
    A[bx, tx] = T.cuda.atomic_add(T.address_of(B[0]), T.int32(1))


@pytest.mark.parametrize(
    "kernel", [by_block_in_shared_memory, by_data, that_reads_its_result, at_named_barriers, that_adds]
)
def test_what_else_may_differ(kernel: PrimFunc) -> None:
    assert Equality.of(lower(kernel)).decided is None


@T.prim_func
def that_loads_as_ptx(A: T.Buffer((8, 64), "uint32"), B: T.Buffer((8, 64), "uint32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([64])
    if 64 * bx + tx < 500:
        value = T.ptx.ld(T.address_of(B[bx, tx]), type="u32", space="global")
        T.ptx.st(T.address_of(B[bx, tx]), value + A[bx, tx], type="u32", space="global")


@T.prim_func
def that_waits_at_the_edge(A: T.Buffer((8, 64), "uint32"), B: T.Buffer((8, 64), "uint32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([64])
    if 64 * bx + tx < 448:
        T.cuda.cta_sync()
        T.ptx.st(T.address_of(B[bx, tx]), A[bx, tx], type="u32", space="global")


def test_values_and_edges_do_not_matter_for_the_time_alone() -> None:
    assert Equality.of(lower(that_loads_as_ptx)).decided is None
    for kernel in (that_reads_its_result, that_loads_as_ptx):
        assert Equality.of(lower(kernel), timed=True).decided == frozenset()
    assert Equality.of(lower(by_data), timed=True).decided is None
    assert len(Equality.of(lower(that_waits_at_the_edge), timed=True).decided or ()) == 1
