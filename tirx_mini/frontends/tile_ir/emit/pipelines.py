"""Code generation for pipelines and agents: shared-memory ring buffers, mbarriers and TMA.

A stage has two mbarriers (PTX ISA: "mbarrier"). Its producer waits for `empty` and fills it, which completes a phase of
`full`; consumers wait for `full` and arrive at `empty` when they have read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tirx_mini.hardware import WARP_SIZE, WARPGROUP_WARPS
from tirx_mini.ir import BOOL, Buffer, Expr, If, Stmt, binary, const, seq, special
from tirx_mini.records import dataclass

from ..layouts import SharedLayout, TmemLayout
from ..nv_tileaa import Tensor
from ..nv_tileaa.ops import mem_fence
from ..nv_tileas import COMPUTE, CP_ASYNC, MATRIX, MMA, PRODUCER, THREADS, TMA, WGMMA, Pipeline
from ..nv_tileas import pipeline_ops as ops
from ..ssa import Op, OpKind, Region
from .arithmetic import dtype_of
from .copies import COPY_OPS
from .emitter import CLUSTER, Emitter
from .places import SharedTile, TmemTile, allocate, covering, shared_tile, tmem_tile

NOTHING = -1
"""What an iterator that has left no stage has in `left`."""


@dataclass(frozen=True)
class Ring:
    """A pipeline. tiles: one per tensor, without the stage dimension. full, empty: the mbarriers, by stage.

    ctas: CTAs of the cluster that fill its stages together, so that the consumers of each release a stage in all.
    paired: whether the tensor cores of a pair of CTAs work on a stage of both. CTA 0 has the barriers at which the
    thread waits that issues MMAs.
    """

    type: Pipeline
    tiles: tuple[SharedTile | TmemTile, ...]
    full: Buffer
    empty: Buffer
    ctas: int = 1
    paired: bool = False

    @property
    def of_tensor_core(self) -> bool:
        """Return whether the Blackwell tensor core fills or drains its stages."""
        return MMA in (self.type.producer, self.type.consumer)


@dataclass(frozen=True)
class Position:
    """A pipeline iterator, held in variables of the executing threads that `inc_iter` advances.

    counter: the stage; None where there is one only. left: the stage whose release was deferred, or `NOTHING`.
    """

    ring: Ring
    counter: Buffer | None
    phase: Buffer
    left: Buffer

    @property
    def stage(self) -> Expr:
        return const(0) if self.counter is None else self.counter[0]


@dataclass(frozen=True)
class Held:
    """A stage that an agent has acquired or waited for. place: the index of its barriers, or of a part's."""

    position: Position
    stage: Expr
    place: Expr

    @property
    def ring(self) -> Ring:
        return self.position.ring


# -- pipelines -----------------------------------------------------------------------------------------------------


def _create_pipeline(emitter: Emitter, op: Op) -> None:
    kind = op.result.type
    assert isinstance(kind, Pipeline)
    name = op.label or op.result.hint or "pipe"
    covered = None if op.over is None else emitter.value(op.over).tiles[0]
    tiles = tuple(
        _room(emitter, f"{name}{i if len(kind.tensors) > 1 else ''}", tensor, kind.stages, covered if i == 0 else None)
        for i, tensor in enumerate(kind.tensors)
    )
    places = kind.stages * kind.parts
    full, empty = (emitter.shared(f"{name}_{state}", (places,), "uint64", align=8) for state in ("full", "empty"))
    ctas = CLUSTER if any(inner.multicast for inner in _loads_of(emitter, op)) else 1
    paired = op.ctas > 1
    releases = CLUSTER if paired and kind.consumer == THREADS else ctas
    counts = {full: _producers(emitter, op), empty: _consumers(emitter, kind) * releases}
    inits = [
        emitter.instruction("mbarrier.init", barrier.ptr_to([stage]), count)
        for barrier, count in counts.items()
        for stage in range(places)
    ]
    emitter.prologue.append(If(special("threadIdx.x") < 1, seq(*inits), span=op.span))
    emitter.set(op.result, Ring(kind, tiles, full, empty, ctas, paired))


def _loads_of(emitter: Emitter, pipeline: Op) -> list[Op]:
    """Return the TMA loads that fill a stage."""
    writes = (user for user in emitter.users[pipeline.result] if user.kind is ops.producer_write)
    return [inner for write in writes for inner in write.body.ops if inner.kind is ops.tiled_tma_load]


def _room(emitter: Emitter, name: str, tensor: Tensor, stages: int, covered: TmemTile | None) -> SharedTile | TmemTile:
    """Allocate memory for a tensor in each stage, or reuse the memory of `covered`."""
    if covered is not None:
        return covering(emitter, covered, tensor.shape, str(dtype_of(tensor.element)))
    if isinstance(tensor.layout, TmemLayout):
        return tmem_tile(emitter, tensor.shape, stages, str(dtype_of(tensor.element)))
    assert isinstance(tensor.layout, SharedLayout), f"a pipeline of {tensor}"
    return shared_tile(emitter, name, tensor.shape, str(dtype_of(tensor.element)), tensor.layout, stages)


def _producers(emitter: Emitter, op: Op) -> int:
    """Return the number of arrivals that mark a stage as full."""
    if op.result.type.producer == THREADS:
        return emitter.warps // op.result.type.parts
    if op.result.type.producer != CP_ASYNC:
        return 1
    return WARP_SIZE * emitter.agents[PRODUCER] + bool(_loads_of(emitter, op))


def _consumers(emitter: Emitter, kind: Pipeline) -> int:
    """Return the number of arrivals that mark a stage as empty."""
    return {WGMMA: emitter.warps // WARPGROUP_WARPS, MMA: 1}.get(kind.consumer, emitter.warps // kind.parts)


def _create_iterator(emitter: Emitter, op: Op) -> None:
    ring: Ring = emitter.value(op.pipeline)
    name = ring.full.name.removesuffix("_full")
    stage = emitter.local(f"{name}_stage", 1, "int32") if ring.type.stages > 1 else None
    phase, left = (emitter.local(f"{name}_{part}", 1, "int32") for part in ("phase", "left"))
    if stage is not None:
        emitter.store(stage, 0, const(0))
    emitter.store(phase, 0, const(int(op.producer)))
    emitter.store(left, 0, const(NOTHING))
    emitter.set(op.result, Position(ring, stage, phase, left))


def _inc_iter(emitter: Emitter, op: Op) -> None:
    at: Position = emitter.value(op.iterator)
    _advance(emitter, at)
    emitter.set(op.result, at)


def _advance(emitter: Emitter, at: Position) -> None:
    if at.counter is not None:
        emitter.store(at.counter, 0, (at.stage + 1) % at.ring.type.stages)
    with emitter.when(None if at.counter is None else binary("==", at.stage, 0)):
        emitter.store(at.phase, 0, at.phase[0] ^ 1)


def _drain(emitter: Emitter, region: Region) -> None:
    """Wait for the last commits that release the agent's stages, which may arrive after those that it waited for."""
    for op in region.ops:
        at = emitter.value(op.result) if op.kind is ops.create_iterator and op.producer else None
        if at is not None and at.ring.type.consumer == MMA:
            emitter.loop(at.ring.type.stages, lambda _, at=at: _last_wait(emitter, at), parallel=False, name="last")


def _last_wait(emitter: Emitter, at: Position) -> None:
    parts = at.ring.type.parts
    for part in range(parts):
        emitter.issue("mbarrier.try_wait", at.ring.empty.ptr_to([at.stage * parts + part]), at.phase[0])
    _advance(emitter, at)


def _wait(emitter: Emitter, barrier: str, op: Op) -> None:
    """Wait for the phase of an iterator and acquire its stage."""
    at: Position = emitter.value(op.iterator)
    stage = emitter.bind("stage", at.stage)
    place = stage
    if at.ring.type.parts > 1:
        place = emitter.bind("place", stage * at.ring.type.parts + (op.part if emitter.alone else emitter.group))
    emitter.set(op.result, Held(at, stage, place))
    if barrier == "full" and op.again:
        return
    emitter.issue("mbarrier.try_wait", getattr(at.ring, barrier).ptr_to([place]), at.phase[0])
    if at.ring.of_tensor_core:
        emitter.issue("tcgen05.fence.after_thread_sync")
    if barrier == "full" and at.ring.type.producer == CP_ASYNC and at.ring.type.consumer != THREADS:
        emitter.issue("fence.proxy.async", "shared::cta")
    if barrier == "empty" and at.ring.type.producer == TMA and at.ring.type.consumer == THREADS:
        emitter.issue("fence.proxy.async", "shared::cta")  # threads have read the bytes that TMA replaces


def _producer_write(emitter: Emitter, op: Op) -> None:
    """Emit the producer's copies: TMA from one thread, which also expects the bytes, or cp.async from each thread."""
    held: Held = emitter.value(op.stage)
    ring = held.ring
    assert ring.type.producer in (TMA, CP_ASYNC), ring.type
    barrier = ring.full.ptr_to([held.stage])
    for param, tile in zip(op.body.params, ring.tiles, strict=True):
        emitter.set(param, tile.at_stage(held.stage))
    by_tma = [inner for inner in op.body.ops if inner.kind is ops.tiled_tma_load]
    outer, emitter.arrives_at = emitter.arrives_at, barrier
    if ring.paired:
        emitter.arrives_at = emitter.value_of("mapa", "uint32", barrier, const(0))
    emitter.in_pair = ring.paired
    if by_tma:
        with emitter.when(None if emitter.alone else _elected(emitter)):
            total = sum(_bytes(inner.buffer.type) for inner in by_tma)
            with emitter.when(_is_first(emitter) if ring.paired else None):
                emitter.issue("mbarrier.arrive.expect_tx", barrier, total * (CLUSTER if ring.paired else 1))
            for inner in by_tma:
                emitter.emit(inner)
    for inner in op.body.ops:
        if inner not in by_tma and not inner.kind.terminator:
            emitter.emit(inner)
    emitter.arrives_at, emitter.in_pair = outer, False
    emitter.set(op.result, held)


def _elected(emitter: Emitter) -> Expr:
    """Return the condition that the executing thread is its agent's TMA thread."""
    return binary("and", binary("==", emitter.warp, 0), emitter.value_of("elect.sync", str(BOOL)))


def _is_first(emitter: Emitter) -> Expr:
    """Return the condition that the CTA is the first of its pair."""
    assert emitter.rank is not None, "a pair is a cluster"
    return binary("==", emitter.rank, 0)


def _bytes(tensor: Tensor) -> int:
    return tensor.size * dtype_of(tensor.element).itemsize


def _commit(emitter: Emitter, barrier: Expr, ring: Ring) -> None:
    """Arrive at a barrier, in all CTAs that share the stage, when the thread's MMAs complete."""
    mask = {"cta_mask": (1 << CLUSTER) - 1} if ring.ctas > 1 or ring.paired else {}
    emitter.issue("tcgen05.commit", barrier, **mask, **({"cta_group": 2} if ring.paired else {}))


def _producer_commit(emitter: Emitter, op: Op) -> None:
    """Complete a producer's phase; TMA bytes complete it implicitly, and cp.async copies by an asynchronous arrival."""
    held: Held = emitter.value(op.stage)
    barrier = held.ring.full.ptr_to([held.place])
    if held.ring.type.producer == MMA:
        _commit(emitter, barrier, held.ring)
    if held.ring.type.producer == THREADS:
        _arrive(emitter, barrier)
    if held.ring.type.producer == CP_ASYNC:
        emitter.issue("cp.async.mbarrier.arrive.noinc", barrier)


def _tensors(emitter: Emitter, op: Op) -> None:
    """Bind the tensors of a stage."""
    held: Held = emitter.value(op.stage)
    for result, tile in zip(op.results, held.ring.tiles, strict=True):
        emitter.set(result, tile.at_stage(held.stage))


def _consumer_release(emitter: Emitter, op: Op) -> None:
    held: Held = emitter.value(op.stage)
    if op.deferred:
        _release_left(emitter, held.position)
        emitter.store(held.position.left, 0, held.stage)
    else:
        _arrive_empty(emitter, held.ring, held.place)


def _consumer_drain(emitter: Emitter, op: Op) -> None:
    at: Position = emitter.value(op.iterator)
    _release_left(emitter, at)
    emitter.store(at.left, 0, const(NOTHING))


def _release_left(emitter: Emitter, at: Position) -> None:
    with emitter.when(at.left[0] >= 0):
        _arrive_empty(emitter, at.ring, at.left[0])


def _arrive(emitter: Emitter, barrier: Expr) -> None:
    """Arrive once per computing warp after its threads have accessed tensor memory."""
    emitter.issue("tcgen05.fence.before_thread_sync")
    emitter.issue("bar.warp.sync")
    with emitter.when(binary("==", emitter.lane, 0)):
        emitter.issue("mbarrier.arrive", barrier)


def _arrive_empty(emitter: Emitter, ring: Ring, place: Expr) -> None:
    barrier = ring.empty.ptr_to([place])
    if ring.type.consumer == MMA:
        _commit(emitter, barrier, ring)
        return
    if ring.of_tensor_core:
        emitter.issue("tcgen05.fence.before_thread_sync")
    leader = binary("<", emitter.lane, ring.ctas) if ring.ctas > 1 else binary("==", emitter.lane, 0)
    if ring.type.consumer == WGMMA:
        leader = binary("and", binary("==", emitter.warp % WARPGROUP_WARPS, 0), leader)
    else:
        emitter.issue("bar.warp.sync")
    with emitter.when(leader):
        if ring.paired:
            emitter.issue("mbarrier.arrive.remote", barrier, const(0), True)
        elif ring.ctas > 1:  # lane r arrives in CTA r
            emitter.issue("mbarrier.arrive.remote", barrier, emitter.lane, True)
        else:
            emitter.issue("mbarrier.arrive", barrier)


# -- agents --------------------------------------------------------------------------------------------------------


def other_warps(func: Op) -> int:
    """Return the number of non-computing warps: the agents' warps, plus padding to whole warpgroups for setmaxnreg."""
    count = sum(warps for name, warps in agents_of(func).items() if name != COMPUTE)
    moves = any(op.registers for op in func.body.ops if op.kind is ops.agent_switch)
    return count + (-count % WARPGROUP_WARPS if moves else 0)


def agents_of(func: Op) -> Mapping[str, int]:
    """Return the warp count of each agent of a function."""
    return {name: warps for op in func.body.ops if op.kind is ops.agent_switch for name, warps in op.agents}


def publish_barriers(emitter: Emitter) -> None:
    """Make the initialised barriers visible to all threads and to TMA."""
    emitter.prologue.append(emitter.instruction("fence.mbarrier_init"))
    if emitter.rank is None:
        emitter.prologue.append(emitter.instruction("bar.sync.all", 0))
        return
    emitter.prologue.append(emitter.instruction("barrier.cluster.sync"))
    # A CTA must not exit before the others have sent what they multicast, and arrived at its barriers.
    emitter.last.append(emitter.instruction("barrier.cluster.sync"))


def _elect_one(emitter: Emitter, op: Op) -> None:
    outer, emitter.alone = emitter.alone, True
    with emitter.when(binary("==", emitter.warp, 0)):
        with emitter.when(emitter.value_of("elect.sync", str(BOOL))):
            emitter.region(op.body)
        emitter.issue("bar.warp.sync")
    emitter.alone = outer


def _agent_switch(emitter: Emitter, op: Op) -> None:
    paired = any(isinstance(ring, Ring) and ring.paired for ring in emitter.values.values())
    if emitter.tmem_columns:
        allocate(emitter, 2 if paired else 1)
        emitter.prologue.append(emitter.instruction("fence.proxy.async", "shared::cta"))
    publish_barriers(emitter)
    if not any(inner.kind is mem_fence for region in op.regions for inner in region.walk()):
        # The barriers are ready before the kernel before this one has ended; only accesses to arrays wait for it.
        emitter.prologue.append(emitter.instruction("griddepcontrol.wait"))
    emitter.part()
    first = emitter.warps
    compute: list[Stmt] = []
    others: list[tuple[Expr, list[Stmt]]] = []
    for (name, warps), region in zip(op.agents, op.regions, strict=True):
        if name == COMPUTE:
            compute = _compute(emitter, region)
        elif warps == 1:
            program = _alone(emitter, region)
            if paired and name == MATRIX:
                program = list[Stmt]([If(_is_first(emitter), seq(*program), span=op.span)])
            others.append((binary("==", emitter.warp, first), program))
        else:
            mine = binary("and", emitter.warp >= first, emitter.warp < first + warps)
            others.append((mine, _team(emitter, region, first, warps)))
        first += 0 if name == COMPUTE else warps
    rest = None if op.registers else seq(*compute)
    for cond, stmts in reversed(others):
        rest = If(cond, seq(*stmts), rest, span=op.span)
    assert rest is not None, "an agent beside those that compute"
    if op.registers:
        fewer, more = min(op.registers), max(op.registers)
        own = [emitter.instruction("setmaxnreg.inc", count=more), *compute]
        other = [emitter.instruction("setmaxnreg.dec", count=fewer), rest]
        rest = If(binary("<", emitter.warp, emitter.warps), seq(*own), seq(*other), span=op.span)
    emitter.add(rest)


def _compute(emitter: Emitter, region: Region) -> list[Stmt]:
    """Emit the code of the computing warps."""
    with emitter.block() as stmts:
        emitter.in_agent = True
        emitter.region(region)
        emitter.in_agent = False
    return stmts


def _alone(emitter: Emitter, region: Region) -> list[Stmt]:
    """Emit the code of a single-threaded agent."""
    with emitter.block() as stmts:
        emitter.alone = True
        with emitter.when(emitter.value_of("elect.sync", str(BOOL))):
            emitter.region(region)
            _drain(emitter, region)
        emitter.alone = False
    return stmts


def _team(emitter: Emitter, region: Region, first: int, warps: int) -> list[Stmt]:
    """Emit the code of an agent of several warps, starting at warp `first`."""
    with emitter.block() as stmts, emitter.team(first, warps):
        emitter.region(region)
        _drain(emitter, region)
    return stmts


def _cta_slot(emitter: Emitter, op: Op) -> None:
    """Bind the slot of a persistent CTA, which is the CTA's index in the launch."""
    number, count = emitter.program[0], min(op.most, math.prod(emitter.programs))
    if op.cluster > 1:
        number, count = number // op.cluster, count // op.cluster
    if op.halves > 1 and count % op.halves == 0:
        each = count // op.halves
        number = number % each * op.halves + number // each
    emitter.set(op.slot, number)
    emitter.set(op.slots, const(count))


def _cta_rank(emitter: Emitter, op: Op) -> None:
    assert emitter.rank is not None, "a program without clusters has no ranks"
    emitter.set(op.rank, emitter.rank)


PIPELINE_OPS: Mapping[OpKind, Callable[[Emitter, Op], None]] = {
    **COPY_OPS,
    ops.create_pipeline: _create_pipeline,
    ops.create_iterator: _create_iterator,
    ops.inc_iter: _inc_iter,
    ops.producer_acquire: lambda emitter, op: _wait(emitter, "empty", op),
    ops.producer_write: _producer_write,
    ops.producer_commit: _producer_commit,
    ops.consumer_wait: lambda emitter, op: _wait(emitter, "full", op),
    ops.producer_room: _tensors,
    ops.consumer_read: _tensors,
    ops.consumer_release: _consumer_release,
    ops.consumer_drain: _consumer_drain,
    ops.pipeline_yield: lambda emitter, op: None,  # the region's copies are issued
    ops.agent_switch: _agent_switch,
    ops.elect_one: _elect_one,
    ops.get_cta_slot: _cta_slot,
    ops.get_cta_rank: _cta_rank,
}
