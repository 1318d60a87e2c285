"""Equivalence classes of clusters, of which a few are checked on behalf of all.

The happens-before relation among the threads and engines of a cluster follows from their operations, in whatever order
the run executes them, unless there is a doubt (`doubts`). So clusters with the same operations have the same hazards,
and the checks need only one cluster of each class. Accesses to global memory are compared for all clusters: two
writers, or a writer and a reader in another cluster, end the run, and so does any finding. The whole launch is then run
again with every access checked (`run.Simulation`), so that reports do not depend on this plan.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NoReturn, Protocol

from .doubts import Doubt, Doubts
from .facts import Fact, FactLog, Origin
from .ordering import Unequal

FEWEST = 4
"""The minimum number of clusters for checking only some of them."""
MOST_CLASSES = 8
"""The maximum number of classes that are checked separately after the run; beyond it, the whole launch is checked."""


class Ended(Protocol):
    """A cluster that has ended. decisions: of its warps, as far as they depend on blockIdx."""

    @property
    def index(self) -> int: ...
    @property
    def decisions(self) -> Hashable: ...


class Classes:
    """The classes of clusters in a run, by their decisions.

    The first and the last cluster of `numbers` are checked.

    known: the classes with a checked cluster.
    """

    def __init__(self, numbers: Sequence[int]) -> None:
        self._checks = {numbers[0], numbers[-1]} if len(numbers) >= FEWEST else set(numbers)
        self.known: set[Hashable] = set()
        self._others: dict[Hashable, int] = {}

    def checks(self, number: int) -> bool:
        """Return whether a cluster is checked."""
        return number in self._checks

    def ended(self, cluster: Ended) -> None:
        """Record the decisions of an ended cluster."""
        if self.checks(cluster.index):
            self.known.add(cluster.decisions)
        else:
            self._others.setdefault(cluster.decisions, cluster.index)

    @property
    def unknown(self) -> dict[Hashable, int]:
        """A representative of each class without a checked cluster."""
        return {kind: number for kind, number in self._others.items() if kind not in self.known}


class NoFacts(FactLog):
    """A fact log that ends the run at the first fact."""

    def record(self, fact: Fact) -> NoReturn:
        """See `FactLog.record`."""
        raise Unequal


class NoDoubts(Doubts):
    """A log of doubts that ends the run at the first doubt."""

    def record(self, doubt: Doubt, origin: Origin, subject: str) -> NoReturn:
        """See `Doubts.record`."""
        raise Unequal


__all__ = ["MOST_CLASSES", "Classes", "NoDoubts", "NoFacts", "Unequal"]
