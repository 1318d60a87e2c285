"""The roles of warps, by the parts of a kernel's work that their instructions belong to: the names that people read."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from tirx_mini.isa import Completion, Instruction, Memory

TMA, MMA, LOADS, WRITE_BACK = "TMA", "MMA", "loads", "write-back"
ALL, OTHER = "all", "other"
_ORDER = (TMA, LOADS, MMA, WRITE_BACK)


def part_of(entry: Instruction) -> str:
    """Return the part that an instruction belongs to; "" for one that occurs in every role."""
    if entry.completion in (Completion.COMMIT, Completion.WGMMA_GROUP):
        return MMA
    if Memory.GLOBAL in entry.writes or (Memory.TENSOR in entry.reads and entry.completion is Completion.TCGEN05_WAIT):
        return WRITE_BACK
    if Memory.GLOBAL in entry.reads and Memory.SHARED in entry.writes:
        return TMA if entry.completion is Completion.MBARRIER else LOADS
    return ""


def role_named(parts: AbstractSet[str], there: AbstractSet[str]) -> str:
    """Return the role of warps with these parts: "TMA", "MMA, write-back", "all", or "other". there: all parts of the
    kernel."""
    if len(parts) > 1 and parts == there:
        return ALL
    return ", ".join(part for part in _ORDER if part in parts) or OTHER
