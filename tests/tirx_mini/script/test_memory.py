"""Buffers: allocations, the shared-memory pool, pointers, layouts and views."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tests.tirx_mini.script.reading import error_in, line_of, printed, read
from tirx_mini.ir import AllocBuffer, Buffer, DeclBuffer, PrimFunc, TirxError, walk
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.script import from_source
from tirx_mini.script import tirx as Tx


def buffers(func: PrimFunc) -> Mapping[str, Buffer]:
    return {n.buffer.name: n.buffer for n in walk(func.body) if isinstance(n, (AllocBuffer, DeclBuffer))}


def pool_of(*allocations: str) -> Mapping[str, Buffer]:
    """The buffers of a kernel with nothing but a pool."""
    lines = ["pool = Tx.PoolAllocator()", *allocations, "pool.commit()"]
    text = "@Tx.prim_func\ndef k():\n    with Tx.kernel():\n" + "".join(f"        {line}\n" for line in lines)
    return buffers(from_source(text))


def test_pool_buffers_are_consecutive_and_aligned() -> None:
    found = pool_of(
        'L128 = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))',
        'L64 = tma_shared_layout("float16", SwizzleMode.SWIZZLE_64B_ATOM, (8, 32))',
        'addr = pool.alloc((1,), "uint32")',
        'bar = pool.alloc((3,), "uint64")',
        'flag = pool.alloc((1,), "uint8")',
        'tile = pool.alloc((128, 64), "float16", layout=L128)',
        'narrow = pool.alloc((8, 32), "float16", layout=L64)',
        'words = pool.alloc((5,), "float32")',
        'far = pool.alloc((4,), "float16", align=256)',
    )
    assert {name: b.byte_offset for name, b in found.items() if b.source is not None} == {
        "addr": 0, "bar": 8, "flag": 32, "tile": 1024, "narrow": 1024 + 16384, "words": 17408 + 512, "far": 18176,
    }  # fmt: skip
    assert found["smem"].nbytes == 18176 + 8 and found["smem"].align == 1024
    assert all(b.scope == "shared" and b.root is found["smem"] for b in found.values())


def test_moving_the_base_lets_buffers_overlap() -> None:
    found = pool_of(
        'a = pool.alloc((4096,), "uint8")', "pool.move_base_to(1024)", 'b = pool.alloc((256,), "uint8")',
    )  # fmt: skip
    assert found["b"].byte_offset == 1024 and found["smem"].nbytes == 4096


def test_alloc_mma_uses_the_layout_of_tma() -> None:
    found = pool_of('tile = pool.alloc_mma((2, 128, 64), "float16")')
    assert found["tile"].layout == tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (2, 128, 64))


@given(st.lists(st.tuples(st.sampled_from(["uint8", "uint32", "uint64", "float16"]), st.integers(1, 99)), min_size=1))
def test_allocations_never_overlap(shapes: list[tuple[str, int]]) -> None:
    found = pool_of(*(f'b{i} = pool.alloc(({n},), "{dtype}")' for i, (dtype, n) in enumerate(shapes)))
    end = 0
    for i, _ in enumerate(shapes):
        buffer = found[f"b{i}"]
        assert buffer.byte_offset >= end and buffer.byte_offset % buffer.dtype.itemsize == 0
        end = buffer.byte_offset + buffer.nbytes
    assert found["smem"].nbytes == end


DECLARES = {
    "registers": ('r = Tx.alloc_local((4, 2), "float16")', 'r = Tx.alloc_local((4, 2), "float16")'),
    "shared memory": ('s = Tx.alloc_shared((64,), "int32")', 's = Tx.alloc_shared((64,), "int32")'),
    "by scope": ('s = Tx.alloc_buffer((64,), "int32", scope="shared")', 's = Tx.alloc_shared((64,), "int32")'),
    "tensor memory": (
        (
            "t = Tx.decl_buffer((128, 512), 'float32', scope='tmem', allocated_addr=tmem_addr[0], "
            "layout=TileLayout(S[(128, 512) : (1@TLane, 1@TCol)]))"
        ),
        (
            't = Tx.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0], '
            "layout=TileLayout(S[(128, 512) : (1@TLane, 1@TCol)]))"
        ),
    ),
    "tensor memory at a buffer": (
        "t = Tx.decl_buffer((128, 512), 'float32', scope='tmem', allocated_addr=tmem_addr)",
        't = Tx.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0])',
    ),
    "tensor memory at a number": (
        "t = Tx.decl_buffer((128, 512), 'float32', scope='tmem', allocated_addr=0)",
        't = Tx.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=Tx.uint32(0))',
    ),
    "a view used at once": (
        "Tx.fill(reg.view(2, 4), 0.0)",
        'reg_view = Tx.decl_buffer((2, 4), "float32", scope="local", source=reg)\nTx.fill(reg_view[0:2, 0:4], 0.0)',
    ),
    "a variable": ('i = Tx.alloc_scalar("int32")\ni = i + 1', "i: Tx.int32\ni = i + 1"),
    "addresses": (
        (
            "Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)\n"
            "Tx.ptx.mbarrier.arrive(Tx.address_of(bar[1]))\nTx.ptx.mbarrier.arrive(bar.data)"
        ),
        (
            "Tx.ptx.tcgen05.alloc(tmem_addr.ptr_to([0]), Tx.uint32(512), cta_group=1)\n"
            "Tx.ptx.mbarrier.arrive(bar.ptr_to([1]))\nTx.ptx.mbarrier.arrive(bar.ptr_to([0]))"
        ),
    ),
    "slices": ("Tx.copy(Asmem[:, 8:16], A[:, 8:16])", "Tx.copy(Asmem[0:128, 8:16], A[0:128, 8:16])"),
    "a row": (
        "Tx.copy(reg[:], D[lane_id, warp_id * 8 : warp_id * 8 + 8])",
        "Tx.copy(reg[0:8], D[lane_id, warp_id * 8 : warp_id * 8 + 8])",
    ),
}


@pytest.mark.parametrize("name", DECLARES)
def test_a_statement_declares_its_buffers(name: str) -> None:
    body, expected = DECLARES[name]
    shown = printed(body)
    assert shown == expected


MISTAKES = {
    "a slice between values that are bound": (
        "st = bx * 128\nen = st + 128\nTx.fill(A[st:en, :], 0)",
        "st:en",
        ("en - st, is not a constant", "start : start + TILE", "bind `st` and `en` with `= Tx.meta_var(…)`"),
    ),
    "after commit": (
        'late = pool.alloc((4,), "uint32")',
        'pool.alloc((4,), "uint32")',
        ("late", "committed here", "before"),
    ),
    "two commits": ("pool.commit()", "pool.commit()", ("twice",)),
    "moving after commit": ("pool.move_base_to(0)", "pool.move_base_to(0)", ("committed",)),
    "no commit": (
        "other = Tx.PoolAllocator()\nb = other.alloc((4,), 'uint32')",
        "Tx.PoolAllocator()",
        ("pool.commit()",),
    ),
    "a variable shape": (
        "E = Tx.threadIdx.x\nr = Tx.alloc_local((E,))", "Tx.alloc_local((E,))", ("`E`", "outside the kernel"),
    ),
    "an extent of zero": ("r = Tx.alloc_local((0,))", "Tx.alloc_local((0,))", ("extent",)),
    "an unknown dtype": ("r = Tx.alloc_local((4,), 'flot32')", "'flot32'", ("flot32", "float16")),
    "an unknown scope": (
        "r = Tx.alloc_buffer((4,), 'float32', 'tmem')",
        "Tx.alloc_buffer((4,), 'float32', 'tmem')",
        ("decl_buffer",),
    ),
    "a layout of another shape": (
        "r = Tx.alloc_shared((64, 64), 'float16', layout=A_layout)",
        "Tx.alloc_shared((64, 64), 'float16', layout=A_layout)",
        ("(64, 64)", "(128, 64)"),
    ),
    "a layout that is not a layout": (
        "r = Tx.alloc_local((4,), layout=3)",
        "Tx.alloc_local((4,), layout=3)",
        ("not a layout",),
    ),
    "an invalid layout": (
        "L = tma_shared_layout('float16', SwizzleMode.SWIZZLE_128B_ATOM, (128, 40))",
        "tma_shared_layout('float16', SwizzleMode.SWIZZLE_128B_ATOM, (128, 40))",
        ("40", "64"),
    ),
    "tensor memory without an address": (
        "t = Tx.decl_buffer((128, 512))",
        "Tx.decl_buffer((128, 512))",
        ("allocated_addr=tmem_addr[0]",),
    ),
    "declaring registers": (
        "t = Tx.decl_buffer((4,), scope='global')",
        "Tx.decl_buffer((4,), scope='global')",
        ("alloc_local",),
    ),
    "too many indices": ("reg[0, 1] = 0", "reg[0, 1]", ("at most 1 index", "found 2")),
    "a slice out of bounds": ("Tx.copy(Asmem, A[:, 0:96])", "A[:, 0:96]", ("0:96", "64")),
    "an empty slice": ("Tx.fill(reg[4:4], 0.0)", "reg[4:4]", ("0 elements",)),
    "a step": ("Tx.fill(reg[0:8:2], 0.0)", "reg[0:8:2]", ("step",)),
    "a constant of the kernel in a slice": (
        "W = 32\nfor i in range(2):\n    Tx.copy(Asmem[:, i * W : (i + 1) * W], A[:, i * W : (i + 1) * W])",
        "i * W : (i + 1) * W",
        ("`W` is assigned inside the kernel", "W = 32", "outside", "Tx.meta_var(32)"),
    ),
    "an extent that is not constant": ("Tx.fill(reg[0:n], 0.0)", "0:n", ("not a constant",)),
    "extents that differ": (
        "Tx.copy(Asmem[:, :], A[:, 0:32])",
        "Tx.copy(Asmem[:, :], A[:, 0:32])",
        ("128 × 64", "128 × 32"),
    ),
    "an unknown attribute": ("x = reg.shap", "reg.shap", ("`shape`",)),
    "a method of a slice": ("x = reg[0:4].view(2, 2)", "reg[0:4].view", ("`reg.view`",)),
    "a view without its layout": (
        "x = reg.view(128, 8)",
        "reg.view(128, 8)",
        ("4096 bytes", "reg has 32", "TileLayout(S[(128, 8) : (1@tid_in_wg, 1)])"),
    ),
    "a view of more registers than the source has": (
        "x = reg.view(128, 16, layout=TileLayout(S[(128, 16) : (1@tid_in_wg, 1)]))",
        "reg.view(128, 16, layout=TileLayout(S[(128, 16) : (1@tid_in_wg, 1)]))",
        ("64 bytes", "32"),
    ),
    "a view whose layout is of another shape": (
        "x = reg.view(128, 4, layout=TileLayout(S[(128, 8) : (1@tid_in_wg, 1)]))",
        "reg.view(128, 4, layout=TileLayout(S[(128, 8) : (1@tid_in_wg, 1)]))",
        ("(128, 4)", "(128, 8)"),
    ),
    "arithmetic with a buffer": ("x = reg + 1", "reg + 1", ("whole buffer",)),
    "a pointer with too few indices": ("x = A.ptr_to([0])", "A.ptr_to([0])", ("2 indices",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_invalid_buffer_or_slice_is_reported(name: str) -> None:
    body, culprit, words = MISTAKES[name]
    error = error_in(body)
    assert line_of(error) == culprit, str(error)
    for word in words:
        assert word in str(error), str(error)


def fill_view(buffer: Buffer) -> None:
    """Plain Python code that creates a view."""
    Tx.fill(buffer.view(4, 2), 0.0)


def test_a_view_created_by_plain_python_code_is_declared() -> None:
    assert printed("fill_view(reg)", fill_view=fill_view) == (
        'reg_view = Tx.decl_buffer((4, 2), "float32", scope="local", source=reg)\nTx.fill(reg_view[0:4, 0:2], 0.0)'
    )


def test_a_constant_from_outside_the_kernel_may_bound_a_slice() -> None:
    body = "for i in range(2):\n    Tx.copy(Asmem[:, i * W : (i + 1) * W], A[:, i * W : (i + 1) * W])"
    assert "A[0:128, i * 32 : i * 32 + 32]" in printed(body, W=32)


def test_a_parameter_without_a_type_or_with_a_default_is_reported() -> None:
    with pytest.raises(TirxError, match="`A` needs a type"):
        from_source("@Tx.prim_func\ndef k(A):\n    pass")
    with pytest.raises(TirxError, match="without defaults"):
        from_source("@Tx.prim_func\ndef k(n: Tx.int32 = 3):\n    pass")


FUTURE = """
from __future__ import annotations
from tirx_mini.script import tirx as Tx

def make(rows, columns):
    dtype = "float16"

    @Tx.prim_func
    def kernel(A: Tx.Buffer((rows, columns), dtype), n: Tx.int32):
        with Tx.kernel():
            x: Tx.uint32 = 0

    return kernel
"""


def test_postponed_annotations_see_the_names_around_the_kernel(tmp_path: Path) -> None:
    path = tmp_path / "future.py"
    path.write_text(FUTURE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("future", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert repr(module.make(4, 8).params[0]) == "A: global float16[4, 8]"


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["Tx.float16", "np.float16", "np.dtype('float16')", "torch.float16", "'float16'"])
def test_dtypes_of_other_libraries(dtype: str) -> None:
    body = f"r = Tx.alloc_local((4,), {dtype})\nr[0] = Tx.cast(reg[0], {dtype})"
    names = {"torch": pytest.importorskip("torch")} if "torch" in dtype else {}
    assert printed(body, np=np, **names) == 'r = Tx.alloc_local((4,), "float16")\nr[0] = Tx.float16(reg[0])'


def test_buffers_in_containers_are_named_after_the_container() -> None:
    body = """
    regs = [Tx.alloc_local((2,)) for _ in range(2)]
    named = {"tma": Tx.alloc_local((2,)), 7: Tx.alloc_local((2,)), "a b": Tx.alloc_local((2,))}
    made = {key: Tx.alloc_local((2,)) for key in ("x", "y")}
    first, second = (Tx.alloc_local((2,)) for _ in range(2))
    """
    names = [line.split(" = ")[0] for line in printed(body).splitlines()]
    assert names == "regs_0 regs_1 named_tma named_7 named made_x made_y first second".split()


def test_annotations_may_be_strings() -> None:
    func = from_source('@Tx.prim_func\ndef k(A: "Tx.Buffer((4, N), \'float16\')", n: "int32"):\n    pass', {"N": 8})
    assert repr(func.params[0]) == "A: global float16[4, 8]" and func.params[1].dtype == "int32"


def test_a_shared_view_keeps_its_root() -> None:
    func = read("wide = Asmem.view(64, 128)\nwide[0, 0] = 1")
    assert buffers(func)["wide"].root.name == "smem"


def test_a_workspace_is_in_global_memory_and_parses_back() -> None:
    func = from_source(
        "@Tx.prim_func\ndef k():\n    with Tx.kernel():\n"
        '        sums = Tx.alloc_buffer((4, 8), "float32", scope="global")\n'
        "        sums[0, 1] = 2.0\n"
    )
    (sums,) = func.workspaces
    assert (sums.name, sums.scope, sums.shape) == ("sums", "global", (4, 8)) and func.params == ()
    assert 'Tx.alloc_buffer((4, 8), "float32", scope="global")' in func.script()
    assert from_source(func.script()).script() == func.script()
