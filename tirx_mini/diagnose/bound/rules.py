"""The rules for the causes that bound a kernel, in the order in which they can be removed.

Each rule examines the facts of a run, and assumes the rules before it: a pipeline requires asynchronous loads, roles
require a tile loop, and a bandwidth matters only if enough loads are in flight.
"""

from __future__ import annotations

from collections.abc import Callable

from tirx_mini.sim import Awaited, Signal, TrackKind, base_name

from ..times import us_text
from .facts import Facts
from .model import Cause
from .path import Resource
from .scene import multiplies
from .stages import count, number, stages_of

MUCH, SOME, LITTLE = 0.5, 0.2, 0.02
"""The shares of time that count as most of it, as worth removing, and as worth mentioning."""
BUSY, FULL = 0.85, 0.9
"""The utilisations above which a unit bounds a kernel, and above which more requests in flight do not help. Both are
below 1, because requests arrive unevenly."""

OVERHEAD = (Resource.LAUNCH, Resource.WRITE_BACK)
"""The terms of the time in which nothing is multiplied."""
LOADING = (Resource.LATENCY, Resource.L2, Resource.SHARED)
"""The terms of loads by TMA."""

Rule = Callable[[Facts], "Cause | None"]


def causes_of(facts: Facts) -> tuple[Cause, ...]:
    """Return all causes that apply, at least one, in the order in which to remove them."""
    return tuple(cause for rule in RULES if (cause := rule(facts)) is not None) or (_what_is_left(facts),)


def one_batch(facts: Facts) -> Cause | None:
    """Check for CTAs with a single K tile, whose remaining time is overhead."""
    fixed = facts.share(*OVERHEAD)
    if not facts.loops or fixed < MUCH or max(loop.batches for loop in facts.loops) > 1:
        return None
    busy = sum(loop.busy for loop in facts.loops)
    return Cause(
        "one-batch", "the launch and the write-back",
        f"launch, set-up and write-back take {_of_time(facts, *OVERHEAD)}, for one tile of K, which the tensor core "
        f"multiplies in {facts.us(busy):.2f} µs",
        OVERHEAD, "a loop over K gives it more to do for the same overhead",
    )  # fmt: skip


def one_cta(facts: Facts) -> Cause | None:
    """Check for a grid that leaves nearly all SMs idle."""
    if len(facts.timeline.ctas) > 1 or facts.spec.sms < 4:
        return None
    inside = facts.us(facts.timeline.cycles)
    return Cause(
        "one-cta", "a grid of one CTA",
        f"1 of {facts.spec.sms} SMs works, for {inside:.1f} of {us_text(facts.time.us)}, and the others are idle",
        (), "a grid of CTAs, one for each tile of D, gives them the other tiles of a larger product in the same time",
    )  # fmt: skip


def copies_by_threads(facts: Facts) -> Cause | None:
    """Check for operands that warps copy themselves."""
    share = facts.share(Resource.COPIES)
    if not facts.loops or share < SOME:
        return None
    return Cause(
        "copies-by-threads", "copies by threads",
        "the warps copy tiles to shared memory, and the tensor core is busy for only "
        f"{percent(facts.used('tensor core'))} of the K loop",
        (Resource.COPIES,), "TMA copies a whole tile for one instruction of one thread",
    )  # fmt: skip


def one_stage(facts: Facts) -> Cause | None:
    """Check for a single buffer that is loaded and multiplied alternately."""
    stages = stages_of(facts)
    share = facts.share(*LOADING)
    lane = facts.lane_of("MMA")
    if stages is None or stages.number > 1 or share < SOME or lane is None:
        return None
    wait = next((w for w in lane.waits if w.name == stages.loaded), None)
    waits = f"{_the(lane.name)} waits {percent(wait.share)} of its time for {wait.name}: " if wait is not None else ""
    return Cause(
        "one-stage", "loads and MMAs in turns",
        f"{waits}a load takes {facts.us(stages.load):.2f} µs and its MMAs {facts.us(stages.multiply):.2f} µs, one "
        "after the other in one buffer",
        LOADING, "with two stages the next tile is loaded while this one is multiplied",
    )  # fmt: skip


def ctas_in_turn(facts: Facts) -> Cause | None:
    """Check for SMs that execute CTAs of one tile each in sequence."""
    loops = facts.loops
    share = facts.us(facts.loop_gaps) / facts.time.us
    if len(loops) < 2 or len({loop.cta for loop in loops}) < len(loops) or share < LITTLE:
        return None
    together = round(sum(loop.end - loop.start for loop in loops) / facts.loop_cycles)
    if together > 1:
        turns = f"{count(len(loops), 'CTA')}, {number(together)} at a time, and multiplies for none of them in"
    else:
        gap = facts.us(facts.loop_gaps / (len(loops) - 1))
        turns = f"{count(len(loops), 'CTA')} in turn; from the last MMA of one to the first MMA of the next pass "
        turns += f"{gap:.1f} µs,"
    return Cause(
        "ctas-in-turn", "one CTA after the other",
        f"an SM runs {turns} {percent(share)} of the launch: write-back, set-up, first load",
        OVERHEAD, "a persistent CTA, which loops over tiles, is set up once and can load its next tile early",
    )  # fmt: skip


def one_role(facts: Facts) -> Cause | None:
    """Check for a warp that issues both MMAs and loads, and stalls both while it waits for one."""
    lane = facts.lane_of("MMA")
    busy = facts.used("tensor core")
    if lane is None or lane is not facts.lane_of("TMA") or not 0 < busy <= BUSY:
        return None
    terms = Resource.ISSUE, Resource.COMPLETION, Resource.WRITE_BACK, Resource.SIGNALS
    if facts.share(*terms) < SOME:
        return None
    own = _own_mmas(facts)
    wait = next((w for w in lane.waits if w.name == own), None)
    waits = f" It waits {percent(wait.share)} of its time for its own MMAs ({own})." if wait is not None else ""
    first = "the same warp loads, multiplies and writes back" if "write" in lane.name or lane.name == "all" else (
        "the same warp loads and multiplies")  # fmt: skip
    written = facts.share(Resource.WRITE_BACK)
    adds = facts.percent(Resource.WRITE_BACK)
    back = f" The write-back adds {adds} of the launch, when nothing is loaded or multiplied." if written > 0.05 else ""
    told = f"{waits}{back}".removesuffix(".")
    return Cause(
        "one-role", "one warp for all",
        f"{first}, so that the tensor core is busy for only {percent(busy)} of the K loop{'.' if told else ''}{told}",
        terms, "Warps of their own for loads, MMAs and write-back do all three at once",
    )  # fmt: skip


def one_accumulator(facts: Facts) -> Cause | None:
    """Check for MMAs of a tile that wait for the write-back of the previous tile."""
    lane = facts.lane_of("MMA")
    if lane is None or not lane.waits or lane.waits[0].share < SOME:
        return None
    wait = lane.waits[0]
    if wait.name not in _freed_by_write_back(facts):
        return None
    return Cause(
        "one-accumulator", "the write-back",
        f"{_the(lane.name)} waits {percent(wait.share)} of its time for {wait.name}, until the write-back has read the "
        "tile before",
        (Resource.WRITE_BACK,),
        "a second accumulator lets the next tile begin meanwhile, and a larger K needs it less",
    )  # fmt: skip


def too_few_stages(facts: Facts) -> Cause | None:
    """Check for loads whose latency more stages would hide."""
    stages = stages_of(facts)
    lane = facts.lane_of("MMA")
    if stages is None or lane is None or _busiest(facts)[1] > FULL or stages.needed <= stages.number:
        return None
    wait = next((wait for wait in lane.waits if wait.name == stages.loaded), None)
    if wait is None or stages.room <= stages.number:
        return None
    fit = "" if stages.needed <= stages.room else f", and {number(stages.room)} fit in shared memory"
    return Cause(
        "too-few-stages", "the latency of loads",
        f"{_the(lane.name)} waits {percent(wait.share)} of its time for {wait.name}: {count(stages.number, 'stage')} "
        f"{'hides' if stages.number == 1 else 'hide'} {facts.us(stages.hidden):.2f} of the "
        f"{facts.us(stages.turn):.2f} µs from a load until its stage is free again",
        (Resource.LATENCY,), f"{number(stages.needed)} would{fit}",
    )  # fmt: skip


def bandwidth(facts: Facts) -> Cause | None:
    """Check for a memory that is saturated by too many bytes per MMA."""
    tensor = facts.used("tensor core")
    shared = _shares(facts)
    least = BUSY if shared else max(BUSY, tensor)
    name = next((name for name in ("L2", "HBM", "shared memory") if facts.used(name) >= least), None)
    if name is None or (shared and _consumers(facts) > 1):
        return None
    loaded, through = facts.per_batch("tma_load_bytes") / 1024, facts.per_batch("shared_bytes") / 1024
    moved = f"{loaded:.0f} KiB are loaded"
    if name == "shared memory":
        moved = f"{through:.0f} KiB go through it"
    remedy = "a cluster of two CTAs that share a tile of B loads less for the same MMAs"
    if shared:
        remedy = "a second consumer in each CTA multiplies the same tile of B by rows of A of its own"
    elif name == "shared memory" and facts.spec.arch == "sm_90a":
        remedy = "a larger tile of D for each CTA uses each operand more often"
    return Cause(
        "bandwidth-of-pair" if shared else "bandwidth", f"the bandwidth of {_article(name)}",
        f"{_article(name)} is busy for {percent(facts.used(name))} of the K loop and the tensor core for "
        f"{percent(tensor)}: {moved} for every {facts.per_batch('tensor_cycles'):.0f} cycles of MMAs",
        (Resource.SHARED,) if name == "shared memory" else (Resource.L2,), remedy,
    )  # fmt: skip


RULES: tuple[Rule, ...] = (
    one_batch, one_cta, copies_by_threads, one_stage, ctas_in_turn, one_role, one_accumulator,
    too_few_stages, bandwidth,
)  # fmt: skip


def _what_is_left(facts: Facts) -> Cause:
    """Return the cause of a kernel to which no rule applies: the terms of its time, and the busiest unit."""
    name, share = _busiest(facts)
    terms = tuple(term.resource for term in facts.shares)
    inside = tuple(resource for resource in terms if resource not in OVERHEAD)
    if not facts.loops:
        return Cause("path", f"{terms[0]}", f"it is on the critical path for {_of_time(facts, terms[0])}", terms)
    said = [f"the tensor core is busy for {percent(facts.used('tensor core'))} of the K loop"]
    if name != "tensor core" and share >= BUSY:
        said[0] += f", which {_article(name)} ({percent(share)}) feeds no faster"
    said.append(
        f"of {us_text(facts.time.us)}, launch and set-up take {facts.spent(Resource.LAUNCH):.1f}, the loop "
        f"{facts.spent(*inside):.1f}, and the write-back after it {facts.spent(Resource.WRITE_BACK):.1f}"
    )
    if facts.sms_used < facts.spec.sms:
        said.append(f"{count(facts.tiles, 'tile')} keep {facts.sms_used} of {facts.spec.sms} SMs busy")
    busy = facts.used("tensor core") * facts.share(*inside)
    label = "the tensor core" if busy >= MUCH else "what is around the K loop"
    return Cause("peak", label, "; ".join(said), terms)


# -- facts in words ----------------------------------------------------------------------------------------------------


def percent(share: float) -> str:
    """Format a share as a percentage."""
    return f"{share * 100:.0f} %"


def _of_time(facts: Facts, *resources: Resource) -> str:
    """Format the microseconds of some terms, beside those of the launch."""
    return f"{facts.spent(*resources):.1f} of {us_text(facts.time.us)}"


def _the(role: str) -> str:
    return "the warp that does all" if role == "all" else f"the {role} warp"


def _article(name: str) -> str:
    return name if name == "shared memory" else f"the {name}"


def _busiest(facts: Facts) -> tuple[str, float]:
    usage = max(facts.usage, key=lambda usage: usage.share, default=None)
    return (usage.name, usage.share) if usage is not None else ("", 0.0)


def _own_mmas(facts: Facts) -> str:
    """Return the barrier on which an MMA-issuing warp awaits their completion; "" for none."""
    lane = facts.scene.lane(facts.focus.cta, TrackKind.TENSOR)
    names = {base_name(m.barrier.name) for m in (lane.intervals if lane else ()) if m.barrier is not None}
    found = facts.lane_of("MMA")
    waits = [w.name for w in found.waits] if found is not None else []
    return next((name for name in waits if name in names or name == Awaited.WARPGROUP_MMAS.value), "")


def _freed_by_write_back(facts: Facts) -> set[str]:
    """Return the barriers at which only write-back warps arrive."""
    arrived: dict[str, set[str]] = {}
    for change in facts.scene.timeline.changes:
        if change.kind is not Signal.COMPLETE:
            arrived.setdefault(base_name(change.barrier.name), set()).add(facts.scene.role(change.source))
    return {name for name, roles in arrived.items() if roles == {"write-back"}}


def _shares(facts: Facts) -> bool:
    """Return whether the CTAs of a cluster share operands."""
    return any(cta.rank for cta in facts.timeline.ctas)


def _consumers(facts: Facts) -> int:
    """Return the number of MMA-issuing roles of a cluster: warps for tcgen05.mma, warpgroups for wgmma."""
    cluster = facts.scene.cluster_of(facts.focus.cta)
    issuers = {
        (run.track.cta, run.track.warp if "tcgen05" in run.name else (run.track.warp or 0) // 4)
        for track in facts.scene.warps(facts.focus.cta)
        for run in facts.scene.lanes[track].intervals
        if multiplies(run) and run.track.cta in cluster
    }
    return len(issuers)
