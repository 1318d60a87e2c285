"""Pipeline states that do not advance with the rounds: a wait that observes one round twice.

The simulator reports the waits; the program shows the cause: the variables of the wait's stage and parity, and the
assignments to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.ir import Buffer, BufferLoad, For, PrimFunc, Span, Stmt, walk
from tirx_mini.isa import BarrierEffect
from tirx_mini.records import dataclass, replace
from tirx_mini.sim import MbarrierWait, RepeatedWait

from ..kind import Explanation, Kind
from .byte_counts import Suspect
from .guards import Guard
from .notes import guard_notes
from .rule import cause
from .sites import Assignment, Site, Sites, find_sites
from .situation import Group, Situation

STANDS_STILL = Kind(
    "state-stands-still", "TX109", "hazard", "Both sides of a pipeline go on to the next stage in each iteration.",
)  # fmt: skip
WRONG_PARITY = Kind(
    "wrong-parity", "TX126", "hazard", "The phase of a ring flips once in each lap.", "PTX ISA: mbarrier.try_wait",
)  # fmt: skip

ADVANCE = "let each thread that waits with a state advance it once in each iteration (PipelineState.move_to_next_stage)"
FLIP = "let each thread that waits with a phase flip it once in each iteration: phase = phase ^ 1"
LAP = "flip the phase once a lap, where the stage is 0 again: if stage == 0: phase = phase ^ 1 (as PipelineState does)"


@cause("state-never-advances", STANDS_STILL.code, 146, STANDS_STILL.rule, root=True)
def state_never_advances(situation: Situation, group: Group) -> Explanation | None:
    """Explain a wait for a past round, caused by a state that does not advance."""
    return _of_kind(situation, STANDS_STILL)


@cause("parity-of-another-lap", WRONG_PARITY.code, 145, WRONG_PARITY.rule, WRONG_PARITY.isa, root=True)
def parity_of_another_lap(situation: Situation, group: Group) -> Explanation | None:
    """Explain a phase that does not flip once per lap."""
    return _of_kind(situation, WRONG_PARITY)


def _of_kind(situation: Situation, kind: Kind) -> Explanation | None:
    found = state_suspects(situation.func, situation.repeats, _stale(situation))
    return next((replace(one.explanation, span=one.span) for one in found if one.kind is kind), None)


def _stale(situation: Situation) -> list[RepeatedWait]:
    """Return the endless waits for the parity of the same warp's last wait, whose phase has passed."""
    found: list[RepeatedWait] = []
    for warp in (warp for group in situation.groups for warp in group.warps):
        wait = warp.waiting
        if not isinstance(wait, MbarrierWait):
            continue
        barrier, last = wait.barrier, wait.barrier.history.wait_counts.get(warp.place)
        if last is None or last.span is not wait.span or last.seen >= barrier.phase:
            continue
        if (last.seen - 1) & 1 == wait.parity:
            found.append(RepeatedWait(replace(warp.origin, span=wait.span), barrier.element, last.seen))
    return found


def state_suspects(
    func: PrimFunc, repeats: Sequence[RepeatedWait], stale: Sequence[RepeatedWait] = ()
) -> list[Suspect]:
    """Return explanations of repeated waits, and of states that cannot be correct; for a run with an error.

    repeats: the repeated waits. stale: the endless waits for a parity that the same warp has waited for, and whose
    phase has passed. Roles that take turns may also wait so, and are explained only if the program shows the cause.
    """
    sites = find_sites(func)
    found: dict[object, Suspect] = {}
    for wait in _waits(sites):
        suspect = _flips_each_time(wait)
        if suspect is not None:
            found.setdefault(id(wait.site.call), suspect)
    for repeat in (*repeats, *stale):
        wait = next((w for w in _waits(sites) if w.site.span == repeat.origin.span), None)
        name = repeat.barrier.buffer
        if wait is None or not any(site.loops for site in sites.signals(name)):
            continue
        counted = wait.named and not wait.changes(wait.phase, wait.site.loops)
        suspect = _unchanged(wait, repeat) or (_same_again(wait, repeat) if counted or repeat in repeats else None)
        if suspect is not None:
            found.setdefault(id(wait.site.call), suspect)
    return list(found.values())


@dataclass(frozen=True)
class _Wait:
    """A wait in a loop. stage, phase: the variables that determine its barrier and its parity. depth: of the ring."""

    site: Site
    sites: Sites
    depth: int
    stage: Sequence[Buffer]
    phase: Sequence[Buffer]
    named: bool

    @property
    def advance(self) -> str:
        """The hint to advance the state."""
        made = self.changes([*self.stage, *self.phase], ())
        if self.stage or any(one.span is not None and one.span.library for one in made):
            return ADVANCE
        return FLIP

    def changes(self, variables: Sequence[Buffer], loops: Sequence[Stmt]) -> list[Assignment]:
        """Return the assignments of `variables` in any of `loops`, or everywhere if `loops` is empty."""
        around = {id(loop) for loop in loops}
        changed = {id(variable) for variable in variables}
        found = [one for one in self.sites.assignments if id(one.variable) in changed]
        return [one for one in found if not loops or around & set(map(id, one.loops))]

    def own_guards(self, change: Assignment) -> list[Guard]:
        """Return the guards of an assignment that do not enclose the wait, except those that test the state."""
        around = {(id(guard.cond), guard.holds) for guard in self.site.guards}
        return [g for g in change.guards if (id(g.cond), g.holds) not in around and not self.asks_state(g)]

    def asks_state(self, guard: Guard) -> bool:
        """Return whether a guard depends on the state itself, such as on the stage being 0 again."""
        asked, _ = self.sites.variables(guard.cond)
        return any(one is variable for one in asked for variable in (*self.stage, *self.phase))


def _waits(sites: Sites) -> list[_Wait]:
    """Return the waits for mbarriers inside loops."""
    found: list[_Wait] = []
    for site in sites.all:
        if site.effect is not BarrierEffect.WAIT or not site.loops or site.index is None:
            continue
        stage, stage_names = sites.variables(site.index)
        phase, phase_names = sites.variables(site.argument("phase"))
        inner = {loop.var for loop in site.loops if isinstance(loop, For)}
        named = bool(inner & {*stage_names, *phase_names})
        found.append(_Wait(site, sites, sites.depth(site), stage, phase, named))
    return found


def _flips_each_time(wait: _Wait) -> Suspect | None:
    """Check for a wait whose phase flips with every stage instead of every lap."""
    inner = wait.site.loops[-1:]
    # A step leads from one stage to the next; an assignment of a stage, as 0, begins a lap.
    steps = [one for one in wait.changes(wait.stage, inner) if _of_itself(wait, one)]
    flips = wait.changes(wait.phase, inner)
    phases = [variable for variable in wait.phase if all(variable is not stage for stage in wait.stage)]
    if wait.depth < 2 or not steps or not flips or not phases:
        return None
    guards = {tuple((id(g.cond), g.holds) for g in step.guards) for step in steps}
    if any(tuple((id(g.cond), g.holds) for g in flip.guards) not in guards for flip in flips):
        return None
    read = [wait.sites.variables(flip.value) for flip in flips]
    if any(names or any(one is stage for one in used for stage in wait.stage) for used, names in read):
        return None  # the stage, or the iteration, says whether it flips
    if not all(_of_itself(wait, flip) for flip in flips):
        return None  # it is set, as to a function of the iteration, and not flipped
    name = wait.site.barrier
    return _suspect(
        WRONG_PARITY,
        f"the phase of the wait for {name} flips in each iteration, and each of the {wait.depth} stages of {name} "
        f"completes a phase only once in {wait.depth} iterations",
        LAP,
        wait,
        flips[0].span,
    )


def _of_itself(wait: _Wait, change: Assignment) -> bool:
    """Return whether an assignment updates a variable from its own value."""
    return any(one is change.variable for one in wait.sites.variables(change.value)[0])


def _is_constant(wait: _Wait, change: Assignment) -> bool:
    """Return whether an assignment always stores the same value."""
    used, names = wait.sites.variables(change.value)
    return not used and not names and not any(isinstance(node, BufferLoad) for node in walk(change.value))


def _unchanged(wait: _Wait, repeat: RepeatedWait) -> Suspect | None:
    """Return the reason why a wait's stage or phase does not advance, if its loops show it."""
    again, loops = _again(repeat), wait.site.loops
    variables = [*wait.stage, *wait.phase]
    inner, around = wait.changes(variables, loops[-1:]), wait.changes(variables, loops)
    state = "the stage and the phase" if wait.stage else "the phase"
    change = "change" if wait.stage else "changes"
    if not around and not wait.named:
        message = f"{again}: nothing in its loop changes {state} that it waits for"
        return _suspect(STANDS_STILL, message, wait.advance, wait)
    if not inner and not wait.named:
        message = f"{again}: {state} {change} in an outer loop only, and not in each iteration"
        return _suspect(STANDS_STILL, message, wait.advance, wait, around[0].span)
    guarded = next((change for change in inner if wait.own_guards(change)), None)
    if guarded is not None:
        guards = wait.own_guards(guarded)
        texts = " and ".join(f"`{guard.text}`" for guard in guards)
        message = f"{again}: {state} that it waits for {change} only under {texts}"
        return _suspect(STANDS_STILL, message, f"{wait.advance}; not under a guard", wait, guarded.span, guards)
    steps = wait.changes(wait.stage, loops)
    if wait.depth > 1 and steps and not wait.named and all(_is_constant(wait, step) for step in steps):
        message = f"{again}: its loop sets the stage to where a lap begins, and nothing in it leads to the next stage"
        return _suspect(STANDS_STILL, message, wait.advance, wait, steps[0].span)
    if wait.depth > 1 and steps and not wait.changes(wait.phase, loops) and not wait.named:
        message = f"{again}: its stage goes round the {wait.depth} stages, and its phase never flips"
        return _suspect(WRONG_PARITY, message, LAP, wait)
    return None


def _same_again(wait: _Wait, repeat: RepeatedWait) -> Suspect:
    """Return the suspect of a repeated wait whose cause its loops do not show."""
    ring = f"of a ring of {wait.depth} stages " if wait.depth > 1 else ""
    at = f"at stage r % {wait.depth}, with parity r // {wait.depth} % 2" if wait.depth > 1 else "at parity r % 2"
    return _suspect(
        WRONG_PARITY,
        f"{_again(repeat)}: {'its stage and its parity are' if ring else 'its parity is'} the same as the last time",
        f"wait for round r {ring}{at}, and count r over all tiles (PipelineState does)",
        wait,
    )


def _again(repeat: RepeatedWait) -> str:
    """Return a clause about the repeated wait."""
    who = repeat.origin.place
    if not repeat.phase:
        return f"{who} waits again for the first round of {repeat.barrier}, which is free"
    return f"{who} waits again for round {repeat.phase} of {repeat.barrier}, which it has waited for before"


def _suspect(
    kind: Kind, message: str, hint: str, wait: _Wait, change: Span | None = None, guards: Sequence[Guard] = ()
) -> Suspect:
    """Return a suspect at the incorrect assignment, or at the wait if there is none."""
    notes = guard_notes(guards)
    if change is not None:
        notes += (("the wait is here", wait.site.span),)
    return Suspect(kind, Explanation(message, hint, notes, {"barrier": wait.site.barrier}), change or wait.site.span)
