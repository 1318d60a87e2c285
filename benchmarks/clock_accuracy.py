"""How well the simulator's clock predicts: its times beside those measured on a GPU, step by step.

    python benchmarks/clock_accuracy.py                        # every measured step at 1024 and 2048
    python benchmarks/clock_accuracy.py --full                 # also 4096: minutes
    python benchmarks/clock_accuracy.py --sizes 8192 --gpu b200
    python benchmarks/clock_accuracy.py --gpu h100 --steps 4,5 --dtype bfloat16
    python benchmarks/clock_accuracy.py --single               # one launch by itself, cold, as on an H200

Measured are the medians in docs/h100.csv (launches in a CUDA graph), the times in docs/b200.csv (launches in a stream,
in whole microseconds), and with --single those of docs/h200_single.csv. The published launches on the B200 were made
one by one by a host that took about 13 µs for each: five kernels of different lengths take 12 to 15 µs at 1024. A
shorter prediction is shown as that. Ratio: predicted by measured. The order of steps is right where of two whose
measured times differ by more than a twentieth, whatever they were rounded from, the faster one is predicted to be
faster; two for which the host is too slow have no predicted order. Only time is simulated, above 4096 of samples.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini import pool, simulate
from tirx_mini.commands import step_list
from tirx_mini.course import DTYPES, STEPS, StepTimes, arch_folder, default_kernels, load_kernels, measured_times
from tirx_mini.ending import command
from tirx_mini.hardware import GPUS, gpu_spec
from tirx_mini.resources import resource

SIZES, FULL_SIZES = (1024, 2048), (1024, 2048, 4096)
MEDIAN_BOUND, WORST_BOUND, LEFT_OUT_BOUND = 0.05, 0.12, 0.15
"""Bounds of the relative error: the median, the worst, and the worst of a step scaled by the other steps.
The first two hold for the whole ladder, 1024 to 8192."""
TIE = 0.05
"""Steps whose measured times differ by less are in no order."""
HOST_US = {"b200": 13.0}
"""Microseconds from launch to launch that the host of the measurement needs at least; none in a CUDA graph."""
ROUNDING_US = {"b200": 0.5}
"""By how much measured times may be off because they are whole microseconds."""
SINGLE = "h200"
"""The GPU on which launches by themselves were measured."""


@dataclass(frozen=True)
class Prediction:
    """A step at M = N = K = size. host_us, rounding_us: of the measurement.

    clock_us: predicted microseconds of a launch. launch_us: the part of them before its first CTA.
    """

    step: int
    size: int
    measured_us: float
    clock_us: float
    launch_us: float = 0.0
    host_us: float = 0.0
    rounding_us: float = 0.0

    @property
    def predicted_us(self) -> float:
        """What the measurement would show."""
        return max(self.clock_us, self.host_us)

    def is_faster(self, other: Prediction) -> bool:
        """Return whether it was measured to be faster than another one for sure."""
        return other.measured_us - other.rounding_us > (self.measured_us + self.rounding_us) * (1 + TIE)

    @property
    def waits_for_host(self) -> bool:
        return self.clock_us <= self.host_us

    @property
    def ratio(self) -> float:
        return self.predicted_us / self.measured_us

    @property
    def error(self) -> float:
        """By which share of the measured time the prediction is off."""
        return abs(self.ratio - 1)


def predict(gpu: str, step: int, size: int, dtype: str, measured_us: float, single: bool) -> Prediction:
    """Simulate the reference kernel of a step."""
    kernel = load_kernels(default_kernels(), arch_folder(gpu_spec(gpu).arch))[step](size, size, size, dtype=dtype)
    report = simulate(kernel, gpu=gpu, data=False, sampled=size > max(FULL_SIZES), single=single)
    timing = report.timing
    if timing is None or (time := timing.single if single else timing.row) is None:
        raise RuntimeError(f"step {step} at {size} on {gpu}:\n{report}")
    if single:
        return Prediction(step, size, measured_us, time.us, time.launch_us)
    host_us, rounding_us = HOST_US.get(gpu, 0.0), ROUNDING_US.get(gpu, 0.0)
    return Prediction(step, size, measured_us, time.us, time.launch_us, host_us, rounding_us)


def cases(times: StepTimes, steps: Sequence[int], sizes: Sequence[int], dtype: str) -> Iterator[tuple[int, int, float]]:
    """(step, size, microseconds) of what was measured."""
    for step, size in itertools.product(steps, sizes):
        ms = times.ms(step, (size, size, size), dtype)
        if ms is not None:
            yield step, size, ms * 1000


def single_cases(steps: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    """The same of launches by themselves, from docs/h200_single.csv."""
    with resource("docs/h200_single.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            step = int(row["kernel"].removeprefix("step ")) if row["kernel"].startswith("step ") else 0
            if step in steps and int(row["size"]) in sizes:
                yield step, int(row["size"]), float(row["single_us"])


def predict_all(gpu: str, options: argparse.Namespace) -> list[Prediction]:
    sizes = options.sizes or (FULL_SIZES if options.full else SIZES)
    times = measured_times(gpu_spec(gpu).cuda_name)
    if options.single:
        todo = list(single_cases(options.steps, sizes))
    elif times is not None:
        todo = list(cases(times, options.steps, sizes, options.dtype))
    else:
        return []
    largest_first = sorted(todo, key=lambda case: -case[1])
    items = [(gpu, step, size, options.dtype, us, options.single) for step, size, us in largest_first]
    return sorted(pool.in_order(pool.spread(predict), items, jobs=options.jobs), key=lambda p: (p.size, p.step))


def left_out(predictions: Sequence[Prediction]) -> Prediction:
    """The worst of the predictions whose kernel is scaled as the other steps would have it: by their median."""
    found: list[Prediction] = []
    for step in {p.step for p in predictions}:
        others = [p for p in predictions if p.step != step and not p.waits_for_host]
        scale = statistics.median((p.measured_us - p.launch_us) / (p.clock_us - p.launch_us) for p in others)
        for p in predictions:
            if p.step == step:
                found.append(replace(p, clock_us=p.launch_us + scale * (p.clock_us - p.launch_us)))
    return max(found, key=lambda p: p.error)


def in_order(predictions: Sequence[Prediction]) -> tuple[int, int]:
    """(pairs of steps that are predicted in the measured order, pairs that have one), size by size."""
    right = pairs = 0
    for one, other in itertools.combinations(predictions, 2):
        fast, slow = sorted((one, other), key=lambda p: p.measured_us)
        if one.size == other.size and fast.is_faster(slow) and not (one.waits_for_host and other.waits_for_host):
            pairs += 1
            right += fast.predicted_us < slow.predicted_us
    return right, pairs


def sizes_of(text: str) -> tuple[int, ...]:
    """The sizes of a list, as in "4096,8192"."""
    return tuple(int(size) for size in text.split(","))


def table(gpu: str, dtype: str, predictions: Sequence[Prediction]) -> Table:
    out = Table(title=f"Predicted and measured, {gpu.upper()}, {dtype}", box=None, pad_edge=False, title_justify="left")
    for name in ("size", "step", "measured µs", "predicted µs", "ratio"):
        out.add_column(name, justify="right")
    for size, group in itertools.groupby(predictions, key=lambda p: p.size):
        for first, p in zip(itertools.chain([str(size)], itertools.repeat("")), group, strict=False):
            out.add_row(first, str(p.step), f"{p.measured_us:.1f}", f"{p.predicted_us:.1f}", f"{p.ratio:.2f}")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measured = sorted(gpu for gpu, spec in GPUS.items() if measured_times(spec.cuda_name))
    parser.add_argument("--gpu", choices=measured, action="append", help="default: all that were measured")
    parser.add_argument("--steps", type=step_list, default=tuple(STEPS), metavar="LIST", help="as in 3-5,10")
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="float16")
    parser.add_argument("--full", action="store_true", help="also 4096")
    parser.add_argument("--sizes", type=sizes_of, metavar="LIST", help="as in 4096,8192")
    parser.add_argument("--single", action="store_true", help="one launch by itself, instead of many in a row")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where an error exceeds its bound")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    console = Console()
    over = False
    for gpu in [SINGLE] if options.single else options.gpu or measured:
        predictions = predict_all(gpu, options)
        if not predictions:
            console.print(f"{gpu}: nothing was measured")
            continue
        median, worst = statistics.median(p.error for p in predictions), max(predictions, key=lambda p: p.error)
        right, pairs = in_order(predictions)
        alone = left_out(predictions)
        over = over or median > MEDIAN_BOUND or worst.error > WORST_BOUND or alone.error > LEFT_OUT_BOUND
        console.print(table(gpu, options.dtype, predictions))
        console.print(f"off by, median: {median:.1%} (bound {MEDIAN_BOUND:.0%})")
        console.print(f"off by, worst: {worst.error:.1%} (bound {WORST_BOUND:.0%}), step {worst.step} at {worst.size}")
        console.print(
            f"off by, worst of a step, where the others set the scale: {alone.error:.1%} "
            f"(bound {LEFT_OUT_BOUND:.0%}), step {alone.step} at {alone.size}"
        )
        console.print(f"pairs of steps in the measured order: {right} of {pairs}\n")
    return int(over and options.strict)


if __name__ == "__main__":
    sys.exit(command(main))
