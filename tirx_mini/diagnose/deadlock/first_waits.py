"""First waits for a barrier that begin with the wrong phase, and pass at once or come a phase too late.

A fresh barrier lets a wait for parity 1 through. That is right for a place that is free from the start, and wrong for
data, and where threads arrive before the loops of the roles.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import field

from tirx_mini.ir import For, PrimFunc, Span, Var, int_value
from tirx_mini.isa import BarrierEffect
from tirx_mini.records import dataclass, replace
from tirx_mini.sim import FreshWait, MbarrierWait, RunningWarp, place_key

from ..kind import Explanation, Kind, Notes
from .advances import advanced_first
from .byte_counts import Suspect
from .guards import source_text
from .notes import site_notes
from .phases import initial_count
from .sites import Site, Sites
from .situation import line
from .values import difference

PASSES_AT_ONCE = Kind(
    "passes-at-once", "TX108", "hazard", "A fresh barrier lets a wait for parity 1 through, and blocks parity 0.",
    "PTX ISA: mbarrier.try_wait",
)  # fmt: skip

FRESH = "a fresh barrier lets a wait for {} 1 through"


@dataclass(frozen=True)
class NamedWaits:
    """The waits that the findings of a run name, by their places.

    unwritten: those before reads of unwritten memory, with their roles, each with the least `fullness` of a barrier
    that says when it is written. races: those of barriers that are there to order two accesses.
    """

    unwritten: Mapping[Hashable, int] = field(default_factory=dict[Hashable, int])
    races: Collection[Hashable] = ()


def role_alone(role: str) -> str:
    """Return a role without its CTA."""
    return role.partition(" of CTA")[0]


def fullness(sites: Sites, name: str) -> int:
    """Return the certainty that a barrier means "data is there" rather than "the place is free"."""
    if sites.of(name, BarrierEffect.ARRIVE_EXPECT_TX, BarrierEffect.COMPLETE_TX):
        return 2
    return 1 if sites.of(name, BarrierEffect.COMMIT) else 0


def first_waits(blocked: Sequence[RunningWarp]) -> list[FreshWait]:
    """Return the deadlocked first waits that would have passed on a fresh barrier."""
    found: list[FreshWait] = []
    for warp in blocked:
        wait = warp.waiting
        if isinstance(wait, MbarrierWait) and wait.parity and warp.place not in wait.barrier.history.wait_counts:
            found.append(FreshWait(replace(warp.origin, span=wait.span), wait.barrier.element, warp.warp_id))
    return found


def passes_at_once(sites: Sites, fresh: Sequence[FreshWait]) -> Suspect | None:
    """Check for two roles that wait for each other, and whose first waits both pass."""
    for user in fresh:
        for filler in fresh:
            full, empty = user.barrier.buffer, filler.barrier.buffer
            if user.barrier.stage or fullness(sites, full) <= fullness(sites, empty):
                continue  # if only a later stage passes at once, its parity is wrong
            if user.origin.place == filler.origin.place:
                continue
            if _hands_over(sites, user, empty) and _hands_over(sites, filler, full):
                produced = f"{filler.origin.role} has produced anything: a consumer's first wait must block"
                return _passes(sites, user, produced)
    return None


def passes_too_early(sites: Sites, fresh: Sequence[FreshWait], named: NamedWaits) -> Suspect | None:
    """Check for a first wait that passes at once, and that a finding names as the one before its access."""
    for user in fresh:
        place, full = place_key(user.origin.span), fullness(sites, user.barrier.buffer)
        once = [site for site in sites.signals(user.barrier.buffer) if not site.loops]
        looped = any(site.loops for site in _sites_of(sites, user))
        if user.barrier.stage or not full or (len(once) > 1 and not looped):
            continue  # of several arrivals before a single wait, the first ones may complete phase 0
        racing = place in named.races and (full > 1 or _signals_itself(sites, user))
        if racing or full >= named.unwritten.get((place, role_alone(user.origin.role)), full + 1):
            return _passes(sites, user, "any bytes have landed" if full > 1 else "any MMA is complete")
    return None


def _passes(sites: Sites, user: FreshWait, before: str) -> Suspect:
    """Return the suspect of a first wait that passes before something has happened."""
    name, role = user.barrier.buffer, user.origin.role
    waits = _sites_of(sites, user)
    if (advanced := advanced_first(sites, waits)) is not None:
        return Suspect(PASSES_AT_ONCE, advanced, advanced.span)
    notes: Notes = tuple((f"{name} is signalled here", site.span) for site in sites.signals(name)[:1])
    explanation = Explanation(
        f"the first wait of {role} for {user.barrier} passes at once, before {before}",
        f"let {role} {_beginning(sites, user)}: {FRESH.format('phase')}",
        (*notes, *_origins(sites, waits)),
        {"barrier": name},
        order=f"if {role} comes to its first wait before the data is there",
    )
    return Suspect(PASSES_AT_ONCE, explanation, user.origin.span)


def waits_for_nothing(sites: Sites, fresh: Sequence[FreshWait]) -> Suspect | None:
    """Check for a wait that passes on a fresh barrier, and is in no loop."""
    for wait in fresh:
        name, at = wait.barrier.buffer, _sites_of(sites, wait)
        signals = sites.signals(name)
        once = at and not any(site.loops for site in at)
        if not (once and signals and all(site.effect is BarrierEffect.COMMIT for site in signals)):
            continue
        message = (
            f"the wait of {wait.origin.role} for {wait.barrier} passes at once, before any MMA is complete: "
            f"{FRESH.format('parity')}"
        )
        notes = ((f"{name} is signalled here", signals[0].span),)
        order = f"if {wait.origin.role} comes to its wait before the MMAs are complete"
        hint = f"wait for parity 0: {name} begins in phase 0"
        explanation = Explanation(message, hint, notes, {"barrier": name}, order=order)
        return Suspect(PASSES_AT_ONCE, explanation, wait.origin.span)
    return None


def begun_before(func: PrimFunc, sites: Sites, fresh: Sequence[FreshWait]) -> Suspect | None:
    """Check for a first wait for phase 1 of a barrier whose phase 0 is signalled before the loops of the roles."""
    assert func.launch is not None
    for user in fresh:
        name, role = user.barrier.buffer, user.origin.role
        waits = [site for site in _sites_of(sites, user) if site.loops]
        early = [] if user.barrier.stage else _before_the_loops(sites, waits, func.launch.cluster_size)
        if not early:
            continue
        lines = " and ".join(dict.fromkeys(line(_call(site.span)) for site in early))
        word, loads = early[0].role, fullness(sites, name) > 1
        other = "" if loads else f", or remove the {word} of {lines}"
        explanation = Explanation(
            f"this wait of {role} for {user.barrier} starts with phase 1, but the {word} of {lines}, before the loop, "
            f"{'begins' if loads else 'has already completed'} phase 0",
            f"let {role} {_beginning(sites, user)}{other}",
            (*site_notes(early, f"the {word} before the loop is here"), *_origins(sites, waits)),
            {"barrier": name},
            order=f"if the {word} of {lines} comes first, or if it comes last",
        )
        return Suspect(PASSES_AT_ONCE, explanation, user.origin.span)
    return None


def _before_the_loops(sites: Sites, waits: Sequence[Site], ctas: int) -> list[Site]:
    """Return the signals of a barrier before the loops in which roles wait, if they complete a phase of stage 0."""
    if not waits:
        return []
    name = waits[0].barrier
    others = sites.of(name, BarrierEffect.WAIT, BarrierEffect.TEST)
    rounds = {id(loop) for site in sites.all if site.effect is BarrierEffect.WAIT for loop in site.loops}
    signals = sites.signals(name)
    looped = [site for site in signals if rounds & set(map(id, site.loops))]
    early = [
        site for site in signals
        if not rounds & set(map(id, site.loops))
        and all(site.order < one.order for one in (*looped, *waits) if (one.threads & site.threads).any())
        and site.order < max(one.order for one in (*looped, *waits))
    ]  # fmt: skip
    count = initial_count(sites, name, 0)
    if not early or not looped or any(not rounds & set(map(id, one.loops)) and _precedes(one, waits) for one in others):
        return []
    arrive = sum(site.arriving(0, 0, rank) for site in early for rank in range(1 if site.by_cta else ctas))
    return early if count is not None and arrive >= count else []


def _call(span: Span | None) -> Span | None:
    """Return the outermost call of inlined functions through which the user's code came to a span."""
    return None if span is None else [*span.user.chain()][-1]


def _precedes(one: Site, waits: Sequence[Site]) -> bool:
    return any(one.order < wait.order for wait in waits)


def _signals_itself(sites: Sites, user: FreshWait) -> bool:
    """Return whether the waiting threads have signalled the same stage of the barrier earlier in the same round."""
    for wait in _sites_of(sites, user):
        for site in sites.signals(wait.barrier):
            same = list(map(id, site.loops)) == list(map(id, wait.loops)) and site.order < wait.order
            if not (same and (site.threads & wait.threads).any()):
                continue
            depth = sites.depth(wait)
            if depth == 1 or (
                site.index is not None and wait.index is not None
                and difference(sites, site.index, wait.index, depth) == 0
            ):  # fmt: skip
                return True
    return False


def _sites_of(sites: Sites, user: FreshWait) -> list[Site]:
    return [site for site in sites.at(user.origin.span) if site.barrier == user.barrier.buffer and site.waits]


def _origins(sites: Sites, waits: Sequence[Site]) -> Notes:
    """Return notes on the assignments that a wait's phase begins with."""
    begins = [one for site in waits[:1] for one in sites.origins(site.argument("phase"))]
    return tuple(("its phase begins here", one.span) for one in begins[:2])


def _beginning(sites: Sites, user: FreshWait) -> str:
    """Return the advice to begin with phase 0, in terms of how the wait's parity is written."""
    name = user.barrier.buffer
    wait = next(iter(_sites_of(sites, user)), None)
    phase = None if wait is None else wait.argument("phase")
    begins = [] if phase is None else sites.origins(phase)
    if wait is None or phase is None or begins:
        library = any(one.span is not None and one.span.library for one in begins)
        return f"begin with phase 0 for {name}" + " (PipelineState.init(is_producer=False))" * library
    written, counter = source_text(phase.span), _counter(sites, wait)
    text = f"wait for parity 0 in the first round of {name}"
    if written and int_value(phase) is None:
        text += f", where `{written}` is 1"
    return text + (f" (round {counter} has parity {counter} % 2)" if counter else "")


def _counter(sites: Sites, wait: Site) -> str:
    """Return the loop variable that counts the rounds of a single barrier; "" if there is none."""
    loop = wait.loops[-1] if wait.loops else None
    names: list[Var] = sites.variables(wait.argument("phase"))[1]
    if len(wait.loops) != 1 or not isinstance(loop, For) or sites.depth(wait) > 1 or loop.var not in names:
        return ""
    return loop.var.name if int_value(loop.start) == 0 and loop.step == 1 else ""


def _hands_over(sites: Sites, wait: FreshWait, signalled: str) -> bool:
    """Return whether the waiting warp signals a barrier in a loop around the wait."""
    loops = {id(loop) for site in sites.at(wait.origin.span) for loop in site.loops}
    return any(
        site.threads[wait.warp].any() and loops & set(map(id, site.loops)) for site in sites.signals(signalled)
    )
