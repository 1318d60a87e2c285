"""The language: what a program becomes when it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_mini.ir import PARALLEL, For, Hint, ScopeIds, TileCall, TirxError, symbols, walk
from tirx_mini.tilelang import language as T


@T.prim_func
def matmul(A: T.Tensor((256, 128), T.float16), B: T.Tensor((128, 256), "float16"), C: T.Tensor((256, 256))):
    with T.Kernel(T.ceildiv(256, 128), 2, threads=256) as (bx, by):
        A_shared = T.alloc_shared((128, 32), T.float16)
        B_shared = T.alloc_shared((32, 128), T.float16)
        C_local = T.alloc_fragment((128, 128), "float")
        T.clear(C_local)
        for ko in T.Pipelined(4, num_stages=3):
            T.copy(A[by * 128, ko * 32], A_shared)
            T.copy(B[ko * 32 : (ko + 1) * 32, bx * 128 : (bx + 1) * 128], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        for i, j in T.Parallel(128, 128):
            C_local[i, j] = T.max(C_local[i, j], 0)
        T.copy(C_local, C[by * 128, bx * 128])


def test_tile_operations_in_the_order_of_the_program() -> None:
    calls = [node for node in walk(matmul.body) if isinstance(node, TileCall)]
    assert [call.op for call in calls] == ["tl.fill", "tl.copy", "tl.copy", "tl.gemm", "tl.copy"]
    source, target = calls[1].operands
    assert source.extents == target.extents == (128, 32)
    assert calls[3].option("policy") is T.GemmWarpPolicy.Square


def test_the_launch() -> None:
    ids = {node.kind: node.extents for node in walk(matmul.body) if isinstance(node, ScopeIds)}
    assert ids == {"cta": (2, 2), "thread": (256,)}


def test_loops() -> None:
    (pipelined,) = (node for node in walk(matmul.body) if isinstance(node, Hint))
    assert dict(pipelined.attrs)["num_stages"] == 3
    parallel = [node for node in walk(matmul.body) if isinstance(node, For) and node.kind == PARALLEL]
    assert [loop.var.name for loop in parallel] == ["i", "j"]


def test_symbolic_extents() -> None:
    n = T.dynamic("n")

    @T.prim_func
    def double(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 256), threads=128) as bx:
            for i in T.Parallel(256):
                B[bx * 256 + i] = A[bx * 256 + i] * 2

    assert symbols(double) == (n,)


def test_persistent_loops_name_the_tiles_of_a_wave() -> None:
    @T.prim_func
    def tiles(A: T.Tensor((12, 8), "int32")):
        with T.Kernel(4, threads=32) as cta:
            for bx, by in T.Persistent([3, 4], 4, cta):
                A[bx, by] = cta

    (loop,) = (node for node in walk(tiles.body) if isinstance(node, For))
    assert loop.var.name == "round" and loop.stop.value == 3


def test_dtypes_are_their_names() -> None:
    assert T.float16 == "float16" and T.float16.bits == 16 and T.dtype("float").bytes == 4
    assert {T.int32: 1}[T.dtype("int32")] == 1


def test_a_name_outside_a_kernel_says_where_it_belongs() -> None:
    with pytest.raises(TirxError, match=r"T\.get_thread_binding is for the body of a kernel"):

        @T.prim_func
        def none(A: T.Tensor((4,), "float32")):
            A[T.get_thread_binding()] = 0.0


def test_each_name_of_tilelang_is_provided_or_refused_with_what_to_write_instead() -> None:
    names = (Path(__file__).parent / "names.txt").read_text().split()  # those of tilelang.language 0.1.15
    missing = []
    for name in names:
        try:
            getattr(T, name)
        except TirxError as error:
            assert error.diagnostic.hint and "does not provide" in str(error)
            missing.append(name)
    assert len(names) > 700 and len(missing) <= 220, missing
    assert not {"copy", "gemm", "Pipelined", "reduce_max", "alloc_reducer", "im2col", "dp4a", "Fragment"} & set(missing)


def test_a_name_that_is_not_provided() -> None:
    with pytest.raises(AttributeError, match=r"does not provide `T\.gemm_sp` of TileLang"):
        _ = T.gemm_sp
    with pytest.raises(TirxError, match=r"`T\.ws`"):
        _ = T.WSSchedule


def test_a_name_that_tilelang_does_not_have() -> None:
    with pytest.raises(AttributeError, match=r"TileLang 0\.1\.15 has no `T\.alloc_sharde`") as found:
        _ = T.alloc_sharde
    assert found.value.diagnostic.hint.startswith("did you mean `alloc_shared`")
    with pytest.raises(AttributeError, match=r"has no `T\.zzzzz`") as found:
        _ = T.zzzzz
    assert found.value.diagnostic.hint is None


def test_helpers_annotate_expressions() -> None:
    def low(value: T.PrimExpr, pos: T.PrimExpr) -> T.PrimExpr:
        return (value >> pos) & 15

    @T.prim_func
    def nibbles(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=4):
            tx = T.get_thread_binding()
            A[tx] = low(A[tx], 4)

    assert ">> 4" in nibbles.script()
