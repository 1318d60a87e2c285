"""Programs with tensor expressions and TIR, as they are written for TVM."""

from __future__ import annotations

import linecache
import textwrap
from pathlib import Path

import numpy as np
import pytest

from tirx_mini.compat import tvm as compat


def run(tmp_path: Path, text: str) -> dict:
    """Run a program with tirx_mini as its `tvm`; its names."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    linecache.checkcache(str(path))
    names: dict = {}
    with compat.imports():
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


MATMUL = """
    import numpy as np
    import tvm
    from tvm import te, tir

    M, N, K = 64, 64, 64
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
"""


def test_a_module_is_printed_and_its_function_has_parameters_and_a_body(tmp_path):
    names = run(tmp_path, MATMUL + "    mod = tvm.lower(s, [A, B, C], simple_mode=True)\n    text = str(mod)\n")
    assert names["text"].count("for ") == 3 and "C[i, j] = T.float32(0)" in names["text"]
    func = names["mod"]["main"]
    assert [param.name for param in func.params] == ["A", "B", "C"] and func.body is not None


def test_the_stages_of_a_gpu_schedule_print_their_memories(tmp_path):
    staging = """
    AA = s.cache_read(A, "shared", [C])
    CC = s.cache_write(C, "local")
    bx, tx = s[C].split(C.op.axis[0], factor=32)
    by, ty = s[C].split(C.op.axis[1], factor=32)
    s[C].bind(bx, te.thread_axis("blockIdx.x"))
    s[C].bind(tx, te.thread_axis("threadIdx.x"))
    s[CC].compute_at(s[C], tx)
    s[AA].compute_at(s[C], bx)
    s[AA].storage_align(AA.op.axis[0], factor=32, offset=1)
    text = str(tvm.lower(s, [A, B, C], simple_mode=True))
    f = tvm.build(s, [A, B, C], target="cuda")
    a, b = (tvm.nd.array(np.random.default_rng(n).integers(-4, 5, (M, N)).astype("float32")) for n in (0, 1))
    c = tvm.nd.array(np.zeros((M, N), "float32"), tvm.cuda(0))
    f(a, b, c)
    """
    names = run(tmp_path, MATMUL + staging)
    assert 'scope="shared"' in names["text"] and "strides=(65, 1)" in names["text"] and 'scope="local"' in names["text"]
    np.testing.assert_array_equal(names["c"].numpy(), names["a"].numpy() @ names["b"].numpy())


def test_blocks_are_written_printed_and_built(tmp_path):
    names = run(tmp_path, """
    import tvm
    from tvm.script import tir as T

    @T.prim_func
    def tiled(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (64, 64), "float32")
        B = T.match_buffer(b, (64, 64), "float32")
        C = T.match_buffer(c, (64, 64), "float32")
        for io, jo in T.grid(2, 2):
            for ii, ji in T.grid(32, 32):
                with T.block("C"):
                    vi = T.axis.spatial(64, io * 32 + ii)
                    vj = T.axis.spatial(64, jo * 32 + ji)
                    T.reads(A[vi, 0:64], B[0:64, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = T.float32(0)
                    for k in range(64):
                        C[vi, vj] += A[vi, k] * B[k, vj]

    mod = tvm.IRModule({"main": tiled})
    text = mod.script()
    sch = tvm.tir.Schedule(mod)
    io = sch.get_loops(sch.get_block("C"))[0]
    sch.parallel(io)
    f = tvm.build(sch.mod, target="llvm")
    """)  # fmt: skip
    assert "T.reads(A[vi, 0:64], B[0:64, vj])" in names["text"] and "T.writes(C[vi, vj])" in names["text"]
    a, b = (np.random.default_rng(n).integers(-4, 5, (64, 64)).astype(np.float32) for n in (0, 1))
    c = np.zeros((64, 64), np.float32)
    names["f"](a, b, c)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize(
    "line, message",
    [
        ("s[C].vectorize(k)", "k is a reduction"),
        ("s[C].compute_inline()", "C is an output of the schedule"),
        ("tvm.lower(s, [A, B])", "C is an output of the schedule, but is not among the arguments"),
    ],
)
def test_mistakes_are_reported_at_the_line_of_the_program(tmp_path, line, message):
    from tirx_mini.ir import TirxError

    with pytest.raises(TirxError, match=message) as caught:
        run(tmp_path, MATMUL + f"    {line}\n")
    assert caught.value.span is not None and caught.value.span.file.endswith("program.py")
    assert line in str(caught.value)


def test_an_instruction_may_be_described_before_its_statements_are_written(tmp_path):
    """A declaration whose function is still `...`: the schedule is made, and lowering says what is missing."""
    from tirx_mini.ir import TirxError

    declared = """
    def described(rows, columns, depth):
        a, b = te.placeholder((rows, depth), name="a"), te.placeholder((depth, columns), name="b")
        k = te.reduce_axis((0, depth), name="k")
        c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k))
        return te.decl_tensor_intrin(c.op, ...)

    io, ii = s[C].split(C.op.axis[0], factor=16)
    jo, ji = s[C].split(C.op.axis[1], factor=16)
    ko, ki = s[C].split(k, factor=16)
    s[C].tensorize(ii, described(16, 16, 16))
    """
    names = run(tmp_path, MATMUL + declared)
    with pytest.raises(TirxError, match="the loops from there on cover 16 × 64, and the instruction 16 × 16") as caught:
        names["tvm"].lower(names["s"], [names["A"], names["B"], names["C"]])
    assert "reorder: all outer loops first" in str(caught.value)
    reordered = declared.replace("s[C].tensorize", "s[C].reorder(io, jo, ko, ii, ji, ki)\n    s[C].tensorize")
    names = run(tmp_path, MATMUL + reordered)
    with pytest.raises(TirxError, match="its declaration has no statements"):
        names["tvm"].lower(names["s"], [names["A"], names["B"], names["C"]])


def test_a_cache_of_a_tensor_that_its_reader_does_not_read_is_refused_as_in_tvm(tmp_path):
    from tirx_mini.ir import TirxError

    text = """
    A = te.placeholder((M, N), name="A")
    B = te.compute((M, N), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((M, N), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C.op)
    AA = s.cache_read(A, "shared", [C])
    """
    with pytest.raises(TirxError, match="cache_read: C does not read A") as caught:
        run(tmp_path, MATMUL + text)
    assert "it reads B; name the stage that reads A" in str(caught.value)


def test_a_function_of_any_size_and_hints_for_its_loops(tmp_path):
    names = run(tmp_path, """
    import numpy as np
    import tvm
    from tvm import te

    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute(A.shape, lambda i: te.sin(A[i]) * tvm.tir.const(2, "float32"), name="B")
    s = te.create_schedule(B.op)
    s[B].pragma(B.op.axis[0], "auto_unroll_max_step", 16)
    s[B].prefetch(A, B.op.axis[0], 1)
    f = tvm.build(s, [A, B], "llvm", name="twice")
    for size in (5, 8):
        a, b = tvm.nd.array(np.ones(size, "float32")), tvm.nd.empty((size,))
        f(a, b)
    seconds = f.time_evaluator(f.entry_name, tvm.cpu(0), number=2)(a, b).mean
    """)  # fmt: skip
    np.testing.assert_allclose(names["b"].numpy(), np.sin(np.ones(8, np.float32)) * 2, rtol=1e-6)
    assert names["f"].entry_name == "twice" and "define void @twice" in names["f"].get_source()
    assert names["seconds"] > 0 and names["f"].imported_modules == []
