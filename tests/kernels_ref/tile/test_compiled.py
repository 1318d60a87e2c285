"""Tile programs in float32 as CUDA: NVIDIA's compiler and assembler take what is emitted."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.tile_ir import run, simulated

from .test_tile import RUNS, SINGLE

ARCHITECTURES = {"h100": "sm_90a", "b200": "sm_100a"}


@pytest.mark.torch
@pytest.mark.compiler
@pytest.mark.parametrize("gpu", ARCHITECTURES)
@pytest.mark.parametrize("name", ["layer_norm", "gemm", "attention", "moe"])
def test_programs_compile_in_float32(name: str, gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[PrimFunc] = []

    def collect(func: PrimFunc, *args: Any, **options: Any) -> Any:
        found.append(func)
        return SimpleNamespace(ok=True, findings=())

    monkeypatch.setattr(run.driver, "simulate", collect)
    with simulated(gpu), suppress(AssertionError):  # nothing was computed
        RUNS[name](SINGLE)
    assert found
    for func in found:
        assert tvm.compile(func, f"cuda:{ARCHITECTURES[gpu]}").compiled.cubin[:4] == b"\x7fELF"
