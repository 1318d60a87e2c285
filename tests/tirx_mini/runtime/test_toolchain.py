"""The compiler is found in pip packages and in CUDA toolkits."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from tirx_mini.codegen import CudaSource
from tirx_mini.runtime import ToolchainError, compile_cuda, toolchain
from tirx_mini.runtime.toolchain import assembler, disassembler
from tirx_mini.runtime.toolchain import toolchain as installed


@pytest.fixture(autouse=True)
def _searches_anew() -> Iterator[None]:
    found = (installed, disassembler, assembler)
    for each in found:
        each.cache_clear()
    yield
    for each in found:
        each.cache_clear()


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without pip packages but NVRTC, where CUDA_HOME names an empty toolkit."""
    monkeypatch.setattr(toolchain, "nvrtc13", lambda: SimpleNamespace(version="13.0"))
    monkeypatch.setattr(toolchain, "_packaged", lambda file: None)
    monkeypatch.setattr(toolchain, "_pathfinder", lambda function, what: None)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    return tmp_path


def put(root: Path, name: str) -> Path:
    file = root / name
    file.parent.mkdir()
    file.touch()
    return file


@pytest.mark.compiler
def test_without_pip_packages_a_toolkit_is_used(toolkit: Path) -> None:
    assert put(toolkit, "include/cuda_runtime.h").parent == installed().include
    assert put(toolkit, "bin/nvdisasm") == disassembler()
    (toolkit / "bin/ptxas").touch()
    assert assembler() == toolkit / "bin/ptxas"


@pytest.mark.compiler
def test_a_toolkit_beside_nvcc_is_found(toolkit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc = put(toolkit, "bin/nvcc")
    put(toolkit, "include/cuda_runtime.h")
    monkeypatch.delenv("CUDA_HOME")
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: str(nvcc))
    assert installed().include == toolkit.resolve() / "include"


def test_without_any_the_error_names_the_package(toolkit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_toolkits", lambda: iter([toolkit]))
    with pytest.raises(ToolchainError, match="pip install nvidia-cuda-runtime"):
        installed()
    with pytest.raises(ToolchainError, match=r"needs the assembler \(ptxas\).*pip install nvidia-cuda-nvcc"):
        assembler()
    with pytest.raises(ToolchainError, match="pip install nvidia-cuda-nvdisasm"):
        disassembler()


def test_an_older_pathfinder_without_the_function_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "load", lambda module: SimpleNamespace())
    assert toolchain._pathfinder("find_nvidia_binary_utility", "nvdisasm") is None


@pytest.mark.compiler
def test_nvrtc_is_found_in_its_package_and_by_nvidias_search(monkeypatch: pytest.MonkeyPatch) -> None:
    version = metadata.version("nvidia-cuda-nvrtc")
    assert toolchain.nvrtc13.__wrapped__().version == version
    monkeypatch.setattr(toolchain, "_packaged", lambda file: None)
    assert version.startswith(toolchain.nvrtc13.__wrapped__().version)


@pytest.mark.compiler
def test_without_nvrtc_the_error_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_packaged", lambda file: put(tmp_path, "lib/libnvrtc.so.13"))
    with pytest.raises(ToolchainError, match="pip install nvidia-cuda-nvrtc"):
        toolchain.nvrtc13.__wrapped__()


@pytest.mark.compiler
def test_volta_is_compiled_by_the_compiler_of_cuda_12(monkeypatch: pytest.MonkeyPatch) -> None:
    assert toolchain.known_arch("sm_70") == "sm_70"
    source = CudaSource('extern "C" __global__ void f(int* p) { *p = 7; }', "f", (), ())
    assert ".target sm_70" in compile_cuda(source, "sm_70").ptx
    assert toolchain.compiler_of("sm_70") is toolchain.nvrtc12() is not toolchain.compiler_of("sm_75")
    monkeypatch.setattr(toolchain, "nvrtc12", lambda: None)
    with pytest.raises(ValueError, match=r"sm_70 needs the compiler of CUDA 12: run `pip install tirx_mini\[volta\]`"):
        toolchain.known_arch("sm_70")
    with pytest.raises(ValueError, match=r"there is no architecture 'sm_71'; the CUDA compiler supports sm_75"):
        toolchain.known_arch("sm_71")
