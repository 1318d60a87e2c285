"""Whatever a kernel names its variables, the program generated from it means the same."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import (
    INT32,
    UINT32,
    Bind,
    Buffer,
    BufferStore,
    Call,
    DataType,
    Evaluate,
    For,
    PrimFunc,
    Scope,
    ScopeIds,
    Var,
    const,
    seq,
)


@pytest.mark.parametrize("name", ["w", "range", "int", "np", "lambda", "program", "out"])
def test_a_variable_may_have_any_name(name):
    out = Buffer("out", (4,), DataType("int32"))
    tid, i, doubled = Var(INT32, "tid"), Var(INT32, name), Var(INT32, name)
    sync = Evaluate(Call(DataType("handle"), "bar.sync.all", (const(0, UINT32),)))
    body = For(i, const(0), const(4), seq(Bind(doubled, i * 2), BufferStore(out, (i,), doubled + i), sync))
    func = PrimFunc("kernel", (out,), Scope("kernel", seq(ScopeIds((tid,), (1,), "thread", "cta"), body)))
    result = np.zeros(4, np.int32)
    report = tvm.simulate(func, result)
    assert report.verdict == "ok", str(report)
    assert list(result) == [0, 3, 6, 9]
