"""Facts about incorrect uses of tcgen05.mma and tcgen05.commit."""

from __future__ import annotations

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fact
from ..machine import Element


@dataclass(frozen=True)
class CommitAtExit(Fact):
    """The end of a CTA before a tcgen05.commit has arrived at its barrier."""

    barrier: Element


@dataclass(frozen=True)
class FreedBeforePeer(Fact):
    """A dealloc of a CTA pair that is not ordered after the return of the other CTA's tcgen05.alloc.

    met: whether the CTAs had synchronised before the allocation. peer: the other CTA.
    """

    peer: str
    met: bool


@dataclass(frozen=True)
class MmaAtExit(Fact):
    """The end of a CTA or its peer while an MMA is in flight."""


@dataclass(frozen=True)
class CommitOfOtherThread(Fact):
    """A tcgen05.commit by a thread without MMAs, while another lane of its warp has some. origin: of the commit.

    mma: of the other thread. elected: whether elect.sync chose one of the two, which are the same only if it chose the
    lowest lane.
    """

    mma: Span | None
    elected: bool

    @property
    def other(self) -> Span | None:
        return self.mma
