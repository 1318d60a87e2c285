"""One round-robin contest on the GPU of this machine: every step's kernel, cuBLAS and Triton at one shape and dtype.

    python benchmarks/contest.py 4096 4096 4096 float16 --steps 3,10 --rounds 20

Prints one JSON object a line: what it is about to do, so that whoever started it knows what hangs, and results.
A contestant's kernels are captured in a CUDA graph, so host time does not count. Contestants take turns within each
round, in an order drawn anew: the clock of a chip at its power limit drifts, and remembers who came before, so only
ratios within a round mean something, and only over many orders.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import tirx_mini as tvm
from tirx_mini.course import TOLERANCES, load_kernels, steps_from
from tirx_mini.ending import command
from tirx_mini.hardware import DEFAULT_ARCH, architecture_of
from tirx_mini.ir import PrimFunc
from tirx_mini.runtime import LaunchGraph, device_arch, in_turn

ROOT = Path(__file__).parents[1]
BATCH_MS = 8.0
"""How long one contestant's turn takes, roughly."""
Launch = Callable[[], Any]


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def operands(m: int, n: int, k: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Random normal A (M, K) and B (N, K): data of zeros would run at a higher clock."""
    generator = torch.Generator("cuda").manual_seed(0)
    a = torch.randn((m, k), device="cuda", generator=generator, dtype=torch.float32).to(dtype)
    return a, torch.randn((n, k), device="cuda", generator=generator, dtype=torch.float32).to(dtype)


def difference(got: torch.Tensor, want: torch.Tensor) -> float:
    """The largest difference beyond what the tolerance of the dtype allows; at most 0 where all is well."""
    rtol, atol = TOLERANCES[str(want.dtype).removeprefix("torch.")]
    excess = -float("inf")
    for g, w in zip(got.split(1024), want.split(1024), strict=True):
        over = ((g.float() - w.float()).abs() - atol - rtol * w.float().abs()).max().item()
        excess = max(excess, float("inf") if over != over else over)
    return excess


class Contest:
    """The contestants at one shape. Those with a wrong result do not take part."""

    def __init__(self, shape: tuple[int, int, int], dtype: str) -> None:
        self.shape, self.dtype = shape, dtype
        kind = getattr(torch, dtype)
        self.a, self.b = operands(*shape, kind)
        self.want = torch.empty((shape[0], shape[1]), device="cuda", dtype=kind)
        self.d = torch.empty_like(self.want)
        self.entries: dict[str, Launch] = {"cuBLAS": lambda: torch.matmul(self.a, self.b.t(), out=self.want)}
        self.entries["cuBLAS"]()
        torch.cuda.synchronize()

    def enter(self, name: str, launch: Launch) -> None:
        """Run once, compare with cuBLAS, and let it take part if it is right."""
        say(event="checking", name=name)
        self.d.fill_(float("nan"))
        launch()
        torch.cuda.synchronize()
        excess = difference(self.d, self.want)
        say(event="checked", name=name, ok=excess <= 0, excess=excess)
        if excess <= 0:
            self.entries[name] = launch

    def enter_step(self, step: int, kernels: Path) -> None:
        here = architecture_of(device_arch() or DEFAULT_ARCH)
        self.enter_factory(f"step {step}", load_kernels(kernels, here.kernels)[step])

    def enter_factory(self, name: str, factory: Callable[..., PrimFunc]) -> None:
        """Compile the kernel that a factory makes for this shape, and let it take part."""
        try:
            kernel = factory(*self.shape, dtype=self.dtype)
        except ValueError as error:
            say(event="skipped", name=name, reason=str(error))
            return
        say(event="building", name=name)
        exe = tvm.compile(tvm.IRModule({"main": kernel}), target=f"cuda:{device_arch() or DEFAULT_ARCH}")
        self.enter(name, lambda: exe(self.a, self.b, self.d))

    def enter_triton(self) -> None:
        say(event="building", name="Triton")
        try:
            from triton_matmul import candidates

            found = candidates(self.a, self.b, self.d)
        except Exception as error:  # a peer that cannot run here is left out, whatever the reason
            say(event="skipped", name="Triton", reason=f"{type(error).__name__}: {error}"[:300])
            return
        times = {
            config: statistics.median(LaunchGraph(launch, 20).ms() for _ in range(5))
            for config, launch in found.items()
        }
        best = min(times, key=lambda config: times[config])
        say(event="chosen", name="Triton", config=str(best))
        self.enter("Triton", found[best])

    def run(self, rounds: int) -> dict[str, list[float]]:
        """Milliseconds of each contestant in each round."""
        m, n, k = self.shape
        repeat = max(2, round(BATCH_MS / (2 * m * n * k / 600e9)))
        graphs: dict[str, LaunchGraph] = {}
        for name, launch in self.entries.items():
            say(event="capturing", name=name)
            graphs[name] = LaunchGraph(launch, repeat)
        say(event="timing", repeat=repeat)
        return in_turn({name: graph.ms for name, graph in graphs.items()}, rounds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", type=int, nargs=3)
    parser.add_argument("dtype", choices=["float16", "bfloat16"])
    parser.add_argument("--steps", default=",".join(map(str, steps_from(3))))
    parser.add_argument("--rounds", type=int, default=20, help="0 to check results only")
    parser.add_argument("--kernels", type=Path, default=ROOT / "kernels_ref")
    parser.add_argument("--no-triton", action="store_true")
    options = parser.parse_args()
    begin = time.perf_counter()
    m, n, k = options.shape
    contest = Contest((m, n, k), options.dtype)
    for step in filter(None, options.steps.split(",")):
        contest.enter_step(int(step), options.kernels)
    if options.rounds and not options.no_triton:
        contest.enter_triton()
    if options.rounds:
        say(event="result", times=contest.run(options.rounds), seconds=time.perf_counter() - begin)
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
