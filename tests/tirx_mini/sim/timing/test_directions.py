"""Which way the predicted time goes where one thing of a kernel changes, and about how much, from first principles.

The kernels are the references with other constants, on a B200 of few SMs; only time is simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import tirx_mini as tvm
from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.hardware import B200, B300, GpuSpec

TILE = 128


Constants = Mapping[str, int]


def run(
    step: int, m: int, n: int, k: int, spec: GpuSpec, constants: Constants | None = None, file: Path | None = None
) -> tvm.Report:
    """A reference of Blackwell, or that in a file, on M × N × K."""
    kernels = load_kernels(file or default_kernels(), "sm100", sms=spec.sms, constants=constants or {})
    report = tvm.simulate(kernels[step](m, n, k), gpu=spec, data=False)
    assert report.verdict == "clock" and report.cycles is not None, str(report)
    return report


def cycles(step: int, m: int, n: int, k: int, sms: int = 4, **constants: int) -> float:
    report = run(step, m, n, k, B200.with_sms(sms), constants)
    assert report.cycles is not None
    return report.cycles


@cache
def cycles_for_each_tile_of_k(depth: int) -> float:
    """Of a long loop, with a pipeline of so many stages, in a CTA that is alone: prologue and epilogue cancel."""
    return (cycles(8, TILE, TILE, 8192, PIPE_DEPTH=depth) - cycles(8, TILE, TILE, 4096, PIPE_DEPTH=depth)) / 64


def test_stages_divide_the_latency_until_the_tensor_core_is_busy() -> None:
    """A stage is loaded again when it has been multiplied. So `depth` tiles pass in the latency of a load and an MMA,
    until what the SM does for each tile itself takes longer than its share of that: its MMAs, which a thread issues.
    """
    one, two, three, four, six = map(cycles_for_each_tile_of_k, (1, 2, 3, 4, 6))
    assert one == pytest.approx(2 * two, rel=0.1)
    assert one == pytest.approx(3 * three, rel=0.25)
    assert three >= four >= six - 1
    busy = 2 * TILE * TILE * 64 / B200.tensor_flops_per_cycle
    issued = 4 * (B200.issue["mma"] + B200.smem_latency) + B200.issue["smem_atomic"] + B200.issue["wait"]
    assert busy < six < 1.3 * issued and six == pytest.approx(four, rel=0.1)


def test_groups_of_tiles_share_most_where_a_wave_is_square(tmp_path: Path) -> None:
    """A wave of 16 tiles in groups of g rows reads g rows of A and 16 / g of B: 17, 10, 8, 10, 17 in all.

    The L2 does not hold them until the next wave, and HBM is slow, so that time goes with these bytes.
    """
    source = next((default_kernels() / "sm100").glob("step06*.py")).read_text("utf-8")
    text = source.replace("l2_group_size=8", "l2_group_size=L2_GROUP")
    text = text.replace("PIPE_DEPTH = 2", "L2_GROUP = 8\nPIPE_DEPTH = 2")
    file = tmp_path / "step06.py"
    file.write_text(text, "utf-8")
    spec = replace(B200, sms=16, l2_bytes=1 << 20, l2_partitions=1, hbm_tbps=0.2)
    reports = {g: run(6, 2048, 2048, 1024, spec, {"L2_GROUP": g}, file) for g in (1, 2, 4, 8, 16)}
    loaded = {g: report.stats["hbm_bytes"] - 2048 * 2048 * 2 for g, report in reports.items()}
    time = {g: report.cycles or 0.0 for g, report in reports.items()}
    assert time[4] < time[2] < time[1] and time[4] < time[8] < time[16]
    for g in (1, 2, 8, 16):
        assert loaded[g] / loaded[4] == pytest.approx((g + 16 / g) / 8, rel=0.15)


def test_wider_chunks_of_the_write_back_wait_less_often() -> None:
    """Each chunk of a write-back waits for its store before the next one: its latency counts once for each chunk."""
    narrow, middle, wide = (cycles(9, 256, 256, 256, EPI_N=n) for n in (64, 128, 256))
    assert narrow > middle > wide
    latency = B200.tma_store_latency - B200.l2_latency + B200.tma_store_read_latency + B200.l2_far_latency
    assert narrow - middle == pytest.approx(2 * latency, rel=0.4)
    assert middle - wide == pytest.approx(latency, rel=0.4)


def test_time_is_linear_in_k_and_a_deep_k_pays_for_the_rest() -> None:
    """Every tile of K takes the same time; launch, first load and write-back are paid once, so TFLOPS rise with K."""
    depths = (256, 1024, 4096, 16384)
    reports = {k: run(8, 256, 256, k, B200.with_sms(4)) for k in depths}
    time = {k: report.cycles or 0.0 for k, report in reports.items()}
    for_each = [(time[more] - time[less]) / (more - less) for less, more in pairwise(depths)]
    assert for_each == pytest.approx([for_each[-1]] * 3, rel=0.05)
    tflops = [reports[k].tflops or 0.0 for k in depths]
    assert tflops == sorted(tflops)
    assert time[256] > 1.5 * 256 * for_each[-1], "at a small K, most of the time is not for the loop"
    assert time[16384] == pytest.approx(16384 * for_each[-1], rel=0.07)


def test_a_second_wave_costs_as_much_for_one_tile_as_for_all() -> None:
    """With 4 SMs, 5 to 8 tiles take two turns, and 4 tiles one; SMs without a tile leave the others more of the L2."""
    time = {tiles: cycles(7, tiles * TILE, TILE, 2048) for tiles in (4, 5, 6, 7, 8)}
    assert time[4] < time[5] <= time[6] <= time[7] <= time[8] < 1.2 * time[5]
    assert 1.7 < time[8] / time[4] < 2.0, "the prologue is paid once"


def test_a_second_consumer_saves_loads_where_loads_are_what_is_scarce() -> None:
    """Two consumers share each tile of B: three loads for two products instead of four. An SM's MMAs stay the same."""
    shape = (1024, 512, 8192)
    scarce = replace(B200, sms=4, l2_bytes_per_cycle=24, port_bytes_per_cycle=24)
    one, two = (run(step, *shape, scarce) for step in (9, 10))
    assert two.stats["tma_load_bytes"] == 0.75 * one.stats["tma_load_bytes"]
    assert one.stats["tensor_cycles"] == two.stats["tensor_cycles"]
    assert one.cycles is not None and two.cycles is not None
    assert two.cycles / one.cycles == pytest.approx(0.75, rel=0.07)
    plenty = cycles(10, *shape) / cycles(9, *shape)
    assert two.cycles / one.cycles < plenty < 1.1


def test_narrow_tiles_of_a_pair_keep_the_tensor_core_of_a_b300_busy() -> None:
    """Measured at 4096³ with two consumers: 526 cycles for a K tile of 64 and N = 128, of which 512 are MMAs, and as
    much time with N = 256."""
    time: list[float] = []
    for columns in (64, 128):
        kernels = load_kernels(default_kernels(), "sm100", sms=8, constants={"BLK_N": columns})
        report = tvm.simulate(kernels[10](1024, 1024, 4096), gpu=B300.with_sms(8), data=False, trace=True)
        assert report.bound is not None and report.time_us is not None
        assert {usage.name: usage.share for usage in report.bound.usage}["tensor core"] >= 0.88
        time.append(report.time_us)
    assert time[0] == pytest.approx(time[1], rel=0.06)
