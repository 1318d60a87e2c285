"""Rules for barriers: their initialisation, arrivals and phases."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tirx_mini.isa import BarrierEffect
from tirx_mini.sim import (
    ArrivalOverflow,
    BadInitCount,
    BadThreadCount,
    BarrierOfEndedCta,
    BarrierUse,
    ClusterBarrierMisuse,
    EarlySignal,
    ForeignBarrier,
    IncompletePhase,
    MbarrierFact,
    MisalignedBarrier,
    MissingInitFence,
    NoSuchBarrier,
    Reinitialised,
    RoundsUnordered,
    Signal,
    SignalAtExit,
    StoreOverBarrier,
    ThreadCountsDiffer,
    TxCountOverflow,
    UninitialisedBarrier,
    UnorderedInit,
    UnorderedPhases,
    UnpairedClusterBarrier,
)

from .kind import (
    ALIVE,
    IN_FLIGHT_AT_EXIT,
    MISALIGNED_ACCESS,
    RACE,
    RELAXED_END,
    Explanation,
    Kind,
    Notes,
    explains,
)

INCOMPLETE = Kind(
    "barrier-incomplete", "TX115", "deadlock", "A phase that was begun gets all of its arrivals.",
    "PTX ISA: mbarrier.init",
)  # fmt: skip
UNINITIALISED = Kind(
    "barrier-uninitialised", "TX121", "fault", "An mbarrier is initialised before any other operation on it.",
    "PTX ISA: mbarrier.init",
)  # fmt: skip
REINITIALISED = Kind(
    "barrier-reinitialised", "TX122", "fault", "An mbarrier is initialised once, unless mbarrier.inval ends its life.",
    "PTX ISA: mbarrier.init",
)  # fmt: skip
OVERFLOW = Kind(
    "barrier-overflow", "TX123", "fault", "No more arrivals come in a phase than init was given.",
    "PTX ISA: mbarrier, contents of the mbarrier object",
)  # fmt: skip
MISUSE = Kind(
    "barrier-misuse", "TX124", "fault", "Barriers are used by their own operations, with counts that agree.",
    "PTX ISA: mbarrier",
)  # fmt: skip
MISSING_FENCE = Kind(
    "missing-mbarrier-fence", "TX205", "hazard",
    "A fence shows a new mbarrier to the async proxy and to other CTAs.",
    "PTX ISA: fence.mbarrier_init",
)  # fmt: skip

VERBS: Mapping[BarrierUse, str] = {
    BarrierUse.INVALIDATE: "invalidates",
    BarrierUse.ARRIVE: "arrives at",
    BarrierUse.EXPECT: "expects bytes at",
    BarrierUse.WAIT: "waits for",
    BarrierUse.TEST: "tests",
    BarrierUse.COMMIT: "commits to",
    BarrierUse.LOAD: "loads for",
}
"""The verb for each use of a barrier by a warp."""


def _here(fact: MbarrierFact) -> Notes:
    return (("it is initialised here", fact.init),)


def _barrier(fact: MbarrierFact) -> dict[str, str]:
    return {"barrier": str(fact.barrier)}


# -- mbarriers ---------------------------------------------------------------------------------------------------------


@explains(BadInitCount, MISUSE)
def bad_init_count(fact: BadInitCount) -> Explanation:
    return Explanation(
        f"{fact.barrier} is initialised for {fact.count} arrivals; the count must be 1 to {fact.most}",
        about=_barrier(fact),
        rule="PTX ISA: mbarrier.init",
    )


@explains(Reinitialised, REINITIALISED)
def reinitialised(fact: Reinitialised) -> Explanation:
    return Explanation(
        f"{fact.barrier} is initialised a second time",
        "initialise each barrier once, by one thread; mbarrier.inval must come before a second init",
        (("it was initialised here before", fact.init),),
        _barrier(fact),
    )


@explains(UninitialisedBarrier, UNINITIALISED)
def uninitialised(fact: UninitialisedBarrier) -> Explanation:
    if fact.ended is not None:
        return Explanation(
            f"{fact.origin.role} {VERBS[fact.use]} {fact.barrier} after mbarrier.inval, which ended the barrier",
            f"invalidate {fact.barrier} after its last use, behind a synchronisation of all who use it",
            (("it is invalidated here", fact.ended),),
            _barrier(fact),
            "PTX ISA: mbarrier.inval",
        )
    return Explanation(
        f"{fact.origin.role} {VERBS[fact.use]} {fact.barrier}, which was not initialised before",
        f"let one thread initialise {fact.barrier} at the top level of the kernel, then fence and synchronise the CTA; "
        "a guard that no thread satisfies leaves it uninitialised",
        about=_barrier(fact),
        rule="PTX ISA: mbarrier",
    )


_LOCAL: Mapping[BarrierEffect, tuple[str, str]] = MappingProxyType({
    BarrierEffect.INIT: ("initialises", "let a thread of each CTA initialise the CTA's own barriers"),
    BarrierEffect.INVALIDATE: ("invalidates", "let a thread of each CTA invalidate the CTA's own barriers"),
    BarrierEffect.ARRIVE: (
        "arrives at",
        "name the CTA, as in bar.arrive(stage, cta_id=0): that is the remote form, which maps the address itself",
    ),
    BarrierEffect.EXPECT_TX: (
        "expects bytes at",
        "arrive with the bytes, as in bar.remote_view(0).arrive(stage, bytes): that has a remote form",
    ),
    BarrierEffect.WAIT: ("waits for", "wait for a barrier of the own CTA, at which the other CTA arrives"),
    BarrierEffect.TEST: ("tests", "test a barrier of the own CTA, at which the other CTA arrives"),
})  # fmt: skip
"""The verb for an instruction with .shared::cta on a barrier of another CTA, and the hint."""


@explains(ForeignBarrier, MISUSE)
def foreign_barrier(fact: ForeignBarrier) -> Explanation:
    verb, hint = _LOCAL[fact.effect]
    return Explanation(
        f"{fact.origin.role} {verb} {fact.barrier} of {fact.owner} with an instruction for the barriers of its own CTA "
        "(.shared::cta)",
        hint,
        about={"barrier": str(fact.barrier)},
        rule="PTX ISA: mbarrier, supported operations on shared::cluster",
    )


@explains(UnorderedInit, RACE)
def unordered_init(fact: UnorderedInit) -> Explanation:
    if fact.remote:
        return Explanation(
            f"{fact.origin.place} uses {fact.barrier} of {fact.owner} with no synchronisation of the cluster after its "
            "initialisation",
            "after the initialisation: fence.mbarrier_init(), then cluster_sync(), which orders both CTAs",
            _here(fact),
            {**_barrier(fact), "buffer": str(fact.barrier), "owner": fact.owner},
            order=f"if {fact.origin.place} gets to {fact.barrier} before {fact.owner} has initialised it",
        )
    return Explanation(
        f"{fact.origin.role} uses {fact.barrier} with no synchronisation after its initialisation",
        "after the initialisation: fence.mbarrier_init(), then cta_sync() (cluster_sync() in a cluster)",
        _here(fact),
        {**_barrier(fact), "buffer": str(fact.barrier)},
        order=f"if {fact.origin.role} gets to {fact.barrier} before it is initialised",
    )


@explains(MissingInitFence, MISSING_FENCE)
def missing_init_fence(fact: MissingInitFence) -> Explanation:
    by = "an asynchronous operation" if fact.proxy else "another CTA"
    if fact.proxy and fact.remote:
        by += " of another CTA"
    verb = "signals" if fact.proxy else "uses"
    fence = "executed fence.mbarrier_init" + (": another lane did" if fact.other_lane else "")
    between = "synchronisation of the cluster" if fact.remote else "synchronisation that follows"
    return Explanation(
        f"{by} {verb} {fact.barrier}, and the thread that initialised it has not {fence} before the {between}",
        "let the thread that initialises the barriers call Tx.ptx.fence.mbarrier_init() next, before the "
        f"{'cluster barrier' if fact.remote else 'barrier'}",
        (("it is used here", fact.use),),
        _barrier(fact),
        severity="error" if fact.proxy else "warning",
        order="if the operation reaches the barrier before the initialisation, as the ISA allows without the fence",
    )


@explains(TxCountOverflow, OVERFLOW)
def tx_count_overflow(fact: TxCountOverflow) -> Explanation:
    return Explanation(
        f"{fact.barrier} would expect {fact.tx} bytes; the tx-count of an mbarrier ends at {fact.most}",
        about=_barrier(fact),
        rule="PTX ISA: mbarrier, tx-count",
    )


@explains(ArrivalOverflow, OVERFLOW)
def arrival_overflow(fact: ArrivalOverflow) -> Explanation:
    waiting = f", while {fact.tx} bytes are outstanding" if fact.tx else ""
    about = {**_barrier(fact), "role": fact.origin.role}
    if fact.early:
        return Explanation(
            f"{fact.origin.role} arrives at {fact.barrier} again before its phase is complete{waiting}",
            f"before this round of {fact.barrier}, wait for the barrier that says that the last round was consumed, in "
            "its phase",
            (("it was initialised here", fact.init),),
            {**about, "consequence": True},
            "PTX ISA: mbarrier, pending count",
        )
    return Explanation(
        f"{fact.barrier} gets more arrivals in one phase than its init's {fact.expected}{waiting}",
        f"initialise {fact.barrier} with the number of arrivals of one round, and arrive only that often",
        (("it was initialised here", fact.init),),
        about,
        "PTX ISA: mbarrier, pending count",
    )


@explains(EarlySignal, OVERFLOW)
def early_signal(fact: EarlySignal) -> Explanation:
    what = "arrival" if fact.signal is Signal.ARRIVE else str(fact.signal)
    return Explanation(
        f"nothing keeps this {what} at {fact.barrier} by {fact.origin.role} out of the phase before",
        f"before this round of {fact.barrier}, wait for its last phase, or for a barrier that is signalled after it",
        _here(fact),
        {**_barrier(fact), "role": fact.origin.role, "consequence": True},
        "PTX ISA: mbarrier, phase completion",
        order=f"if the {what} comes before the phase before is complete, with its arrivals and bytes",
    )


@explains(UnorderedPhases, RACE)
def unordered_phases(fact: UnorderedPhases) -> Explanation:
    last = fact.last
    notes = ((f"the {last.signal} of {last.role} completes it here", last.span),) if last else ()
    late = "a wait that comes so late"
    then = f"only a later phase ends {late}" if fact.ends else f"{late} does not end"
    return Explanation(
        f"{fact.origin.role} waits for the phase of parity {fact.parity} of {fact.barrier}, and nothing keeps the next "
        f"phase from completing first: {then}",
        "check the stage and the phase of this wait; if they are right, keep the arrivals of the next phase back until "
        "it has returned: by an mbarrier in the other direction, or by a cta_sync() in the loop",
        notes,
        {**_barrier(fact), "buffer": str(fact.barrier)},
        "PTX ISA: mbarrier, phase completion",
        order=f"if {fact.origin.role} gets to this wait only after the next phase is complete",
        severity="warning" if fact.ends else "error",
    )


@explains(StoreOverBarrier, MISUSE)
def store_over_barrier(fact: StoreOverBarrier) -> Explanation:
    return Explanation(
        f"{'an ordinary store' if fact.what == 'store' else f'the {fact.what}'} overwrites {fact.barrier}, which is an "
        "mbarrier" + ("" if fact.used else " that nobody invalidated"),
        f"give the barrier memory of its own, and check the offset of the {fact.what}"
        if fact.used
        else f"call mbarrier.inval on {fact.barrier}, behind a synchronisation, before its memory is used again",
        (("it was initialised here", fact.init),),
        _barrier(fact),
        "PTX ISA: mbarrier" if fact.used else "PTX ISA: mbarrier.inval",
        severity="error" if fact.used else "warning",
        order=None if fact.used else "if a later kernel's barrier lies there, and its init finds the old one",
    )


@explains(MisalignedBarrier, MISALIGNED_ACCESS)
def misaligned_barrier(fact: MisalignedBarrier) -> Explanation:
    return Explanation(f"the mbarrier at byte {fact.offset} is not at a multiple of 8", rule="PTX ISA: mbarrier")


@explains(BarrierOfEndedCta, IN_FLIGHT_AT_EXIT)
def barrier_of_ended_cta(fact: BarrierOfEndedCta) -> Explanation:
    return Explanation(f"{fact.origin.place} uses an mbarrier of {fact.owner}, which has ended", ALIVE)


@explains(SignalAtExit, IN_FLIGHT_AT_EXIT)
def signal_at_exit(fact: SignalAtExit) -> Explanation:
    what = "arrival" if fact.signal.signal.value == "arrive" else fact.signal.signal
    if fact.relaxed:
        return Explanation(
            f"{fact.signal.role} arrives at {fact.barrier} of {fact.origin.cta} before a relaxed arrival: "
            f"{RELAXED_END}",
            "arrive at the cluster's barrier without .relaxed: a release orders the arrival before the end of the CTA",
            about=_barrier(fact),
            severity="warning",
            order=f"if the arrival lands after the end of {fact.origin.cta}",
        )
    if fact.signal.signal is Signal.COMMIT:
        return Explanation(
            f"{fact.origin.cta} may end before a commit of {fact.signal.role} arrives at its {fact.barrier}: no wait "
            "for that phase ends before, and the arrivals of two commits are in no order",
            f"wait for the last phase of {fact.barrier} before {fact.origin.cta} ends",
            about=_barrier(fact),
            severity="warning" if fact.signal.own else "error",
            order=f"if the arrival lands after the end of {fact.origin.cta}",
        )
    return Explanation(
        f"{fact.origin.cta} may end before the {what} of {fact.signal.role} gets to its {fact.barrier}",
        ALIVE,
        about=_barrier(fact),
        order=f"if {fact.origin.cta} ends before the {what} arrives",
    )


@explains(IncompletePhase, INCOMPLETE, "warning")
def incomplete_phase(fact: IncompletePhase) -> Explanation:
    return Explanation(
        f"{fact.barrier} got {fact.arrived} of its {fact.expected} arrivals in its last round: a wait for them would "
        "never end",
        f"initialise it with {fact.arrived}, or let {fact.expected} threads arrive in each round",
        tuple((f"{arrival.signal} by {arrival.role}", arrival.span) for arrival in fact.by[:4]),
        _barrier(fact),
    )


# -- barriers that count threads ---------------------------------------------------------------------------------------


@explains(NoSuchBarrier, MISUSE)
def no_such_barrier(fact: NoSuchBarrier) -> Explanation:
    return Explanation(
        f"barrier {fact.number} does not exist: a CTA has barriers 0 to {fact.barriers - 1}", rule="PTX ISA: bar.sync"
    )


@explains(BadThreadCount, MISUSE)
def bad_thread_count(fact: BadThreadCount) -> Explanation:
    return Explanation(
        f"barrier {fact.number} cannot count {fact.threads} threads: it counts whole warps, and the CTA has "
        f"{fact.limit} threads",
        rule="PTX ISA: bar.sync",
    )


@explains(ThreadCountsDiffer, MISUSE)
def thread_counts_differ(fact: ThreadCountsDiffer) -> Explanation:
    return Explanation(
        f"barrier {fact.number} is used for {fact.threads} threads while others wait at it for {fact.expected}",
        "all threads that meet at a barrier name the same number of threads; use another barrier id",
        ((f"{fact.place} arrived here", fact.span),),
        {"barrier": f"barrier {fact.number}"},
    )


@explains(RoundsUnordered, RACE)
def rounds_unordered(fact: RoundsUnordered) -> Explanation:
    if fact.again:
        other = fact.place if fact.again != fact.place else fact.origin.place
        return Explanation(
            f"{fact.again} arrives at barrier {fact.number} again without having waited for the others of the round: "
            "bar.arrive counts, and does not wait",
            f"before {fact.again} arrives again, let it wait for {other} at a barrier of the other direction",
            ((f"{fact.place} uses it here", fact.span),),
            {"barrier": f"barrier {fact.number}"},
            "PTX ISA: bar.arrive",
            order=f"if {fact.again} arrives twice before {other} arrives",
        )
    if fact.threads != fact.before:
        return Explanation(
            f"barrier {fact.number} is used for {fact.threads} threads by {fact.origin.place} and for {fact.before} by "
            f"{fact.place}, and nothing keeps their rounds apart",
            "all threads that meet at a barrier name the same number of threads; others use another barrier id",
            ((f"{fact.place} uses it here", fact.span),),
            {"barrier": f"barrier {fact.number}"},
            "PTX ISA: bar.sync",
            order=f"if {fact.origin.place} arrives while the round of {fact.place} is not over",
        )
    return Explanation(
        f"barrier {fact.number} is used by {fact.origin.place} and by {fact.place}, and nothing keeps their rounds "
        "apart: it counts the threads of both",
        "give each group of warps that synchronises by itself a barrier id of its own (1 to 15)",
        ((f"{fact.place} uses it here", fact.span),),
        {"barrier": f"barrier {fact.number}"},
        "PTX ISA: bar.sync",
        order=f"if {fact.origin.place} arrives while the round of {fact.place} is not over",
    )


@explains(UnpairedClusterBarrier, MISUSE)
def unpaired_cluster_barrier(fact: UnpairedClusterBarrier) -> Explanation:
    if fact.misuse is ClusterBarrierMisuse.ARRIVES_TWICE:
        return Explanation(
            "a thread arrives at the cluster barrier twice without waiting in between",
            "pair each barrier.cluster.arrive with one wait",
            rule="PTX ISA: barrier.cluster",
        )
    return Explanation(
        "barrier.cluster.wait without an arrive before it",
        "call barrier.cluster.arrive first, or cluster_sync()",
        rule="PTX ISA: barrier.cluster",
    )
