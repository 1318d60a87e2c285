"""Tile programs on a Hopper GPU: ours beside cuBLAS or torch, Triton, and NVIDIA's own tile compiler.

    peers/bin/python benchmarks/tileir_cubins.py build/tileir               # once, anywhere: cubins of the peer
    PYTHONPATH=. python benchmarks/tile_programs_h100.py --cubins build/tileir --csv results.csv

All candidates of a problem take turns in every round, in an order drawn anew, from CUDA graphs. Those with a wrong
result do not take part.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from tile_cases import ATTENTION, CHOICES, EPSILON, MOE_ROWS, Array, Case, Constant, cases, padded, passed

sys.path.insert(0, str(Path(__file__).parents[1]))

import tirx_mini as tvm
from tirx_mini.ending import command
from tirx_mini.frontends.tile_ir import ct, run
from tirx_mini.pool import in_order
from tirx_mini.runtime import LaunchGraph, in_turn

BATCH_MS = 6.0
OURS, TILEIR, TRITON = "ours", "TileIR", "Triton"
GPU = "h100"
Launch = Callable[[], Any]


def kernel_of(case: Case) -> Any:
    return getattr(import_module(f"kernels_ref.tile.{case.program}"), case.kernel)


def build(case: Case) -> str:
    """Compile into the cache of cubins; what it cost, or what is wrong."""
    start = time.perf_counter()
    arrays = {a.name: np.empty(a.shape, a.dtype) for a in case.args if isinstance(a, Array)}
    try:
        program = run.compile(kernel_of(case), passed(case, arrays), GPU)
        func = program.func((*case.grid, 1, 1)[:3])
        traced = time.perf_counter()
        exe = tvm.compile(tvm.IRModule({"main": func}), target="cuda:sm_90a")
        exe.source("sass")
    except Exception as error:  # told, and the plan left out
        return f"{case.file}: {type(error).__name__}: {str(error)[:400]}"
    notes = "; ".join(note.message for note in program.context.notes)
    print(f"built {case.file}: {traced - start:.2f} s, {time.perf_counter() - traced:.2f} s {notes}", flush=True)
    return ""


def tensors_of(problem: Sequence[Case]) -> dict[str, torch.Tensor]:
    """Random normal data; for the experts, tokens sorted by them."""
    generator = torch.Generator("cuda").manual_seed(0)
    found: dict[str, torch.Tensor] = {}
    for array in (a for case in problem for a in case.args if isinstance(a, Array)):
        if array.name in found:
            continue
        if array.dtype == "int32":
            found[array.name] = _routing(problem[0].problem, array.name)
        else:
            dtype = getattr(torch, array.dtype)
            found[array.name] = torch.randn(array.shape, device="cuda", generator=generator, dtype=torch.float32).to(
                dtype
            )
    return found


def _routing(problem: str, name: str) -> torch.Tensor:
    """The rows of each expert one after another, drawn at random and padded with a row that is out of range; or the
    expert of each tile. The number of rows of a tile ends the name."""
    kind, _, tile = name.rpartition("_")
    counts = torch.tensor(padded(problem, int(tile)), device="cuda")
    if kind == "tile_experts":
        return torch.repeat_interleave(torch.arange(len(counts), device="cuda"), counts).int()
    rows = MOE_ROWS[problem]
    drawn = torch.randperm(sum(rows), generator=torch.Generator().manual_seed(0)).int().cuda()
    ids = torch.full((int(counts.sum()) * int(tile),), sum(rows), dtype=torch.int32, device="cuda")
    starts = (counts.cumsum(0) - counts) * int(tile)
    for start, mine in zip(starts.tolist(), drawn.split(rows), strict=True):
        ids[start : start + len(mine)] = mine
    return ids


@dataclass(frozen=True)
class Peer:
    """What a problem's result must be, and launches of peers, by name. out: the result's tensor."""

    out: torch.Tensor
    want: torch.Tensor
    launches: Mapping[str, Launch]


def peer_of(name: str, t: Mapping[str, torch.Tensor]) -> Peer:
    """The peers of a problem, best first known: `torch` ones, then Triton's configurations."""
    import triton_tile

    if name.startswith("gemm"):
        from triton_matmul import candidates

        out = torch.empty_like(t["C"])
        triton = {f"{TRITON} {c}": launch for c, launch in candidates(t["A"], t["B"].t().contiguous(), out).items()}
        return Peer(t["C"], t["A"] @ t["B"], {"cuBLAS": lambda: torch.matmul(t["A"], t["B"], out=out), **triton})
    if name.startswith("attention"):
        causal = "causal" in name
        q, k, v = (t[x].view(ATTENTION) for x in "QKV")
        out = torch.empty_like(q)
        found: dict[str, Launch] = {}
        for backend in ("CUDNN_ATTENTION", "FLASH_ATTENTION"):
            found[backend.split("_")[0].lower()] = partial(_sdpa, backend, q, k, v, causal)
        triton = triton_tile.attention(q, k, v, out, causal)
        want = F.scaled_dot_product_attention(q, k, v, is_causal=causal).view_as(t["O"])
        return Peer(t["O"], want, {**found, **{f"{TRITON} {n}": launch for n, launch in triton.items()}})
    if name in MOE_ROWS:
        want = torch.empty_like(t["out"])
        tiles = {m: t[f"sorted_ids_{m}"] for m in (64, 128)}
        experts = {m: t[f"tile_experts_{m}"] for m in tiles}
        for expert, mine in zip(experts[64].tolist(), tiles[64].long().split(64), strict=True):
            mine = mine[mine < len(want)]
            want[mine] = t["tokens"][mine // CHOICES] @ t["experts"][expert].t()
        dense, weight = t["tokens"].repeat_interleave(CHOICES, 0), t["experts"][0].t()
        out = torch.empty_like(want)
        triton = triton_tile.moe(t["tokens"], t["experts"], out, t["weights"], CHOICES, tiles, experts)
        dense_out = torch.empty_like(want)
        found = {"cuBLAS, dense": lambda: torch.matmul(dense, weight, out=dense_out)}
        return Peer(t["out"], want, {**found, **{f"{TRITON} {n}": launch for n, launch in triton.items()}})
    out = torch.empty_like(t["x"])
    columns = t["x"].shape[1]
    found = {"copy": lambda: out.copy_(t["x"])}
    if name.startswith("softmax"):
        triton = triton_tile.softmax(t["x"], out)
        found["torch"] = lambda: torch.softmax(t["x"], 1)
        want = torch.softmax(t["x"].float(), 1)
    else:
        triton = triton_tile.layer_norm(t["x"], t["weight"], t["bias"], out, EPSILON)
        found["torch"] = lambda: F.layer_norm(t["x"], (columns,), t["weight"], t["bias"], EPSILON)
        want = F.layer_norm(t["x"].float(), (columns,), t["weight"].float(), t["bias"].float(), EPSILON)
    return Peer(t["y"], want, {**found, **{f"{TRITON} {n}": launch for n, launch in triton.items()}})


def _sdpa(backend: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, backend)):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


class Cubin:
    """A kernel of NVIDIA's tile compiler. Arrays are passed as a pointer, their extents and their strides."""

    def __init__(self, path: Path) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._image = path.read_bytes()
        library, kernel = ctypes.c_void_p(), (ctypes.c_void_p * 1)()
        self._check(self._cuda.cuLibraryLoadData(ctypes.byref(library), self._image, None, None, 0, None, None, 0))
        self._check(self._cuda.cuLibraryEnumerateKernels(kernel, 1, library))
        self._function = ctypes.c_void_p()
        self._check(self._cuda.cuKernelGetFunction(ctypes.byref(self._function), ctypes.c_void_p(kernel[0])))

    def launch(self, case: Case, args: Sequence[Any]) -> Launch:
        values: list[Any] = []
        for argument, value in zip(case.args, args, strict=True):
            if isinstance(argument, Array):
                values += [ctypes.c_uint64(value.data_ptr()), *map(ctypes.c_int32, (*value.shape, *value.stride()))]
            elif not isinstance(argument, Constant):
                values.append(ctypes.c_int32(value) if isinstance(value, int) else ctypes.c_float(value))
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        x, y, z = (*case.grid, 1, 1)[:3]

        def queue(keep: Any = values) -> None:
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            self._check(self._cuda.cuLaunchKernel(self._function, x, y, z, 1, 1, 1, 0, stream, pointers, None))

        return queue

    @staticmethod
    def _check(result: int) -> None:
        if result:
            raise RuntimeError(f"the driver returned {result}")


def right(out: torch.Tensor, want: torch.Tensor) -> bool:
    """Return whether a result in 16 bits is the one that is wanted."""
    return torch.allclose(out.float(), want.float(), rtol=2e-2, atol=2e-2)


@dataclass(frozen=True)
class Entered:
    """A candidate's median time in milliseconds, and the first peer's time divided by its."""

    name: str
    ms: float
    ratio: float


def race(name: str, problem: Sequence[Case], cubins: Path | None, rounds: int, ours: frozenset[str]) -> list[Entered]:
    tensors = tensors_of(problem)
    peer = peer_of(name, tensors)
    entries = dict(peer.launches)

    def enter(compiler: str, case: Case, launch: Launch) -> None:
        peer.out.fill_(float("nan"))
        try:
            launch()
            torch.cuda.synchronize()
        except Exception as error:
            print(f"{compiler} {case.file}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            return
        if right(peer.out, peer.want):
            entries[f"{compiler} {case.plan}"] = launch
        else:
            print(f"{compiler} {case.file}: wrong result", flush=True)

    for case in problem:
        args = passed(case, tensors)
        if case.file in ours:
            enter(OURS, case, lambda case=case, args=args: ct.launch(None, case.grid, kernel_of(case), args))
        path = cubins / f"{case.file}.cubin" if cubins else None
        if path is not None and path.exists():
            enter(TILEIR, case, Cubin(path).launch(case, args))
    first = next(iter(entries))
    graphs = {}
    for key, launch in entries.items():
        single = LaunchGraph(launch, 1).ms()
        graphs[key] = LaunchGraph(launch, max(2, min(200, round(BATCH_MS / max(single, 1e-3)))))
    times = in_turn({key: graph.ms for key, graph in graphs.items()}, rounds)
    return [
        Entered(
            name, statistics.median(took), statistics.median(a / b for a, b in zip(times[first], took, strict=True))
        )
        for name, took in times.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cubins", type=Path, help="what tileir_cubins.py wrote")
    parser.add_argument("--problems", default="", help="a part of the names of those to race")
    parser.add_argument("--rounds", type=int, default=14)
    parser.add_argument("--jobs", type=int, default=12, help="kernels compiled at a time")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    problems = {name: found for name, found in cases().items() if options.problems in name}
    every = [case for found in problems.values() for case in found]
    complaints = list(in_order(build, every, jobs=options.jobs))
    for complaint in filter(None, complaints):
        print(complaint, flush=True)
    ours = frozenset(case.file for case, complaint in zip(every, complaints, strict=True) if not complaint)
    lines = []
    for name, problem in problems.items():
        flops, nbytes = problem[0].flops, problem[0].nbytes
        try:
            found = race(name, problem, options.cubins, options.rounds, ours)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:500]}", flush=True)
            continue
        for entry in sorted(found, key=lambda e: e.ms):
            speed = flops / entry.ms / 1e9 if flops else nbytes / entry.ms / 1e6
            unit = "TFLOPS" if flops else "GB/s"
            lines.append((name, entry.name, f"{entry.ms * 1e3:.1f}", f"{speed:.1f}", f"{entry.ratio:.3f}"))
            who = f"{name:18} {entry.name:50}"
            print(f"{who} {entry.ms * 1e3:9.1f} us {speed:8.1f} {unit} {entry.ratio:.3f}", flush=True)
        torch.cuda.empty_cache()
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["problem", "candidate", "us", "speed", "ratio"])
            writer.writerows(lines)
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
