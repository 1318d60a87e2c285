"""Shapes that do not fill a GPU: step 10 and the kernel for every shape on a modelled H100, tile by tile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from kernels_ref.sm90.extra_every_shape import hgemm
from kernels_ref.sm90.extra_plans import plan
from kernels_ref.sm90.step10_multi_consumer import hgemm_v10, tile_shape
from tirx_mini import simulate
from tirx_mini.course import Shape, Traced, View, timeline_form
from tirx_mini.hardware import H100
from tools.figures._runs import extents

WAVE: Shape = (1536, 3072, 1024)
SMALL: Shape = (256, 1024, 2048)
LONG: Shape = (128, 1024, 8192)
FACTORIES = {"step 10": hgemm_v10, "every shape": hgemm}
FILES = {
    "shapes-wave-step-10.svg": (WAVE, "step 10"),
    "shapes-wave-every-shape.svg": (WAVE, "every shape"),
    "shapes-shared-step-10.svg": (LONG, "step 10"),
    "shapes-shared-every-shape.svg": (LONG, "every shape"),
}


@cache
def traced(name: str, shape: Shape) -> Traced:
    report = simulate(FACTORIES[name](*shape), gpu=H100, data=False, trace=True, single=True)
    return Traced(replace(report, kernel=name, verdict="ok"), H100, extents(shape))


def pictures() -> Iterator[tuple[str, str]]:
    for file, (shape, name) in FILES.items():
        yield f"figures/{file}", timeline_form(traced(name, shape), ".svg", View(wave=True))


def passages() -> Iterator[tuple[str, str]]:
    rows = []
    for shape in (WAVE, SMALL, LONG):
        chosen = plan(*shape)
        split = f", K in {chosen.ctas} parts" if chosen.ctas > 1 else ""
        split = f", K for {chosen.workers} CTAs" if chosen.workers else split
        tiles = {
            "step 10": "{} × {}".format(*tile_shape(*shape[:2])),
            "every shape": f"{chosen.blk_m} × {chosen.blk_n}{split}",
        }
        for name in FACTORIES:
            report = traced(name, shape).report
            rows.append(f"| {extents(shape)} | {name} | {tiles[name]} | {report.time_us:.1f} | "
                        f"{report.single_us:.1f} |")  # fmt: skip
    head = "| M × N × K | kernel | tile | in a row, µs | by itself, µs |\n| --- | --- | --- | ---: | ---: |\n"
    yield "shapes-times", head + "\n".join(rows)
