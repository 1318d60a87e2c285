"""Operations that access memory, their proxies, and the values of writes."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum, auto

from tirx_mini.records import dataclass


class Proxy(Enum):
    """The proxy of a memory access (PTX ISA: "Proxies").
    GENERIC: ordinary loads and stores. ASYNC: TMA, and the shared-memory operands of MMAs."""

    GENERIC = auto()
    ASYNC = auto()


class Operation(Enum):
    """An operation that accesses memory."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic operation"
    CP_ASYNC = "cp.async"
    TRY_CANCEL = "try_cancel"
    TMA_LOAD = "TMA load"
    TMA_STORE = "TMA store"
    TMA_REDUCE = "TMA reduction"
    BULK_COPY = "bulk copy"
    ST_ASYNC = "st.async"
    TCGEN05_LD = "tcgen05.ld"
    TCGEN05_ST = "tcgen05.st"
    TCGEN05_DEALLOC = "dealloc"
    TCGEN05_MMA = "MMA"
    TCGEN05_CP = "tcgen05.cp"
    WGMMA = "wgmma"

    def __str__(self) -> str:
        return self.value


THREADS_TMEM = (Operation.TCGEN05_LD, Operation.TCGEN05_ST)
"""The operations of threads on tensor memory, whose completion tcgen05.commit does not track."""


CtaPlace = tuple[int, int]
"""A CTA: the number of its cluster, and its rank in the cluster."""


@dataclass(frozen=True)
class Strong:
    """The properties of a strong access (PTX ISA: "Morally Strong Operations"). place: of its thread. width: bytes of
    each access.
    """

    scope: str
    place: CtaPlace
    width: int

    @property
    def wide(self) -> bool:
        """Return whether the scope includes all threads of the launch."""
        return is_wide(self.scope)

    def together_with(self, other: Strong) -> bool:
        """Return whether two strong accesses are morally strong with each other."""
        return (
            self.width == other.width
            and in_scope(self.scope, self.place, other.place)
            and in_scope(other.scope, self.place, other.place)
        )


def is_wide(scope: str) -> bool:
    """Return whether a scope includes all threads of the launch."""
    return scope not in ("cta", "cluster")


def in_scope(scope: str, one: CtaPlace, other: CtaPlace) -> bool:
    """Return whether the scope of a thread in CTA `one` includes the threads of CTA `other` (PTX ISA: "Scope")."""
    return one == other or (scope != "cta" and (scope != "cluster" or one[0] == other[0]))


@dataclass(frozen=True)
class KnownValue:
    """The value that a write leaves in memory in every order of events.

    scope: the scope within which equal content means equal bytes: a CTA, or None for the whole launch.
    """

    content: Hashable
    scope: Hashable = None

    def is_the_same(self, other: KnownValue | None) -> bool:
        """Return whether both writes are known to leave the same bytes."""
        if other is None or self.content != other.content:
            return False
        return self.scope is None or other.scope is None or self.scope == other.scope
