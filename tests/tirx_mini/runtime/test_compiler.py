"""Errors of the CUDA compiler are reported at the kernel's line, and a missing toolchain in one sentence."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tirx_mini.codegen.samples import func, put, scale, vector
from tirx_mini.codegen import CudaSource, cuda_source
from tirx_mini.driver import SimulatedExecutable
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import INT32, Call, Evaluate, Launch, PrimFunc, Span, TirxError, const
from tirx_mini.runtime import ToolchainError, build, compile_cuda, disassemble, summarise, summary_text, toolchain


def source() -> CudaSource:
    A = vector("A", 4)
    return cuda_source(
        func(put(A, 0, const(1.0, "float32"), line=7), put(A, 1, const(2.0, "float32"), line=8), params=(A,))
    )


def broken(old: str, new: str, of: CudaSource | None = None) -> CudaSource:
    of = of or source()
    assert old in of.text
    return replace(of, text=of.text.replace(old, new))


@pytest.mark.compiler
def test_one_compilation_gives_ptx_cubin_and_resources() -> None:
    compiled = compile_cuda(cuda_source(scale()), "sm_90a")
    assert ".target sm_90a" in compiled.ptx and compiled.cubin.startswith(b"\x7fELF")
    assert compiled.resources.registers > 8 and compiled.resources.spill_store_bytes == 0
    assert compiled.warnings == ()


@pytest.mark.compiler
def test_an_error_of_the_compiler_is_at_the_kernels_line() -> None:
    with pytest.raises(TirxError) as caught:
        compile_cuda(broken("A[1] = 2.0f;", "A[1] = undefined_name;"), "sm_90a")
    error = caught.value
    assert error.span is not None and error.span.line == 8
    assert 'the CUDA compiler rejects this: identifier "undefined_name" is undefined' in str(error)
    assert "it became the CUDA C++: A[1] = undefined_name;" in str(error)


@pytest.mark.compiler
def test_an_error_of_the_assembler_is_at_the_kernels_line() -> None:
    bad = 'asm volatile("setmaxnreg.inc.sync.aligned.u32 13;");'
    with pytest.raises(TirxError) as caught:
        compile_cuda(broken("A[1] = 2.0f;", f"{bad} A[1] = 2.0f;"), "sm_90a")
    assert caught.value.span is not None and caught.value.span.line == 8
    assert "the assembler (ptxas) rejects this: Argument 1 of instruction 'setmaxnreg.inc'" in str(caught.value)


@pytest.mark.compiler
def test_an_error_inside_a_device_function_is_at_its_call() -> None:
    span = Span("kernel.py", 21)
    kernel = func(Evaluate(Call(INT32, "setmaxnreg.inc", (), (("count", 13),), span=span), span=span))
    with pytest.raises(TirxError) as caught:
        compile_cuda(cuda_source(kernel), "sm_90a")
    assert caught.value.span == span


@pytest.mark.compiler
def test_each_line_of_a_statement_is_that_of_the_kernel() -> None:
    """A statement that becomes several lines does not count on to the lines below it."""
    A = vector("A", 4)
    puts = [put(A, index, const(1.0, "float32"), line=line) for index, line in enumerate((7, 7, 7, 8))]
    directed = cuda_source(func(*puts, params=(A,)), line_directives=True)
    lines = directed.text.splitlines()
    stores = [number for number, line in enumerate(lines) if line.strip().startswith("A[")]
    assert [lines[number - 1].split()[1] for number in stores] == ["7", "7", "7", "8"]


def test_with_line_directives_errors_name_the_kernels_file() -> None:
    A = vector("A", 4)
    kernel = func(put(A, 1, const(2.0, "float32"), line=8), params=(A,))
    directed = cuda_source(kernel, line_directives=True)
    for bad in ("A[1] = undefined_name;", 'asm volatile("setmaxnreg.inc.sync.aligned.u32 13;"); A[1] = 2.0f;'):
        with pytest.raises(TirxError) as caught:
            compile_cuda(broken("A[1] = 2.0f;", bad, directed), "sm_90a")
        assert caught.value.span is not None
        assert (Path(caught.value.span.file).name, caught.value.span.line) == ("kernel.py", 8)


@pytest.mark.compiler
def test_an_instruction_that_the_target_lacks_is_an_error_at_its_line() -> None:
    span = Span("kernel.py", 30)
    fence = Call(INT32, "tcgen05.fence.after_thread_sync", (), span=span)
    with pytest.raises(
        TirxError, match=r"tcgen05.fence.after_thread_sync needs sm_100a, but the target is sm_90a"
    ) as caught:
        build(func(Evaluate(fence, span=span)), "sm_90a")
    assert caught.value.span == span


@pytest.mark.compiler
def test_too_much_shared_memory_is_an_error() -> None:
    kernel = replace(scale(), launch=Launch((1, 1, 1), 128, smem_bytes=232_449))
    with pytest.raises(TirxError, match="232,449 bytes of shared memory; a CTA can have 232,448"):
        build(kernel, "sm_90a")


@pytest.mark.compiler
@pytest.mark.parametrize("arch", ["sm_1000a", "volta", ""])
def test_an_unknown_architecture_is_an_error(arch: str) -> None:
    with pytest.raises(ValueError, match="architecture"):
        build(scale(), arch)


def test_on_macos_the_error_says_that_nvidia_publishes_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(toolchain, "_packaged", lambda file: None)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    toolchain.toolchain.cache_clear()
    with pytest.raises(ToolchainError, match="NVIDIA does not publish for macOS") as caught:
        compile_cuda(source(), "sm_90a")
    assert "\n" not in str(caught.value) and 'target="sim"' in str(caught.value)
    toolchain.toolchain.cache_clear()


def test_elsewhere_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_packaged", lambda file: None)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    toolchain.toolchain.cache_clear()
    with pytest.raises(ToolchainError, match="pip install"):
        compile_cuda(source(), "sm_90a")
    toolchain.toolchain.cache_clear()


def test_the_text_of_a_simulated_kernel_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_packaged", lambda file: None)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    toolchain.toolchain.cache_clear()
    kernel = scale()
    text = SimulatedExecutable(kernel, kernel, gpu_spec("h100")).source("cuda")
    toolchain.toolchain.cache_clear()
    assert "__global__" in text


@pytest.mark.compiler
def test_the_summary_counts_instructions_by_group() -> None:
    kernel: PrimFunc = scale()
    compiled = compile_cuda(cuda_source(kernel), "sm_100a")
    summary = summarise(disassemble(compiled.cubin))
    assert summary.count("ld.global") == 8 and summary.count("st.global") == 1
    assert summary.local_accesses == 0 and summary.matching(r"^STG\.E\.128") == 1
    text = summary_text(summary, compiled, 0)
    assert "memory        ld.global 8, st.global 1" in text and "local memory  none" in text
    assert f"{compiled.resources.registers} a thread, 0 bytes spilled" in text


@pytest.mark.compiler
def test_the_summary_counts_accesses_to_local_memory() -> None:
    indexed = "float r[64]; for (int i = 0; i < 64; ++i) r[(int)A[i]] = i; A[1] = r[(int)A[2]];"
    compiled = compile_cuda(broken("A[1] = 2.0f;", indexed), "sm_100a")
    assert summarise(disassemble(compiled.cubin)).local_accesses > 0
    assert any("Local memory used" in warning for warning in compiled.warnings)
