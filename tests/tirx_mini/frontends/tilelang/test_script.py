"""Programs for TileLang, by its own import paths."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tirx_mini.compat import tilelang

PROGRAM = """
import tilelang
import tilelang.language as T
import torch
from tilelang.autotuner import *
from tilelang.carver.arch import driver
from tilelang.profiler import do_bench


@tilelang.jit(out_idx=[-1], pass_configs={tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True})
def relu(M, N, dtype=T.float16):
    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 32), threads=128) as (bx, by):
            tile = T.alloc_shared((32, 64), dtype)
            T.annotate_layout({tile: tilelang.layout.make_swizzled_layout(tile)})
            T.copy(A[by * 32, bx * 64], tile)
            for i, j in T.Parallel(32, 64):
                tile[i, j] = T.max(tile[i, j], 0)
            T.copy(tile, B[by * 32, bx * 64])

    return main


kernel = relu(64, 128)
a = torch.randn(64, 128, device="cuda", dtype=torch.float16)
torch.testing.assert_close(kernel(a), a.relu())
print(do_bench(lambda: kernel(a)) > 0, driver.get_num_sms(), callable(autotune))
"""


def test_a_program_runs_by_its_own_imports(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "tirx_mini.compat.tilelang", str(script)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "True 148 True\n"), run.stderr


def test_only_within_the_block() -> None:
    with tilelang.imports():
        import tilelang.language as T  # type: ignore[import-not-found]

        assert T.float16 == "float16"
        from tilelang.jit import JITKernel  # type: ignore[import-not-found]

        assert JITKernel.__module__.startswith("tirx_mini")
    assert not any(name.split(".")[0] == "tilelang" for name in sys.modules)


def test_what_is_not_provided_says_so() -> None:
    with tilelang.imports():
        with pytest.raises(ImportError, match=r"does not provide `tilelang\.carver\.template`"):
            importlib.import_module("tilelang.carver.template")
        import tilelang as package  # type: ignore[import-not-found]

        with pytest.raises(AttributeError, match="does not provide `nothing` of `tilelang`"):
            _ = package.nothing
