"""Calls of CUDA functions: emitted as they are, and a reason for the verdict incomplete in the simulator."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.diagnose import failed
from tirx_mini.ir import TirxError, structural_equal
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T

RELU = """
__device__ __forceinline__ float my_relu(float x) {
  return x > 0.f ? x : 0.f;
}
"""
FILL = "__device__ void fill(float* tile, int* own) { tile[threadIdx.x] = 1.f; own[0] = 2; }"


@T.prim_func
def relu(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.device_entry()
    tx = T.thread_id([64])
    B[tx] = T.cuda.func_call("my_relu", A[tx], source_code=RELU, return_type="float32")


@T.prim_func
def pointers(B: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    tile = T.alloc_shared((32,), "float32")
    own = T.alloc_local((1,), "int32")
    T.cuda.func_call("fill", tile.data, own.data, source_code=FILL)
    B[tx] = tile[tx] + T.Cast("float32", own[0])


def test_a_call_makes_the_run_incomplete_and_the_program_goes_on() -> None:
    a, b = np.ones(64, np.float32), np.zeros(64, np.float32)
    report = tvm.simulate(relu, a, b)
    (finding,) = report.findings
    assert (report.verdict, finding.code, finding.severity) == ("incomplete", "TX601", "note") and not report.ok
    assert "the CUDA function my_relu" in finding.message and "its result is taken as nan" in finding.message
    assert finding.span is not None and finding.span.user.line == relu.span.line + 3
    assert np.isnan(b).all() and report.time_us is not None


def test_a_call_whose_meaning_is_given_is_simulated() -> None:
    a, b = np.linspace(-1, 1, 64, dtype=np.float32), np.zeros(64, np.float32)
    report = tvm.simulate(relu, a, b, functions={"my_relu": lambda x: np.maximum(x, 0)})
    assert report.verdict == "ok" and not report.findings
    assert (b == np.maximum(a, 0)).all()


def test_a_meaning_says_nothing_of_what_pointers_lead_to() -> None:
    report = tvm.simulate(pointers, np.zeros(32, np.float32), functions={"fill": lambda tile, own: None})
    assert report.verdict == "incomplete" and [f.code for f in report.findings] == ["TX601"]


def test_what_pointers_lead_to_may_have_been_written() -> None:
    report = tvm.simulate(pointers, np.zeros(32, np.float32))
    assert report.verdict == "incomplete" and [f.code for f in report.findings] == ["TX601"]


def test_a_program_that_is_wrong_besides_is_wrong() -> None:
    @T.prim_func
    def faulty(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        B[tx + 1] = T.cuda.func_call("my_relu", A[tx], source_code=RELU, return_type="float32")

    report = tvm.simulate(faulty, np.ones(64, np.float32), np.zeros(64, np.float32))
    assert report.verdict == "fault" and {f.code for f in report.findings} == {"TX301", "TX601"}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "uint32", "uint64", "bool"])
def test_results_of_every_type_can_be_computed_with(dtype: str) -> None:
    @T.prim_func
    def kernel(B: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        B[tx] = T.Cast("float32", T.cuda.func_call("f", tx, source_code="", return_type=dtype)) + 1.0

    b = np.zeros(32, np.float32)
    assert tvm.simulate(kernel, b).verdict == "incomplete"
    assert np.isnan(b).all() if "float" in dtype else (b == 1).all()


def test_an_executable_of_the_simulator_raises_for_what_it_does_not_model() -> None:
    exe = tvm.compile(tvm.IRModule({"main": relu}), target="sim")
    with pytest.raises(tvm.SimulationError, match="relu: incomplete"):
        exe(np.ones(64, np.float32), np.zeros(64, np.float32))


def test_the_call_prints_and_parses() -> None:
    for kernel in (relu, pointers):
        assert structural_equal(from_source(kernel.script()), kernel)
        assert structural_equal(from_source(lower(kernel).script()), lower(kernel))


@pytest.mark.compiler
def test_the_compiler_emits_the_source_once_and_the_call() -> None:
    text = tvm.compile(tvm.IRModule({"main": relu}), target="cuda:sm_90a").source("cuda")
    assert text.count("float my_relu(float x)") == 1 and "B[((int)threadIdx.x)] = my_relu(A[" in text
    exe = tvm.compile(tvm.IRModule({"main": pointers}), target="cuda:sm_90a")
    assert "st." in exe.source("ptx")


@pytest.mark.compiler
def test_a_function_of_cuda_is_called_by_its_name() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        A[tx] = T.call_extern("float32", "rsqrtf", A[tx])

    assert "rsqrt" in tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_90a").source("ptx")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("T.cuda.func_call()", "needs the name of a function and its source as strings"),
        ("T.cuda.func_call(tx, source_code='')", "needs the name of a function and its source as strings"),
        ("T.cuda.func_call('f', source_code='', return_type='handle')", "cannot return handle"),
        ("T.cuda.func_call('f', source_code='', return_type='float12')", "float12"),
    ],
)
def test_a_wrong_call_is_explained(call: str, message: str) -> None:
    source = f"""
@T.prim_func
def kernel(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    {call}
"""
    with pytest.raises(TirxError, match=message):
        from_source(source)


@pytest.mark.parametrize("name", ["ptx.suld", "ptx.tex", "ptx.multimem", "ptx.isspacep"])
def test_an_instruction_that_the_language_lacks_makes_a_kernel_incomplete(name: str) -> None:
    with pytest.raises(TirxError, match="that tirx_mini does not have: neither") as caught:
        from_source(f"""
@T.prim_func
def kernel(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    T.{name}(A.ptr_to([tx]))
""")
    report = failed("kernel", caught.value, "B200")
    assert (report.verdict, report.findings[0].code, report.findings[0].severity) == ("incomplete", "TX601", "note")


def test_a_name_that_is_no_instruction_is_unknown() -> None:
    with pytest.raises(TirxError, match="has no attribute `tcgen06`"):
        from_source("""
@T.prim_func
def kernel(A: T.Buffer((32,), "float32")):
    T.device_entry()
    T.ptx.tcgen06.alloc()
""")
