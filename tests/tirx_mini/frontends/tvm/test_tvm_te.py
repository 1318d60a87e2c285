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


LAYER = """
    import numpy as np
    import tvm
    from tvm import te, tir

    rows, inputs, outputs = 64, 48, 96
    x = te.placeholder((rows, inputs), name="x")
    W = te.placeholder((outputs, inputs), name="W")
    c = te.reduce_axis((0, inputs), name="c")
    y = te.compute((rows, outputs), lambda r, o: te.sum(x[r, c] * W[o, c], axis=c), name="y")
    s = te.create_schedule(y.op)
"""


def test_a_module_is_printed_and_its_function_has_parameters_and_a_body(tmp_path):
    names = run(tmp_path, LAYER + "    mod = tvm.lower(s, [x, W, y], simple_mode=True)\n    text = str(mod)\n")
    assert names["text"].count("for ") == 3 and "y[r, o] = T.float32(0)" in names["text"]
    func = names["mod"]["main"]
    assert [param.name for param in func.params] == ["x", "W", "y"] and func.body is not None


def test_the_stages_of_a_gpu_schedule_print_their_memories(tmp_path):
    staging = """
    weights = s.cache_read(W, "shared", [y])
    sums = s.cache_write(y, "local")
    r, o = s[y].op.axis
    group, lane = s[y].split(o, nparts=3)
    s[y].reorder(group, r, lane)
    for loop, index in ((group, "blockIdx.x"), (lane, "threadIdx.x")):
        s[y].bind(loop, te.thread_axis(index))
    s[weights].compute_at(s[y], group)
    s[sums].compute_at(s[y], lane)
    s[weights].storage_align(weights.op.axis[0], factor=16, offset=1)
    text = str(tvm.lower(s, [x, W, y], simple_mode=True))
    f = tvm.build(s, [x, W, y], target="cuda")
    draw = np.random.default_rng(0)
    given = [tvm.nd.array(draw.integers(-4, 5, (n, inputs)).astype("float32")) for n in (rows, outputs)]
    out = tvm.nd.array(np.zeros((rows, outputs), "float32"), tvm.cuda(0))
    f(*given, out)
    """
    names = run(tmp_path, LAYER + staging)
    assert 'scope="shared"' in names["text"] and "strides=(49, 1)" in names["text"] and 'scope="local"' in names["text"]
    x, W = (array.numpy() for array in names["given"])
    np.testing.assert_array_equal(names["out"].numpy(), x @ W.T)


def test_blocks_are_written_printed_and_built(tmp_path):
    names = run(tmp_path, """
    import tvm
    from tvm.script import tir as T

    @T.prim_func
    def windows(given: T.handle, weights: T.handle, found: T.handle):
        X = T.match_buffer(given, (40, 70), "float32")
        W = T.match_buffer(weights, (7,), "float32")
        Y = T.match_buffer(found, (40, 64), "float32")
        for band, y, x in T.grid(5, 8, 64):
            with T.block("window"):
                row = T.axis.spatial(40, band * 8 + y)
                left = T.axis.spatial(64, x)
                T.reads(X[row, left:left + 7], W[0:7])
                T.writes(Y[row, left])
                Y[row, left] = T.float32(1)
                for step in range(7):
                    Y[row, left] -= W[step] * X[row, left + step]

    mod = tvm.IRModule({"main": windows})
    text = mod.script()
    sch = tvm.tir.Schedule(mod)
    band = sch.get_loops(sch.get_block("window"))[0]
    sch.parallel(band)
    f = tvm.build(sch.mod, target="llvm")
    """)  # fmt: skip
    assert "T.reads(X[row, left:left + 7], W[0:7])" in names["text"] and "T.writes(Y[row, left])" in names["text"]
    given, weights = (np.random.default_rng(n).integers(-4, 5, shape).astype(np.float32)
                      for n, shape in enumerate([(40, 70), (7,)]))  # fmt: skip
    found = np.zeros((40, 64), np.float32)
    names["f"](given, weights, found)
    np.testing.assert_array_equal(found, 1 - np.lib.stride_tricks.sliding_window_view(given, 7, axis=1) @ weights)


@pytest.mark.parametrize(
    "line, message",
    [
        ("s[y].vectorize(c)", "c is a reduction"),
        ("s[y].compute_inline()", "y is an output of the schedule"),
        ("tvm.lower(s, [x, W])", "y is an output of the schedule, but is not among the arguments"),
    ],
)
def test_mistakes_are_reported_at_the_line_of_the_program(tmp_path, line, message):
    from tirx_mini.ir import TirxError

    with pytest.raises(TirxError, match=message) as caught:
        run(tmp_path, LAYER + f"    {line}\n")
    assert caught.value.span is not None and caught.value.span.file.endswith("program.py")
    assert line in str(caught.value)


def test_an_instruction_may_be_described_before_its_statements_are_written(tmp_path):
    """A declaration whose function is still `...`: the schedule is made, and lowering says what is missing."""
    from tirx_mini.ir import TirxError

    declared = """
    def described(rows, columns, depth):
        left, right = te.placeholder((rows, depth), name="left"), te.placeholder((columns, depth), name="right")
        d = te.reduce_axis((0, depth), name="d")
        tile = te.compute((rows, columns), lambda r, c: te.sum(left[r, d] * right[c, d], axis=d))
        return te.decl_tensor_intrin(tile.op, ...)

    row_tile, column_tile, row, column = s[y].tile(*y.op.axis, 8, 32)
    depth_tile, depth = s[y].split(c, factor=12)
    s[y].tensorize(row, described(8, 32, 12))
    """
    names = run(tmp_path, LAYER + declared)
    with pytest.raises(TirxError, match="the loops from there on cover 48, and the instruction 12") as caught:
        names["tvm"].lower(names["s"], [names["x"], names["W"], names["y"]])
    assert "reorder: all outer loops first" in str(caught.value)
    order = "s[y].reorder(row_tile, column_tile, depth_tile, row, column, depth)"
    names = run(tmp_path, LAYER + declared.replace("s[y].tensorize", f"{order}\n    s[y].tensorize"))
    with pytest.raises(TirxError, match="its declaration has no statements"):
        names["tvm"].lower(names["s"], [names["x"], names["W"], names["y"]])


def test_a_cache_of_a_tensor_that_its_reader_does_not_read_is_refused_as_in_tvm(tmp_path):
    from tirx_mini.ir import TirxError

    text = """
    shifted = te.compute((rows, inputs), lambda r, c: x[r, c] - 0.5, name="shifted")
    cubed = te.compute((rows, inputs), lambda r, c: shifted[r, c] * shifted[r, c] * shifted[r, c], name="cubed")
    s = te.create_schedule(cubed.op)
    s.cache_read(x, "shared", [cubed])
    """
    with pytest.raises(TirxError, match="cache_read: cubed does not read x") as caught:
        run(tmp_path, LAYER + text)
    assert "it reads shifted; name the stage that reads x" in str(caught.value)


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
