"""Large sets of accesses, such as all atomic operations of a launch on one counter.

A set with one more access shares the parts of the original set. A part records the common properties of its accesses,
so that most queries need not visit each access.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import is_not
from typing import Any

import numpy as np

from tirx_mini.records import dataclass, replace

from .actors import Access, Actor, Release
from .clocks import RECEIVED, Clocks
from .operations import Operation, Proxy, is_wide
from .pages import NOTHING, PagedClocks, Root, entry, holds, replaced

LARGE = 16
"""The minimum size of a crowd, and the size of each part of a crowd."""

NOWHERE = (-1, -1)
"""The place of a release by several threads together."""


class Part:
    """A part of a crowd, with `LARGE` members. owners: the cluster and the agent of each; warps, spans: likewise."""

    __slots__ = ("members", "owners", "spans", "warps")

    def __init__(self, members: tuple[int, ...], accesses: Sequence[Access]) -> None:
        found = [accesses[member] for member in members]
        self.members = members
        self.owners = frozenset((access.cluster, access.agent) for access in found)
        self.warps = frozenset(access.warp for access in found)
        self.spans = frozenset(id(access.span) for access in found)


@dataclass(frozen=True, eq=False, slots=True)
class Crowd:
    """A set of accesses in the order of simulation: the members of the parts, then the tail.

    stamps: the last epoch of each agent among them, for accesses of one cluster. warps: a 1 for each warp.
    width: of each access, if all are strong at GPU scope or wider; else 0. stores, blind: whether there are stores, and
        atomic operations with unused results.
    joint: for releasing writes, their joint release; None if scopes have to be compared.
    """

    parts: tuple[Part, ...] = ()
    tail: tuple[int, ...] = ()
    stamps: Root = NOTHING
    warps: Root = NOTHING
    clusters: frozenset[int] = frozenset()
    width: int | None = None
    stores: bool = False
    blind: bool = False
    joint: Release | None = None

    def __iter__(self) -> Iterator[int]:
        for part in self.parts:
            yield from part.members
        yield from self.tail

    def has(self, number: int, access: Access) -> bool:
        """Return whether the set contains an access."""
        if not entry(self.stamps, access.agent):
            return False
        owner = access.cluster, access.agent
        return number in self.tail or any(owner in p.owners and number in p.members for p in self.parts)

    def plus(self, number: int, accesses: Sequence[Access]) -> Crowd:
        """Return the set with one more member."""
        access: Access = accesses[number]
        parts, tail = self.parts, (*self.tail, number)
        if len(tail) == LARGE:
            parts, tail = (*parts, Part(tail, accesses)), ()
        stamps = self.stamps
        if entry(stamps, access.agent) < access.epoch:
            stamps = replaced(stamps, access.agent, access.epoch)
        warps = self.warps
        if access.warp >= 0 and not entry(warps, access.warp):
            warps = replaced(warps, access.warp, 1)
        strong = access.strong
        width = strong.width if strong is not None and strong.wide else 0
        clusters = self.clusters
        return Crowd(
            parts, tail, stamps, warps, clusters if access.cluster in clusters else clusters | {access.cluster},
            width if self.width in (None, width) else 0,
            self.stores or access.operation is Operation.STORE,
            self.blind or (access.operation is Operation.ATOMIC and not access.decides),
            self.joint,
        )  # fmt: skip

    def without(self, access: Access, accesses: Sequence[Access], keep_stores: bool) -> Crowd:
        """Return the set without earlier accesses of the same agent."""
        if not entry(self.stamps, access.agent):
            return self
        owner = access.cluster, access.agent

        def kept(members: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(
                m for m in members
                if ((a := accesses[m]).cluster, a.agent) != owner or (keep_stores and a.operation is Operation.STORE)
            )  # fmt: skip

        found = self
        tail = kept(self.tail)
        if len(tail) < len(self.tail):
            found = replace(found, tail=tail)
        if any(owner in part.owners for part in self.parts):
            parts: list[Part] = []
            for part in self.parts:
                left = kept(part.members) if owner in part.owners else part.members
                if left:
                    parts.append(part if len(left) == len(part.members) else Part(left, accesses))
            if len(parts) < len(self.parts) or any(map(is_not, parts, self.parts)):
                found = replace(found, parts=tuple(parts))
        return found

    def of_warp(self, actor: Actor, accesses: Sequence[Access]) -> Iterator[int]:
        """Yield the accesses by the actor's own warp."""
        warp = actor.agent.warp
        if warp >= 0 and entry(self.warps, warp):
            for members in (*(part.members for part in self.parts if warp in part.warps), self.tail):
                for member in members:
                    if accesses[member].warp == warp and accesses[member].cluster == actor.cluster:
                        yield member

    def unlike(self, spans: set[int], accesses: Sequence[Access]) -> Iterator[int]:
        """Yield the accesses at none of the given spans, which may grow during the iteration."""
        for part in self.parts:
            if not part.spans <= spans:
                yield from (member for member in part.members if id(accesses[member].span) not in spans)
        yield from (member for member in self.tail if id(accesses[member].span) not in spans)

    def harmless(self, actor: Actor) -> bool:
        """Return whether every access of another warp is morally strong with the actor's, or happens before it."""
        strong = actor.strong
        if strong is not None and strong.wide and strong.width == self.width:
            if actor.operation is Operation.STORE:
                return not self.blind
            return not (self.stores and actor.operation is Operation.ATOMIC and not actor.decides)
        clocks = actor.agent.clocks
        return (
            isinstance(clocks, PagedClocks)
            and actor.proxy is Proxy.GENERIC
            and not actor.tcgen05
            and actor.awaited is None
            and self.clusters == frozenset((actor.cluster,))
            and holds(clocks.rows[RECEIVED], self.stamps)
        )

    def releasing(self, access: Access, accesses: Sequence[Access]) -> Crowd:
        """Return the set with the joint release of its members, of which `access` is the last."""
        if self.joint is not None:
            found = [self.joint, *access.released]
        elif len(self.parts) <= 1:
            found = [release for member in self for release in accesses[member].released]
        else:
            return self
        if not all(release.wide for release in found):
            return replace(self, joint=None)
        clocks = found[0].clocks
        for release in found[1:]:
            clocks = _later(clocks, release.clocks)

        def each() -> Iterator[Release]:
            return (release for member in made for release in accesses[member].released)

        made = replace(self, joint=Release(clocks, "gpu", NOWHERE, each))
        return made


def crowd_of(members: Sequence[int], accesses: Sequence[Access]) -> Crowd:
    """Return the members of a set as a crowd."""
    made = Crowd()
    for member in members:
        made = made.plus(member, accesses)
    return made


def _later(a: Any, b: Any) -> Clocks:
    """Return the join of the clocks of two releases."""
    if isinstance(a, PagedClocks):
        joined = a.copy()
        joined.join(b)
        return joined
    wide, narrow = (a, b) if a.shape[1] >= b.shape[1] else (b, a)
    return np.maximum(wide, np.pad(narrow, ((0, 0), (0, wide.shape[1] - narrow.shape[1]))))


def apart(releases: Sequence[Release], scope: str) -> Iterator[Release]:
    """Yield the releases, splitting a joint release where the scope may exclude some of its threads."""
    for release in releases:
        if release.each is None or is_wide(scope):
            yield release
        else:
            yield from release.each()
