"""The compiler is found in pip packages and in CUDA toolkits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tirx_mini.runtime import ToolchainError, toolchain
from tirx_mini.runtime.toolchain import disassembler
from tirx_mini.runtime.toolchain import toolchain as installed


@pytest.fixture(autouse=True)
def _searches_anew() -> Iterator[None]:
    installed.cache_clear()
    disassembler.cache_clear()
    yield
    installed.cache_clear()
    disassembler.cache_clear()


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without pip packages, where CUDA_HOME names an empty toolkit."""
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
    with pytest.raises(ToolchainError, match="pip install nvidia-cuda-nvdisasm"):
        disassembler()


def test_an_older_pathfinder_without_the_function_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "load", lambda module: SimpleNamespace())
    assert toolchain._pathfinder("find_nvidia_binary_utility", "nvdisasm") is None


@pytest.mark.compiler
def test_volta_is_compiled_by_the_compiler_of_cuda_12(monkeypatch: pytest.MonkeyPatch) -> None:
    assert toolchain.known_arch("sm_70") == "sm_70"
    assert toolchain.compiler_of("sm_70") is toolchain.nvrtc12() is not toolchain.compiler_of("sm_75")
    monkeypatch.setattr(toolchain, "nvrtc12", lambda: None)
    with pytest.raises(ValueError, match=r"sm_70 needs the compiler of CUDA 12: run `pip install tirx_mini\[volta\]`"):
        toolchain.known_arch("sm_70")
    with pytest.raises(ValueError, match=r"there is no architecture 'sm_71'; the CUDA compiler supports sm_75"):
        toolchain.known_arch("sm_71")
