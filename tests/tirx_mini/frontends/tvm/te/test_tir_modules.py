"""`tir.Schedule` of modules, its notes and its trace, and what Apache TVM 0.26 calls them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.compat.tvm import imports
from tirx_mini.ir import IRModule, TirxError
from tirx_mini.script import tir as T

from .examples import matmul


@T.prim_func
def plus(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = T.if_then_else(vi < 32, A[vi] + 1.0, 0, dtype="float32")


ROW = T.Buffer[(64,), "float32"]


@T.prim_func
def twice(A: ROW, B: T.Buffer[64]):
    with T.block("root"):
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * 2.0


def test_each_function_of_a_module_is_scheduled_and_keeps_its_name():
    sch = te.TirSchedule(IRModule({"plus": plus, "twice": twice}))
    (first,) = sch.get_loops(sch.get_block("B", "plus"))
    (second,) = sch.get_loops(sch.get_block("B", func_name="twice"))
    sch.vectorize(sch.split(second, [None, 4], preserve_unit_iters=True)[1])
    sch.parallel(first)
    assert "T.parallel(64)" in sch.mod["plus"].script() and "T.vectorized(4)" in sch.mod["twice"].script()
    sch.work_on("plus")
    assert sch.func is sch.mod["plus"] and sch.get("twice") is sch.mod["twice"]
    with pytest.raises(TirxError, match="the module has no function 'thrice'"):
        sch.work_on("thrice")
    copy = sch.copy()
    copy.unroll(copy.get_loops(copy.get_block("B", "twice"))[0])
    assert "T.unroll" not in sch.mod["twice"].script()
    a, b = np.ones(64, np.float32), np.zeros(64, np.float32)
    te.build(sch.mod["twice"], target="llvm")(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_notes_are_attributes_of_blocks_and_are_taken_back():
    sch = te.TirSchedule(plus)
    sch.annotate("B", "stage", 2)
    sch.annotate(sch.get_loops("B")[0], "pragma_auto_unroll_max_step", 16)
    assert sch.get(sch.get_block("B")).annotations == {"stage": 2} and 'T.block_attr({"stage": 2})' in sch.func.script()
    sch.unannotate("B", "stage")
    sch.unannotate(sch.get_loops("B")[0], "pragma_auto_unroll_max_step")
    assert "block_attr" not in sch.func.script()
    with pytest.raises(TirxError, match="there is no note 'stage' to take back"):
        sch.unannotate("B", "stage")


def test_the_trace_as_tvm_has_it_and_what_statements_are_asked_for():
    mm = matmul(16, 16, 16)
    sch = te.TirSchedule(te.create_prim_func(mm.args), seed=3)
    block = sch.get_block("C")
    i, _, k = sch.get_loops(block)
    factors = sch.sample_perfect_tile(i, n=2)
    sch.split(i, factors)
    assert [inst.kind.name for inst in sch.trace.insts][-2:] == ["sample_perfect_tile", "split"]
    assert list(sch.trace.decisions.values()) == [factors]
    assert sch.trace.as_python() == str(sch.trace).splitlines()
    loop, stmt = sch.get(k), sch.get(block)
    assert (loop.loop_var.name, loop.extent.value, loop.min.value) == ("k", 16, 0)
    assert [axis.iter_type for axis in stmt.iter_vars] == [0, 0, 2] and stmt.name_hint == "C"


def test_indices_of_a_grid_and_memories_by_tvms_names():
    mm = matmul(8, 8, 8)
    sch = te.TirSchedule(te.create_prim_func(mm.args))
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "vthread.x")
    sch.bind(j, "threadIdx.x")
    assert "for i in T.unroll(8)" in sch.func.script()
    with pytest.raises(TirxError, match=r"'threadIdx\.w' is not an index of a grid"):
        sch.bind(i, "threadIdx.w")
    copy = sch.cache_read("C", 0, "shared.dyn")
    assert copy.name == "A_shared" and 'scope="shared")' in sch.func.script()
    with pytest.raises(TirxError, match="A_shared is not a loop"):
        sch.blockize(copy)


def test_copies_are_for_their_block_alone():
    mm = matmul(8, 8, 8)
    sch = te.TirSchedule(te.create_prim_func(mm.args))
    assert sch.cache_read("C", "B", "global", consumer_blocks=["C"]).name == "B_global"
    with pytest.raises(TirxError, match="the copy is for C, not for B_global"):
        sch.cache_read("C", 0, "global", consumer_blocks="B_global")


@pytest.fixture
def tvm() -> Iterator[Any]:
    with imports():
        import tvm  # type: ignore[import-not-found]

        yield tvm


def test_the_names_of_tvm(tvm):
    from tvm.s_tir import Schedule  # type: ignore[import-not-found]

    assert Schedule is tvm.tir.Schedule is te.TirSchedule and issubclass(tvm.tir.ScheduleError, TirxError)
    sch = Schedule(plus, debug_mask="all")
    assert str(sch.get_loops(sch.get_sblock("B"))[0]) == "i"
    built = tvm.build(sch.mod, target="llvm")
    assert isinstance(built, tvm.runtime.Module) and built.type_key == "llvm" and built.entry_name == "main"
    with pytest.raises(ValueError, match="is not exported as a library"):
        built.save("plus.ll")


def test_modules_of_tvm_that_are_not_here_say_what_to_write(tvm):
    with pytest.raises(AttributeError, match="does not provide `ir_builder`") as caught:
        tvm.tir.ir_builder.create()
    assert "write the statements as a function of tvm.script" in str(caught.value)
    assert not hasattr(tvm, "relax")
    from tvm.tir import tensor_intrin  # type: ignore[import-not-found]

    with pytest.raises(AttributeError, match=r"does not provide the module `tvm\.tir\.tensor_intrin`") as caught:
        tensor_intrin.register()
    assert "te.mma()" in str(caught.value)
