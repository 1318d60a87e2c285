"""Running a kernel: its arguments, what is reported, and that results and verdicts do not depend on luck."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import torch

import tirx_mini as tvm
from tirx_mini.arguments import ArgumentError
from tirx_mini.course import load_kernels
from tirx_mini.diagnose import (
    Finding,
    Report,
    SimulationError,
    as_dict,
    failed,
    simulate,
    verdict_of,
    worst_first,
)
from tirx_mini.ir import (
    INT32,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    Launch,
    PrimFunc,
    Span,
    Stmt,
    TirxError,
    Var,
    cast,
    const,
    seq,
    special,
)
from tirx_mini.passes import lower
from utils import prepare_data

ROOT = Path(__file__).parents[3]
TID = special("threadIdx.x")


def copy_kernel(dtype: str = "float32", scale: Var | None = None) -> PrimFunc:
    """32 threads: D = A, or A * scale."""
    A, D = Buffer("A", (4, 8), DataType(dtype)), Buffer("D", (4, 8), DataType(dtype))
    value = BufferLoad(A.dtype, A, (TID,))
    store = BufferStore(D, (TID,), value * cast(A.dtype, scale) if scale is not None else value)
    params = (A, D) if scale is None else (A, scale, D)
    return PrimFunc("copy", params, store, launch=Launch((1, 1, 1), 32))


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_numpy_arrays_are_written_in_place() -> None:
    a, d = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros((4, 8), np.float32)
    report = simulate(copy_kernel(), [a, d])
    assert (report.verdict, report.findings) == ("ok", ())
    assert (d == a).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "uint8", "float8_e4m3fn"])
def test_torch_tensors_are_written_in_place(dtype: str) -> None:
    a = torch.arange(32).reshape(4, 8).to(getattr(torch, dtype))
    d = torch.zeros_like(a)
    assert simulate(copy_kernel(dtype), [a, d]).ok
    assert torch.equal(a.float(), d.float())


def test_extended_types_of_numpy() -> None:
    a = np.arange(32).reshape(4, 8).astype(ml_dtypes.bfloat16)
    d = np.zeros_like(a)
    assert simulate(copy_kernel("bfloat16"), [a, d]).ok
    assert (a == d).all()


def test_a_scalar_parameter() -> None:
    a, d = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros((4, 8), np.float32)
    assert simulate(copy_kernel(scale=Var(INT32, "scale")), [a, 3, d]).ok
    assert (d == a * 3).all()


GOOD = np.zeros((4, 8), np.float32)

BAD = {
    "too few": ([GOOD], "copy takes 2 arguments (A, D), but 1 were given"),
    "dtype": ([GOOD, GOOD.astype(np.float16)], "argument 2 (D) of copy has dtype float16"),
    "torch dtype": ([torch.zeros(4, 8, dtype=torch.bfloat16), GOOD], "argument 1 (A) of copy has dtype bfloat16"),
    "shape": ([GOOD, np.zeros((8, 4), np.float32)], "argument 2 (D) of copy has shape (8, 4)"),
    "strides": ([GOOD, np.zeros((8, 4), np.float32).T], "argument 2 (D) of copy is not contiguous"),
    "torch strides": ([torch.zeros(8, 4).T, GOOD], "argument 1 (A) of copy is not contiguous"),
    "no array": ([GOOD, [0.0]], "argument 2 (D) of copy must be a tensor or a NumPy array, but it is a list"),
    "device": ([torch.zeros(4, 8, device="meta"), GOOD], "argument 1 (A) of copy is on meta"),
    "read-only": ([GOOD, np.broadcast_to(GOOD, (4, 8))], "argument 2 (D) of copy is read-only"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_arguments_are_refused_in_one_sentence(name: str) -> None:
    args, message = BAD[name]
    with pytest.raises(ArgumentError) as error:
        simulate(copy_kernel(), args)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("value", [2.5, 2**40, "3"])
def test_a_wrong_scalar_is_refused(value: object) -> None:
    with pytest.raises(ArgumentError, match=r"argument 2 \(scale\) of copy must be a number of type int32"):
        simulate(copy_kernel(scale=Var(INT32, "scale")), [GOOD, value, GOOD.copy()])


def test_an_unknown_gpu() -> None:
    with pytest.raises(ValueError, match="unknown GPU 'b300x'"):
        simulate(copy_kernel(), [GOOD, GOOD.copy()], gpu="b300x")


# -- reports -----------------------------------------------------------------------------------------------------------


def faulty(*stmts: Stmt) -> PrimFunc:
    D = Buffer("D", (32,), INT32)
    place = Span(__file__, 1, 0)
    store = BufferStore(D, (TID * 2,), const(1), span=place)
    return PrimFunc("faulty", (D,), seq(*stmts, store), launch=Launch((1, 1, 1), 32))


def test_a_fault_is_in_the_report_and_never_raised() -> None:
    report = simulate(faulty(), [np.zeros(32, np.int32)])
    assert report.verdict == "fault" and not report.ok
    (finding,) = report.findings
    assert finding.kind == "out-of-bounds" and finding.span is not None and finding.span.line == 1
    assert report.time_us is None and report.tflops is None


def test_the_error_of_an_executable_is_the_whole_page() -> None:
    report = simulate(faulty(), [np.zeros(32, np.int32)])
    page = str(SimulationError(report))
    assert page.startswith("faulty: fault") and "element 32 of D" in page and "test_judge.py:1:1" in page


def test_what_cannot_be_lowered_is_a_report_too() -> None:
    span = Span(__file__, 3)
    report = failed(copy_kernel(), TirxError("no such thing", span, "write another", (("here", span),)), "B200")
    (finding,) = report.findings
    assert (report.verdict, finding.kind, finding.span) == ("fault", "lowering", span)
    assert finding.details["hint"] == "write another" and finding.details["notes"] == (("here", span),)


def finding(kind: str, severity: str = "error", message: str = "m") -> Finding:
    return Finding(kind, severity, message)  # type: ignore[arg-type]


def test_the_worst_finding_comes_first() -> None:
    race, late, hang = finding("race"), finding("race", message="later"), finding("deadlock")
    warning, fault = finding("missing-tcgen05-fence", "warning"), finding("out-of-bounds")
    assert worst_first([warning, race, late, hang, fault]) == (fault, hang, race, late, warning)


@pytest.mark.parametrize(
    ("kinds", "verdict"),
    [
        ([], "ok"),
        ([("race", "warning")], "ok"),
        ([("race", "error"), ("deadlock", "warning")], "hazard"),
        ([("race", "error"), ("deadlock", "error")], "deadlock"),
        ([("deadlock", "error"), ("tmem-not-freed", "error")], "fault"),
    ],
)
def test_only_errors_change_the_verdict(kinds: list[tuple[str, str]], verdict: str) -> None:
    assert verdict_of([finding(*kind) for kind in kinds]) == verdict


def test_a_finding_of_an_unknown_kind_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="not a kind of finding"):
        finding("strange")


def test_a_report_as_json() -> None:
    span = Span("kernel.py", 3, 4)
    found = Finding("race", "error", "two writes", span, {"notes": (("here", span),), "buffer": "A"})
    report = Report("hazard", (found,), 1.5, None, 10.0, [1], {"flops": np.float64(2)}, "k", "B200")
    data = json.loads(json.dumps(as_dict(report)))
    assert data["findings"][0]["span"] == "kernel.py:3:5"
    assert data["findings"][0]["details"]["notes"] == [["here", "kernel.py:3:5"]]
    assert data["stats"] == {"flops": 2.0} and "trace" not in data and "tflops" not in data


# -- whole kernels -----------------------------------------------------------------------------------------------------


def reference(step: int, shape: tuple[int, int, int], dtype: str = "float16") -> PrimFunc:
    (path,) = (ROOT / "kernels_ref" / "sm100").glob(f"step{step:02d}*.py")
    return load_kernels(path)[step](*shape, dtype)


@pytest.mark.parametrize(("step", "shape"), [(1, (128, 128, 64)), (3, (256, 128, 192)), (7, (256, 384, 256))])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_reference_is_right_under_every_schedule(step: int, shape: tuple[int, int, int], dtype: str) -> None:
    A, B, D = prepare_data(*shape, dtype, target="sim")
    report = tvm.simulate(reference(step, shape, dtype), A, B, D, schedules=4, seed=0)
    assert (report.verdict, report.findings, report.schedules) == ("ok", (), 4), str(report)
    want = (A.double() @ B.double().T).to(D.dtype)
    torch.testing.assert_close(D, want, rtol=2**-7 if dtype == "bfloat16" else 2**-10, atol=1e-2)


def test_time_and_throughput_are_predicted() -> None:
    shape = (256, 256, 256)
    report = tvm.simulate(reference(4, shape), *prepare_data(*shape, target="sim"))
    assert report.time_us is not None and report.cycles is not None and report.tflops is not None
    assert report.tflops == pytest.approx(2 * 256**3 / report.time_us / 1e6)
    assert report.gpu == "B200" and report.time_us > 0.5


def test_a_schedule_can_be_replayed_from_its_seed() -> None:
    shape = (256, 256, 256)
    kernel = lower(reference(7, shape))
    times = [simulate(kernel, prepare_data(*shape, target="sim"), seed=seed).time_us for seed in (5, 5, 6)]
    assert times[0] == times[1] != times[2]


def test_the_life_of_barriers_is_kept_on_demand() -> None:
    shape = (128, 128, 128)
    report = tvm.simulate(reference(4, shape), *prepare_data(*shape, target="sim"), log_barriers=True, trace=True)
    assert report.trace and any("tma_bar" in str(entry) for entry in report.stats["barriers"])
