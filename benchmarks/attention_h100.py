"""Causal attention in tile programs beside cuDNN, at 16,384 tokens in bfloat16.

    PYTHONPATH=. python benchmarks/attention_h100.py --csv attention.csv          # on a Hopper GPU
    PYTHONPATH=. python benchmarks/attention_h100.py --predict --lengths 1024     # by the simulator's clock

Besides the program of kernels_ref/tile it has three that compute the same in another way: with the mask in one loop,
with the diagonal first, and with eight heads of queries for each head of keys. All candidates of a problem take turns
in every round, from CUDA graphs; those with a wrong result do not take part.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernels_ref.tile.attention import NEG_INF, attend, attention_tile
from tirx_mini.diagnose import Report, SimulationError
from tirx_mini.ending import command
from tirx_mini.tile_ir import ct, simulated

TOKENS, COLUMNS = 16384, 2048
LENGTHS, HEADS = (1024, 2048, 4096, 8192, 16384), (64, 128)
TILES = ((128, 128), (128, 64))
GROUP = 8
BATCH_MS = 4.0
GPU = "h100"


def _begin(Q, m, head, TM, D):
    q = ct.load(Q, (head, m, 0), shape=(1, TM, D), padding_mode=ct.PaddingMode.ZERO).reshape((TM, D))
    top, total = ct.full((TM, 1), NEG_INF, dtype=ct.float32), ct.zeros((TM, 1), dtype=ct.float32)
    return q, (top, total, ct.zeros((TM, D), dtype=ct.float32))


def _end(out, m, head, state, TM, D):
    _, total, acc = state
    ct.store(out, (head, m, 0), (acc / total).astype(out.dtype).reshape((1, TM, D)))


@ct.kernel
def one_loop(
    Q, K, V, out, scale, CAUSAL: ct.Constant[bool], TM: ct.Constant[int], TN: ct.Constant[int], D: ct.Constant[int]
):  # fmt: skip
    """The mask is computed in each iteration."""
    m, head = ct.bid(0), ct.bid(1)
    q, state = _begin(Q, m, head, TM, D)
    for n in range(min(ct.cdiv((m + 1) * TM, TN), ct.cdiv(K.shape[1], TN))):
        state = attend(q, K, V, head, n, state, m * TM, scale, True, CAUSAL, TN, D)
    _end(out, m, head, state, TM, D)


@ct.kernel
def diagonal_first(
    Q, K, V, out, scale, CAUSAL: ct.Constant[bool], TM: ct.Constant[int], TN: ct.Constant[int], D: ct.Constant[int]
):  # fmt: skip
    """The loop with the mask precedes the one without."""
    m, head = ct.bid(0), ct.bid(1)
    q, state = _begin(Q, m, head, TM, D)
    whole = min(m * TM // TN, K.shape[1] // TN)
    for n in range(whole, min(ct.cdiv((m + 1) * TM, TN), ct.cdiv(K.shape[1], TN))):
        state = attend(q, K, V, head, n, state, m * TM, scale, True, CAUSAL, TN, D)
    for n in range(whole):
        state = attend(q, K, V, head, n, state, m * TM, scale, False, CAUSAL, TN, D)
    _end(out, m, head, state, TM, D)


@ct.kernel
def diagonal_block(
    Q, K, V, out, scale, CAUSAL: ct.Constant[bool], TM: ct.Constant[int], TN: ct.Constant[int], D: ct.Constant[int]
):  # fmt: skip
    """The diagonal block stands before the loop, for square tiles."""
    m, head = ct.bid(0), ct.bid(1)
    q, state = _begin(Q, m, head, TM, D)
    state = attend(q, K, V, head, m, state, m * TM, scale, True, CAUSAL, TN, D)
    for n in range(m):
        state = attend(q, K, V, head, n, state, m * TM, scale, False, CAUSAL, TN, D)
    _end(out, m, head, state, TM, D)


ORDERS = {"ours": attention_tile, "one loop": one_loop, "diagonal first": diagonal_first,
          "diagonal block": diagonal_block}  # fmt: skip
"""Programs of causal attention, by how they visit the blocks of keys."""


@dataclass(frozen=True)
class Problem:
    """Attention of batch × heads sequences. group: heads of queries for each head of keys."""

    length: int
    head: int
    causal: bool = True
    group: int = 1

    @property
    def name(self) -> str:
        kind = "causal" if self.causal else "plain"
        return f"{kind} {self.length} × {self.head}" + (f", {self.group}:1" if self.group > 1 else "")

    @property
    def sequences(self) -> int:
        return TOKENS // self.length * (COLUMNS // self.head)

    @property
    def flops(self) -> float:
        return 4.0 * self.sequences * self.length**2 * self.head * (0.5 if self.causal else 1.0)

    def arrays(self, device: str) -> list[torch.Tensor]:
        """Q, K, V and O, as (sequences, length, head); K and V have fewer where queries are grouped."""
        keys = self.sequences // self.group
        shapes = [(count, self.length, self.head) for count in (self.sequences, keys, keys, self.sequences)]
        if device == "cpu":
            return [torch.zeros(shape, dtype=torch.bfloat16) for shape in shapes]
        draw = torch.Generator(device).manual_seed(0)
        return [torch.randn(shape, device=device, generator=draw).to(torch.bfloat16) for shape in shapes]


def problems(lengths: Sequence[int], heads: Sequence[int]) -> Iterator[Problem]:
    for head in heads:
        for length in lengths:
            yield Problem(length, head)
        middle = sorted(lengths)[len(lengths) // 2]
        yield Problem(middle, head, group=GROUP)
        yield Problem(middle, head, causal=False)


def launch(kernel: Any, problem: Problem, arrays: Sequence[torch.Tensor], tiles: tuple[int, int]) -> None:
    scale = math.log2(math.e) / math.sqrt(problem.head)
    grid = (problem.length // tiles[0], problem.sequences)
    ct.launch(None, grid, kernel, (*arrays, scale, problem.causal, *tiles, problem.head))


def entries(problem: Problem) -> Iterator[tuple[str, Any, tuple[int, int]]]:
    """(name, kernel, tile) of our candidates."""
    for tiles in TILES:
        for name, kernel in ORDERS.items():
            others = problem.causal and problem.group == 1 and (tiles[0] == tiles[1] or name != "diagonal block")
            if name == "ours" or others:
                yield f"{name} {tiles[0]}×{tiles[1]}", kernel, tiles


def predicted(kernel: Any, problem: Problem, tiles: tuple[int, int]) -> float:
    """The simulator's time in µs."""
    reports: list[Report] = []
    try:
        with simulated(GPU, data=False, budget=400_000_000, reports=reports):
            launch(kernel, problem, problem.arrays("cpu"), tiles)
    except SimulationError:  # without data, no report is a proof
        pass
    if reports[0].time_us is None:
        raise SystemExit(str(reports[0]))
    return reports[0].time_us


def measured(problem: Problem, rounds: int) -> Iterator[tuple[str, float, float]]:
    """(candidate, µs, cuDNN's time divided by its) of each candidate."""
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from tirx_mini.runtime import LaunchGraph, in_turn

    q, k, v, o = problem.arrays("cuda")
    qs, ks, vs = (x.view(TOKENS // problem.length, -1, problem.length, problem.head) for x in (q, k, v))

    def library() -> torch.Tensor:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(qs, ks, vs, is_causal=problem.causal, enable_gqa=problem.group > 1)

    want = library().reshape(o.shape).float()
    found: dict[str, Callable[[], Any]] = {"cuDNN": library}
    for name, kernel, tiles in entries(problem):
        o.fill_(float("nan"))
        queue = partial(launch, kernel, problem, (q, k, v, o), tiles)
        try:
            queue()
            torch.cuda.synchronize()
        except Exception as error:
            print(f"{problem.name}, {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        if torch.allclose(o.float(), want, rtol=2e-2, atol=2e-2):
            found[name] = queue
        else:
            print(f"{problem.name}, {name}: wrong result", flush=True)
    graphs = {}
    for name, queue in found.items():
        single = LaunchGraph(queue, 1).ms()
        graphs[name] = LaunchGraph(queue, max(2, min(200, round(BATCH_MS / max(single, 1e-3)))))
    times = in_turn({name: graph.ms for name, graph in graphs.items()}, rounds)
    for name, took in times.items():
        ratio = statistics.median(a / b for a, b in zip(times["cuDNN"], took, strict=True))
        yield name, statistics.median(took) * 1e3, ratio


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=numbers, default=LENGTHS, help="of sequences, as in 1024,2048")
    parser.add_argument("--heads", type=numbers, default=HEADS, help="columns of a head, as in 64,128")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--predict", action="store_true", help="by the simulator's clock, without a GPU")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    lines = [("problem", "candidate", "us", "tflops", "ratio")]
    for problem in problems(options.lengths, options.heads):
        if options.predict:
            rows = ((name, predicted(kernel, problem, tiles), 0.0) for name, kernel, tiles in entries(problem))
        else:
            rows = measured(problem, options.rounds)
        for name, us, ratio in rows:
            line = (problem.name, name, f"{us:.1f}", f"{problem.flops / us / 1e6:.1f}", f"{ratio:.3f}")
            print(f"{line[0]:24} {line[1]:24} {line[2]:>9} us {line[3]:>8} TFLOPS {line[4]}", flush=True)
            lines.append(line)
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
