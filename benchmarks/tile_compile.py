# pyright: reportMissingImports=false
"""How long a tile program takes from Python to CUDA C++ and to a cubin: with our compiler, and with NVIDIA's.

    python benchmarks/tile_compile.py [--peer peers/bin/python] [--repeat 5] [--csv results.csv]

Each time is the least of several fresh processes, with all imports and an empty cache of cubins. Such a process
compiles the program three times; the least of the last two is the time "again". Modules have been compiled to bytecode
before, as they are where a package is installed; the programs' own import of torch is left out, for both compilers.

peer: a Python with NVIDIA's compiler: pip install cuda-tile nvidia-cuda-tileiras
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from tile_cases import Array, Case, cases, passed

ROOT = Path(__file__).parents[1]
PROGRAMS = {
    "GEMM": ("gemm 4096", "simple 128×256×64"),
    "experts": ("moe", "128×128×64"),
    "attention": ("attention", "128×128"),
}
"""The problem and the plan of tile_cases.py that each program is compiled for."""
ARCHS = {"sm_90a": "h100", "sm_100a": "b200"}
OURS, PEER = "ours", "TileIR"
ROUNDS = 3
COLUMNS: tuple[str, ...] = (
    "program",
    "arch",
    "compiler",
    "import_s",
    "text_s",
    "cubin_s",
    "again_text_s",
    "again_cubin_s",
)
"""Seconds: of imports; from there to the CUDA C++; to the cubin; and in the same process again.

Of the process as a whole, `import_s` + `cubin_s`. NVIDIA's compiler has no CUDA C++.
"""


def case_of(program: str) -> Case:
    problem, plan = PROGRAMS[program]
    return next(case for case in cases()[problem] if case.plan == plan)


def compile_with_ours(program: str, arch: str) -> list[dict[str, float]]:
    """The times of each round, in this process."""
    sys.path.insert(0, str(ROOT))
    sys.modules.setdefault("torch", types.ModuleType("torch"))
    case, start = case_of(program), time.perf_counter()
    import numpy as np

    from tirx_mini.frontends.tile_ir import run
    from tirx_mini.passes import lower
    from tirx_mini.runtime import compile_cuda, emit

    kernel = getattr(import_module(f"kernels_ref.tile.{case.program}"), case.kernel)
    imported = time.perf_counter()
    args = passed(case, {a.name: np.empty(a.shape, a.dtype) for a in case.args if isinstance(a, Array)})
    rounds: list[dict[str, float]] = []
    for _ in range(ROUNDS):
        kernel.programs.clear()
        begun = time.perf_counter()
        func = run.compile(kernel, args, ARCHS[arch]).func(case.grid)
        source = emit(lower(func), arch)
        text = time.perf_counter()
        compile_cuda(source, arch)
        rounds.append({"text": text - begun, "cubin": time.perf_counter() - begun, "import": imported - start})
    return rounds


def compile_with_peer(program: str, arch: str) -> list[dict[str, float]]:
    """As `compile_with_ours`, by NVIDIA's compiler: in a Python that has it."""
    case, start = case_of(program), time.perf_counter()
    from cuda.tile import compilation
    from tileir_cubins import constraint, kernel_of

    kernel = kernel_of(case)
    convention = compilation.CallingConvention.cutile_python_v1()
    signature = compilation.KernelSignature([constraint(a) for a in case.args], calling_convention=convention)
    imported = time.perf_counter()
    rounds: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            begun = time.perf_counter()
            path = Path(folder) / f"{number}.cubin"
            compilation.export_kernel(kernel, [signature], path, gpu_code=arch.rstrip("a"), output_format="cubin")
            rounds.append({"cubin": time.perf_counter() - begun, "import": imported - start})
    return rounds


def fresh(python: str, compiler: str, program: str, arch: str, bytecode: Path) -> list[dict[str, float]]:
    """The rounds of one fresh process. Raises `RuntimeError` with its last line where it fails."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(bytecode), "CUDA_TILE_CACHE_DIR": str(bytecode / "cubins")}
    environment["CUDA_TILE_CACHE_SIZE"] = "0"  # the peer keeps no cubin; ours are compiled without the cache
    command = [python, __file__, "--one", compiler, program, arch]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def row(compiler: str, program: str, arch: str, runs: Sequence[list[dict[str, float]]]) -> dict[str, Any]:
    """The least times of one program: a row of `COLUMNS`."""

    def first(name: str) -> float | str:
        return round(min(run[0][name] for run in runs), 3) if name in runs[0][0] else ""

    def again(name: str) -> float | str:
        least = [min(later[name] for later in run[1:]) for run in runs] if name in runs[0][0] else []
        return round(min(least), 3) if least else ""

    times = (first("import"), first("text"), first("cubin"), again("text"), again("cubin"))
    return dict(zip(COLUMNS, (program, arch, compiler, *times), strict=True))


def measured(pythons: Mapping[str, str], repeat: int) -> list[dict[str, Any]]:
    """Rows of `COLUMNS`. The compilers take turns, so that other load of the machine falls on all of them."""
    runs: dict[tuple[str, str, str], list[list[dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repeat + 1):
            for program, arch, (compiler, python) in product(PROGRAMS, ARCHS, pythons.items()):
                run = fresh(python, compiler, program, arch, Path(folder))
                if number:  # the first round writes the bytecode, and reads files into the page cache
                    runs.setdefault((compiler, program, arch), []).append(run)
    return [row(*key, found) for key, found in runs.items()]


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    print("".join(f"{name:>14}" for name in COLUMNS))
    for found in rows:
        print("".join(f"{found[name]!s:>14}" for name in COLUMNS), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", metavar="PYTHON", help="a Python with NVIDIA's compiler")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--csv", type=Path)
    parser.add_argument(
        "--one", nargs=3, metavar=("COMPILER", "PROGRAM", "ARCH"), help="one process of the measurement"
    )
    options = parser.parse_args()
    if options.one:
        compiler, program, arch = options.one
        print(json.dumps((compile_with_ours if compiler == OURS else compile_with_peer)(program, arch)))
        return 0
    pythons = {OURS: sys.executable, **({PEER: options.peer} if options.peer else {})}
    rows = measured(pythons, options.repeat)
    show(rows)
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
