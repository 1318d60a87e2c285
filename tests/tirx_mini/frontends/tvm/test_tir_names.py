"""The parts of TIR by TVM's names: functions, their parameters, and the statements of their bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tirx_mini import simulate
from tirx_mini.compat.tvm import imports
from tirx_mini.ir import structural_equal, walk
from tirx_mini.script import from_source


@pytest.fixture(autouse=True)
def _as_tvm() -> Iterator[None]:
    with imports():
        yield


def convolved() -> tuple[Any, list[Any]]:
    """A function with every statement: a convolution in tiles that do not divide it, into a temporary."""
    import tvm  # type: ignore[import-not-found]
    from tvm import te  # type: ignore[import-not-found]

    data, kernel = te.placeholder((20, 20), name="data"), te.placeholder((3, 3), name="kernel")
    rows, columns = (te.reduce_axis((0, 3), name=name) for name in ("rows", "columns"))
    conv = te.compute(
        (18, 18),
        lambda i, j: te.sum(data[i + rows, j + columns] * kernel[rows, columns], axis=[rows, columns]),
        name="conv",
    )
    twice = te.compute((18, 18), lambda i, j: conv[i, j] * 2.0, name="twice")
    s = te.create_schedule(twice.op)
    s[conv].tile(*conv.op.axis, 8, 8)
    return tvm.lower(s, [data, kernel, twice], simple_mode=True), [data, kernel, twice]


def test_the_statements_of_a_function_have_tvms_names() -> None:
    from tvm import tir  # type: ignore[import-not-found]

    module, _ = convolved()
    func = module["main"]
    nodes = list(walk(func.body))
    for name in ("BufferStore", "BufferLoad", "For", "Allocate", "IfThenElse", "SeqStmt"):
        assert any(isinstance(node, getattr(tir, name)) for node in nodes), name
    assert isinstance(func, tir.PrimFunc) and not any(isinstance(node, tir.Block) for node in nodes)
    assert [func.buffer_map[param].name for param in func.params] == ["data", "kernel", "twice"]
    assert func.buffer_map[func.params[0]].shape == (20, 20) and func.attrs["global_symbol"] == "main"


def test_it_is_built_for_the_cpu_and_called_with_arrays() -> None:
    import tvm  # type: ignore[import-not-found]

    module, _ = convolved()
    rng = np.random.default_rng(0)
    image, window = rng.random((20, 20), np.float32), rng.random((3, 3), np.float32)
    out = tvm.nd.array(np.zeros((18, 18), np.float32))
    tvm.build(module, target="llvm")(tvm.nd.array(image), tvm.nd.array(window), out)
    seen = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    np.testing.assert_allclose(out.numpy(), 2 * (seen * window).sum((2, 3)), rtol=1e-5)


def test_blocks_have_names_in_tirx_too() -> None:
    """`T.sblock` and what stands in it, read by tirx's decorator; the text is that of TIR."""
    from tvm.script import tir  # type: ignore[import-not-found]
    from tvm.script import tirx as T  # type: ignore[import-not-found]

    @T.prim_func
    def kernel(A: T.Buffer((32, 16), "float32"), B: T.Buffer((32,), "float32")):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            part = T.sblock_alloc_buffer((32,), scope="local")
            for k in range(18):
                with T.sblock("sum"):
                    T.sblock_attr({"step": 1})
                    i = T.axis.spatial(32, tx)
                    kk = T.axis.reduce(18, k)
                    T.where(k < 16)
                    T.reads(A[i, kk])
                    T.writes(part[i])
                    with T.init():
                        part[i] = T.float32(0)
                    part[i] = part[i] + A[i, kk]
            B[tx] = part[tx]

    a, b = np.random.default_rng(0).integers(0, 9, (32, 16)).astype(np.float32), np.zeros(32, np.float32)
    assert simulate(kernel, a, b).ok
    np.testing.assert_array_equal(b, a.sum(1))
    assert 'T.block("sum")' in kernel.script()
    assert structural_equal(from_source(kernel.script(), extra={"T": tir}), kernel)
