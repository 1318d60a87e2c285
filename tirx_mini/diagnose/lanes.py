"""Rules for the lanes of a warp, which are separate threads and must synchronise to see each other's accesses."""

from __future__ import annotations

from tirx_mini.sim import CommitOfOtherThread, GroupOfOtherThread, LaneHazard

from .hazards import extent_text, verb_of
from .kind import Explanation, Kind, explains

MISSING_WARP_SYNC = Kind(
    "missing-warp-sync", "TX214", "hazard", "Accesses by different lanes of a warp are ordered by bar.warp.sync.",
    "PTX ISA: bar.warp.sync; memory consistency model, causality order",
)  # fmt: skip
ELECTED_LANE = Kind(
    "elected-lane", "TX215", "hazard", "The thread that elect.sync chooses may be any of the warp.",
    "PTX ISA: elect.sync",
)  # fmt: skip
UNTRACKED_MMA = Kind(
    "untracked-mma", "TX216", "hazard", "tcgen05.commit tracks what the executing thread issued.",
    "PTX ISA: tcgen05.commit",
)  # fmt: skip

SYNC_HINT = (
    "call Tx.cuda.warp_sync() between the two: it, or a barrier, orders what lanes write and read; elect_sync and "
    "shuffles do not"
)
ELECT_HINT = "let one thread do both: keep them under one elect_sync(), or both under lane_id == 0"


@explains(LaneHazard)
def lane_hazard(fact: LaneHazard) -> Explanation:
    earlier = fact.earlier
    where = extent_text(fact.extent)
    does, did = verb_of(fact.operation, fact.writes), verb_of(earlier.operation, earlier.write)
    about = {"buffer": fact.extent.buffer, "where": where, "role": fact.origin.role}
    notes = ((f"a lane of the same warp {did} it here", earlier.span),)
    message = f"a lane of {fact.origin.role} {does} {where}"
    if fact.elected:
        return Explanation(
            f"{message}, which the lane that elect.sync chose {did}, as if the two were one thread", ELECT_HINT, notes,
            about, kind=ELECTED_LANE, severity="warning", order="if elect.sync chooses another lane than the lowest",
        )  # fmt: skip
    order = "if the compiler keeps a lane's value in a register, or lets the lanes part between the two"
    if fact.parted:
        order = "if the lanes take different times from where they part to here"
    between = "with no bar.warp.sync between the two"
    if fact.travelled:
        between = "and only the value that travels by shuffles keeps the two in order"
    elif fact.kept:
        between = "with no bar.warp.sync between the two, which alone orders the lanes"
    return Explanation(
        f"{message}, which another lane {did}, {between}", SYNC_HINT, notes, about,
        kind=MISSING_WARP_SYNC, severity="warning" if fact.travelled or fact.kept else "error", order=order,
    )  # fmt: skip


@explains(CommitOfOtherThread)
def commit_of_other_thread(fact: CommitOfOtherThread) -> Explanation:
    notes = (("the MMA is issued here", fact.mma),)
    if fact.elected:
        return Explanation(
            "the tcgen05.commit and the MMA are executed by one thread only if elect.sync chooses the lowest lane",
            ELECT_HINT, notes, kind=ELECTED_LANE, severity="warning",
            order="if elect.sync chooses another lane: the commit then does not wait for the MMA",
        )  # fmt: skip
    return Explanation(
        "this tcgen05.commit does not wait for the MMA of another lane: a commit tracks what its own thread issued",
        "let the thread that issues the MMA commit it, under the same condition", notes, kind=UNTRACKED_MMA,
    )  # fmt: skip


@explains(GroupOfOtherThread, ELECTED_LANE, "warning")
def group_of_other_thread(fact: GroupOfOtherThread) -> Explanation:
    what = "cp.async.bulk.wait_group" if fact.waits else "cp.async.bulk.commit_group"
    return Explanation(
        f"{what} and the copy are executed by one thread only if elect.sync chooses the lowest lane",
        ELECT_HINT, (("the copy is issued here", fact.copy),),
        order="if elect.sync chooses another lane: each thread has bulk groups of its own",
    )  # fmt: skip
