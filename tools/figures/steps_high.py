"""The pages of the steps 8 to 10."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tirx_mini import Report, simulate
from tirx_mini.course import Shape, load_kernel
from tirx_mini.diagnose import us_text
from tirx_mini.hardware import B200
from tools.figures._references import patched
from tools.figures._runs import traced
from tools.figures._steps import Drawing, StepPage, cube
from tools.pages import as_table

SIZES = (cube(2048), cube(4096))
DEPTHS = range(2, 8)
ROUND_TRIP = re.compile(r"of the ([\d.]+) µs from a load until its stage is free again")
BYTES_PER_CYCLE = 65
"""Of the L2 for one SM, where all SMs load."""
K_TILES, STAGE = 64, 2 * 128 * 64 * 2
"""The K tiles that the busiest SM computes at 2048, and the bytes of one."""


def passages() -> Iterator[tuple[str, str]]:
    """`step08-depths`: the times of step 8 with other numbers of stages, and what two times alone predict for them."""
    rows = [["`PIPE_DEPTH`", "shared memory", "model at 2048", "simulated at 2048", "simulated at 1024"]]
    rows.append(["---:"] * len(rows[0]))
    runs = {depth: [_with_depth(depth, cube(size)) for size in (2048, 1024)] for depth in DEPTHS}
    two = runs[2][0]
    around = _us(two) - K_TILES * k_tile_us(2)
    for depth, (large, small) in runs.items():
        memory = f"{(two.stats['smem_bytes'] + (depth - 2) * STAGE) / 1024:.0f} KiB"
        if large.findings:
            rows.append([f"{depth}", memory, "–", "does not fit", "does not fit"])
        else:
            times = (around + K_TILES * k_tile_us(depth), _us(large), _us(small))
            rows.append([f"{depth}", memory, *map(us_text, times)])
    yield "step08-depths", as_table(rows)


def k_tile_us(depth: int) -> float:
    """The time of a K tile by the model: its work, or its share of the round trip that the bound of step 7 names."""
    bound = traced(7, cube(2048)).report.bound
    match = ROUND_TRIP.search(bound.sentence if bound is not None else "")
    assert match is not None
    return max(STAGE / BYTES_PER_CYCLE / B200.clock_ghz / 1000, float(match[1]) / depth)


def _us(report: Report) -> float:
    assert report.time_us is not None
    return report.time_us


@cache
def _with_depth(depth: int, shape: Shape) -> Report:
    with TemporaryDirectory() as folder:
        ref = patched(8, {"PIPE_DEPTH = 4": f"PIPE_DEPTH = {depth}"}, Path(folder))
        return simulate(load_kernel(ref, shape=shape), gpu=B200, data=False)


PAGES = (
    StepPage(
        8, times=SIZES, bounds=(cube(2048),), target=cube(2048),
        drawing=Drawing(
            "figures/step08-timeline.svg", cube(2048),
            "Four stages: TMA is up to four K tiles ahead, and several loads are on their way at any time. A load now "
            "takes longer than in step 7, because it shares shared memory with the operands of the MMAs.",
        ),
    ),
    StepPage(
        9, times=SIZES, bounds=(cube(2048),), target=cube(4096),
        drawing=Drawing(
            "figures/step09-timeline.svg", cube(2048),
            "A pair of CTAs: the MMA warp of CTA 0 issues for both tensor cores, and each commit frees the stage in "
            "both CTAs. An MMA has twice the work for a quarter more bytes.",
            ctas=(0, 1),
        ),
    ),
    StepPage(10, times=SIZES, bounds=(cube(2048),), target=cube(4096)),
)  # fmt: skip
