"""Facts about mistakes with tcgen05.mma and tcgen05.commit."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_mini.ir import Span

from ..facts import Fact
from ..machine import Element


@dataclass(frozen=True)
class CommitAtExit(Fact):
    """A CTA ends while a tcgen05.commit is to arrive at its barrier."""

    barrier: Element


@dataclass(frozen=True)
class FreedBeforePeer(Fact):
    """A CTA of a pair frees columns, and nothing makes that come after the other one's tcgen05.alloc has returned.

    met: whether the CTAs had synchronised before they allocated. peer: the other CTA.
    """

    peer: str
    met: bool


@dataclass(frozen=True)
class MmaAtExit(Fact):
    """A CTA, or its peer, ends while an MMA is in flight."""


@dataclass(frozen=True)
class CommitOfOtherThread(Fact):
    """A tcgen05.commit by a thread that issued no MMA, while another lane of its warp has some. origin: of the commit.

    mma: of the other thread. elected: whether elect.sync chose one of the two, and they are the same if that is the
    lowest lane.
    """

    mma: Span | None
    elected: bool

    @property
    def other(self) -> Span | None:
        return self.mma
