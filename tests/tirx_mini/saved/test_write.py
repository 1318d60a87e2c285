"""A kernel that was saved and loaded is the same: its text, its CUDA, its run, and the places of its findings."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.codegen import cuda_source
from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments
from tirx_mini.ir import Address, PrimFunc, structural_equal
from tirx_mini.passes import lower
from tirx_mini.script import from_source

NATIVE = Path(__file__).parents[3] / "examples" / "native"


def reference(folder: str, step: int) -> PrimFunc:
    return load_kernels(default_kernels(), folder)[step](*STEPS[step].shape(1024))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("folder", ["sm100", "sm90"])
def test_references_are_the_same_before_and_after_lowering(folder: str, step: int) -> None:
    kernel = reference(folder, step)
    for func in (kernel, lower(kernel)):
        again = tvm.load_json(tvm.save_json(func))
        assert structural_equal(func, again) and again.script() == func.script() and again.launch == func.launch
    assert cuda_source(lower(tvm.load_json(tvm.save_json(kernel)))).text == cuda_source(lower(kernel)).text


@pytest.mark.parametrize("name", ["01_saxpy.py", "02_row_shares.py", "03_reduce.py", "04_pipeline.py"])
def test_kernels_of_the_native_dialect_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(NATIVE))
    kernel = runpy.run_path(str(NATIVE / name))["kernel"]
    again = tvm.load_json(tvm.save_json(kernel))
    assert structural_equal(kernel, again) and again.script() == kernel.script()


def test_a_run_of_the_loaded_kernel_is_that_of_the_saved_one() -> None:
    kernel = reference("sm100", 7)
    arguments = make_arguments(kernel)
    reports = [tvm.simulate(each, *arguments) for each in (kernel, tvm.load_json(tvm.save_json(kernel)))]
    assert reports[0].ok and len({report.cycles for report in reports}) == 1
    assert reports[0].stats == reports[1].stats


def test_the_page_of_a_finding_is_the_same(tmp_path: Path) -> None:
    (source,) = (default_kernels() / "sm100").glob("step07*.py")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(source.read_text().replace("tma2mma.init(1)", "tma2mma.init(2)"))
    kernel = load_kernels(wrong)[7](*STEPS[7].shape(1024))
    pages = [str(tvm.simulate(each, *make_arguments(each))) for each in (kernel, tvm.load_json(tvm.save_json(kernel)))]
    assert "TX107" in pages[0] and "wrong.py" in pages[0] and pages[0] == pages[1]


def test_floats_are_exact_and_equal_parts_are_shared() -> None:
    kernel = from_source(
        "@T.prim_func\ndef kernel(A: T.Buffer((32,), 'float32')):\n    T.device_entry()\n    bx = T.cta_id([1])\n"
        "    tx = T.thread_id([32])\n    A[tx] = 0.1\n"
    )
    text = tvm.save_json(kernel)
    again = tvm.load_json(text)
    assert structural_equal(kernel, again)
    assert len({id(buffer) for buffer in again.params}) == 1 and json.loads(text)["version"] == 1
    a = np.zeros(32, np.float32)
    assert tvm.simulate(again, a).ok and (a == np.float32(0.1)).all()


def test_only_kernels_are_saved() -> None:
    with pytest.raises(TypeError, match="not a kernel"):
        tvm.save_json("kernel")  # pyright: ignore[reportArgumentType]


POINTER = """\
.version 8.0
.target sm_80
.entry scale(.param .u64 .ptr x)
{
.reg .b64 %rd<4>; .reg .b32 %r<2>; .reg .f32 %f<2>;
ld.param.u64 %rd1, [x];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
add.rn.f32 %f1, %f1, %f1;
st.global.f32 [%rd3], %f1;
ret;
}
"""


def test_computed_addresses_are_the_same() -> None:
    lowered = tvm.read_ptx(POINTER).entry().lowered([np.ones(32, np.float32)], grid=1, block=32)
    again = tvm.load_json(tvm.save_json(lowered.func))
    assert lowered.func.of(Address) and structural_equal(lowered.func, again)
