"""Why nothing can advance: the waiting warps as roles, the most likely cause, and what to change.

Each rule looks at one group of warps that wait for the same barrier at the same line, and recognises one mistake. The
rules are tried in the order of how certain they are; the first that applies to any group is the cause that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tirx_mini.ir import PrimFunc, Span

from .barriers import CountingBarrier, Mbarrier, Wait
from .findings import Finding, StuckRole
from .sites import ARRIVE, COMMIT, EXPECT, INIT, LOAD, Site, Sites, find_sites

if TYPE_CHECKING:
    from .machine import Gpu
    from .warp import Warp

SIGNALS = (ARRIVE, COMMIT)
"""What counts as an arrival."""

MERGED = ("barrier-uninitialised", "illegal-convergence")
"""Findings of a stuck place, or of the barrier waited for there, that the page of the deadlock says itself."""


@dataclass
class Group:
    """Warps that wait for one barrier at one line, in one or many CTAs."""

    role: str
    wait: Wait
    warps: list[Warp]

    @property
    def barrier(self) -> Any:
        return self.wait.barrier

    @property
    def span(self) -> Span | None:
        return self.wait.span

    @property
    def mbarrier(self) -> Mbarrier | None:
        return self.barrier if isinstance(self.barrier, Mbarrier) else None


@dataclass(frozen=True)
class Cause:
    """What is wrong in one sentence, what to write in another, and the places that show it."""

    message: str
    hint: str
    notes: tuple[tuple[str, Span | None], ...] = ()
    span: Span | None = None


@dataclass
class Situation:
    """A machine in which nothing can advance."""

    func: PrimFunc
    gpu: Gpu
    blocked: Sequence[Warp]
    sites: Sites = field(init=False)

    def __post_init__(self) -> None:
        self.sites = find_sites(self.func)

    @cached_property
    def groups(self) -> list[Group]:
        """The waiting warps, those that wait for the same thing at the same line together."""
        found: dict[tuple[Any, ...], Group] = {}
        for warp in self.blocked:
            wait = warp.waiting
            if wait is None:
                continue
            name = wait.barrier.name if wait.barrier is not None else wait.kind
            # All warps of a CTA that wait at one line for one thing are one role.
            key = (_place(wait.span), wait.kind, name, wait.parity)
            if key not in found:
                found[key] = Group(warp.role, wait, [])
            found[key].warps.append(warp)
        for group in found.values():
            group.role = _roles(group.warps)
        return list(found.values())

    @property
    def cluster_size(self) -> int:
        launch = self.func.launch
        return launch.cluster_size if launch else 1

    def waiting_at(self, site: Site) -> list[Group]:
        """Groups whose warps may get to `site` once they run on."""
        reach = site.threads.any(axis=1)
        return [g for g in self.groups if any(reach[warp.warp_id] for warp in g.warps)]

    def signals(self, barrier: Mbarrier) -> list[Site]:
        return self.sites.of(base_name(barrier.name), *SIGNALS)


def explain_deadlock(func: PrimFunc, gpu: Gpu, blocked: Sequence[Warp], findings: Sequence[Finding]) -> list[Finding]:
    """`findings` with that of the deadlock, and without those that it includes."""
    situation = Situation(func, gpu, blocked)
    groups = situation.groups
    cause, group = _cause(situation)
    stuck = tuple(_stuck_role(situation, g) for g in groups)
    details: dict[str, Any] = {"hint": cause.hint, "notes": cause.notes, "stuck": stuck}
    if group is not None:
        details |= {"role": group.role, "cta": group.warps[0].cta.name}
        if group.barrier is not None:
            details["barrier"] = group.barrier.name
    place = cause.span or (group.span if group else func.span)
    deadlock = Finding("deadlock", "error", cause.message, place, details)
    stuck_places = {_place(g.span) for g in groups}
    stuck_barriers = {g.mbarrier.name for g in groups if g.mbarrier is not None}
    kept = [
        f for f in findings
        if f.kind not in MERGED
        or (_place(f.span) not in stuck_places and f.details.get("barrier") not in stuck_barriers)
    ]  # fmt: skip
    return [*kept, deadlock]


def _cause(situation: Situation) -> tuple[Cause, Group | None]:
    for rule in RULES:
        for group in situation.groups:
            cause = rule(situation, group)
            if cause is not None:
                return cause, group
    return Cause("nothing can advance, and no warp waits", "this is a mistake of the simulator"), None


# -- rules, the most certain first ---------------------------------------------------------------------------------


def never_initialised(situation: Situation, group: Group) -> Cause | None:
    """The barrier's memory holds no barrier."""
    barrier = group.mbarrier
    if barrier is None or barrier.expected:
        return None
    name = base_name(barrier.name)
    inits = situation.sites.of(name, INIT)
    if not inits:
        return Cause(f"{barrier.name} is never initialised: no mbarrier.init names {name}",
                     f"let one thread call Tx.ptx.mbarrier.init on each barrier of {name}, then fence and cta_sync()")
    for site in inits:
        conflict = site.conflict()
        if conflict:
            return _contradiction(barrier, site, situation)
    site = inits[0]
    guards = " and ".join(f"`{guard.text}`" for guard in site.guards)
    under = f", which is under {guards}" if guards else ""
    return Cause(f"{barrier.name} was never initialised: no thread has executed its init{under}",
                 f"initialise every stage of {name} at the top level of the kernel, before the first wait",
                 (("the init is here", site.span), *_guard_notes(site)))


def _contradiction(barrier: Mbarrier, site: Site, situation: Situation) -> Cause:
    conflict = site.conflict()
    texts = [f"`{guard.text}`" for guard in conflict]
    if len(texts) > 1:
        why = f"no thread satisfies both {' and '.join(texts)}"
    else:
        why = f"no thread of the {situation.func.launch.threads if situation.func.launch else 0} satisfies {texts[0]}"
    return Cause(f"{barrier.name} is never initialised: {why}, so its init never runs",
                 f"move the init of {base_name(barrier.name)} out of the guard, to the top level of the kernel",
                 (("the init is here", site.span), *_guard_notes(site, conflict)))


def part_of_a_warp(situation: Situation, group: Group) -> Cause | None:
    """A barrier for whole warps is reached by some lanes only."""
    if not isinstance(group.barrier, CountingBarrier):
        return None
    some = next((w for w in group.warps if w.mask.count < min(32, w.gpu.image.launch.threads - 32 * w.warp_id)), None)
    if some is None:
        return None
    what = _call_name(group)
    site = next((s for s in situation.sites.all if _place(s.span) == _place(group.span)), None)
    elected = site is not None and any(guard.elects for guard in site.guards)
    who = "the elected thread" if elected else f"{some.mask.count} of its 32 threads"
    return Cause(f"{what} is called by {who} of {some.role} only, and waits for all threads: the others never get here",
                 f"move {what} out of the {'elected ' if elected else ''}branch, to where every thread of the "
                 f"{'CTA' if group.wait.kind == 'bar.sync' else 'cluster'} calls it",
                 _guard_notes(site) if site else ())


def nobody_signals(situation: Situation, group: Group) -> Cause | None:
    """No instruction of the kernel arrives at the barrier."""
    barrier = group.mbarrier
    if barrier is None or not barrier.pending or situation.signals(barrier):
        return None
    name = base_name(barrier.name)
    if situation.sites.of(name, LOAD):
        return Cause(f"no thread arrives at {barrier.name}: TMA loads deliver bytes to it, but nothing announces them",
                     f"let the thread that issues the loads call Tx.ptx.mbarrier.arrive.expect_tx on {name} with their bytes")
    if any(call.endswith("mma") for call in situation.sites.calls):
        return Cause(f"nothing ever arrives at {barrier.name}: no tcgen05.commit names it, so the end of the MMAs is not "
                     "signalled", f"call Tx.ptx.tcgen05.commit({name}.ptr_to([0]), …) after the last gemm_async, in the same "
                     "thread")
    return Cause(f"nothing ever arrives at {barrier.name}: no instruction of the kernel names it but the wait",
                 f"let whoever the wait is for call Tx.ptx.mbarrier.arrive on {name}")


def signal_never_runs(situation: Situation, group: Group) -> Cause | None:
    """The instructions that would arrive are under guards that no thread satisfies."""
    barrier = group.mbarrier
    if barrier is None or not barrier.pending:
        return None
    signals = situation.signals(barrier)
    if not signals or any(site.reachable for site in signals):
        return None
    site = signals[0]
    texts = " and ".join(f"`{guard.text}`" for guard in site.conflict())
    return Cause(f"nothing arrives at {barrier.name}: no thread satisfies {texts}, so the {site.role} never runs",
                 "correct the guards, so that a thread gets there",
                 ((f"the {site.role} is here", site.span), *_guard_notes(site, site.conflict())))


def bytes_differ(situation: Situation, group: Group) -> Cause | None:
    """All threads have arrived, and the bytes announced are not those delivered."""
    barrier = group.mbarrier
    if barrier is None or barrier.pending or not barrier.tx:
        return None
    name = base_name(barrier.name)
    announced = _bytes(barrier, "expect_tx")
    notes = [("the bytes are announced here", s.span) for s in situation.sites.of(name, EXPECT, ARRIVE)
             if s.call.op.endswith("expect_tx")]
    notes += [("bytes are delivered by this load", s.span) for s in situation.sites.of(name, LOAD)]
    each = announced // max(1, barrier.phase + 1)
    if barrier.tx > 0:
        message = (f"{barrier.name} expects {each} bytes a phase, but the TMA loads that signal it deliver only "
                   f"{each - barrier.tx}" if _bytes(barrier, "TMA load") else
                   f"{barrier.name} expects {each} bytes, and no TMA load delivers any to it")
    else:
        message = f"TMA loads deliver {-barrier.tx} bytes more to {barrier.name} than the {each} that are announced"
    return Cause(message, f"announce exactly the bytes of the copies that signal {name}: the sum of their tiles' elements "
                 "times the size of an element (of all CTAs whose copies signal it)", tuple(notes))


def too_few_arrive(situation: Situation, group: Group) -> Cause | None:
    """The barrier was initialised for more arrivals than there are instructions and threads to make."""
    barrier = group.mbarrier
    if barrier is None or not barrier.pending or barrier.pending == barrier.expected:
        return None
    signals = situation.signals(barrier)
    got = barrier.expected - barrier.pending
    possible = sum(int(site.threads.sum()) for site in signals) * situation.cluster_size
    if possible >= barrier.expected and _may_still_arrive(situation, group, signals):
        return None
    name = base_name(barrier.name)
    threads = "thread" if got == 1 else "threads"
    notes = [(f"{int(site.threads.sum())} of the CTA's threads may arrive here", site.span) for site in signals]
    return Cause(f"{barrier.name} was initialised for {barrier.expected} arrivals a phase, but only {got} {threads} arrive",
                 f"initialise {name} with {got}, or let {barrier.expected} threads arrive at it in each round",
                 (("the barrier is initialised here", barrier.init_span), *notes))


def _may_still_arrive(situation: Situation, group: Group, signals: Sequence[Site]) -> bool:
    """Whether a warp that waits for something else might arrive at the group's barrier if it ran on."""
    arrived = {key[2] for key in (group.mbarrier.arrivals if group.mbarrier else {})}
    others = [g for site in signals for g in situation.waiting_at(site) if g is not group]
    return any(warp.place not in arrived and warp.role not in arrived for g in others for warp in g.warps)


def wrong_first_phase(situation: Situation, group: Group) -> Cause | None:
    """Two roles wait for one another from the start: the producer's first wait must pass on a fresh barrier."""
    barrier = group.mbarrier
    if barrier is None or barrier.phase or group.wait.parity != 0:
        return None
    for site in situation.signals(barrier):
        for other in situation.waiting_at(site):
            peer = other.mbarrier
            if other is group or peer is None or peer.phase or other.wait.parity != 0:
                continue
            back = [s for s in situation.signals(peer) if group in situation.waiting_at(s)]
            if back and _fullness(situation, barrier) < _fullness(situation, peer):
                name = base_name(barrier.name)
                return Cause(f"{group.role} waits for phase 0 of {barrier.name} before anything was produced, and {other.role} "
                             f"waits for what it would produce: the first wait of a producer must pass",
                             f"let {group.role} start with phase 1 on {name} (PipelineState.init(is_producer=True)): a fresh "
                             "barrier lets a wait for phase 1 through",
                             ((f"{other.role} waits here", other.span), (f"{name} is signalled here", site.span)))
    return None


def _fullness(situation: Situation, barrier: Mbarrier) -> int:
    """How surely a barrier says "data is there" (high) rather than "the place is free" (low), by who signals it."""
    name = base_name(barrier.name)
    if situation.sites.of(name, LOAD) or any(s.call.op.endswith("expect_tx") for s in situation.sites.of(name, ARRIVE)):
        return 2
    return 1 if situation.sites.of(name, COMMIT) else 0


def rounds_differ(situation: Situation, group: Group) -> Cause | None:
    """Those who should arrive have left the loop in which they did."""
    barrier = group.mbarrier
    if barrier is None or not barrier.phase:
        return None
    signals = situation.signals(barrier)
    loops = [site for site in signals if site.loops]
    inside = [g for site in loops for g in situation.waiting_at(site)
              if g is not group and any(s.loops[:1] == site.loops[:1] for s in situation.sites.at(g.span))]
    if not loops or inside:
        return None
    name = base_name(barrier.name)
    rounds = _rounds(group, name)
    return Cause(f"{group.role} waits for round {barrier.phase + 1} of {barrier.name}, but those who signal {name} have left "
                 f"their loop after {rounds} in all: the two loops go round a different number of times",
                 "let both roles make the same number of iterations (and advance their stages equally often)",
                 tuple((f"{name} is signalled here", site.span) for site in loops))


def _rounds(group: Group, name: str) -> int:
    """Completed phases of all stages of a barrier, in the CTA of the group's first warp."""
    barriers = group.warps[0].cta.mbarriers.values()
    return sum(b.phase for b in barriers if base_name(b.name) == name)


def others_have_exited(situation: Situation, group: Group) -> Cause | None:
    """Warps that a counting barrier needs are no longer there, and none waits elsewhere."""
    barrier = group.barrier
    if not isinstance(barrier, CountingBarrier) or len(situation.groups) > 1:
        return None
    gone = [w for w in group.warps[0].cta.warps if w.done]
    what = _call_name(group)
    if not gone:
        return None
    return Cause(f"{what} waits for {_roles(gone)}, which {'has' if len(gone) == 1 else 'have'} ended without calling it",
                 f"let every warp that {what} counts call it, or count fewer threads")


def in_general(situation: Situation, group: Group) -> Cause | None:
    """What is missing, where no rule knows why."""
    barrier = group.mbarrier
    if barrier is None:
        return None
    missing = _missing(barrier)
    name = base_name(barrier.name)
    who = _providers(situation, group)
    return Cause(f"{group.role} waits for {group.wait.text}, and {missing or 'no one can complete it'}",
                 f"check the phase that is waited for, and who arrives at {name} how often" + (f": {who[0]}" if who else ""),
                 tuple((f"{name} is signalled here", site.span) for site in situation.signals(barrier)))


def anything(situation: Situation, group: Group) -> Cause | None:
    """A wait that is not for an mbarrier."""
    others = [g for g in situation.groups if g is not group]
    where = f", and {others[0].role} waits for {others[0].wait.text}" if others else ""
    return Cause(f"{group.role} waits for {group.wait.text}{where}",
                 "let every thread that the barrier counts get there")


Rule = Callable[[Situation, Group], "Cause | None"]

RULES: tuple[Rule, ...] = (
    never_initialised, part_of_a_warp, nobody_signals, signal_never_runs, bytes_differ, too_few_arrive, wrong_first_phase,
    rounds_differ, others_have_exited, in_general, anything,
)  # fmt: skip


# -- words -----------------------------------------------------------------------------------------------------------


def base_name(name: str) -> str:
    """`tma2mma[1]` -> `tma2mma`."""
    return name.partition("[")[0]


def _stage(name: str) -> int | None:
    inner = name.partition("[")[2].rstrip("]")
    return int(inner) if inner.isdigit() else None


def _stuck_role(situation: Situation, group: Group) -> StuckRole:
    ctas = list(dict.fromkeys(warp.cta.name for warp in group.warps))
    facts: dict[str, Any] = {}
    barrier = group.mbarrier
    if barrier is not None:
        facts = {"barrier": barrier.name, "stage": _stage(barrier.name), "parity": group.wait.parity, "phase": barrier.phase,
                 "expected": barrier.expected, "pending": barrier.pending, "tx_bytes": barrier.tx}
    providers = _providers(situation, group)
    missing = _missing(barrier) if barrier is not None else ""
    return StuckRole(group.role, group.span, group.wait.text, len(ctas), ctas[0], providers=tuple(
        [missing, *providers] if missing else providers), **facts)


def _missing(barrier: Mbarrier) -> str:
    """What the current phase still lacks."""
    if not barrier.expected:
        return "it was never initialised"
    parts = []
    if barrier.pending:
        parts.append(f"{barrier.pending} of {barrier.expected} arrivals are missing")
    if barrier.tx > 0:
        parts.append(f"{barrier.tx} bytes are missing")
    elif barrier.tx < 0:
        parts.append(f"{-barrier.tx} bytes came that nothing announced")
    return " and ".join(parts)


def _providers(situation: Situation, group: Group) -> tuple[str, ...]:
    """Who should complete what the group waits for, and where they are."""
    barrier = group.mbarrier
    if barrier is None:
        absent = [g for g in situation.groups if g is not group and g.barrier is not group.barrier]
        return tuple(f"{g.role} is not there: it waits for {g.wait.text} ({_line(g.span)})" for g in absent)
    lines: list[str] = []
    for site in situation.signals(barrier):
        where = situation.waiting_at(site)
        text = "; ".join(f"{g.role} waits for {g.wait.text} ({_line(g.span)})" for g in where if g is not group)
        if not text:
            text = "the same warps are to do it after this wait" if group in where else "no warp is left that could do it"
        lines.append(f"the {site.role} of {_line(site.span)} is missing: {text}")
    return tuple(dict.fromkeys(lines))


def _roles(warps: Sequence[Warp]) -> str:
    """Warps in words: one role, or the warps of a CTA together."""
    names = list(dict.fromkeys(warp.role for warp in warps))
    if len(names) == 1:
        return names[0]
    total = warps[0].gpu.image.launch.warps
    if len(names) == total:
        return "every warp"
    ids = sorted({warp.warp_id for warp in warps})
    for group in range(total // 4 if total > 4 else 0):
        if ids == list(range(4 * group, 4 * group + 4)):
            return f"warpgroup {group}"
    return ", ".join(names[:-1]) + f" and {names[-1]}"


def _call_name(group: Group) -> str:
    from .sites import source_text

    text = source_text(group.span.user if group.span else None)
    for name in ("cta_sync", "cluster_sync", "warpgroup_sync"):
        if name in text:
            return name
    return group.wait.kind


def _guard_notes(site: Site, guards: Sequence[Any] | None = None) -> tuple[tuple[str, Span | None], ...]:
    chosen = site.guards if guards is None else guards
    return tuple((f"under the guard `{guard.text}`", guard.cond.span or guard.span) for guard in chosen)


def _bytes(barrier: Mbarrier, what: str) -> int:
    return sum(arrival.nbytes for arrival in barrier.arrivals.values() if arrival.what == what)


def _line(span: Span | None) -> str:
    return f"line {span.user.line}" if span is not None else "an unknown line"


def _place(span: Span | None) -> Any:
    return None if span is None else (span.file, span.line, span.column, span.inlined_at and _place(span.inlined_at))


