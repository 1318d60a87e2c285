"""The Blackwell references as machine code: the instructions that each step teaches, and no local memory."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tirx_mini.codegen import cuda_source
from tirx_mini.course import STEPS, load_kernels, steps_from
from tirx_mini.passes import lower
from tirx_mini.runtime import Executable, build, compile_cuda, summarise

REFERENCES = Path(__file__).parents[3] / "kernels_ref"
TMA_LOAD, TMA_STORE = r"^UTMALDG\.2D", r"^UTMASTG\.2D"


@cache
def compiled(step: int, size: int = 1024, dtype: str = "float16") -> Executable:
    kernel = load_kernels(REFERENCES)[step](*STEPS[step].shape(size), dtype=dtype)
    return build(lower(kernel), "sm_100a", original=kernel)


@pytest.mark.compiler
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("step", STEPS)
def test_no_warning_no_spill_no_local_memory(step: int, dtype: str) -> None:
    exe = compiled(step, 1024, dtype)
    resources = exe.compiled.resources
    assert exe.compiled.warnings == ()
    assert (resources.stack_bytes, resources.spill_store_bytes, resources.spill_load_bytes) == (0, 0, 0)


@pytest.mark.compiler
@pytest.mark.parametrize("step", steps_from(3))
def test_no_warning_at_the_largest_size(step: int) -> None:
    largest = max(max(shape) for shape in STEPS[step].all_shapes(full=True))
    assert compiled(step, largest).compiled.warnings == ()


@pytest.mark.compiler
@pytest.mark.parametrize("step", STEPS)
def test_the_machine_code_has_the_instructions_of_its_step(step: int) -> None:
    summary = summarise(compiled(step).source("sass"))
    assert summary.local_accesses == 0
    pair = step >= 9
    assert summary.matching(r"^UTCHMMA\.2CTA" if pair else r"^UTCHMMA(?!.*2CTA)")
    assert summary.matching(r"^LDTM\.")
    assert summary.matching(r"^UTCBAR\.2CTA\.MULTICAST" if pair else r"^UTCBAR(?!.*MULTICAST)")
    assert bool(summary.matching(TMA_LOAD)) == bool(summary.matching(TMA_STORE)) == (step >= 4)
    assert bool(summary.matching(r"^UCGABAR_WAIT")) == pair
    assert bool(summary.matching(r"^UTMALDG.*2CTA")) == pair
    if step < 4:
        assert (
            summary.matching(r"^LDG\.E\.128") and summary.matching(r"^STS\.128") and summary.matching(r"^STG\.E\.128")
        )


@pytest.mark.compiler
@pytest.mark.parametrize("step", STEPS)
def test_comments_leave_the_machine_code_as_it_is(step: int) -> None:
    exe = compiled(step)
    commented = compile_cuda(replace(exe.cuda, text=exe.source("cuda")), "sm_100a")
    assert exe.source("cuda") != exe.source("cuda", comments=False) == exe.cuda.text
    assert (commented.cubin, commented.ptx, commented.warnings) == (exe.compiled.cubin, exe.compiled.ptx, ())


def main_body(step: int) -> list[str]:
    """The lines of the kernel itself, without the device functions above it."""
    text = cuda_source(lower(load_kernels(REFERENCES)[step](*STEPS[step].shape(1024)))).text
    return text[text.index("__global__") :].splitlines()


def test_the_text_has_the_patterns_of_the_assignment() -> None:
    lines = main_body(7)
    text = "\n".join(lines)
    assert re.search(r"__global__ void __launch_bounds__\(256\) kernel_kernel\(", text)
    assert "int warp_id_in_cta = __shfl_sync(0xffffffff, (((int)threadIdx.x) >> 5), 0, 32);" in text
    assert re.search(r"extern __shared__ .*uchar \w+\[\];", text)
    for condition in (
        "(warp_id_in_cta >> 2) == 0",
        "(warp_id_in_cta >> 2) == 1",
        "(warp_id_in_cta % 4) == 0",
        "(warp_id_in_cta % 4) == 3",
        "((int)threadIdx.x) < 1",
        "tvm_builtin_elect_one_sync_op()",
    ):
        assert f"if ({condition}) {{" in text
    assert "tvm_builtin_cuda_cta_sync();" in text and "tvm_builtin_ptx_fence_proxy_async_shared_cta();" in text


def test_the_barriers_of_step_7_are_initialised_by_thread_0_alone() -> None:
    lines = main_body(7)
    inits = [i for i, line in enumerate(lines) if "mbarrier_init(&" in line]
    counts = [re.search(r"&(\w+)\[(\d)\], (\d+)\)", lines[i]) for i in inits]
    assert [m.groups() for m in counts if m] == [
        ("tma2mma", "0", "1"),
        ("tma2mma", "1", "1"),
        ("mma2tma", "0", "1"),
        ("mma2tma", "1", "1"),
        ("mma2ld", "0", "1"),
        ("ld2mma", "0", "128"),
    ]
    for i in inits:
        outer = next(line for line in reversed(lines[:i]) if _indent(line) < _indent(lines[i]))
        assert outer == "  if (((int)threadIdx.x) < 1) {"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def test_tensor_memory_of_step_7_is_allocated_by_a_whole_warp() -> None:
    lines = [line.strip() for line in main_body(7)]
    alloc = next(i for i, line in enumerate(lines) if "tcgen05_alloc" in line)
    assert lines[alloc - 2 : alloc] == ["if ((warp_id_in_cta >> 2) == 0) {", "if ((warp_id_in_cta % 4) == 0) {"]
    dealloc = next(i for i, line in enumerate(lines) if "tcgen05_dealloc" in line)
    assert any("cta_sync()" in line for line in lines[dealloc - 6 : dealloc])


@pytest.mark.parametrize("step", steps_from(7))
def test_both_roles_count_the_same_k_tiles(step: int) -> None:
    loops = [line.strip() for line in main_body(step) if "for (int k" in line]
    assert loops == ["for (int k = 0; k < 16; ++k) {"] * 2


@pytest.mark.compiler
def test_an_executable_shows_each_stage() -> None:
    exe = compiled(1)
    assert "Tx.gemm_async" in exe.source("tir")
    assert "tcgen05.mma" in exe.source("ptx")
    module = exe.mod.imports[0]
    assert module.inspect_source() == exe.source("cuda")
    assert module.inspect_source(comments=False) == exe.source("cuda", comments=False)
    with pytest.raises(ValueError, match="unknown stage 'ast'; the stages are tir, lowered, cuda, ptx, sass"):
        exe.source("ast")
