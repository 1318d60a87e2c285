"""What an arrival at an mbarrier releases: to another CTA, only by the scope of its release or of a fence before it."""

from __future__ import annotations

from ..ordering import SyncClock
from .interfaces import Cta, Warp


def release_to(w: Warp, cta: Cta, released: SyncClock) -> None:
    """The active lanes release what they did by an arrival at a barrier of a CTA."""
    if w.cta is cta:
        w.release(released)
    else:
        released.release_narrowly(w.release, w.gpu.published(w))
