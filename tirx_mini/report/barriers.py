"""The mbarrier event log as a table."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from rich.table import Table

from tirx_mini.diagnose import BarrierEvent

from .source import line_number


def barrier_table(log: Iterable[BarrierEvent], pattern: str = "*") -> Table:
    """Return the events of the mbarriers whose names match `pattern`, such as "tma2mma*", in order of time.

    log: ``report.stats["barriers"]``.

    A row has the event (arrive, expect_tx, TMA load, commit, complete), its phase, the arrivals and bytes that it
    counted, the warp that caused it, and the line.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in (("cycle", "right"), ("barrier", "left"), ("phase", "right"), ("what", "left"),
                          ("arrivals", "right"), ("bytes", "right"), ("by", "left"), ("line", "right")):  # fmt: skip
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for event in sorted(log, key=lambda event: event.time):
        if fits(event.barrier, pattern):
            by = event.role.removesuffix(f" of {event.cta}").replace("warpgroup", "WG")
            amounts = (str(event.arrivals or ""), str(event.nbytes or ""))
            line = line_number(event.span) if event.span is not None else ""
            name = f"{event.cta} {event.barrier}"
            table.add_row(f"{event.time:.0f}", name, str(event.phase), str(event.signal), *amounts, by, line)
    return table


def fits(barrier: str, pattern: str) -> bool:
    """Return whether the name of a barrier, with or without its stage, matches a pattern with * and ?."""
    literal = pattern.replace("[", "[[]")
    return fnmatchcase(barrier, literal) or fnmatchcase(barrier.partition("[")[0], literal)
