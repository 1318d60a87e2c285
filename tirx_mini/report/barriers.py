"""The life of mbarriers: what happened to each, round by round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from rich.table import Table

from .source import line_number

Event = Sequence[Any]
"""(time in cycles, CTA, barrier, what, role, span, arrivals, bytes, phase), as the simulator logs it."""


def barrier_table(log: Iterable[Event], pattern: str = "*") -> Table:
    """The life of the mbarriers whose name fits `pattern` ("tma2mma*"), from ``report.stats["barriers"]``, by time.

    A line says what happened (arrive, expect_tx, TMA load, commit, complete), in which phase, how many arrivals and
    bytes it brought, who did it and at which line.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in (("cycle", "right"), ("barrier", "left"), ("phase", "right"), ("what", "left"),
                          ("arrivals", "right"), ("bytes", "right"), ("by", "left"), ("line", "right")):  # fmt: skip
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for time, cta, barrier, what, role, span, count, nbytes, phase in sorted(log, key=lambda event: event[0]):
        if fits(barrier, pattern):
            by = role.removesuffix(f" of {cta}").replace("warpgroup", "WG")
            amounts = (str(count) if count else "", str(nbytes) if nbytes else "")
            line = line_number(span) if span is not None else ""
            table.add_row(f"{time:.0f}", f"{cta} {barrier}", str(phase), what, *amounts, by, line)
    return table


def fits(barrier: str, pattern: str) -> bool:
    """Whether a barrier's name, with or without its stage, fits a pattern with * and ?."""
    literal = pattern.replace("[", "[[]")
    return fnmatchcase(barrier, literal) or fnmatchcase(barrier.partition("[")[0], literal)
