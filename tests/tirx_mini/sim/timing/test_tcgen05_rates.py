"""The time of tcgen05.mma beside measured tables: the rate of every shape, its latency, and a main loop beside TMA.

b200_mma.csv has cycles of an MMA in a batch of 256, and the latency from the issue of one to a waiting thread, as
measured on a B200 (SemiAnalysisAI/microbench-blackwell, tables `umma_throughput` and `umma_latency`, Apache License
2.0). The main loops are those of its table `cutlass_gemm_mainloop`: one CTA, K tiles of 64, a clock of 1.3 GHz.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import address, all_lanes, block, do, mapped, one_lane, run, tensor_map
from tests.tirx_mini.sim.engines.tensor_core import SHARED, allocated, descriptor, instruction
from tirx_mini.hardware import B200
from tirx_mini.isa import InstructionDescriptor, SmemDescriptor, mma_format
from tirx_mini.isa.descriptors import Format
from tirx_mini.sim import RunningWarp
from tirx_mini.sim.engines import arithmetic, fill, operand_bytes

TOLERANCE = 0.05
FORMATS = {"BF16": "bfloat16", "E4M3": "float8_e4m3fn", "S8": "int8", "MXF8": "float8_e4m3fn"}
LOCKED_GHZ = 1.3
LOCKED = B200.at_clock(LOCKED_GHZ)
"""A B200 whose loads take as many nanoseconds as at full clock, and so fewer cycles."""


@dataclass(frozen=True)
class Row:
    """One measured shape. a: "smem" or "tmem". cycles: of each of many. latency: of one, until a thread has waited."""

    format: str
    a: str
    cta_group: int
    m: int
    n: int
    k: int
    cycles: float
    latency: float

    @property
    def shape(self) -> InstructionDescriptor:
        name = FORMATS.get(self.format)
        operand = mma_format(name)[1] if name else Format("float4_e2m1fn", 0.5)
        return InstructionDescriptor(self.m, self.n, operand, operand, "float32", self.k)

    @property
    def in_tmem(self) -> bool:
        return self.a == "tmem"

    @property
    def predicted(self) -> float:
        read = operand_bytes(B200, self.shape, self.cta_group, self.in_tmem) / B200.smem_bytes_per_cycle
        return max(read, arithmetic(B200, self.shape, self.cta_group))


def rows() -> Iterator[Row]:
    with (Path(__file__).parent / "b200_mma.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            extents = (int(row[name]) for name in ("cta_group", "m", "n", "k"))
            yield Row(row["format"], row["a"], *extents, float(row["cycles"]), float(row["latency"]))


def groups() -> list[tuple[str, str, int]]:
    return sorted({(row.format, row.a, row.cta_group) for row in rows()})


@pytest.mark.parametrize(("dtype", "a", "cta_group"), groups())
def test_mmas_of_each_shape_take_the_cycles_that_were_measured(dtype: str, a: str, cta_group: int) -> None:
    found = [row for row in rows() if (row.format, row.a, row.cta_group) == (dtype, a, cta_group)]
    assert len(found) >= 6
    for row in found:
        assert row.predicted == pytest.approx(row.cycles, rel=TOLERANCE), row


@pytest.mark.parametrize(("dtype", "a", "cta_group"), groups())
def test_one_mma_of_each_shape_has_the_latency_that_was_measured(dtype: str, a: str, cta_group: int) -> None:
    for row in rows():
        if (row.format, row.a, row.cta_group) == (dtype, a, cta_group):
            after = B200.mma_latency + B200.commit_latency + B200.mbarrier_latency
            after += B200.pair_latency if cta_group == 2 else 0.0
            predicted = row.predicted + fill(B200, row.shape, cta_group, row.in_tmem) + after
            assert predicted == pytest.approx(row.latency, rel=TOLERANCE), row


def batch(m: int, n: int, count: int) -> float:
    """Cycles in which one thread issues so many MMAs and a commit, and waits for them."""
    idesc, _ = instruction(m, n)
    layout = SmemDescriptor(0, 16, 1024, 128)
    took = 0.0

    def program(w: RunningWarp) -> Any:
        nonlocal took
        taddr = yield from allocated(w, 512)
        if w.warp_id == 0:
            one_lane(w)
            begin = w.time
            for _ in range(count):
                do(w, "tcgen05.mma", taddr, descriptor(w, "A", layout), descriptor(w, "B", layout), idesc, False)
            do(w, "tcgen05.commit", address(w, "bar"))
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
            took = w.time - begin
            all_lanes(w)
        yield from block(w, "bar.sync.all", 0)

    run(program, shared=SHARED, threads=128, checks=False)
    return took


@pytest.mark.parametrize("row", [row for row in rows() if (row.format, row.a, row.cta_group) == ("BF16", "smem", 1)],
                         ids=lambda row: f"{row.m}x{row.n}")  # fmt: skip
def test_a_thread_waits_for_an_mma_as_long_as_measured(row: Row) -> None:
    assert batch(row.m, row.n, 1) == pytest.approx(row.latency, rel=TOLERANCE)


def test_sixteen_mmas_between_commits() -> None:
    """73.3 cycles each, where 64.6 is the rate: the fit 64.02 · 16 + 148.1 of the table."""
    assert batch(128, 128, 16) / 16 == pytest.approx(73.3, rel=TOLERANCE)


def main_loop(n: int, stages: int, tiles: int) -> float:
    """Cycles of one CTA: a warp loads tiles of K, and another one multiplies 128 rows by `n` columns of them."""
    idesc, _ = instruction(128, n)
    layout = SmemDescriptor(0, 16, 1024, 128)
    a, b = np.zeros((128, 64 * tiles), np.float16), np.zeros((n, 64 * tiles), np.float16)
    nbytes = (128 + n) * 128

    def load(w: RunningWarp) -> Any:
        for tile in range(tiles):
            stage, use = tile % stages, tile // stages
            yield from block(w, "mbarrier.try_wait", address(w, "empty", stage), (use & 1) ^ 1)
            for name, rows in (("A", 128), ("B", n)):
                where = address(w, name, stage * rows * 64)
                full = address(w, "full", stage)
                do(w, "cp.async.bulk.tensor.load", where, mapped(w, name), full, 64 * tile, 0, dim=2)
            do(w, "mbarrier.arrive.expect_tx", address(w, "full", stage), nbytes)

    def multiply(w: RunningWarp, taddr: int) -> Any:
        for tile in range(tiles):
            stage, use = tile % stages, tile // stages
            yield from block(w, "mbarrier.try_wait", address(w, "full", stage), use & 1)
            do(w, "tcgen05.fence.after_thread_sync")
            for step in range(4):
                left = descriptor(w, "A", layout, stage * 128 * 128 + 32 * step)
                right = descriptor(w, "B", layout, stage * n * 128 + 32 * step)
                do(w, "tcgen05.mma", taddr, left, right, idesc, tile + step > 0)
            do(w, "tcgen05.commit", address(w, "empty", stage))

    def program(w: RunningWarp) -> Any:
        if w.warp_id == 1:
            one_lane(w)
            for name in ("full", "empty"):
                for stage in range(stages):
                    do(w, "mbarrier.init", address(w, name, stage), 1)
            all_lanes(w)
        taddr = yield from allocated(w, 512)
        if w.warp_id < 2:
            one_lane(w)
            yield from load(w) if w.warp_id else multiply(w, taddr)
            all_lanes(w)
        yield from block(w, "bar.sync.all", 0)

    shared = {"bar": ("uint64", 1), "slot": ("uint32", 1, 4), "full": ("uint64", stages), "empty": ("uint64", stages)}
    shared |= {"A": ("float16", stages * 128 * 64), "B": ("float16", stages * n * 64)}
    maps = [tensor_map("A", a, (64, 128), 128), tensor_map("B", b, (64, n), 128)]
    result = run(program, threads=128, shared=shared, arrays={"A": a, "B": b}, maps=maps, spec=LOCKED, checks=False)
    return result.outcome.cycles


@pytest.mark.parametrize(("n", "stages", "cycles"), [(64, 7, 201.4), (128, 6, 268.2), (192, 5, 391.6), (256, 4, 521.3)])
def test_tma_writes_beside_the_reads_of_the_tensor_core(n: int, stages: int, cycles: float) -> None:
    short, long = (main_loop(n, stages, tiles) for tiles in (16, 48))
    assert (long - short) / 32 == pytest.approx(cycles, rel=TOLERANCE)
