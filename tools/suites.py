"""The list of slow tests, `tests/slow.txt`: written from CPU times, and compared with them.

    python -m tools.suites write build/times/*.json      # the list, from the medians of these runs
    python -m tools.suites drift build/ci/times.json     # which tests take three times as long as listed, or a third

A line of the list has CPU seconds and a node id: of a case, of a test with all its cases, or of a file with all its
tests. `pytest --short` leaves these out. `pytest --cpu-times FILE` writes the times that are read here
(`tests/suites.py`). `tests/short.txt` names cases that are never left out, as no other short case catches the same.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SLOW = ROOT / "tests" / "slow.txt"
KEPT = ROOT / "tests" / "short.txt"
BUDGET = 330.0
"""CPU seconds of the cases in the short suite. Collecting them in two processes costs about 60 more."""
REPRESENTATIVE = 0.5
"""The CPU seconds that the cheapest case of a test may take to be in the short suite for its test."""
FACTOR = 3.0
"""A time that differs from the listed one by this factor has drifted."""
NOTICEABLE = 2.0
"""CPU seconds below which no drift is reported: such times vary by themselves."""
HEADER = """\
# The tests that `make test` leaves out, with their CPU seconds. `make test-times` writes this file.
# The other {count} cases take {total:.0f} s, each at most {limit:.2f} s.
"""
_HEADER = re.compile(r"# The other (\d+) cases take (\d+) s, each at most ([\d.]+) s\.")


@dataclass(frozen=True)
class SlowList:
    """The list.

    seconds: by node id.
    count, total, limit: the number of other cases, and the CPU seconds of all and of the slowest of them.
    """

    seconds: Mapping[str, float]
    count: int
    total: float
    limit: float

    def entry(self, case: str) -> str | None:
        """Return the listed id that stands for a case: its own, that of its test or that of its file."""
        return next((name for name in (case, test_of(case), file_of(case)) if name in self.seconds), None)

    def text(self) -> str:
        """Return the text of the file."""
        lines = [f"{self.seconds[name]:.1f} {name}\n" for name in sorted(self.seconds)]
        return HEADER.format(count=self.count, total=self.total, limit=self.limit) + "".join(lines)


def test_of(case: str) -> str:
    """Return the id of a case's test, without the parameters."""
    path, _, name = case.partition("::")
    return f"{path}::{name.partition('[')[0]}"


def file_of(case: str) -> str:
    """Return the id of a case's file."""
    return case.partition("::")[0]


def read(text: str) -> SlowList:
    """Return the list that a file's text is."""
    match = _HEADER.search(text)
    if match is None:
        raise ValueError("the list does not say how long the other cases take: make test-times writes it")
    pairs = (line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    seconds = {name: float(number) for number, name in pairs}
    return SlowList(seconds, int(match[1]), float(match[2]), float(match[3]))


def median(runs: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the median time of each case that any run has."""
    times: dict[str, list[float]] = {}
    for run in runs:
        for case, seconds in run.items():
            times.setdefault(case, []).append(seconds)
    return {case: statistics.median(each) for case, each in times.items()}


def slowest(times: Mapping[str, float], kept: Container[str] = (), budget: float = BUDGET) -> SlowList:
    """Return the cases that the short suite leaves out, where the others take at most `budget` seconds.

    The short suite takes the cases that are `kept`, the cheapest case of each test, and then the cheapest of all.
    """
    cheapest: dict[str, str] = {}
    for case in sorted(times, key=times.__getitem__):
        cheapest.setdefault(test_of(case), case)

    def order(case: str) -> tuple[bool, bool, float]:
        represents = cheapest[test_of(case)] == case and times[case] <= REPRESENTATIVE
        return case not in kept, not represents, times[case]

    total, limit, count = 0.0, 0.0, 0
    listed: dict[str, float] = {}
    for case in sorted(times, key=order):
        if listed or total + times[case] > budget:
            listed[case] = times[case]
        else:
            total, limit, count = total + times[case], max(limit, times[case]), count + 1
    return SlowList(_merged(listed, times), count, total, limit)


def kept_cases(text: str) -> frozenset[str]:
    """Return the node ids in the text of `tests/short.txt`: its lines, but for comments."""
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def _merged(listed: Mapping[str, float], times: Mapping[str, float]) -> dict[str, float]:
    """Return the listed cases with one line for a test, or a file, all of whose cases are listed."""
    whole: set[str] = set()
    for group in (test_of, file_of):
        sizes, all_sizes = Counter(map(group, listed)), Counter(map(group, times))
        whole |= {name for name, size in sizes.items() if size == all_sizes[name]}
    result: dict[str, float] = {}
    for case, seconds in listed.items():
        name = next((name for name in (file_of(case), test_of(case)) if name in whole), case)
        result[name] = result.get(name, 0.0) + seconds
    return result


def drift(listed: SlowList, times: Mapping[str, float]) -> list[str]:
    """Return a line for each test that takes `FACTOR` times as long as listed, or a part of it, the largest first.

    Listed tests that did not run, as they have another name now, come last.
    """
    found: dict[str, float] = {}
    for case, seconds in times.items():
        name = listed.entry(case) or case
        found[name] = found.get(name, 0.0) + seconds
    lines: list[tuple[float, str]] = []
    for name, seconds in found.items():
        before = listed.seconds.get(name, listed.limit)
        longer = seconds > FACTOR * before
        if max(seconds, before) >= NOTICEABLE and (longer or (name in listed.seconds and before > FACTOR * seconds)):
            was = f"{before:.1f} s" if name in listed.seconds else "not listed"
            lines.append((abs(seconds - before), f"{seconds:.1f} s, {was}: {name}"))
    gone = [f"not there: {name}" for name in sorted(listed.seconds.keys() - found.keys())]
    return [*(line for _, line in sorted(lines, reverse=True)), *gone]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare the list; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.suites", description="The list of slow tests.")
    parser.add_argument("action", choices=("write", "drift"))
    parser.add_argument("times", nargs="+", type=Path, metavar="FILE", help="of pytest --cpu-times")
    options = parser.parse_args(arguments)
    times = median(json.loads(path.read_text(encoding="utf-8")) for path in options.times)
    if options.action == "write":
        listed = slowest(times, kept_cases(KEPT.read_text(encoding="utf-8")))
        SLOW.write_text(listed.text(), encoding="utf-8")
        count, whole = len(times) - listed.count, sum(times.values())
        print(f"{count} cases of {whole - listed.total:.0f} s CPU time are listed, in {len(listed.seconds)} lines.")
        print(listed.text().splitlines()[1].removeprefix("# "))
        return 0
    lines = drift(read(SLOW.read_text(encoding="utf-8")), times)
    print("\n".join(["CPU seconds that have drifted threefold (make test-times):", *lines] if lines else ["No drift."]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
