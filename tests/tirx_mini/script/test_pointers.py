"""Pointers and names of storage in TVM's words, assertions, and loops that are indices of the launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.script.reading import goes_round
from tirx_mini.ir import DeclBuffer, PrimFunc, TirxError, walk
from tirx_mini.layout import tcgen05_atom_layout
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T

pytestmark = pytest.mark.compiler


def kernel(*lines: str, grid: str = "[1]") -> PrimFunc:
    """A kernel of 32 threads with these statements."""
    body = "\n".join(f"    {line}" for line in lines)
    return from_source(f"""
@T.prim_func
def kernel(A: T.Buffer((64,), "float32"), O: T.Buffer((64,), "float32")):
    T.device_entry()
    bx = T.cta_id({grid})
    tx = T.thread_id([32])
{body}
""")


A = np.arange(64, dtype=np.float32)


def run(*lines: str) -> Any:
    made, out = kernel(*lines), np.zeros(64, np.float32)
    report = tvm.simulate(made, A.copy(), out)
    assert report.verdict == "ok" and not report.findings, report.findings
    goes_round(made)
    return out


CASES: dict[tuple[str, ...], Any] = {
    ("if not T.isnullptr(A.data): O[tx] = A[tx]",): A[:32],
    ("r = T.alloc_local((4,), 'float32')", "s = T.decl_scalar('float32', r.data, 'local', 1)", "s = 3.0",
     "O[tx] = r[1] + s"): np.full(32, 6),
    ("p = T.smem((32,), 'float32')", "p[tx] = A[tx]", "T.cuda.cta_sync()", "O[tx] = p[31 - tx]"): A[31::-1],
    ("q = T.buffer((32,), 'float32', data=T.tvm_access_ptr('float32', A.data, 8, 32, 1))", "O[tx] = q[tx]"): A[8:40],
    ("q = T.buffer((32,), 'uint32', data=A.data)", "O[tx] = T.reinterpret('float32', q[tx])"): A[:32],
    ("v = T.BufferLoad(A, [tx + 1])", "O[tx] = v"): A[1:33],
    ("x: T.LocalVectorAnnotation('float32', 2)", "x[1] = A[tx]", "y: T.LetAnnotation() = x[1] * 2.0", "O[tx] = y"):
        2 * A[:32],
    ("for i in T.parallel(2): O[tx + i * 32] = A[tx] + i",): np.concatenate([A[:32], A[:32] + 1]),
    ("for i in T.thread_binding(2, thread='blockIdx.y'): O[tx + i * 32] = A[tx] + i",):
        np.concatenate([A[:32], A[:32] + 1]),
    ("for i in T.thread_binding(0, 2, 'blockIdx.y'): O[tx + i * 32] = A[tx] + i",):
        np.concatenate([A[:32], A[:32] + 1]),
    ("T.Assert(tx < 32, 'too many')", "O[tx] = A[tx]"): A[:32],
    ("assert tx < 32, 'too many'", "O[tx] = A[tx]"): A[:32],
    ("with T.Assert(T.assume(tx < 32), ['too', 'many']):", "    O[tx] = A[tx]"): A[:32],
    ("O[tx] = T.call_intrin('float32', 'tirx.exp2', A[tx] - A[tx] + 3.0)",): np.full(32, 8),
    ("O[tx] = T.Cast('float32', T.ptx.fetch_register(32, 'laneid') + T.ptx.fetch_register(32, '%ctaid.x'))",):
        np.arange(32),
    ("O[tx] = T.Cast('float32', T.popcount(T.ptx.fetch_register(32, 'lanemask_gt')))",): 31 - np.arange(32),
    ("O[tx] = T.Cast('float32', T.popcount(T.ptx.fetch_register(32, 'lanemask_le')))",): 1 + np.arange(32),
    ("T.cuda.trap_when_assert_failed(tx < 32)", "O[tx] = T.scalar_wrapper(A[tx])"): A[:32],
}  # fmt: skip


@pytest.mark.parametrize("lines", CASES, ids=" ".join)
def test_a_kernel(lines: tuple[str, ...]) -> None:
    out = run(*lines)
    np.testing.assert_array_equal(out[: len(CASES[lines])], CASES[lines])


@pytest.mark.parametrize(
    "line", ["assert tx < 30", "T.Assert(tx < 30, 'bad')", "T.cuda.trap_when_assert_failed(tx < 30)"]
)
def test_an_assertion_that_does_not_hold_ends_the_launch(line: str) -> None:
    report = tvm.simulate(kernel(line, "O[tx] = A[tx]"), A.copy(), np.zeros(64, np.float32))
    assert report.verdict == "fault"
    assert report.findings[0].message == "an assertion does not hold in 2 threads of a warp"
    assert report.findings[0].span is not None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T.Assert(1 > 2, ['one ', 'two'])", "one two"),
        ("T.isnullptr(tx)", "expects a pointer"),
        ("T.tvm_access_ptr('uint8', A.data, 0, 4, 1)", "counts uint8, but A has elements of float32"),
        ("T.tvm_access_ptr('float32', tx, 0, 4, 1)", "expects the pointer of a buffer"),
        ("T.alloc_tcgen05_ldst_frag('32x32b', (127, 1), 'float32')", "not shared evenly"),
        ("T.alloc_cast_frag(A, 'float16')", "expects a register tile of two dimensions"),
        ("T.BufferLoad(A, [0], True)", "has no predicate"),
        ("T.ptx.fetch_register(32, 'smid')", "the special register %smid has no value here"),
        ("T.ptx.fetch_register(16, 'laneid')", "32 or 64 bits, not 16"),
        ("T.call_intrin('float32', 'tirx.expo', 1.0)", "has no attribute `expo`"),
        ("T.thread_binding(2, thread='warp')", "is not an index of a grid"),
    ],
)
def test_what_is_refused(line: str, message: str) -> None:
    with pytest.raises(TirxError, match=message):
        kernel(f"x = {line}", "O[tx] = A[tx]")


def test_fragments_have_the_layout_of_their_instruction() -> None:
    made = kernel(
        "f = T.alloc_tcgen05_ldst_frag('16x64b', (64, 32), 'float32')", "h = T.alloc_cast_frag(f, 'float16')",
        "O[tx] = A[tx]",
    )  # fmt: skip
    frags = [line for line in made.script().splitlines() if "layout=" in line]
    layouts = [line[line.index("layout=") :] for line in frags]
    assert len(frags) == 2 and layouts[0] == layouts[1] and ("float16" in frags[1]) > ("float16" in frags[0])
    place = tcgen05_atom_layout("16x64b", (64, 32), "float32")
    views = [node.buffer for node in walk(made.body) if isinstance(node, DeclBuffer)]
    assert [view.layout for view in views] == [place, place] and views[1].dtype == "float16"


def test_a_region_of_ranges() -> None:
    @T.prim_func
    def filled(A: T.Buffer((32,), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        T.cta.fill(T.tile.BufferRegion(A, [T.Range(8, 24)]), 3.0)

    a = np.zeros(32, np.float32)
    assert tvm.simulate(filled, a).ok and (a[8:24] == 3).all() and a.sum() == 48


def test_what_is_a_buffer() -> None:
    @T.prim_func
    def plain(A: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        if T.tile.is_buffer_var(A) and not T.tile.is_buffer_var(tx):
            A[tx] = 1.0

    a = np.zeros(32, np.float32)
    assert tvm.simulate(plain, a).ok and (a == 1).all()


def test_types_and_extents_have_names() -> None:
    part, text = T.Range(2, 10), T.StringImm("a text")
    assert (repr(part.min), repr(part.extent), repr(T.Range(3).extent)) == ("2", "8", "3") and text.value == "a text"
    assert str(T.type_annotation("float16")) == "float16" and T.ptr("float32").dtype == "handle"
