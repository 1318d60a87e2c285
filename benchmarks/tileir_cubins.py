# pyright: reportMissingImports=false
"""A peer: the tile programs of kernels_ref/tile, by NVIDIA's own compiler for a Hopper GPU. It needs no GPU.

    python -m venv peers && peers/bin/pip install cuda-tile nvidia-cuda-tileiras
    peers/bin/python benchmarks/tileir_cubins.py build/tileir        # then carry the folder to the GPU

It writes a cubin for each case of tile_cases.py, and `seconds.json`: how long each took to compile.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
import types
from pathlib import Path
from typing import Any

import cuda.tile as ct
from cuda.tile import compilation
from tile_cases import Array, Case, Constant, cases

ROOT = Path(__file__).parents[1]
GPU_CODE = "sm_90"
ALIGNED = 16


def kernel_of(case: Case) -> Any:
    """The kernel of the program's file, whose `ct` is NVIDIA's."""
    stand_in = types.ModuleType("tirx_mini.tile_ir")
    stand_in.__dict__["ct"] = ct
    sys.modules.update({"tirx_mini": types.ModuleType("tirx_mini"), "tirx_mini.tile_ir": stand_in})
    sys.modules.setdefault("torch", types.ModuleType("torch"))
    spec = importlib.util.spec_from_file_location(case.program, ROOT / "kernels_ref" / "tile" / f"{case.program}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, case.kernel)


def constraint(argument: Any) -> Any:
    """What the compiler may assume of an argument: dense row-major arrays of aligned rows, which do not overlap."""
    if isinstance(argument, Constant):
        return argument.value
    if isinstance(argument, Array):
        rank = len(argument.shape)
        return compilation.ArrayConstraint(
            getattr(ct, argument.dtype), rank, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
            may_alias_internally=False, stride_constant=(*[None] * (rank - 1), 1), base_addr_divisible_by=ALIGNED,
            stride_divisible_by=(*[ALIGNED] * (rank - 1), 1), shape_divisible_by=ALIGNED,
        )  # fmt: skip
    return compilation.ScalarConstraint(ct.int32 if isinstance(argument, int) else ct.float32)


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    convention = compilation.CallingConvention.cutile_python_v1()
    seconds: dict[str, float] = {}
    for found in cases().values():
        for case in found:
            signature = compilation.KernelSignature([constraint(a) for a in case.args], calling_convention=convention)
            start = time.perf_counter()
            path = folder / f"{case.file}.cubin"
            try:
                compilation.export_kernel(kernel_of(case), [signature], path, gpu_code=GPU_CODE, output_format="cubin")
            except Exception as error:  # a plan that the peer cannot compile is left out, whatever the reason
                print(f"{case.file}: {type(error).__name__}: {str(error).splitlines()[0]}")
                continue
            seconds[case.file] = round(time.perf_counter() - start, 2)
            print(f"{case.file}: {seconds[case.file]} s", flush=True)
    (folder / "seconds.json").write_text(json.dumps(seconds, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
