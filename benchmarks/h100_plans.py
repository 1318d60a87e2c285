"""Plans of the kernel for every shape, one cold launch at a time, on this GPU: how good its choice is.

    PYTHONPATH=. python3 benchmarks/h100_plans.py --draw 1 --csv plans.csv       # on a Hopper GPU; minutes
    PYTHONPATH=. python3 benchmarks/h100_plans.py --like docs/h100_plans.csv --csv plans.csv
    python benchmarks/h100_plans.py --read docs/h100_plans.csv                   # anywhere: what was measured

For each shape, the plans with the least estimates take turns, as in `h100_sweep.py`, beside cuBLAS. Printed is how much
slower the plan that `extra_plans.plan` prefers among them is than the fastest. The CSV file has the medians.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import statistics
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernels_ref.sm90.extra_every_shape import planned
from kernels_ref.sm90.extra_plans import Plan, estimate, plans
from tirx_mini.course import Shape, shape_text
from tirx_mini.ending import command
from tirx_mini.pool import in_order, spread

DTYPE = "float16"
MOST, WITHIN = 9, 1.35
"""Plans of a shape that take part: so many, with estimates within so much of the least."""
HEAD = ("m", "n", "k", "cublas_us", "kernel", "blk_m", "blk_n", "ctas", "us", "workers", "swapped", "multicast")
Times = Mapping[Plan, float]


def contestants(shape: Shape, count: int = MOST) -> list[Plan]:
    """The plans of a shape that take part, at most so many, the one with the least estimate first."""
    ranked = sorted(plans(*shape), key=lambda each: estimate(each, *shape))
    most = WITHIN * estimate(ranked[0], *shape)
    return [each for each in ranked[:count] if estimate(each, *shape) <= most]


def build(shape: Shape, chosen: Plan) -> str:
    """Compile a plan into the cache; what is wrong, or nothing."""
    from ladder import compiled

    from tirx_mini.hardware import H100

    return compiled(planned(*shape, DTYPE, chosen), f"{chosen} at {shape_text(shape)}", H100)


def measure(shape: Shape, rounds: int, count: int) -> tuple[float, dict[Plan, float]]:
    """Microseconds of cuBLAS and of each plan."""
    import torch
    from contest import Contest

    from tirx_mini.runtime import FLUSH_BYTES, cold_us, in_turn

    contest = Contest(shape, DTYPE)
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    entrants = {repr(chosen): chosen for chosen in contestants(shape, count)}
    for name, chosen in entrants.items():
        contest.enter_factory(name, partial(planned, chosen=chosen))
    times = in_turn({name: partial(cold_us, launch, flush) for name, launch in contest.entries.items()}, rounds)
    us = {name: statistics.median(found) for name, found in times.items()}
    return us["cuBLAS"], {each: us[name] for name, each in entrants.items() if name in us}


def measured(path: Path) -> Iterator[tuple[Shape, float, dict[Plan, float]]]:
    """What a CSV file has: shapes, the time of cuBLAS, and those of plans."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for key, group in itertools.groupby(rows, key=lambda row: (row["m"], row["n"], row["k"], row["cublas_us"])):
        m, n, k = map(int, key[:3])
        yield (m, n, k), float(key[3]), {
            _plan(row): float(row["us"]) for row in group
        }  # fmt: skip


def _plan(row: Mapping[str, str]) -> Plan:
    """The plan of a row; older tables lack some of the last columns."""
    tile = int(row["blk_m"]), int(row["blk_n"]), int(row["ctas"])
    workers, swapped = int(row.get("workers") or 0), row.get("swapped") == "1"
    multicast = int(row.get("multicast") or row.get("pair") or 1)
    return Plan(row["kernel"] == "own", *tile, workers, swapped, multicast)


def preferred(shape: Shape, times: Times) -> Plan:
    """The plan with the least estimate, of those that were measured."""
    return min(times, key=lambda each: estimate(each, *shape))


def judged(shape: Shape, cublas: float, times: Times) -> tuple[float, float]:
    """(the time of the plan that is preferred in that of the fastest, the time of cuBLAS in it); prints both."""
    chosen, best = preferred(shape, times), min(times, key=lambda each: times[each])
    slower, ratio = times[chosen] / times[best], cublas / times[chosen]
    print(f"{shape_text(shape):>20} {ratio:6.3f} {slower:6.3f}  {_text(chosen):24} {_text(best)}", flush=True)
    return slower, ratio


def _text(chosen: Plan) -> str:
    kernel = "" if chosen.own else "step 10, "
    shared = f", {chosen.ctas} CTAs" if chosen.ctas > 1 else f", {chosen.workers} workers" if chosen.workers else ""
    paired = f", {chosen.multicast} share columns" if chosen.multicast > 1 else ""
    return f"{kernel}{chosen.blk_m} × {chosen.blk_n}{shared}{paired}{', swapped' if chosen.swapped else ''}"


def chosen_shapes(options: argparse.Namespace) -> list[Shape]:
    if options.shapes:
        from ladder import parse_shapes

        return list(parse_shapes(options.shapes))
    if options.like:
        return [shape for shape, *_ in measured(options.like)]
    from h100_sweep import drawn

    return list(drawn(options.draw))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", type=Path, metavar="FILE", help="what was measured, instead of measuring")
    parser.add_argument("--draw", type=int, default=1, metavar="SEED", help="of the shapes, as in h100_sweep.py")
    parser.add_argument("--like", type=Path, metavar="FILE", help="the shapes of such a table, instead of drawn ones")
    parser.add_argument("--shapes", help="these shapes instead, as in 6400,8672x8224x1064")
    parser.add_argument("--most", type=int, default=MOST, metavar="COUNT", help="plans of a shape")
    parser.add_argument("--rounds", type=int, default=14)
    parser.add_argument("--jobs", type=int, default=12, help="kernels compiled at a time")
    parser.add_argument("--csv", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.read:
        found = list(measured(options.read))
    else:
        shapes = chosen_shapes(options)
        todo = [(shape, each) for shape in shapes for each in contestants(shape, options.most)]
        for complaint in filter(None, in_order(spread(build), todo, jobs=options.jobs)):
            print(complaint)
        found = [(shape, *measure(shape, options.rounds, options.most)) for shape in shapes]
    print(f"{'M × N × K':>20} {'ratio':>6} {'slower':>6}  {'preferred':24} fastest")
    results = [judged(*each) for each in found]
    ratios = [ratio for _, ratio in results]
    mean = statistics.geometric_mean(ratios)
    slower = statistics.fmean(slower - 1 for slower, _ in results)
    print(f"{len(results)} shapes: {mean:.3f} × cuBLAS, least {min(ratios):.3f}; {slower:.1%} slower than the fastest")
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEAD)
            for shape, cublas, times in found:
                for each, us in times.items():
                    kernel = "own" if each.own else "step 10"
                    tile = each.blk_m, each.blk_n, each.ctas
                    shared = each.workers, int(each.swapped), each.multicast
                    writer.writerow([*shape, f"{cublas:.2f}", kernel, *tile, f"{us:.2f}", *shared])
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
