"""Proofs: what a single run implies about all orders of its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tirx_mini.ir import Span
from tirx_mini.records import dataclass
from tirx_mini.sim import Doubt, OpenOrder

_OPEN: Mapping[Doubt, str] = MappingProxyType({
    Doubt.SIGNALS: "signals of {subject} may count in each other's phases",
    Doubt.BYTES: "a phase of {subject} may be complete before all of its bytes are expected",
    Doubt.TEST: "a test of {subject} found its phase incomplete, and may find it complete",
    Doubt.COLUMNS: "allocations of tensor memory may have to wait for one another",
    Doubt.VALUES: "a loop that polls {subject} may end behind other writes than it did",
    Doubt.REGISTERS: "setmaxnreg.inc may have to wait for a setmaxnreg.dec that comes after it",
})  # fmt: skip


@dataclass(frozen=True)
class Proof:
    """The guarantee for other orders of a run's events, for the paths that its warps took.

    holds: whether no order deadlocks or races. open: otherwise, the reasons why another order may differ, as sentences
    without a capital, each with its source location.
    """

    holds: bool
    open: tuple[tuple[str, Span | None], ...] = ()

    def __str__(self) -> str:
        """Return the proof as a clause for a report."""
        if self.holds:
            return "no ordering of the recorded events deadlocks or races (for the paths taken in this run)"
        first, span = self.open[0]
        where = f" (line {span.user.line})" if span is not None else ""
        more = f", and {len(self.open) - 1} more" if len(self.open) > 1 else ""
        return f"other orders of its events may differ: {first}{where}{more}"


def proof_of(open_orders: Sequence[OpenOrder]) -> Proof:
    """Return the proof of a run without findings. open_orders: the points at which another order may differ."""
    found = tuple((_OPEN[one.doubt].format(subject=one.subject), one.origin.span) for one in open_orders)
    return Proof(not found, found)
