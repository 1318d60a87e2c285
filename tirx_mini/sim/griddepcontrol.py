"""The grid before a launch that begins early, and which accesses to global memory are ordered after it.

To each cluster the grid before is one more agent: it may touch all of global memory, and griddepcontrol.wait acquires
its end (PTX ISA: "griddepcontrol"), which barriers then carry on like all that a warp knows. A warp has a
`GridDependence` until all of its lanes are ordered; in a kernel that does not wait, none has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_mini.ir import Span

from .causality import ORDER, PAST, Agent, Knowledge

if TYPE_CHECKING:
    from .warp import Warp

_WAIT = (
    "let this thread call Tx.ptx.griddepcontrol.wait() first, or synchronise (cta_sync, an mbarrier) with one that has"
)
_MEET = "let every thread call Tx.ptx.griddepcontrol.wait(), or follow it by warp_sync() or cta_sync()"


class GridBefore:
    """The grid before, as a cluster sees it. waits: where the cluster waits for it, by role."""

    __slots__ = ("agent", "waits")

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.waits: dict[str, Span | None] = {}

    def notes(self) -> tuple[tuple[str, Span | None], ...]:
        """Where it is waited for, for the end of the run; one place is enough."""
        return tuple((f"{role} waits for that kernel here", span) for role, span in [*self.waits.items()][:1])


class GridDependence:
    """What one warp knows of the end of the grid before.

    waited: the lanes that have waited, while only some have, and the warp has not met since; else 0.
    """

    __slots__ = ("before", "waited")

    def __init__(self, before: GridBefore) -> None:
        self.before = before
        self.waited = 0

    def wait(self, w: Warp) -> None:
        """griddepcontrol.wait by the active lanes."""
        self.before.waits.setdefault(w.place, w.span)
        if self.waited or not self._follows(w):
            self.waited |= w.mask.word
            w.agent.learn_epoch(self.before.agent.index, self.before.agent.epoch)
        if self.waited in (0, w.all_lanes.word):
            w.dependence = None

    def met(self) -> None:
        """All lanes of the warp have met: what some know is known to all."""
        self.waited = 0

    def acquired(self, w: Warp, knowledge: Knowledge) -> None:
        """The active lanes have acquired what an mbarrier released."""
        if self.waited and knowledge.follows(self.before.agent.index, self.before.agent.epoch):
            self.waited |= w.mask.word

    def check(self, w: Warp, what: str, name: str, writes: bool) -> None:
        """Record an access to global memory that the grid before may still be using.

        what: the operation, as in "TMA load". name: of the buffer.
        """
        late = (w.mask.word & ~self.waited).bit_count() if self.waited else 0
        if late or (not self.waited and not self._follows(w)):
            self._record(w, what, name, writes, late)
        elif not self.waited:
            w.dependence = None

    def _follows(self, w: Warp) -> bool:
        """Whether the end of the grid before lies in the past of the warp.

        What it wrote is visible to the whole grid as soon as one thread has waited, so no release has to lie between.
        """
        known, agent = w.agent.known, self.before.agent
        return known.item(ORDER, agent.index) >= agent.epoch or known.item(PAST, agent.index) >= agent.epoch

    def _record(self, w: Warp, what: str, name: str, writes: bool, late: int) -> None:
        findings = w.gpu.findings
        if findings.seen("missing-grid-wait", "error", w.span):
            return
        does = f"the {what} of {w.place} {'writes' if writes else 'reads'} {name}"
        danger = f"the kernel before this one may still {'use' if writes else 'write'} it"
        if late:
            message = f"{does} in {late} lane{'s' * (late > 1)} that did not wait with the others: {danger}"
        else:
            message = f"{does} with no griddepcontrol.wait before it: {danger}"
        details = {"role": w.role, "cta": w.cta.name, "buffer": name, "hint": _MEET if late else _WAIT}
        findings.add("missing-grid-wait", "error", message, w.span, details=details, more=self.before.notes)
