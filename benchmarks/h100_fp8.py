"""The GEMM of 8-bit floats beside `torch._scaled_mm`, on this GPU, with promoted sums and without.

    PYTHONPATH=. python3 benchmarks/h100_fp8.py                                # squares, other shapes, six drawn ones
    PYTHONPATH=. python3 benchmarks/h100_fp8.py --shapes 4096,512x4096x4096 --rounds 60 --csv fp8.csv
    PYTHONPATH=. python3 benchmarks/h100_fp8.py --tiles --rounds 15            # many tilings of each shape

Each kernel is compared with `_scaled_mm` of the same kind, where sums are promoted to float32 (`use_fast_accum=False`)
and where they are not, in the whole of D. The contestants take turns as in `h100_classes.py`: single cold launches, and
the launches of a CUDA graph. Ratio: the time of `_scaled_mm` of the same kind over ours, the median over the rounds,
with its 95 % interval. Error: as in `h100_classes.py`, of sums that are rounded to bfloat16.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.h100_classes import ROW_MS, WARM_S, error_of, median_of
from kernels_ref.sm90.extra_fp8 import MULTIPLE, Tiling, estimate, tiled, tiling, tilings
from tirx_mini.course import Shape, shape_text
from tirx_mini.ending import command
from tirx_mini.pool import in_order, spread

SQUARES = tuple((n, n, n) for n in (1024, 2048, 4096, 8192))
OTHERS = ((4096, 14336, 4096), (8192, 8192, 28672), (512, 4096, 4096))
FORMS = {"promoted": True, "fast": False}
FACTORS = 0.5, 0.25
TOLERANCE = 0.05
"""Of a difference from `_scaled_mm`, in standard deviations of D: its sums are in another order where it divides K."""
BF16_BITS = 8
WITHIN = 1.15
HEAD = (
    "m", "n", "k", "form", "blk_m", "blk_n", "parts", "sets", "chain", "ctas", "us", "peer_us",
    "cold", "cold_low", "cold_high", "row", "row_low", "row_high", "error", "peer_error",
)  # fmt: skip


def drawn(seed: int, count: int) -> Iterator[Shape]:
    """Shapes with M, N and K from 512 to 8192, multiples of 16, of 2e10 operations or more."""
    rng = random.Random(f"fp8 {seed}")
    while count:
        shape = tuple(round(math.exp(rng.uniform(math.log(512), math.log(8192))) / MULTIPLE) * MULTIPLE for _ in "mnk")
        if 2 * math.prod(shape) >= 2e10:
            yield shape[0], shape[1], shape[2]
            count -= 1


def contestants(shape: Shape, promoted: bool) -> list[Tiling]:
    """The tilings of a sweep: those whose estimates are not far from the least, with clusters of one, two and four
    CTAs where a tile has rows of B for each."""
    estimates = {each: estimate(each, *shape) for each in tilings(*shape, promoted)}
    kept = [each for each, cycles in estimates.items() if cycles <= WITHIN * min(estimates.values())]
    return [replace(each, ctas=ctas) for each in kept for ctas in (1, 2, 4) if each.blk_n % (8 * ctas) == 0]


@dataclass(frozen=True)
class Measured:
    """One tiling at one shape. us, peer_us: medians of single cold launches; ratios of the peer's time to ours, with
    their intervals; errors."""

    shape: Shape
    form: str
    chosen: Tiling
    us: float
    peer_us: float
    cold: tuple[float, float, float]
    row: tuple[float, float, float]
    error: float
    peer_error: float

    def cells(self) -> list[object]:
        """The row of the table in the order of `HEAD`."""
        t = self.chosen
        figures = [*self.cold, *self.row, self.error, self.peer_error]
        tile = [t.blk_m, t.blk_n, t.parts, t.sets, t.chain, t.ctas]
        return [*self.shape, self.form, *tile, *(f"{us:.2f}" for us in (self.us, self.peer_us)),
                *(f"{figure:.4f}" for figure in figures)]  # fmt: skip

    def __str__(self) -> str:
        t = self.chosen
        tflops = 2e-6 * math.prod(self.shape) / self.us
        ratios = "  ".join(f"{ratio:.3f} ({low:.3f} to {high:.3f})" for ratio, low, high in (self.cold, self.row))
        return (
            f"{shape_text(self.shape):>20} {self.form:8} {self.us:8.1f} {tflops:5.0f} {self.peer_us:8.1f}  {ratios}  "
            f"error {self.error:.2f} {self.peer_error:.2f}  {t.blk_m}x{t.blk_n} {t.parts},{t.sets},{t.chain},{t.ctas}"
        )


def build(shape: Shape, chosen: Tiling) -> str:
    """Compile a kernel into the cache; what is wrong, or nothing."""
    from ladder import compiled

    from tirx_mini.hardware import H100

    return compiled(tiled(*shape, chosen), f"{chosen} at {shape_text(shape)}", H100)


class Product:
    """The operands of a product, what `_scaled_mm` makes of them, and the contestants by their names."""

    def __init__(self, shape: Shape) -> None:
        import torch
        from contest import operands

        self.shape = shape
        self.a, self.b = operands(*shape, torch.float8_e4m3fn)
        self.factors = [torch.full((1,), value, device="cuda") for value in FACTORS]
        self.d = torch.empty(shape[:2], device="cuda", dtype=torch.bfloat16)
        self.want = {form: torch.empty_like(self.d) for form in FORMS}
        self.peers: dict[str, Callable[[], Any]] = {form: partial(self._library, form) for form in FORMS}
        self.ours: dict[tuple[str, Tiling], Callable[[], Any]] = {}
        for launch in self.peers.values():
            launch()
        torch.cuda.synchronize()

    def _library(self, form: str) -> None:
        import torch

        torch._scaled_mm(  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
            self.a, self.b.t(), *self.factors, out_dtype=torch.bfloat16, use_fast_accum=not FORMS[form],
            out=self.want[form],
        )  # fmt: skip

    def enter(self, form: str, chosen: Tiling) -> str:
        """Run once, compare with the peer of the same form, and take part if it is right; else what is wrong."""
        import torch

        import tirx_mini as tvm

        exe = tvm.compile(tvm.IRModule({"main": tiled(*self.shape, chosen)}), target="cuda:sm_90a")
        launch = partial(exe, self.a, self.b, *self.factors, self.d)
        self.d.fill_(float("nan"))
        launch()
        torch.cuda.synchronize()
        allowed = TOLERANCE * math.sqrt(self.shape[2]) * math.prod(FACTORS)
        worst = 0.0
        for got, want in zip(self.d.split(1024), self.want[form].split(1024), strict=True):
            off = (got.float() - want.float()).abs().max().item()
            worst = max(worst, math.inf if math.isnan(off) else off)
        if worst > allowed:
            return f"{form} {chosen} at {shape_text(self.shape)} differs by {worst:.3g}, more than {allowed:.3g}"
        self.ours[form, chosen] = launch
        return ""

    def error(self, result: Any) -> float:
        return error_of(result.double() / math.prod(FACTORS), self.a.float(), self.b.float(), BF16_BITS)


def measure(shape: Shape, entrants: Sequence[tuple[str, Tiling]], rounds: int, flush: Any) -> Iterator[Measured | str]:
    """Each entrant, or what is wrong with it. All take turns with both peers."""
    import torch

    from tirx_mini.runtime import LaunchGraph, cold_us, in_turn

    product = Product(shape)
    yield from filter(None, (product.enter(*entrant) for entrant in entrants))
    launches: dict[object, Callable[[], Any]] = {**product.peers, **product.ours}
    named: Mapping[str, Callable[[], Any]] = {repr(name): launch for name, launch in launches.items()}
    cold = {name: partial(cold_us, launch, flush, clean=True) for name, launch in named.items()}
    until = time.perf_counter() + WARM_S
    while time.perf_counter() < until:
        in_turn(cold, 1)
    nothing = statistics.median(cold_us(lambda: None, flush, clean=True) for _ in range(20))
    times = {name: [us - nothing for us in found] for name, found in in_turn(cold, rounds).items()}
    us = {name: statistics.median(found) for name, found in times.items()}
    repeat = max(4, round(ROW_MS * 1e3 / min(us[repr(form)] for form in FORMS)))
    row = in_turn({name: LaunchGraph(launch, repeat).ms for name, launch in named.items()}, max(8, rounds // 3))
    errors = {form: product.error(want) for form, want in product.want.items()}
    for (form, chosen), launch in product.ours.items():
        own, peer = repr((form, chosen)), repr(form)
        launch()
        torch.cuda.synchronize()
        yield Measured(
            shape, form, chosen, us[own], us[peer], median_of(times[peer], times[own]), median_of(row[peer], row[own]),
            product.error(product.d), errors[form],
        )  # fmt: skip


def measured(path: Path) -> dict[tuple[Shape, str], dict[Tiling, dict[str, str]]]:
    """The rows of a table, by shape and form and by tiling."""
    found: dict[tuple[Shape, str], dict[Tiling, dict[str, str]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            chosen = Tiling(*(int(row[name]) for name in ("blk_m", "blk_n", "parts", "sets", "chain", "ctas")))
            found.setdefault(((int(row["m"]), int(row["n"]), int(row["k"])), row["form"]), {})[chosen] = row
    return found


def report(found: Sequence[Measured], path: Path | None) -> None:
    """The means of each form, and the table."""
    for form in FORMS:
        for how in ("cold", "row"):
            ratios = [getattr(each, how)[0] for each in found if each.form == form]
            mean = statistics.geometric_mean(ratios)
            print(f"{form}, {how}: geometric mean {mean:.3f}, least {min(ratios):.3f}, of {len(ratios)}")
    if path:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEAD)
            writer.writerows(each.cells() for each in found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", help="these shapes instead, as in 4096,512x4096x4096")
    parser.add_argument("--draw", type=int, default=1, metavar="SEED")
    parser.add_argument("--count", type=int, default=6, help="drawn shapes")
    parser.add_argument("--tiles", action="store_true", help="try many tilings of each shape")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=14, help="kernels compiled at a time")
    parser.add_argument("--csv", type=Path, metavar="FILE")
    options = parser.parse_args()
    from ladder import parse_shapes

    shapes = (*SQUARES, *OTHERS, *drawn(options.draw, options.count))
    if options.shapes:
        shapes = parse_shapes(options.shapes)
    entrants: dict[Shape, list[tuple[str, Tiling]]] = {}
    for shape in shapes:
        entrants[shape] = [
            (form, each)
            for form, promoted in FORMS.items()
            for each in (contestants(shape, promoted) if options.tiles else (tiling(*shape, promoted),))
        ]
    todo = [(shape, each) for shape, own in entrants.items() for _, each in own]
    for complaint in filter(None, in_order(spread(build), todo, jobs=options.jobs)):
        print(complaint)
    import torch

    from tirx_mini.runtime import FLUSH_BYTES

    print(torch.cuda.get_device_name())
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    found: list[Measured] = []
    wrong = 0
    for shape, own in entrants.items():
        for each in measure(shape, own, options.rounds, flush):
            print(each, flush=True)
            if isinstance(each, Measured):
                found.append(each)
            else:
                wrong += 1
    report(found, options.csv)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(command(main))
