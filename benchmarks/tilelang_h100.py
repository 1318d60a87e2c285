"""Programs in TileLang on a Hopper GPU: as tirx_mini compiles them, as TileLang does, and torch.

    peers/bin/python benchmarks/tilelang_builds.py build/tilelang           # once, anywhere: libraries of the peer
    PYTHONPATH=. python benchmarks/tilelang_h100.py --libraries build/tilelang --csv results.csv

All candidates of a problem take turns in every round, in an order drawn anew, from CUDA graphs. Those with a wrong
result do not take part. The ratio is that of the times of TileLang's best plan and of the candidate.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import statistics
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tilelang_cases import Case, cases

sys.path.insert(0, str(Path(__file__).parents[1]))

import tirx_mini as tvm
from tirx_mini.ending import command
from tirx_mini.frontends.tilelang.pipeline import FAST_MATH, lower
from tirx_mini.pool import in_order
from tirx_mini.runtime import LaunchGraph, in_turn
from tirx_mini.tilelang import language

BATCH_MS = 6.0
OURS, PEER = "ours", "TileLang"
ARCH = "sm_90a"
Launch = Callable[[], Any]


def executable(case: Case) -> Any:
    """The program of a case, compiled by tirx_mini."""
    stand_in: Any = types.ModuleType("tilelang")
    stand_in.language = language
    sys.modules.update({"tilelang": stand_in, "tilelang.language": language})
    import tilelang_programs

    func = getattr(tilelang_programs, case.program)(**case.args)
    func = func.with_attrs({FAST_MATH: True} if case.fast else {})
    return tvm.compile(tvm.IRModule({"main": lower(func, ARCH)}), target=f"cuda:{ARCH}")


def build(case: Case) -> str:
    """Compile into the cache of cubins; what is wrong, or nothing."""
    start = time.perf_counter()
    try:
        executable(case).source("sass")
    except Exception as error:  # told, and the plan left out
        return f"{case.file}: {type(error).__name__}: {str(error)[:400]}"
    print(f"built {case.file}: {time.perf_counter() - start:.2f} s", flush=True)
    return ""


def library(path: Path, arrays: Sequence[torch.Tensor]) -> Launch:
    """A launch of a kernel that TileLang built."""
    loaded = ctypes.CDLL(str(path))
    loaded.get_last_error.restype = ctypes.c_char_p
    pointers = [ctypes.c_void_p(array.data_ptr()) for array in arrays]
    if loaded.init():
        raise RuntimeError(loaded.get_last_error().decode())

    def launch() -> None:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if loaded.call(*pointers, stream):
            raise RuntimeError(loaded.get_last_error().decode())

    return launch


def of_torch(problem: str, arrays: Sequence[torch.Tensor]) -> tuple[torch.Tensor, Mapping[str, Launch]]:
    """What the result must be, and launches of torch."""
    if problem.startswith("gemm"):
        a, b, c = arrays
        out = torch.empty_like(c)
        return a @ b, {"cuBLAS": lambda: torch.matmul(a, b, out=out)}
    causal = "causal" in problem
    q, k, v = (array.transpose(1, 2) for array in arrays[:3])
    found: dict[str, Launch] = {}
    for backend in ("CUDNN_ATTENTION", "FLASH_ATTENTION"):
        found[f"torch {backend.split('_')[0].lower()}"] = partial(_sdpa, backend, q, k, v, causal)
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2), found


def _sdpa(backend: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, backend)):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def race(problem: str, found: Sequence[Case], libraries: Path | None, rounds: int) -> dict[str, list[float]]:
    """The times of all candidates in milliseconds, by round."""
    generator = torch.Generator("cuda").manual_seed(0)
    shapes = found[0].arrays
    arrays = [torch.randn(s, device="cuda", generator=generator, dtype=torch.float32).half() for s in shapes]
    want, peers = of_torch(problem, arrays)
    entries = dict(peers)

    def enter(name: str, made: Callable[[], Launch]) -> None:
        arrays[-1].fill_(float("nan"))
        try:
            launch = made()
            launch()
            torch.cuda.synchronize()
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            return
        if torch.allclose(arrays[-1].float(), want.float(), rtol=2e-2, atol=2e-2):
            entries[name] = launch
        else:
            print(f"{name}: wrong result", flush=True)

    for case in found:
        enter(f"{OURS} {case.plan}", lambda case=case: partial(executable(case), *arrays))
        path = libraries / f"{case.file}.so" if libraries else None
        if path is not None and path.exists():
            enter(f"{PEER} {case.plan}", lambda path=path: library(path.resolve(), arrays))
    graphs = {}
    for name, launch in entries.items():
        single = LaunchGraph(launch, 1).ms()
        graphs[name] = LaunchGraph(launch, max(2, min(200, round(BATCH_MS / max(single, 1e-3)))))
    return in_turn({name: graph.ms for name, graph in graphs.items()}, rounds)


def table(problem: str, flops: float, times: Mapping[str, Sequence[float]]) -> list[tuple[str, ...]]:
    """Rows of results, the fastest first."""
    medians = {name: statistics.median(took) for name, took in times.items()}
    theirs = [name for name in medians if name.startswith(PEER)] or list(medians)
    base = min(theirs, key=medians.__getitem__)
    rows = []
    for name in sorted(medians, key=medians.__getitem__):
        ratio = statistics.median(a / b for a, b in zip(times[base], times[name], strict=True))
        speed = flops / medians[name] / 1e9
        rows.append((problem, name, f"{medians[name] * 1e3:.1f}", f"{speed:.1f}", f"{ratio:.3f}"))
        print(f"{problem:18} {name:24} {medians[name] * 1e3:9.1f} us {speed:8.1f} TFLOPS {ratio:.3f}", flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", type=Path, help="what tilelang_builds.py wrote")
    parser.add_argument("--problems", default="", help="a part of the names of those to race")
    parser.add_argument("--rounds", type=int, default=14)
    parser.add_argument("--jobs", type=int, default=12, help="kernels compiled at a time")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    every = [case for case in cases() if options.problems in case.problem]
    complaints = list(in_order(build, every, jobs=options.jobs))
    for complaint in filter(None, complaints):
        print(complaint, flush=True)
    built = [case for case, complaint in zip(every, complaints, strict=True) if not complaint]
    rows: list[tuple[str, ...]] = []
    for problem in dict.fromkeys(case.problem for case in built):
        found = [case for case in built if case.problem == problem]
        try:
            rows += table(problem, found[0].flops, race(problem, found, options.libraries, options.rounds))
        except Exception as error:
            print(f"{problem}: {type(error).__name__}: {str(error)[:500]}", flush=True)
        torch.cuda.empty_cache()
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["problem", "candidate", "us", "TFLOPS", "ratio"])
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
