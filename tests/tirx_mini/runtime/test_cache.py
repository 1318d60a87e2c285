"""The disk cache returns a kernel only for the same source, architecture, options and compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tirx_mini.codegen.samples import scale, shared_reverse
from tirx_mini.codegen import CudaSource, cuda_source
from tirx_mini.runtime import CompileCache, Compiled, build, cache


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The architectures of the compilations that took place."""
    real, done = cache.compile_cuda, []

    def counted(source: CudaSource, arch: str, *, line_info: bool = False) -> Compiled:
        done.append(arch)
        return real(source, arch, line_info=line_info)

    monkeypatch.setattr(cache, "compile_cuda", counted)
    return done


@pytest.mark.compiler
def test_the_second_compilation_is_read_from_disk(tmp_path: Path, compilations: list[str]) -> None:
    source = cuda_source(scale())
    first = CompileCache(tmp_path).compile(source, "sm_90a")
    second = CompileCache(tmp_path).compile(source, "sm_90a")
    assert first == second and compilations == ["sm_90a"]
    assert second.resources.registers == first.resources.registers > 0


@pytest.mark.compiler
def test_source_architecture_and_line_info_are_in_the_key(tmp_path: Path, compilations: list[str]) -> None:
    store = CompileCache(tmp_path)
    source = cuda_source(scale())
    store.compile(source, "sm_90a")
    store.compile(source, "sm_100a")
    store.compile(source, "sm_90a", line_info=True)
    store.compile(replace(source, text=source.text + "// another\n"), "sm_90a")
    assert compilations == ["sm_90a", "sm_100a", "sm_90a", "sm_90a"]


@pytest.mark.compiler
def test_the_compilers_version_is_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, source = CompileCache(tmp_path), cuda_source(scale())
    before = store.key(source, "sm_90a", False)
    newer = replace(cache.toolchain(), versions=("nvrtc 99.9",))
    monkeypatch.setattr(cache, "toolchain", lambda: newer)
    assert store.key(source, "sm_90a", False) != before


@pytest.mark.compiler
def test_a_damaged_entry_is_compiled_anew(tmp_path: Path, compilations: list[str]) -> None:
    store, source = CompileCache(tmp_path), cuda_source(scale())
    first = store.compile(source, "sm_90a")
    entries = [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size > 1000]
    assert entries
    for path in entries:
        path.write_bytes(b"damaged")
    assert store.compile(source, "sm_90a").cubin == first.cubin and len(compilations) == 2


@pytest.mark.compiler
def test_the_directory_stays_within_its_size(tmp_path: Path) -> None:
    source = cuda_source(scale())
    size = len(CompileCache(tmp_path / "a").compile(source, "sm_90a").cubin)
    bounded = CompileCache(tmp_path / "b", max_bytes=4 * size)
    for i in range(12):
        bounded.compile(replace(source, text=source.text + f"// {i}\n"), "sm_90a")
    held = sum(path.stat().st_size for path in (tmp_path / "b").rglob("*") if path.is_file())
    assert size < held <= 4 * size


@pytest.mark.compiler
def test_without_a_writable_directory_kernels_are_still_compiled(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert CompileCache(tmp_path / "file" / "cache").compile(cuda_source(scale()), "sm_90a").cubin


@pytest.mark.compiler
def test_the_environment_sets_directory_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "here"))
    build(shared_reverse(), "sm_90a")
    assert (tmp_path / "here").is_dir()
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "none"))
    monkeypatch.setenv(cache.SIZE_VARIABLE, "0")
    build(shared_reverse(), "sm_90a")
    assert not (tmp_path / "none").exists()


def test_a_size_that_is_not_a_number_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.SIZE_VARIABLE, "much")
    with pytest.raises(ValueError, match="TIRX_MINI_CACHE_BYTES"):
        CompileCache.default()
