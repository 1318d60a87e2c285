"""Interfaces between the parts of the machine: warps, CTAs and the GPU as barriers, memories and engines see them.

The names are the classes themselves, for annotations alone: no part imports the layers above it, so that parts can be
read, tested and replaced one by one. The protocol that instructions call is declared once, in `isa.machine`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

if TYPE_CHECKING:
    from ..gpu import Gpu as Gpu
    from .cta import Multiprocessor as Sm  # pyright: ignore[reportUnusedImport] - other modules import it from here
    from .cta import ResidentCluster as Cluster  # pyright: ignore[reportUnusedImport] - the same
    from .cta import ResidentCta as Cta  # pyright: ignore[reportUnusedImport] - the same
    from .warp import RunningWarp as Warp
else:
    Cluster = Cta = Gpu = Sm = Warp = Any


@dataclass
class Wait:
    """The wait of a blocked warp. since: the time of the warp at its start, in cycles. span: the location.

    instruction: the waiting instruction, in PTX. polls: whether only time ends the wait. looks: whether the waiter is
        woken without a reason, and checks its condition again.
    over: whether the awaited event has occurred. beside: the waits of other lanes of the warp.
    """

    instruction: ClassVar[str]
    polls: ClassVar[bool] = False
    looks: ClassVar[bool] = False
    warp: Warp
    since: float
    span: Span | None
    over: bool = field(default=False, init=False)
    beside: tuple[Wait, ...] = field(default=(), init=False)

    @property
    def ready(self) -> bool:
        """Return whether all lanes, or some of the diverged lanes, can continue."""
        return self.over or any(wait.ready for wait in self.beside)

    @property
    def subject(self) -> str:
        """The name of the awaited object in the timeline."""
        return self.instruction


Blocking = Iterable[Wait]
"""The result of a blocking function: it yields the waits of the warp."""
