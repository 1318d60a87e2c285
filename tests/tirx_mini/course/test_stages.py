"""Kernels as texts at the stages of their way to a GPU."""

from __future__ import annotations

import pytest

from tirx_mini.course import StageOptions, stage_text
from tirx_mini.script import from_source

ADDS = """
@T.prim_func
def kernel(A: T.Buffer((32, 4), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    a = T.alloc_local((4,), "float32")
    T.copy(a[:], A[tx, :])
    T.add(a[:], a[:], a[:])
    T.copy(A[tx, :], a[:])
"""


def test_cuda_is_that_of_the_architecture() -> None:
    kernel = from_source(ADDS)
    assert "add.f32x2" in stage_text(kernel, "cuda", StageOptions(arch="sm_100a"))
    assert "add.f32x2" not in stage_text(kernel, "cuda", StageOptions(arch="sm_90a"))
    with pytest.raises(ValueError, match="volta"):
        stage_text(kernel, "cuda", StageOptions(arch="volta"))
