"""Random protocols of lanes, warps and CTAs: what one run proves of all orders, against a walk through all of them.

    python benchmarks/protocols.py                         # 20,000 protocols: minutes
    python benchmarks/protocols.py --count 1 --seed 1234   # one of them again

A protocol has two to four threads with mbarriers, flags, shared variables and barriers of a warp, a CTA and the
cluster. The walk knows nothing of the simulator. Each difference is printed with as few steps as still show it.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.tirx_mini.sim.machine.protocols import compared, differing, protocol, reduced
from tirx_mini.ending import command
from tirx_mini.pool import in_order, spread

PORTION = 500


def walked(first: int, count: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """The verdicts of runs and walks for the protocols of some seeds, by number, and their differences."""
    counts: Counter[tuple[str, str]] = Counter()
    found: list[str] = []
    for seed in range(first, first + count):
        wide = protocol(random.Random(seed))
        words, verdict = compared(wide)
        counts[words, verdict or "too long"] += 1
        if differs := differing(words, verdict):
            found.append(f"seed {seed}: {differs}\n{reduced(wide, (differs,))}")
    return counts, found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, metavar="N", help="how many protocols")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first; the others count on from there")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    options = parser.parse_args(argv)
    end = options.seed + options.count
    portions = [(first, min(PORTION, end - first)) for first in range(options.seed, end, PORTION)]
    counts: Counter[tuple[str, str]] = Counter()
    found: list[str] = []
    for some, differences in in_order(spread(walked), portions, jobs=options.jobs):
        counts += some
        found += differences
    console = Console()
    for each in found:
        console.print(each, markup=False, highlight=False)
    console.print(", ".join(f"{number} {run} and {walk}" for (run, walk), number in counts.most_common()))
    console.print(f"{options.count:,} protocols: {len(found)} differences")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(command(main))
