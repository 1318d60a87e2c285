"""mbarrier: shared-memory barriers that count thread arrivals and bytes of asynchronous copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from .core import instruction
from .facts import BarrierEffect, CudaName, Scope
from .machine import Blocking, Machine, MbarrierVerbs, Thread
from .operands import CtaRank, MbarrierAddress, pred, u32, u64


@instruction(
    "mbarrier.init.shared::cta.b64 [{bar}], {count};",
    name="mbarrier.init",
    issued_by=Scope.THREAD,
    min_sm=80,
    cost="smem_atomic",
    barrier=BarrierEffect.INIT,
)
def mbarrier_init(gpu: Machine, thread: Thread, bar: MbarrierAddress, count: u32) -> None:
    """Initialise `bar` as a barrier in phase 0 that expects `count` arrivals in each phase."""
    for _ in range(thread.mask.count):
        gpu.own_mbarrier(thread, bar, BarrierEffect.INIT).init(thread, count)


@instruction(
    "mbarrier.inval.shared::cta.b64 [{bar}];",
    name="mbarrier.inval",
    issued_by=Scope.THREAD,
    min_sm=80,
    cost="smem_atomic",
    barrier=BarrierEffect.INVALIDATE,
)
def mbarrier_inval(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> None:
    """Invalidate the barrier `bar`; its memory may then hold other data."""
    gpu.own_mbarrier(thread, bar, BarrierEffect.INVALIDATE).invalidate(thread)


@instruction(
    "mbarrier.arrive.release.cta.shared::cta.b64 _, [{bar}];",
    name="mbarrier.arrive",
    implied=("release", "cta"),
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="smem_atomic",
    barrier=BarrierEffect.ARRIVE,
)
def mbarrier_arrive(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> None:
    """Arrive once at `bar` with each thread, and release its earlier accesses."""
    gpu.own_mbarrier(thread, bar, BarrierEffect.ARRIVE).arrive(thread, thread.mask.count)


@instruction(
    "mbarrier.arrive.release.cta.shared::cta.b64 _, [{bar}], {count};",
    name="mbarrier.arrive.count",
    implied=("release", "cta"),
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="mbarrier.arrive",
    cost="smem_atomic",
    barrier=BarrierEffect.ARRIVE,
)
def mbarrier_arrive_count(gpu: Machine, thread: Thread, bar: MbarrierAddress, count: u32) -> None:
    """Arrive `count` times at `bar` with each thread, and release its earlier accesses."""
    gpu.own_mbarrier(thread, bar, BarrierEffect.ARRIVE).arrive(thread, count * thread.mask.count)


_TOKEN: dict[str, Any] = {
    "implied": ("release", "cta"), "issued_by": Scope.THREAD, "min_sm": 80, "isa": "mbarrier.arrive",
    "cost": "smem_atomic", "barrier": BarrierEffect.ARRIVE,
}  # fmt: skip


_DROPPING: dict[str, Any] = {**_TOKEN, "isa": "mbarrier.arrive_drop"}
_DROPPING_SEVERAL: dict[str, Any] = {**_DROPPING, "min_sm": 90}
_COUNTED: dict[str, Any] = {**_TOKEN, "min_sm": 90}
_EXPECTING: dict[str, Any] = {**_COUNTED, "barrier": BarrierEffect.ARRIVE_EXPECT_TX}


@instruction("mbarrier.arrive.release.cta.shared::cta.b64 {result}, [{bar}];", name="mbarrier.arrive.state", **_TOKEN)
def mbarrier_arrive_state(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> u64:
    """Arrive as `mbarrier.arrive`, and return the previous state of `bar` for `mbarrier.test_wait.state`.

    The bits of a state are chip-specific. In the simulator the state is the parity of the phase.
    """
    barrier = gpu.own_mbarrier(thread, bar, BarrierEffect.ARRIVE)
    return _arrived(barrier, thread, 1, barrier.parity(thread))


@instruction(
    "mbarrier.arrive.release.cta.shared::cta.b64 {result}, [{bar}], {count};",
    name="mbarrier.arrive.count.state",
    **_COUNTED,
)
def mbarrier_arrive_count_state(gpu: Machine, thread: Thread, bar: MbarrierAddress, count: u32) -> u64:
    """Arrive as `mbarrier.arrive.state`, `count` times with each thread."""
    barrier = gpu.own_mbarrier(thread, bar, BarrierEffect.ARRIVE)
    return _arrived(barrier, thread, count, barrier.parity(thread))


@instruction(
    "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 {result}, [{bar}], {bytes};",
    name="mbarrier.arrive.expect_tx.state", **_EXPECTING,
)  # fmt: skip
def mbarrier_arrive_expect_tx_state(gpu: Machine, thread: Thread, bar: MbarrierAddress, bytes: u32) -> u64:
    """Arrive as `mbarrier.arrive.expect_tx`, and return the previous state of `bar`."""
    barrier = gpu.own_mbarrier(thread, bar, BarrierEffect.ARRIVE_EXPECT_TX)
    barrier.expect(thread, bytes * thread.mask.count)
    return _arrived(barrier, thread, 1, barrier.parity(thread))


RemoteScope = Literal["", "cta", "cluster"]
"""The scope of the release, .cta if omitted (PTX ISA: "mbarrier.arrive")."""
_IN_CLUSTER: dict[str, Any] = {**_TOKEN, "implied": (), "min_sm": 90, "sparse": ("scope",)}


def _in_cluster(operands: str = "") -> Callable[[str], str]:
    """Return the PTX of an arrival at a cluster address, with the written scope of its release."""
    return lambda scope: f"mbarrier.arrive{_release(scope)}.shared::cluster.b64 _, [{{bar}}]{operands};"


def _release(scope: str) -> str:
    return f".release.{scope}" if scope else ""


@instruction(_in_cluster(), name="mbarrier.arrive.cluster", **_IN_CLUSTER)
def mbarrier_arrive_cluster(
    gpu: Machine, thread: Thread, bar: MbarrierAddress, *, scope: RemoteScope = "cluster"
) -> None:
    """Arrive as `mbarrier.arrive` at a barrier of any CTA of the cluster, given its cluster address (`mapa`).

    scope: "cluster" releases the thread's writes to the other CTA, and waits until they reach the L2.
    """
    gpu.release_before(thread, scope)
    gpu.mbarrier(thread, bar).arrive(thread, thread.mask.count)


@instruction(_in_cluster(", {count}"), name="mbarrier.arrive.count.cluster", **_IN_CLUSTER)
def mbarrier_arrive_count_cluster(
    gpu: Machine, thread: Thread, bar: MbarrierAddress, count: u32, *, scope: RemoteScope = "cluster"
) -> None:
    """Arrive as `mbarrier.arrive.cluster`, `count` times."""
    gpu.release_before(thread, scope)
    gpu.mbarrier(thread, bar).arrive(thread, count * thread.mask.count)


def _arrived(barrier: MbarrierVerbs[Any], thread: Thread, count: int, state: int) -> int:
    barrier.arrive(thread, count * thread.mask.count)
    return state


@instruction("mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [{bar}];", name="mbarrier.arrive_drop", **_DROPPING)
def mbarrier_arrive_drop(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> None:
    """Arrive as `mbarrier.arrive`, and expect one arrival less of each thread from the next phase on."""
    gpu.own_mbarrier(thread, bar, BarrierEffect.ARRIVE).drop(thread, thread.mask.count)


@instruction(
    "mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [{bar}], {count};", name="mbarrier.arrive_drop.count",
    **_DROPPING_SEVERAL,
)  # fmt: skip
def mbarrier_arrive_drop_count(gpu: Machine, thread: Thread, bar: MbarrierAddress, count: u32) -> None:
    """Arrive `count` times with each thread, and expect as many arrivals less from the next phase on."""
    gpu.own_mbarrier(thread, bar, BarrierEffect.ARRIVE).drop(thread, count * thread.mask.count)


@instruction(
    "mbarrier.arrive_drop.release.cta.shared::cta.b64 {result}, [{bar}];", name="mbarrier.arrive_drop.state",
    **_DROPPING,
)  # fmt: skip
def mbarrier_arrive_drop_state(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> u64:
    """Arrive as `mbarrier.arrive_drop`, and return the previous state of `bar`, as `mbarrier.arrive.state` does."""
    barrier = gpu.own_mbarrier(thread, bar, BarrierEffect.ARRIVE)
    state = barrier.parity(thread)
    barrier.drop(thread, thread.mask.count)
    return state


@instruction(
    "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 _, [{bar}], {count};",
    name="mbarrier.arrive.no_complete",
    implied=("release", "cta"),
    issued_by=Scope.THREAD,
    min_sm=80,
    isa="mbarrier.arrive",
    cost="smem_atomic",
    barrier=BarrierEffect.ARRIVE,
)
def mbarrier_arrive_no_complete(gpu: Machine, thread: Thread, bar: MbarrierAddress, count: u32) -> None:
    """Arrive as `mbarrier.arrive.count` without completing the phase; completing it is undefined behaviour.

    The simulator completes the phase in that case.
    """
    gpu.own_mbarrier(thread, bar, BarrierEffect.ARRIVE).arrive(thread, count * thread.mask.count)


@instruction(
    "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [{bar}], {bytes};",
    name="mbarrier.complete_tx",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="smem_atomic",
    barrier=BarrierEffect.COMPLETE_TX,
)
def mbarrier_complete_tx(gpu: Machine, thread: Thread, bar: MbarrierAddress, bytes: u32) -> None:
    """Subtract `bytes` from the bytes expected in the current phase of `bar`, as a completed copy does.

    `bar` may belong to another CTA, at an address from `map_shared_rank`. The operation releases nothing.
    """
    for _ in range(thread.mask.count):
        gpu.complete_bytes(thread, bar, bytes)


@instruction(
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{bar}], {bytes};",
    name="mbarrier.expect_tx",
    implied=("relaxed", "cta"),
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="smem_atomic",
    barrier=BarrierEffect.EXPECT_TX,
)
def mbarrier_expect_tx(gpu: Machine, thread: Thread, bar: MbarrierAddress, bytes: u32) -> None:
    """Expect `bytes` more bytes in the current phase of `bar` before it can complete."""
    gpu.own_mbarrier(thread, bar, BarrierEffect.EXPECT_TX).expect(thread, bytes * thread.mask.count)


@instruction(
    "mbarrier.arrive.expect_tx.shared::{bar_space}.b64 _, [{bar}], {bytes};",
    name="mbarrier.arrive.expect_tx",
    implied=("release", "cta", "cluster"),
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="mbarrier.arrive, .expect_tx",
    cost="smem_atomic",
    barrier=BarrierEffect.ARRIVE_EXPECT_TX,
)
def mbarrier_arrive_expect_tx(gpu: Machine, thread: Thread, bar: MbarrierAddress, bytes: u32) -> None:
    """Expect `bytes` more bytes in the current phase of `bar`, then arrive once; `bar` may belong to another CTA."""
    barrier = gpu.mbarrier(thread, bar)
    if barrier.expect(thread, bytes * thread.mask.count):
        barrier.arrive(thread, thread.mask.count)


def _remote(operation: str, operands: str = "") -> Callable[[str], str]:
    """Return the PTX of an arrival at another CTA's barrier, with the written scope of its release."""

    def text(scope: str) -> str:
        return f"""{{
    .reg .b32 remote;
    @{{pred}} mapa.shared::cluster.u32 remote, {{bar}}, {{cta_id}};
    @{{pred}} {operation}{_release(scope)}.shared::cluster.b64 _, [remote]{operands};
}}"""

    return text


@instruction(
    _remote("mbarrier.arrive"),
    name="mbarrier.arrive.remote",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="mbarrier.arrive; mapa",
    sparse=("scope",),
    cost="smem_atomic",
    barrier=BarrierEffect.ARRIVE,
)
def mbarrier_arrive_remote(
    gpu: Machine, thread: Thread, bar: MbarrierAddress, cta_id: CtaRank, pred: pred, *, scope: RemoteScope = ""
) -> None:
    """Arrive once, with each thread whose `pred` is true, at the barrier at the offset of `bar` in CTA `cta_id`.

    scope: "cluster" releases the thread's writes to the other CTA, and waits until they reach the L2.
    """
    if pred:
        gpu.release_before(thread, scope)
        remote = gpu.map_shared_rank(thread, bar, cta_id)
        gpu.mbarrier(thread, remote).arrive(thread, thread.mask.count)


@instruction(
    _remote("mbarrier.arrive.expect_tx", ", {bytes}"),
    name="mbarrier.arrive.expect_tx.remote",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="mbarrier.arrive; mapa",
    sparse=("scope",),
    cost="smem_atomic",
    barrier=BarrierEffect.ARRIVE_EXPECT_TX,
)
def mbarrier_arrive_expect_tx_remote(
    gpu: Machine, thread: Thread, bar: MbarrierAddress, bytes: u32, cta_id: CtaRank, pred: pred, *,
    scope: RemoteScope = "",
) -> None:  # fmt: skip
    """Act as `mbarrier.arrive.expect_tx` on the barrier at the offset of `bar` in CTA `cta_id`, if `pred` is true.

    scope: as of `mbarrier.arrive.remote`.
    """
    if pred:
        gpu.release_before(thread, scope)
        barrier = gpu.mbarrier(thread, gpu.map_shared_rank(thread, bar, cta_id))
        if barrier.expect(thread, bytes * thread.mask.count):
            barrier.arrive(thread, thread.mask.count)


@instruction(
    """{
    .reg .pred complete;
    WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 complete, [{bar}], {phase};
    @complete bra DONE;
    bra WAIT;
    DONE:
}""",
    name="mbarrier.try_wait",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="wait",
    barrier=BarrierEffect.WAIT,
    cuda=CudaName("ptx_mbarrier_wait"),
)
def mbarrier_try_wait(gpu: Machine, thread: Thread, bar: MbarrierAddress, phase: u32) -> Blocking:
    """Wait until the phase of parity `phase` of `bar` is complete, and acquire the accesses released in it.

    On a newly initialised barrier, phase 1 counts as complete and phase 0 is current.
    """
    return gpu.own_mbarrier(thread, bar, BarrierEffect.WAIT).wait(thread, phase)


@instruction(
    """{
    .reg .pred complete;
    WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [{bar}], {phase};
    @complete bra DONE;
    bra WAIT;
    DONE:
}""",
    name="mbarrier.try_wait.cluster",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="mbarrier.try_wait",
    cost="wait",
    barrier=BarrierEffect.WAIT,
)
def mbarrier_try_wait_cluster(gpu: Machine, thread: Thread, bar: MbarrierAddress, phase: u32) -> Blocking:
    """Wait as `mbarrier.try_wait`, and acquire accesses released by threads of the other CTAs of the cluster."""
    yield from gpu.own_mbarrier(thread, bar, BarrierEffect.WAIT).wait(thread, phase)
    gpu.acquire_after(thread, "cluster")


@instruction(
    "mbarrier.test_wait.parity.shared::cta.b64 {result}, [{bar}], {phase};",
    name="mbarrier.test_wait",
    implied=("acquire", "cta"),
    issued_by=Scope.THREAD,
    min_sm=80,
    cost="smem_atomic",
    barrier=BarrierEffect.TEST,
)
def mbarrier_test_wait(gpu: Machine, thread: Thread, bar: MbarrierAddress, phase: u32) -> pred:
    """Return whether the phase of parity `phase` of `bar` is complete; if so, acquire the accesses released in it."""
    return gpu.own_mbarrier(thread, bar, BarrierEffect.TEST).test(thread, phase)


@instruction(
    "mbarrier.try_wait.parity.shared::cta.b64 {result}, [{bar}], {phase}, {ticks};",
    name="mbarrier.try_wait.once",
    implied=("acquire", "cta"),
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="mbarrier.test_wait, mbarrier.try_wait",
    cost="wait",
    barrier=BarrierEffect.TEST,
)
def mbarrier_try_wait_once(gpu: Machine, thread: Thread, bar: MbarrierAddress, phase: u32, ticks: u32) -> pred:
    """Test as `mbarrier.test_wait`, optionally suspending the thread for up to `ticks` ns until completion.

    The simulator does not suspend it.
    """
    return gpu.own_mbarrier(thread, bar, BarrierEffect.TEST).test(thread, phase)


_TEST: dict[str, Any] = {
    "implied": ("acquire", "cta"), "issued_by": Scope.THREAD, "min_sm": 90, "cost": "wait",
    "isa": "mbarrier.test_wait, mbarrier.try_wait", "barrier": BarrierEffect.TEST,
}  # fmt: skip


def _tested(gpu: Machine, thread: Thread, bar: Any, phase: int, scope: str) -> bool:
    done = gpu.own_mbarrier(thread, bar, BarrierEffect.TEST).test(thread, phase)
    if done:
        gpu.acquire_after(thread, scope)
    return done


@instruction(
    "mbarrier.try_wait.parity.acquire{.scope}.shared::cta.b64 {result}, [{bar}], {phase};",
    name="mbarrier.try_wait.parity",
    **_TEST,
)
def mbarrier_try_wait_parity(
    gpu: Machine, thread: Thread, bar: MbarrierAddress, phase: u32, *, scope: Literal["cta", "cluster"] = "cta"
) -> pred:
    """Test as `mbarrier.try_wait.once`, with a time limit chosen by the chip."""
    return _tested(gpu, thread, bar, phase, scope)


@instruction(
    "mbarrier.test_wait.acquire{.scope}.shared::cta.b64 {result}, [{bar}], {state};",
    name="mbarrier.test_wait.state",
    **_TEST,
)
def mbarrier_test_wait_state(
    gpu: Machine, thread: Thread, bar: MbarrierAddress, state: u64, *, scope: Literal["cta", "cluster"] = "cta"
) -> pred:
    """Return whether the phase of an arrival's `state` is complete; if so, acquire the accesses released in it."""
    return _tested(gpu, thread, bar, state, scope)


@instruction(
    "mbarrier.try_wait.acquire{.scope}.shared::cta.b64 {result}, [{bar}], {state};",
    name="mbarrier.try_wait.state",
    **_TEST,
)
def mbarrier_try_wait_state(
    gpu: Machine, thread: Thread, bar: MbarrierAddress, state: u64, *, scope: Literal["cta", "cluster"] = "cta"
) -> pred:
    """Test as `mbarrier.test_wait.state`, optionally suspending the thread until the phase is complete.

    The simulator does not suspend it.
    """
    return _tested(gpu, thread, bar, state, scope)
