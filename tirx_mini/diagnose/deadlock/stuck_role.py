"""Groups of stuck warps, as results for pages and JSON."""

from __future__ import annotations

from tirx_mini.ir import Span
from tirx_mini.records import dataclass


@dataclass(frozen=True)
class StuckRole:
    """Warps that wait for the same event at the same location in a deadlocked machine.

    role: the warps in words ("warp 3 of warpgroup 1"). ctas: the number of CTAs, with `example` the first.
    waits_for: the awaited object in words ("tma2mma[1] to complete phase 0").
    barrier, stage: the source name of the barrier and its index. parity: the awaited phase parity.
    phase: the number of phases the barrier has completed. expected, pending: arrivals per phase, and missing ones.
    tx_bytes: expected bytes that have not arrived (negative: arrived bytes that are not expected).
    providers: the roles that should arrive and their locations, one sentence each.
    so_far: the arrivals at the barrier over all rounds.
    """

    role: str
    span: Span | None
    waits_for: str
    ctas: int = 1
    example: str = ""
    barrier: str | None = None
    stage: int | None = None
    parity: int | None = None
    phase: int | None = None
    expected: int | None = None
    pending: int | None = None
    tx_bytes: int | None = None
    providers: tuple[str, ...] = ()
    so_far: tuple[str, ...] = ()

    @property
    def lacking(self) -> str:
        """The missing arrivals and bytes of the barrier's current phase; "" unless it is an mbarrier."""
        if self.expected is None or self.pending is None:
            return ""
        if not self.expected:
            return "it is not initialised"
        parts: list[str] = []
        if self.pending:
            parts.append(f"{self.pending} of {self.expected} arrival{'s' * (self.expected > 1)} missing")
        if self.tx_bytes:
            parts.append(
                f"{self.tx_bytes} bytes missing" if self.tx_bytes > 0 else f"{-self.tx_bytes} bytes came unannounced"
            )
        return ", ".join(parts)

    def __str__(self) -> str:
        where = f" (in {self.ctas} CTAs, first {self.example})" if self.ctas > 1 else ""
        said = [self.lacking] if self.lacking else []
        return "; ".join([f"{self.role}{where}: waiting for {self.waits_for}", *said, *self.providers])
