"""Rules for the order of accesses: races, missing fences, and uninitialised memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tirx_mini.sim import Access, EarlyAccess, Extent, Hazard, HazardKind, Operation, ReadOnlyPath, Space, place_key

from .kind import MISSING_TMEM_WAIT, RACE, Explanation, Kind, Notes, explains
from .orders import between, is_signalled_before, missing_wait

MISSING_PROXY_FENCE = Kind(
    "missing-proxy-fence", "TX202", "hazard",
    "TMA and MMA see what threads wrote after fence.proxy.async and a synchronisation.",
    "PTX ISA: memory consistency model, proxies; fence.proxy.async",
)  # fmt: skip
MISSING_TCGEN05_FENCE = Kind(
    "missing-tcgen05-fence", "TX203", "hazard",
    "tcgen05 operations of different threads are ordered by fences around the synchronisation.",
    "PTX ISA: tcgen05.fence",
)  # fmt: skip
IDENTICAL_WRITES = Kind(
    "identical-writes", "TX206", "hazard", "Two writes to one place are ordered, also if their bytes are the same.",
    "PTX ISA: memory consistency model, causality order",
)  # fmt: skip
UNPAIRED_OPERATIONS = Kind(
    "unpaired-operations", "TX217", "hazard",
    "Of the operations that a thread gives the tensor core, only some pairs execute in order.",
    "PTX ISA: tcgen05, pipelined instructions",
)  # fmt: skip
UNINITIALISED_READ = Kind("uninitialised-read", "TX207", "hazard", "Memory holds nothing until it is written.")
MISSING_GRID_WAIT = Kind(
    "missing-grid-wait", "TX213", "hazard",
    "A kernel that begins early waits for the one before it ahead of global memory.", "PTX ISA: griddepcontrol",
)  # fmt: skip

KINDS: Mapping[HazardKind, Kind] = MappingProxyType({
    HazardKind.RACE: RACE,
    HazardKind.IDENTICAL_WRITES: IDENTICAL_WRITES,
    HazardKind.EQUAL_STORES: IDENTICAL_WRITES,
    HazardKind.UNPAIRED: UNPAIRED_OPERATIONS,
    HazardKind.MISSING_TMEM_WAIT: MISSING_TMEM_WAIT,
    HazardKind.MISSING_PROXY_FENCE: MISSING_PROXY_FENCE,
    HazardKind.MISSING_READ_FENCE: MISSING_PROXY_FENCE,
    HazardKind.MISSING_FENCE_AFTER: MISSING_TCGEN05_FENCE,
    HazardKind.MISSING_FENCE_BEFORE: MISSING_TCGEN05_FENCE,
    HazardKind.RELEASE_SCOPE: RACE,
    HazardKind.ACQUIRE_SCOPE: RACE,
    HazardKind.SLOT_SCOPE: RACE,
    HazardKind.UNINITIALISED: UNINITIALISED_READ,
    HazardKind.LOST_REDUCTION: RACE,
})  # fmt: skip

FENCES = (MISSING_PROXY_FENCE.name, MISSING_TCGEN05_FENCE.name)
"""The kinds of findings about missing fences, which are never consequences of others."""

FORGIVEN = (
    HazardKind.MISSING_FENCE_AFTER, HazardKind.MISSING_FENCE_BEFORE, HazardKind.IDENTICAL_WRITES, HazardKind.UNPAIRED,
    HazardKind.LOST_REDUCTION, HazardKind.MISSING_READ_FENCE,
)  # fmt: skip
"""The hazards that the ISA rules out but current hardware tolerates."""

PROXY_HINT = (
    'each thread that writes shared memory calls Tx.ptx.fence.proxy_async("shared::cta") after its writes, then '
    "synchronises with the thread that issues the asynchronous operation"
)
GLOBAL_PROXY_HINT = (
    'each thread that writes global memory calls Tx.ptx.fence.proxy_async("global") after its writes, then '
    "synchronises with the thread that issues the asynchronous operation"
)
FOREIGN_STORE_HINT = (
    'the thread that issues the copy calls Tx.ptx.fence.proxy_async("global") before it, after the synchronisation '
    "with the CTA whose store it follows: the async proxy of each CTA is its own"
)
AFTER_HINT = "call Tx.ptx.tcgen05.fence.after_thread_sync() after the wait and before this operation"
BEFORE_HINT = (
    "each thread calls Tx.ptx.tcgen05.fence.before_thread_sync() after it is done with tensor memory, and before it "
    "arrives or synchronises"
)

_UNWRITTEN: Mapping[Operation, str] = MappingProxyType({
    Operation.TCGEN05_LD: "wait for the mbarrier of the MMA, in its right phase, before reading; and check the columns",
    Operation.TCGEN05_MMA: "an MMA that begins a sum has accum=False; and what it reads is copied, and waited for, "
    "before it is issued",
})  # fmt: skip
_UNLOADED = "before the MMA, wait for the mbarrier of the TMA load, in its right phase; and check offsets and stages"
_UNWRITTEN_ELSE = "write it first, and check offsets, stages and loop bounds"

_RELEASE_HINT = (
    'write scope="cluster" in the arrival, and wait for it by Tx.ptx.mbarrier.try_wait_acquire_cluster(bar, phase)'
)
_ACQUIRE_HINT = (
    "wait by Tx.ptx.mbarrier.try_wait_acquire_cluster(bar, phase), or call "
    'Tx.ptx.fence.acq_rel("cluster") after the wait'
)
_HALF = "16 of each 32 lanes: the accumulator of an MMA with M = 64 has only the other 16"
_WHOLE = (
    "encode M = 128 in the instruction descriptor, or load 64 rows with a shape of 16 lanes (16x64b, 16x128b, 16x256b)"
)

_ORDERED_BY: Mapping[tuple[Operation, Operation], str] = MappingProxyType({
    (Operation.TCGEN05_MMA, Operation.TCGEN05_LD):
        "before reading, wait for the mbarrier that tcgen05.commit signals, in its right phase",
    (Operation.TCGEN05_LD, Operation.TCGEN05_MMA):
        "let readers arrive at an mbarrier after tcgen05.wait.ld(), and wait for it, in its right phase, before this "
        "MMA",
    (Operation.TMA_LOAD, Operation.TCGEN05_MMA):
        "before the MMA, wait for the mbarrier of the TMA load, in its right phase",
    (Operation.TCGEN05_MMA, Operation.TMA_LOAD):
        "before loading again, wait for the mbarrier that the MMA's commit signals, in its right phase",
    (Operation.TCGEN05_CP, Operation.TCGEN05_LD):
        "before reading, wait for the mbarrier that tcgen05.commit signals after the copy",
    (Operation.TMA_LOAD, Operation.TCGEN05_CP):
        "before the copy, wait for the mbarrier of the TMA load, in its right phase",
    (Operation.TMA_LOAD, Operation.WGMMA):
        "before the MMA, wait for the mbarrier of the TMA load, in its right phase",
    (Operation.WGMMA, Operation.TMA_LOAD):
        "before loading again, wait for an mbarrier at which the warpgroup arrives after commit_group() and "
        "wait_group()",
    (Operation.TMA_LOAD, Operation.TMA_LOAD):
        "before loading there again, wait for the mbarrier that says it is free, in its right phase",
})  # fmt: skip
"""The hints for races between two operations, by their kinds; the earlier operation comes first."""


@explains(Hazard)
def hazard(fact: Hazard) -> Explanation:
    where = extent_text(fact.extent)
    message, hint = _words(fact, where)
    about: dict[str, Any] = {"buffer": _buffer(fact.extent), "where": where, "role": fact.origin.role}
    about["operation"] = str(fact.operation)
    notes: Notes = ()
    earlier = fact.earlier
    if earlier is not None:
        about["other_role"] = earlier.role
        about["other_operation"] = str(earlier.operation)
        verb = verb_of(earlier.operation, earlier.write)
        notes = ((f"the {earlier.operation} of {earlier.role} {verb} it here", earlier.span),)
    if fact.extent.beside is not None:
        notes = (("the MMA writes its 64 rows here", fact.extent.beside.span),)
    if fact.extent.others:
        notes = (*notes, (f"{fact.extent.buffer} shares memory with {' and '.join(fact.extent.others)}", None))
    severity = "warning" if fact.kind in FORGIVEN or _needs_no_cache(fact) else "error"
    by_the_letter = fact.kind is HazardKind.MISSING_READ_FENCE and fact.extent.space is Space.GLOBAL
    if by_the_letter or fact.kind in (HazardKind.EQUAL_STORES, HazardKind.SLOT_SCOPE):
        severity = "note"
    return Explanation(
        message, hint, (*notes, *_barrier_notes(fact)), about,
        kind=KINDS[fact.kind], severity=severity, order=order_of(fact),
    )  # fmt: skip


def _needs_no_cache(fact: Hazard) -> bool:
    """Return whether a wait acquires at too narrow a scope for bytes that are not read through the L1 cache.

    An acquire at the scope of the cluster empties that cache, and is otherwise the same instruction.
    """
    through_l1 = fact.extent.space is Space.GLOBAL and fact.operation is Operation.LOAD and fact.strong is None
    return fact.kind is HazardKind.ACQUIRE_SCOPE and not through_l1


def order_of(fact: Hazard) -> str | None:
    """Return the legal order in which a hazard causes an error, as a clause; None for an uninitialised read in this
    run.

    The run shows the order in which two accesses took effect, but not the intended order: a race is only possible,
    unless the result is compared and found wrong. If an asynchronous operation was issued first in every order and took
    effect last, the race has occurred.
    """
    earlier = fact.earlier
    if earlier is None or (fact.overtaken and fact.kind is HazardKind.RACE):
        return None
    later_role = fact.origin.role
    first = f"the {earlier.operation} of {earlier.role}"
    second = "its" if later_role == earlier.role else f"the {fact.operation} of {later_role}"
    second = f"the {fact.operation}" if second == "its" else second
    if fact.kind is HazardKind.MISSING_PROXY_FENCE:
        to = "come to the async proxy of its CTA" if earlier.operation in BULK_STORES else "left the generic proxy"
        return f"if {second} executes before the bytes of {first} have {to}"
    if fact.kind is HazardKind.MISSING_READ_FENCE:
        return f"if {second} overtakes {first}, whose value no instruction has used by then"
    if fact.kind is HazardKind.MISSING_FENCE_AFTER:
        return f"if {second} begins before the wait ahead of it, as the ISA allows without the fence"
    if fact.kind is HazardKind.MISSING_FENCE_BEFORE:
        return f"if {first} is still under way when its warp signals, as the ISA allows without the fence"
    if fact.kind is HazardKind.RELEASE_SCOPE:
        return f"if the bytes of {first} come to the other CTA after the arrival"
    if fact.kind is HazardKind.ACQUIRE_SCOPE:
        return f"if {second} finds bytes from before the wait, as a cache holds them"
    if fact.kind is HazardKind.MISSING_TMEM_WAIT:
        return f"if {first} is still in flight when {second} executes"
    if fact.kind in (HazardKind.IDENTICAL_WRITES, HazardKind.EQUAL_STORES):
        return "if two writes at once left other bytes than both write"
    if fact.kind is HazardKind.UNPAIRED:
        return f"if {second} overtakes {first}, which no chip is known to let it do"
    verb, other = verb_of(fact.operation, fact.writes), verb_of(earlier.operation, earlier.write)
    if earlier.operation is Operation.TCGEN05_DEALLOC:
        return f"if another CTA takes the columns before {second} {verb} them"
    if fact.operation is Operation.TCGEN05_DEALLOC:
        return f"if {second} frees the columns before {first} {other} them, and another CTA takes them"
    return f"if {second} {verb} it before {first} {other} it"


def _words(fact: Hazard, where: str) -> tuple[str, str]:
    """Return the (message, hint) of a hazard."""
    earlier = fact.earlier
    does = f"the {fact.operation} of {fact.origin.role} {verb_of(fact.operation, fact.writes)} {where}"
    if earlier is None and fact.extent.beside is not None:
        return f"{does}, of which nothing has written {_HALF}", _WHOLE
    if earlier is None:
        return f"{does}, which nothing has written", _unwritten_hint(fact)
    did = f"{_PAST[verb_of(earlier.operation, earlier.write)]} by the {earlier.operation} of {earlier.role}"
    if fact.kind is HazardKind.MISSING_PROXY_FENCE:
        hint = GLOBAL_PROXY_HINT if fact.extent.space is Space.GLOBAL else PROXY_HINT
        if earlier.operation in BULK_STORES:
            hint = FOREIGN_STORE_HINT
        return f"{does}, {did}, without fence.proxy.async between the two", hint
    if fact.kind is HazardKind.MISSING_READ_FENCE:
        return (
            f"{does}, {did}, without fence.proxy.async between the two",
            'each reader calls Tx.ptx.fence.proxy_async("shared::cta") before it signals, or the loader after its wait',
        )
    if fact.kind is HazardKind.MISSING_FENCE_BEFORE:
        return f"{does}, {did}, which executed no tcgen05.fence.before_thread_sync() after it", BEFORE_HINT
    if fact.kind is HazardKind.MISSING_FENCE_AFTER:
        return f"{does}, {did}, without tcgen05.fence.after_thread_sync() between the two", AFTER_HINT
    if fact.kind is HazardKind.MISSING_TMEM_WAIT:
        if earlier.operation is Operation.TCGEN05_ST:
            return (
                f"{does} while it may still be being {did}: tcgen05.wait.st() is missing after the store",
                "call Tx.ptx.tcgen05.wait.st() after the stores, before tensor memory is accessed again",
            )
        return (
            f"{does} while it may still be being {did}: tcgen05.wait.ld() is missing after the load",
            "call Tx.ptx.tcgen05.wait.ld() after the loads, before signalling that tensor memory is free",
        )
    if fact.kind in (HazardKind.RELEASE_SCOPE, HazardKind.SLOT_SCOPE):
        arrival = "the arrival between the two, at another CTA's mbarrier, releases at the scope .cta"
        return f"{does}, {did}, and {arrival}", _RELEASE_HINT
    if fact.kind is HazardKind.ACQUIRE_SCOPE:
        return f"{does}, {did}, and the wait between the two acquires at the scope .cta", _ACQUIRE_HINT
    if fact.kind is HazardKind.LOST_REDUCTION:
        return (
            f"{does}, {did}, and nothing orders the two: a store that comes last erases what was added",
            "store before the launch, or let a barrier or a flag order the store before the atomic operations",
        )
    if fact.kind is HazardKind.UNPAIRED:
        return (
            f"{does}, {did} and issued before by the same thread: the ISA does not say that the two execute in order",
            "commit, or call Tx.ptx.tcgen05.fence.before_thread_sync(), between the two; or use other columns",
        )
    if fact.kind in (HazardKind.IDENTICAL_WRITES, HazardKind.EQUAL_STORES):
        seen = "" if fact.kind is HazardKind.EQUAL_STORES or fact.operation is not Operation.STORE else " in this run"
        return (
            f"{does}, which is also {did}, in no order; both write the same bytes{seen}",
            "let one thread write it: select one warp before electing a lane",
        )
    hint = _race_hint(fact, earlier)
    if fact.overtaken:
        return f"{does} only after it was {did}, although it was issued before: nothing makes the two wait", hint
    return f"{does} while it may be {did}: nothing orders the two", hint


def _unwritten_hint(fact: Hazard) -> str:
    """Return the hint for an operation that reads uninitialised memory."""
    operand = fact.operation is Operation.TCGEN05_MMA and fact.extent.space is not Space.TENSOR
    if operand and fact.cluster is not None and is_signalled_before(fact.cluster, fact.operation):
        return _UNLOADED
    return _UNWRITTEN.get(fact.operation, _UNWRITTEN_ELSE)


_PAST: Mapping[str, str] = MappingProxyType({"writes": "written", "reads": "read", "frees": "freed"})


def verb_of(operation: Operation, writes: bool) -> str:
    if operation is Operation.TCGEN05_DEALLOC:
        return "frees"
    return "writes" if writes else "reads"


BULK_STORES = (Operation.TMA_STORE, Operation.TMA_REDUCE)
"""Operations that read shared memory as part of a bulk group."""


def _read_by_a_thread(fact: Hazard, earlier: Access) -> bool:
    """Return whether one access is a bulk store to global memory and the other a read."""
    return (earlier.operation in BULK_STORES and earlier.write and not fact.writes) or (
        fact.operation in BULK_STORES and fact.writes and not earlier.write
    )


def _same_store(fact: Hazard, earlier: Access) -> bool:
    """Return whether one ordinary store writes the same elements in two warps."""
    stores = fact.writes and earlier.write and fact.operation is earlier.operation is Operation.STORE
    return stores and place_key(earlier.span) == place_key(fact.origin.span) and earlier.role != fact.origin.role


def _cta(role: str) -> str:
    """Return the CTA of a role, "" if the grid has only one."""
    return role.partition(" of CTA")[2]


def _race_hint(fact: Hazard, earlier: Access) -> str:
    operations = {earlier.operation, fact.operation}
    if operations == {Operation.TCGEN05_MMA}:
        return (
            "MMAs of one shape, kind and accumulator are in order, others are not: wait for the commit of the first, "
            "or give them columns of their own"
        )
    if _same_store(fact, earlier):
        what = "CTA" if _cta(earlier.role) != _cta(fact.origin.role) else "warp"
        return (
            f"this statement writes the same elements in {earlier.role} and in {fact.origin.role}: its index lacks the "
            f"number of the {what}, and no synchronisation makes up for that"
        )
    if fact.extent.space is Space.GLOBAL and _read_by_a_thread(fact, earlier):
        return (
            "before anybody is told that the bytes are there: commit_group(), wait_group(0); with read=True it says "
            "only that shared memory was read, and nothing of the writes"
        )
    if fact.strong or earlier.strong:
        return _strong_hint(fact, earlier)
    if fact.foreign or (fact.extent.space is Space.GLOBAL and _cta(earlier.role) != _cta(fact.origin.role)):
        return (
            "CTAs run in no order: let each write its own part, or let one release a flag (st.release, or a fence and "
            "an atomic operation) that the other acquires (ld.acquire, or a strong read and a fence), at the scope .gpu"
        )
    if fact.operation in BULK_STORES and not fact.writes:
        if fact.overtaken:
            return "the store may read later: commit_group(), wait_group(0), then synchronise before writing again"
        return "synchronise after the writes (warpgroup_sync or cta_sync), before one thread issues the TMA store"
    if earlier.operation in BULK_STORES and not earlier.write:
        return "after the TMA store: commit_group(), wait_group(0), then synchronise before writing there again"
    meant = (fact.operation, earlier.operation) if fact.overtaken else (earlier.operation, fact.operation)
    if meant in _ORDERED_BY:
        return _ORDERED_BY[meant]
    if _cta(earlier.role) != _cta(fact.origin.role):
        return (
            "cluster_sync() between the two, or an mbarrier that one CTA signals and the other waits for: cta_sync() "
            "orders the threads of one CTA only"
        )
    if Operation.TCGEN05_DEALLOC in operations:
        return "synchronise all warps that use tensor memory (cta_sync or cluster_sync) before tcgen05.dealloc"
    if earlier.operation is Operation.TCGEN05_MMA or fact.operation is Operation.TCGEN05_LD:
        return "the MMA is asynchronous: tcgen05.commit to an mbarrier, and wait for it, in its right phase, first"
    if fact.operation is Operation.TCGEN05_MMA:
        return "cta_sync() between the copy and the MMA; and wait for that MMA before its tile is written again"
    if Operation.TMA_LOAD in operations and not (fact.writes and earlier.write):
        return "wait for the mbarrier of the TMA load before reading, and for its readers before loading again"
    return "synchronise between the two: cta_sync(), warpgroup_sync() or an mbarrier"


def _strong_hint(fact: Hazard, earlier: Access) -> str:
    """Return the reason why two accesses race although at least one is strong."""
    if fact.strong is None or earlier.strong is None:
        weak = fact.origin.role if fact.strong is None else earlier.role
        return f"the access of {weak} is weak: give it a memory order too, or order the two by synchronisation"
    if fact.strong.width != earlier.strong.width:
        return f"the two are {earlier.strong.width} and {fact.strong.width} bytes wide: access the place in one width"
    return (
        f"the scopes are .{earlier.strong.scope} and .{fact.strong.scope}, and one lacks the other's thread: use "
        ".cluster for threads of one cluster, .gpu for all"
    )


_EXPLAINED_BY_BARRIERS = (
    HazardKind.RACE, HazardKind.UNINITIALISED, HazardKind.RELEASE_SCOPE, HazardKind.ACQUIRE_SCOPE, HazardKind.SLOT_SCOPE
)  # fmt: skip


def _barrier_notes(fact: Hazard) -> Notes:
    """Return notes on the barriers involved in a race or an uninitialised read."""
    cluster = fact.cluster
    if cluster is None or fact.kind not in _EXPLAINED_BY_BARRIERS:
        return ()
    if fact.earlier is not None:
        return between(cluster, fact.earlier, fact.operation, fact.origin.role)
    if fact.extent.space is Space.TENSOR and fact.operation is Operation.TCGEN05_MMA:
        return ()
    if (notes := missing_wait(cluster, fact.operation, fact.origin.role)) or fact.waited is None:
        return notes
    return ((f"{fact.origin.role} waited last for {fact.waited.barrier}, here", fact.waited.span),)


def _buffer(extent: Extent) -> str | None:
    if extent.space is Space.TENSOR:
        return extent.buffer or "tensor memory"
    return extent.buffer


def extent_text(extent: Extent) -> str:
    """Return a memory range in words: "Asmem[0, 0, 0] to Asmem[0, 127, 63]", "tmem, columns 0 to 127"."""
    if extent.space is Space.TENSOR:
        low, high = extent.low, extent.high
        columns = f"columns {low} to {high}" if low != high else f"column {low}"
        return f"{_buffer(extent)}, {columns}"
    if extent.first is None:
        return f"bytes {extent.low} to {extent.high - 1} of shared memory"
    return str(extent.first) if extent.first == extent.last else f"{extent.first} to {extent.last}"


@explains(ReadOnlyPath, RACE)
def read_only_path(fact: ReadOnlyPath) -> Explanation:
    written = fact.written
    return Explanation(
        f"{fact.origin.place} reads {fact.buffer} by ld.global.nc, which is for memory that nobody writes during the "
        f"kernel, and {written.role} writes it",
        "load it without nc (not by __ldg), so that the load sees what was written",
        ((f"{written.role} writes it here", written.span),),
        {"buffer": fact.buffer, "role": fact.origin.role},
        "PTX ISA: ld.global.nc",
        severity="error" if fact.kept else "warning",
        order="if the read-only cache holds the bytes from before",
    )


@explains(EarlyAccess, MISSING_GRID_WAIT)
def early_access(fact: EarlyAccess) -> Explanation:
    does = f"the {fact.operation} of {fact.origin.place} {'writes' if fact.writes else 'reads'} {fact.buffer}"
    danger = f"the kernel before this one may still {'use' if fact.writes else 'write'} it"
    notes = tuple((f"{role} waits for that kernel here", span) for role, span in [*fact.before.waits.items()][:1])
    about = {"buffer": fact.buffer}
    order = "if the kernel before this one is still running then"
    if fact.late:
        return Explanation(
            f"{does} in {fact.late} lane{'s' * (fact.late > 1)} that did not wait with the others: {danger}",
            "let every thread call Tx.ptx.griddepcontrol.wait(), or follow it by warp_sync() or cta_sync()",
            notes,
            about,
            order=order,
        )
    return Explanation(
        f"{does} with no griddepcontrol.wait before it: {danger}",
        "let this thread call Tx.ptx.griddepcontrol.wait() first, or synchronise (cta_sync, an mbarrier) with one that "
        "has",
        notes,
        about,
        order=order,
    )
