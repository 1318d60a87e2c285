"""Every tile program of kernels_ref/tile under many schedules, on both simulated GPUs, in all dtypes that it takes.

    python benchmarks/tile_schedules.py [--jobs 16] [--schedules 20] [--only attention] [--csv results.csv]

A case is one call of a program with odd shapes and small tiles of its own, so that pipelines wrap around and edges are
padded. It holds where every launch is right, and free of findings in all schedules; the exit status is 1 where one is
not. The cases take 40 minutes of CPU time with 20 schedules.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini.ending import command
from tirx_mini.pool import Lost, run_bounded, spread

GPUS = ("h100", "b200")
FLOATS = ("float16", "bfloat16", "float32")
TOLERANCES = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 5e-3}
"""Relative to the greatest result: the rounding of a dtype; of float32, that of two products in tf32."""


@dataclass(frozen=True)
class Row:
    """The result of a case. verdict: "ok", or what is wrong. error: the greatest relative difference."""

    program: str
    plan: str
    dtype: str
    gpu: str
    schedules: int
    launches: int
    verdict: str
    error: float
    seconds: float


def random(dtype: str, *shape: int, seed: int = 0) -> Any:
    import torch

    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, dtype))


def run_vector_add(dtype: str, size: int) -> tuple[Any, Any]:
    from kernels_ref.tile import vector_add

    a, b = random(dtype, size), random(dtype, size, seed=1)
    c = a * 0
    vector_add.add(a, b, c)
    return c, a + b


def run_transpose(dtype: str, rows: int, columns: int) -> tuple[Any, Any]:
    from kernels_ref.tile import transpose

    x = random(dtype, rows, columns)
    y = x.new_zeros(columns, rows)
    transpose.transpose(x, y)
    return y, x.T


def run_softmax(dtype: str, rows: int, columns: int) -> tuple[Any, Any]:
    from kernels_ref.tile import softmax

    x = random(dtype, rows, columns) * 4
    y = x.new_zeros(rows, columns)
    softmax.softmax(x, y)
    return y, x.float().softmax(1)


def run_layer_norm(dtype: str, rows: int, columns: int) -> tuple[Any, Any]:
    import torch

    from kernels_ref.tile import layer_norm

    x, weight, bias = (
        random(dtype, *shape, seed=i) for i, shape in enumerate(((rows, columns), (columns,), (columns,)))
    )
    y = x.new_zeros(rows, columns)
    layer_norm.layer_norm(x, weight, bias, y)
    return y, torch.nn.functional.layer_norm(x.float(), (columns,), weight.float(), bias.float())


def run_gemm(dtype: str, m: int, n: int, k: int, tiles: Sequence[int], blocks: int = 0) -> tuple[Any, Any]:
    from kernels_ref.tile import gemm, persistent_gemm

    a, b = random(dtype, m, k), random(dtype, k, n, seed=1)
    c = a.new_zeros(m, n)
    if blocks:
        persistent_gemm.gemm(a, b, c, blocks, tuple(tiles))
    else:
        gemm.gemm(a, b, c, tuple(tiles))
    return c, a.float() @ b.float()


def run_batched_gemm(dtype: str, batch: int, m: int, n: int, k: int, tiles: Sequence[int]) -> tuple[Any, Any]:
    from kernels_ref.tile import batched_gemm

    a, b = random(dtype, batch, m, k), random(dtype, batch, k, n, seed=1)
    c = a.new_zeros(batch, m, n)
    batched_gemm.batched_gemm(a, b, c, tuple(tiles))
    return c, a.float() @ b.float()


def run_attention(dtype: str, length: int, head: int, causal: bool, tiles: Sequence[int]) -> tuple[Any, Any]:
    import torch

    from kernels_ref.tile import attention

    q, k, v = (random(dtype, 1, 2, length, head, seed=seed) for seed in range(3))
    o = q * 0
    attention.attention(q, k, v, o, causal, tuple(tiles))
    scores = q.float() @ k.float().transpose(2, 3) / math.sqrt(head)
    if causal:
        scores.masked_fill_(torch.ones(length, length).triu(1).bool(), -math.inf)
    return o, scores.softmax(3) @ v.float()


def run_moe(dtype: str, tokens: int, width: int, hidden: int, tiles: Sequence[int]) -> tuple[Any, Any]:
    import torch

    from kernels_ref.tile import moe

    experts, choices = 3, 2
    x = random(dtype, tokens, width) / 4
    gate_up = random(dtype, experts, 2 * hidden, width, seed=1) / math.sqrt(width)
    down = random(dtype, experts, width, hidden, seed=2) / math.sqrt(hidden)
    weights, ids = torch.topk(random("float32", tokens, experts, seed=3).softmax(1), choices)
    weights = weights.to(x.dtype)
    got = moe.moe(x, gate_up, down, ids, weights, tuple(tiles))
    both = torch.einsum("tw,ehw->teh", x.float(), gate_up.float())
    gate, up = both.to(x.dtype).float().chunk(2, dim=2)
    inner = (torch.nn.functional.silu(gate) * up).to(x.dtype).float()
    outputs = torch.einsum("teh,ewh->tew", inner, down.float())
    chosen = torch.gather(outputs, 1, ids[:, :, None].expand(-1, -1, width))
    return got, (weights.float()[:, :, None] * chosen).sum(1)


Program = Callable[[str], tuple[Any, Any]]


def shown(tiles: Sequence[int]) -> str:
    return "×".join(map(str, tiles))


def programs() -> Iterator[tuple[str, str, Program]]:
    """The name, the plan and the call of each case: a function of the dtype that gives what it computes and should."""
    yield "vector_add", "1500", partial(run_vector_add, size=1500)
    yield "transpose", "100×130", partial(run_transpose, rows=100, columns=130)
    for columns in (200, 1000):
        yield "softmax", str(columns), partial(run_softmax, rows=3, columns=columns)
        yield "layer_norm", str(columns), partial(run_layer_norm, rows=3, columns=columns)
    for tiles in (
        (128, 64, 32),
        (64, 128, 64),
        (128, 128, 64),
        (128, 256, 64),
        (256, 128, 64),
        (32, 128, 64),
        (16, 256, 64),
    ):
        yield "gemm", shown(tiles), partial(run_gemm, m=130, n=136, k=456, tiles=tiles)
    for tiles in ((64, 64, 32), (128, 128, 64)):
        plan = f"{shown(tiles)}, 2 blocks"
        yield "persistent_gemm", plan, partial(run_gemm, m=260, n=136, k=328, tiles=tiles, blocks=2)
    yield "batched_gemm", "64×64×32", partial(run_batched_gemm, batch=2, m=70, n=40, k=200, tiles=(64, 64, 32))
    for causal in (False, True):
        for head, tiles in ((64, (64, 64)), (128, (128, 64)), (64, (128, 128))):
            plan = f"{shown(tiles)}, head {head}{', causal' if causal else ''}"
            run = partial(run_attention, length=300, head=head, causal=causal, tiles=tiles)
            yield "attention", plan, run
    for tiles in ((64, 64, 32), (32, 128, 64), (128, 128, 64)):
        yield "moe", shown(tiles), partial(run_moe, tokens=40, width=200, hidden=72, tiles=tiles)


def judged(program: str, plan: str, run: Program, dtype: str, gpu: str, schedules: int) -> Row:
    """One case, in this process."""
    import torch

    from tirx_mini.diagnose import Report
    from tirx_mini.tile_ir import simulated

    torch.set_num_threads(1)
    reports: list[Report] = []
    verdict, error, start = "ok", math.nan, time.process_time()
    try:
        with simulated(gpu, reports=reports, schedules=schedules, jobs=1):
            got, wanted = run(dtype)
        error = float((got.float() - wanted.float()).abs().max() / wanted.float().abs().max())
        if not error <= TOLERANCES[dtype]:
            verdict = "wrong result"
    except Exception as failure:  # a row of the table, whatever it is
        verdict = f"{type(failure).__name__}: {str(failure).splitlines()[0]}"
    found = [f"{finding.code} {finding.kind}" for report in reports for finding in report.findings]
    if found:
        verdict = ", ".join(dict.fromkeys(found))
    seconds = round(time.process_time() - start, 1)
    return Row(program, plan, dtype, gpu, schedules, len(reports), verdict, round(error, 6), seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--schedules", type=int, default=20)
    parser.add_argument("--only", default="", help="programs whose name begins so")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    work = [
        (*case, dtype, gpu, options.schedules)
        for case in programs()
        if case[0].startswith(options.only)
        for dtype in FLOATS
        for gpu in GPUS
    ]
    rows: list[Row] = []
    for index, found in run_bounded(spread(judged), work, jobs=options.jobs):
        program, plan, _, dtype, gpu, schedules = work[index]
        lost = isinstance(found, Lost)
        row = Row(program, plan, dtype, gpu, schedules, 0, found.reason, math.nan, math.nan) if lost else found
        rows.append(row)
        print(f"{len(rows):3}/{len(work)}  {' '.join(map(str, astuple(row)))}", flush=True)
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(field.name for field in fields(Row))
            writer.writerows(sorted(map(astuple, rows)))
    wrong = [row for row in rows if row.verdict != "ok"]
    print(f"{len(rows) - len(wrong)} of {len(rows)} cases hold under {options.schedules} schedules")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(command(main))
