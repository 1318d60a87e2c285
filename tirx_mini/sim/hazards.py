"""Words for hazards: what a conflict in a shadow means for the reader of the source."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .faults import MoreNotes
from .memory import TMEM_COLUMNS, place_name
from .orders import between, last_wait, missing_wait
from .shadow import Access, Actor, Conflict

if TYPE_CHECKING:
    from .machine import Cta, Gpu

PROXY_HINT = (
    'each thread that writes shared memory calls Tx.ptx.fence.proxy_async("shared::cta") after its writes, then '
    "synchronises with the thread that issues the asynchronous operation"
)
TCGEN05_HINT = "call Tx.ptx.tcgen05.fence.after_thread_sync() after the wait and before this operation"
BEFORE_HINT = (
    "each thread calls Tx.ptx.tcgen05.fence.before_thread_sync() after it is done with tensor memory, and before it "
    "arrives or synchronises"
)
_UNWRITTEN = {
    "tcgen05.ld": "wait for the mbarrier of the MMA, in its right phase, before reading; and check the columns",
    "MMA": "an MMA that begins a sum has accum=False; and what it reads is copied, and waited for, before it is issued",
}
_HINTS = {
    ("MMA", "tcgen05.ld"): "before reading, wait for the mbarrier that tcgen05.commit signals, in its right phase",
    ("tcgen05.ld", "MMA"): "let readers arrive at an mbarrier after tcgen05.wait.ld(), and wait for it, in its right "
    "phase, before this MMA",
    ("TMA load", "MMA"): "before the MMA, wait for the mbarrier of the TMA load, in its right phase",
    (
        "MMA",
        "TMA load",
    ): "before loading again, wait for the mbarrier that the MMA's commit signals, in its right phase",
    (
        "TMA load",
        "TMA load",
    ): "before loading there again, wait for the mbarrier that says it is free, in its right phase",
}
"""What orders two operations, the earlier first."""
_UNWRITTEN_ELSE = "write it first, and check offsets, stages and loop bounds"
_KINDS = {
    "race": "race",
    "proxy": "missing-proxy-fence",
    "tcgen05": "missing-tcgen05-fence",
    "tcgen05-before": "missing-tcgen05-fence",
    "uninitialised": "uninitialised-read",
}
_FORGIVEN = ("tcgen05", "tcgen05-before")
"""What the ISA asks for, and today's chips do without."""


class HazardReporter:
    """Turns conflicts in the memories of one CTA (or in global memory) into findings."""

    def __init__(self, gpu: Gpu, cta: Cta | None) -> None:
        self.gpu = gpu
        self.cta = cta

    def shared(self, conflict: Conflict) -> None:
        """A conflict in shared memory."""
        if not self._repeated(conflict):
            low, high = conflict.extent()
            buffer = self.gpu.locator.find(low)
            self._record(conflict, buffer.name if buffer else None, self._shared_range(low, high))

    def tensor(self, conflict: Conflict) -> None:
        """A conflict in tensor memory; units are (lane group, column), row by row."""
        if not self._repeated(conflict):
            low, high = conflict.extent()
            columns = sorted({low % TMEM_COLUMNS, (high - 1) % TMEM_COLUMNS})
            name = self.gpu.image.tmem_names[0] if len(self.gpu.image.tmem_names) == 1 else "tensor memory"
            where = f"columns {columns[0]} to {columns[-1]}" if len(columns) > 1 else f"column {columns[0]}"
            self._record(conflict, name, f"{name}, {where}")

    def global_(self, conflict: Conflict) -> None:
        """A conflict in global memory."""
        if not self._repeated(conflict):
            memory = self.gpu.memory
            slot = next(slot for slot, segment in memory.segments.items() if segment is conflict.segment)
            buffer = memory.buffers[slot]
            low, high = (unit // buffer.dtype.itemsize for unit in conflict.extent())
            first, last = place_name(buffer, low), place_name(buffer, max(low, high - 1))
            self._record(conflict, buffer.name, first if first == last else f"{first} to {last}")

    def _shared_range(self, low: int, high: int) -> str:
        locator = self.gpu.locator
        first = locator.find(low)
        if first is None:
            return f"bytes {low} to {high - 1} of shared memory"
        size = first.dtype.itemsize
        begin = place_name(first, (low - first.byte_offset) // size)
        end = place_name(first, min(first.size - 1, max(low, high - 1) - first.byte_offset >> size.bit_length() - 1))
        return begin if begin == end else f"{begin} to {end}"

    def _severity(self, conflict: Conflict) -> tuple[str, Any]:
        if conflict.kind in _FORGIVEN:
            return _KINDS[conflict.kind], "warning"
        if conflict.kind == "race":
            earlier, actor = conflict.earlier, conflict.actor
            if earlier is not None and earlier.write and conflict.writes and actor.same is not None and actor.same():
                return "identical-writes", "warning"
            if earlier is not None and self._awaits_load(earlier):
                return "missing-tcgen05-wait", "error"
        return _KINDS[conflict.kind], "error"

    def _repeated(self, conflict: Conflict) -> bool:
        earlier = conflict.earlier
        kind = _KINDS[conflict.kind]
        severity = "warning" if conflict.kind in _FORGIVEN else "error"
        return self.gpu.findings.seen(kind, severity, conflict.actor.span, earlier and earlier.span)

    def _record(self, conflict: Conflict, buffer: str | None, where: str) -> None:
        kind, severity = self._severity(conflict)
        earlier, actor = conflict.earlier, conflict.actor
        details: dict[str, Any] = {"buffer": buffer, "where": where, "role": actor.role}
        if self.cta is not None:
            details["cta"] = self.cta.name
        message, hint = self._words(kind, conflict, where)
        details["hint"] = hint
        if earlier is not None:
            verb = "writes" if earlier.write else "reads"
            details["other_role"] = earlier.role
            details["notes"] = ((f"the {earlier.what} of {earlier.role} {verb} it here", earlier.span),)
        more = self._more_notes(kind, conflict, details)
        self.gpu.findings.add(
            kind, severity, message, actor.span, other=earlier and earlier.span, details=details, more=more
        )

    def _more_notes(self, kind: str, conflict: Conflict, details: dict[str, Any]) -> MoreNotes | None:
        """Add what is known of the barriers around a conflict now; returns what will tell more at the end."""
        earlier, actor, cta = conflict.earlier, conflict.actor, self.cta
        accumulator = cta is not None and conflict.segment is cta.tmem.shadow and actor.what == "MMA"
        if kind not in ("race", "uninitialised-read") or cta is None:
            return None
        if earlier is not None:
            return partial(between, cta.cluster, earlier, actor.what, actor.role)
        if accumulator:
            return None
        details["notes"] = last_wait(cta.cluster, actor.role)
        return None if details["notes"] else partial(missing_wait, cta.cluster, actor.what)

    def _words(self, kind: str, conflict: Conflict, where: str) -> tuple[str, str]:
        actor, earlier = conflict.actor, conflict.earlier
        does = f"the {actor.what} of {actor.role} {'writes' if conflict.writes else 'reads'} {where}"
        if earlier is None:
            return f"{does}, which nothing has written", _UNWRITTEN.get(actor.what, _UNWRITTEN_ELSE)
        did = f"{'written' if earlier.write else 'read'} by the {earlier.what} of {earlier.role}"
        if kind == "missing-proxy-fence":
            return f"{does}, {did}, without fence.proxy.async between the two", PROXY_HINT
        if conflict.kind == "tcgen05-before":
            return f"{does}, {did}, which executed no tcgen05.fence.before_thread_sync() after it", BEFORE_HINT
        if kind == "missing-tcgen05-fence":
            return f"{does}, {did}, without tcgen05.fence.after_thread_sync() between the two", TCGEN05_HINT
        if kind == "missing-tcgen05-wait":
            return (
                f"{does} while it may still be being {did}: tcgen05.wait.ld() is missing after the load",
                "call Tx.ptx.tcgen05.wait.ld() after the loads, before signalling that tensor memory is free",
            )
        if kind == "identical-writes":
            return (
                f"{does}, which is also {did}, in no order; both write the same bytes",
                "let one thread write it: select one warp before electing a lane",
            )
        return f"{does} while it may be {did}: nothing orders the two", self._race_hint(earlier, actor, conflict.writes)

    def _race_hint(self, earlier: Access, actor: Actor, writes: bool) -> str:
        whats = {earlier.what, actor.what}
        if earlier.cluster != actor.cluster:
            return "CTAs of different clusters run in no order: let each write its own part"
        if actor.what == "TMA store" and not writes:
            if earlier.time >= actor.time:
                return "the store may read later: commit_group(), wait_group(0), then synchronise before writing again"
            return "synchronise after the writes (warpgroup_sync or cta_sync), before one thread issues the TMA store"
        if earlier.what == "TMA store":
            return "after the TMA store: commit_group(), wait_group(0), then synchronise before writing there again"
        if (earlier.what, actor.what) in _HINTS:
            return _HINTS[earlier.what, actor.what]
        if earlier.what == "MMA" or actor.what == "tcgen05.ld":
            return "the MMA is asynchronous: tcgen05.commit to an mbarrier, and wait for it, in its right phase, first"
        if actor.what == "MMA":
            return "cta_sync() between the copy and the MMA; and wait for that MMA before its tile is written again"
        if "TMA load" in whats and not (writes and earlier.write):
            return "wait for the mbarrier of the TMA load before reading, and for its readers before loading again"
        if "dealloc" in whats:
            return "synchronise all warps that use tensor memory (cta_sync or cluster_sync) before tcgen05.dealloc"
        return "synchronise between the two: cta_sync(), warpgroup_sync() or an mbarrier"

    def _awaits_load(self, earlier: Access) -> bool:
        """Whether the access is a tcgen05.ld that its own warp has not waited for."""
        if earlier.what != "tcgen05.ld" or self.cta is None:
            return False
        for cta in self.cta.cluster.ctas:
            for warp in cta.warps:
                if warp.tmem.loads is not None and warp.tmem.loads.index == earlier.agent:
                    return not warp.agent.knows(earlier.agent, earlier.epoch)
        return False
