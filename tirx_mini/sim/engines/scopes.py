"""Scopes of strong accesses and fences (PTX ISA: "Scope", "Morally strong operations")."""

from __future__ import annotations

from dataclasses import field

from tirx_mini.records import dataclass

from ..machine import RunningWarp
from ..ordering import CtaPlace, Release, in_scope


@dataclass
class Patterns:
    """The open release and acquire patterns of a warp's threads, by the lanes of their fence.

    observed: the releases that strong reads observed without acquiring them, with the reading lanes.
    """

    fences: list[tuple[int, Release]] = field(default_factory=list[tuple[int, Release]])
    observed: dict[Release, int] = field(default_factory=dict[Release, int])


def place_of(w: RunningWarp) -> CtaPlace:
    return w.cta.cluster.index, w.cta.rank


def reaches(release: Release, scope: str, place: CtaPlace) -> bool:
    """Return whether a release and an acquire with the given scopes include each other's threads."""
    return in_scope(release.scope, release.place, place) and in_scope(scope, place, release.place)


def covers(scope: str, other: str) -> bool:
    """Return whether a scope is at least as wide as another."""
    order = ("cta", "cluster", "gpu", "sys")
    return order.index(scope) >= order.index(other)
