"""Launches by themselves on Hopper GPUs: the tables of the sweeps, from docs/h100_sweep.csv and docs/h200_sweep.csv.

And what the GPU's counters say of a launch, from docs/h100_counters.csv.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

from tools.figures import records, times
from tools.pages import as_table

GPUS = ("H100", "H200")
OURS = ("step 10", "every shape")
Key = tuple[int, int, int]
Row = Mapping[str, str]


def rows(gpu: str) -> dict[Key, dict[str, Row]]:
    """By shape and type."""
    found: dict[Key, dict[str, Row]] = {}
    for row in records(f"{gpu.lower()}_sweep.csv"):
        m, n, k = (int(row[name]) for name in "mnk")
        found.setdefault((m, n, k), {})[row["dtype"]] = row
    return found


def table(gpu: str) -> str:
    """Ratios to cuBLAS: float16 / bfloat16, one cold launch; in brackets many in a row."""
    lines = [["M × N × K", "cuBLAS, µs", *OURS], ["---", *["---:"] * 3]]
    for shape, types in rows(gpu).items():
        cells = [f"{float(types['float16']['cuBLAS us']):.1f}"]
        for name in OURS:
            cold, many = ([f"{float(row[f'{name} {how}']):.2f}" for row in types.values()] for how in ("cold", "row"))
            cells.append(f"{' / '.join(cold)} ({' / '.join(many)})")
        lines.append([times(shape), *cells])
    return as_table(lines)


def means() -> str:
    """The geometric mean and the least of the ratios, by GPU and kernel."""
    head = ["GPU", "kernel", "one cold launch: mean", "least", "many in a row: mean", "least"]
    lines = [head, ["---", "---", *["---:"] * 4]]
    for gpu in GPUS:
        found = [row for types in rows(gpu).values() for row in types.values()]
        for name in OURS:
            cells = []
            for how in ("cold", "row"):
                ratios = [float(row[f"{name} {how}"]) for row in found]
                cells += [f"{statistics.geometric_mean(ratios):.2f}", f"{min(ratios):.2f}"]
            lines.append([gpu, name, *cells])
    return as_table(lines)


def counters() -> str:
    """One cold launch of each kernel, by the GPU's counters."""
    head = ["M × N × K", "kernel", "µs", "clock, GHz", "tensor cores busy", "L2 to SMs, GB", "HBM to L2, GB"]
    lines = [head, ["---", "---", *["---:"] * 5]]
    for row in records("h100_counters.csv"):
        shape = times((int(row["m"]), int(row["n"]), int(row["k"])))
        busy = f"{float(row['tensor %']):.0f} %"
        moved = (f"{float(row[name]):.2f}" for name in ("L2 to SM GB", "HBM GB"))
        lines.append([shape, row["kernel"], f"{float(row['us']):.1f}", f"{float(row['GHz']):.2f}", busy, *moved])
    return as_table(lines)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    for gpu in GPUS:
        yield f"{gpu.lower()}-sweep", table(gpu)
    yield "sweep-means", means()
    yield "h100-counters", counters()
