"""What programs do with kernels on TVM's host side: modules, attributes, targets, compiled modules, arithmetic."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tirx_mini.compat.tvm import imports
from tirx_mini.ir import Binary, Const, IRModule, PrimFunc, TirxError, Var, structural_equal
from tirx_mini.records import replace
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T


@pytest.fixture
def tvm() -> Iterator[Any]:
    """The module that stands for TVM."""
    with imports():
        yield importlib.import_module("tvm")


def adder(amount: float) -> PrimFunc:
    @T.prim_func
    def add(A: T.Buffer((32,), "float32")):
        T.device_entry()
        T.cta_id([1])
        tx = T.thread_id([32])
        A[tx] = A[tx] + T.float32(amount)

    return add


ADD, TWICE = adder(1.0), adder(2.0)


# -- functions and modules ---------------------------------------------------------------------------------------------


def test_a_module_is_a_mapping_of_functions() -> None:
    module = IRModule({"main": ADD})
    module["twice"] = TWICE
    module.update({"third": ADD})
    assert module["main"] is ADD and "twice" in module and list(module) == ["main", "twice", "third"]
    var = module.get_global_var("twice")
    assert var.name_hint == "twice" and module[var] is TWICE
    module.update_func(var, ADD)
    assert module["twice"] is ADD
    with pytest.raises(KeyError, match="no function 'four'; its functions are: main, third, twice"):
        module.get_global_var("four")
    copy = module.clone()
    copy["four"] = ADD
    assert "four" not in module


def test_a_module_of_a_function_has_its_name() -> None:
    assert list(IRModule.from_expr(ADD)) == ["add"]
    assert list(IRModule.from_expr(ADD.with_attr("global_symbol", "main"))) == ["main"]
    named = from_source(
        ADD.script().replace("    T.device_entry()", '    T.func_attr({"global_symbol": "main"})\n    T.device_entry()')
    )
    assert named.name == "main" and named.attrs["global_symbol"] == "main"


def test_the_text_of_a_module_parses_back_equal(tvm: Any) -> None:
    module = IRModule({"main": ADD, "add": TWICE})
    again = from_source(module.script(show_meta=True))
    assert isinstance(again, IRModule) and structural_equal(module, again)
    assert again.script() == module.script()
    tvm.ir.assert_structural_equal(module, again)
    with pytest.raises(ValueError, match="the kernels differ"):
        tvm.ir.assert_structural_equal(module, IRModule({"main": TWICE, "add": TWICE}))


def test_attributes_of_a_function() -> None:
    func = ADD.with_attr("tirx.noalias", True).with_attrs({"target": "cuda"})
    assert func.attrs["target"] == "cuda" and "target" in func.attrs and func.attrs["global_symbol"] == "add"
    assert func.without_attr("target").attrs.get("target") is None
    assert structural_equal(func.without_attr("target").without_attr("tirx.noalias"), ADD)


# -- compiled kernels --------------------------------------------------------------------------------------------------


def test_a_compiled_kernel_is_found_by_its_name_also_in_its_host_module(tvm: Any) -> None:
    exe = tvm.compile(IRModule({"main": ADD, "twice": TWICE}), target="sim")
    a = tvm.runtime.tensor(np.zeros(32, "float32"), tvm.cuda(0))
    exe["main"](a)
    exe.mod["main"](a)
    exe.mod.get_function("twice")(a)
    exe.jit()(a)
    np.testing.assert_array_equal(a.numpy(), 5)
    assert exe.mod.time_evaluator("main", tvm.cuda(0))(a).mean > 0
    assert exe.mod.imports_[0].kind == "cuda"
    with pytest.raises(ValueError, match="is not exported as a library"):
        exe.export_library("kernel.so")


def test_a_tensor_may_share_memory(tvm: Any) -> None:
    array = np.zeros(4, np.float32)
    tvm.runtime.from_dlpack(array).copyfrom(np.ones(4, np.float32))
    assert (array == 1).all()


def test_a_target_says_what_it_is(tvm: Any) -> None:
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_100a"}, host="llvm")
    assert target.kind.name == "cuda" and target.attrs["arch"] == "sm_100a" and target.keys == ("cuda", "gpu")
    assert target.max_num_threads == 1024 and target.thread_warp_size == 32 and target.export()["kind"] == "cuda"


def test_mistakes_in_kernels_are_errors_of_tvm(tvm: Any) -> None:
    for error in (tvm.TVMError, tvm.error.DiagnosticError, RuntimeError):
        assert issubclass(TirxError, error)


def test_registered_functions_are_found(tvm: Any) -> None:
    @tvm.register_global_func("test_host.twice", override=True)
    def twice(x: int) -> int:
        return 2 * x

    assert tvm.get_global_func("test_host.twice")(4) == 8
    assert tvm.get_global_func("test_host.missing", allow_missing=True) is None
    with pytest.raises(ValueError, match="registered already"):
        tvm.register_global_func("test_host.twice", twice)
    with pytest.raises(ValueError, match=r"no function 'test_host\.missing' is registered"):
        tvm.get_global_func("test_host.missing")


# -- expressions -------------------------------------------------------------------------------------------------------


def test_constructors_make_our_nodes_and_know_them(tvm: Any) -> None:
    tirx = tvm.tirx
    x, y = tirx.Var("x", "int32"), tirx.Var("y", "int64")
    assert isinstance(x, Var) and (x.name, x.dtype, y.dtype) == ("x", "int32", "int64")
    made = tirx.Add(x, tirx.Mul(x, tirx.IntImm("int32", 3)))
    assert isinstance(made, Binary) and isinstance(made, tirx.Add) and not isinstance(made, tirx.Mul)
    assert isinstance(made.b, tirx.Mul) and isinstance(x, tirx.Var) and not isinstance(made, tirx.Var)
    assert isinstance(tirx.FloatImm("float16", 1.5), Const) and isinstance(tirx.IntImm("int32", 3), tirx.IntImm)
    assert not isinstance(tirx.FloatImm("float16", 1.5), tirx.IntImm)
    assert isinstance(tirx.Select(x < 3, x, 0), tirx.Select) and isinstance(tirx.Cast("float32", x), tirx.Cast)
    assert str(tirx.LT(x, 3)) == "x < 3"


def test_the_analyzer_simplifies_and_proves(tvm: Any) -> None:
    tirx = tvm.tirx
    analyzer, x, y = tvm.arith.Analyzer(), tirx.Var("x", "int32"), tirx.Var("y", "int32")
    assert str(analyzer.simplify(x + 3 * x)) == "x * 4"
    assert analyzer.can_prove_equal(2 * (x + y), 2 * y + 2 * x) and not analyzer.can_prove_equal(x, y)
    analyzer.bind(x, tvm.ir.Range(0, 8))
    assert analyzer.can_prove(x < 8) and not analyzer.can_prove(x < 7) and analyzer.can_prove(tirx.EQ(x // 8, 0))
    analyzer.bind(y, tirx.IntImm("int32", 5))
    assert str(analyzer.simplify(x + y)) == "x + 5"


def test_a_module_of_several_kernels_shows_all_of_them() -> None:
    with imports():
        import tvm
        from tvm.script import tirx as T

        def kernel(threads: int) -> Any:
            @T.prim_func
            def made(A: T.Buffer((threads,), "float32")):
                T.device_entry()
                T.cta_id([1])
                A[T.thread_id([threads])] = T.float32(threads)

            return made

        module = tvm.IRModule({"main": kernel(64), "second": kernel(32)})
        assert [var.name_hint for var in module.functions] == ["main", "second"]
        exe = tvm.compile(module, target="cuda")
        text = exe.mod.imports[0].inspect_source()
        assert "__launch_bounds__(64)" in text and "__launch_bounds__(32)" in text
        a = tvm.runtime.empty((32,), "float32", tvm.cuda(0))
        exe.mod["second"](a)
        assert (np.from_dlpack(a) == 32).all() and tvm.DataType("bfloat16").type_code == 4


def test_a_module_needs_no_kernel_named_main_and_a_bare_copy_is_each_threads() -> None:
    with imports():
        import tvm
        from tvm.script import tirx as T
        from tvm.script.tirx import tile as Tx

        @T.prim_func
        def turned(A: T.Buffer((32, 4), "float32"), B: T.Buffer((32, 4), "float32")):
            T.device_entry()
            T.cta_id([1])
            tx = T.thread_id([32])
            shared = T.alloc_shared((32, 4), "float32")
            Tx.copy(shared[31 - tx, 0:4], A[tx, 0:4])
            T.cuda.cta_sync()
            Tx.copy(B[tx, 0:4], shared[tx, 0:4])

        @T.prim_func
        def ones(A: T.Buffer((32,), "float32")):
            T.device_entry()
            T.cta_id([1])
            A[T.thread_id([32])] = 1.0

        exe = tvm.compile(tvm.IRModule({"turned": turned, "ones": ones}), target="cuda")
        a, b, c = np.arange(128, dtype="float32").reshape(32, 4), np.zeros((32, 4), "float32"), np.zeros(32, "float32")
        exe["turned"](a, b)
        exe["ones"](c)
        assert (b == a[::-1]).all() and c.all()


def test_the_context_of_passes_changes_nothing() -> None:
    with imports():
        import tvm

        assert tvm.transform.PassContext.current().opt_level == 2
        with tvm.transform.PassContext(opt_level=3, config={"tirx.disable_vectorize": True}) as context:
            assert tvm.transform.PassContext.current() is context
        with pytest.raises(ValueError, match="watch the passes of TVM"):
            tvm.transform.PassContext(instruments=[object()])
        from tvm.transform import Sequential

        with pytest.raises(AttributeError, match="the passes are fixed"):
            Sequential([])


def test_names_of_functions_do_not_matter_to_structural_equality() -> None:
    with imports():
        import tvm

        other = replace(TWICE, name="expected")
        tvm.ir.assert_structural_equal(TWICE, other)
