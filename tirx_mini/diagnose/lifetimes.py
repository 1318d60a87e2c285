"""Rules for shared memory of other CTAs, which is valid from a CTA's start to its end."""

from __future__ import annotations

from tirx_mini.sim import AccessBeforeStart, RemoteAccessAtExit

from .kind import ALIVE, IN_FLIGHT_AT_EXIT, RELAXED_END, Explanation, Kind, explains

NOT_STARTED = Kind(
    "not-started", "TX218", "hazard", "A CTA's shared memory is accessed after the CTA has started.",
    "CUDA C++ Programming Guide: distributed shared memory; PTX ISA: barrier.cluster",
)  # fmt: skip


@explains(RemoteAccessAtExit, IN_FLIGHT_AT_EXIT)
def remote_access_at_exit(fact: RemoteAccessAtExit) -> Explanation:
    cta, access = fact.origin.cta, fact.access
    does = "writes" if access.writes else "reads"
    if fact.relaxed:
        return Explanation(
            f"{access.role} {does} the shared memory of {cta} before a relaxed arrival: {RELAXED_END}",
            "arrive without .relaxed: a release orders the access before the end of the CTA",
            severity="warning",
            order=f"if the access lands after the end of {cta}",
        )
    return Explanation(
        f"{cta} may end before {access.role} {does} its shared memory", ALIVE, order=f"if {cta} ends before the access",
    )  # fmt: skip


@explains(AccessBeforeStart, NOT_STARTED)
def access_before_start(fact: AccessBeforeStart) -> Explanation:
    does = "writes" if fact.writes else "reads"
    return Explanation(
        f"{fact.origin.place} {does} the shared memory of {fact.owner}, which may not have started",
        "synchronise the cluster first: cluster_sync(), or arrive and wait of the cluster's barrier",
        order=f"if {fact.owner} starts after the access",
    )
