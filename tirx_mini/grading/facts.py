"""The distinguishing facts of the steps' kernels, from their canonical form and from a run.

Loads and products on which D does not depend are excluded if the dependence of D is known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from tirx_mini.course import Shape
from tirx_mini.diagnose import Activity, Awaited, Interval, Timeline, Track, TrackKind
from tirx_mini.hardware import WARPGROUP_WARPS, GpuSpec
from tirx_mini.ir import AddressOf, Buffer, BufferLoad, BufferStore, Call, Launch, PrimFunc, TirxError, Var, walk
from tirx_mini.isa import TABLE, Completion, Memory, instruction_of, written_params
from tirx_mini.records import dataclass, replace
from tirx_mini.sim import Question, Simulation

from .dependence import Dependence, dependence, depth_of
from .drawn import matrices

WHOLE, SOME = 0.99, 1 / 8
"""The shares that count as everything up to rounding, and as a significant part."""


@dataclass(frozen=True)
class Facts:
    """The facts of the runs of one kernel at one size.

    ctas: of the grid. working: clusters of those that were run whose products D has. tiles: the most of one CTA.
    multiplies: whether all of D comes from MMAs.
    loads: the operands, "A" and "B", that TMA loads. copies: those that threads load, or copy without TMA.
    tma_store, thread_store: whether TMA, or threads, write D.
    depth: how many K tiles are loaded, or being loaded, before an MMA has ended.
    producers, multipliers: the warps of a CTA that issue the loads, and the MMAs. readers: of tensor memory.
    apart: whether the producers go on from load to load without a barrier of the whole CTA or cluster.
    tensor_memory: whether accumulators are in tensor memory, where one thread issues an MMA; else a warpgroup does.
    consumers: how many warps of a CTA issue MMAs; how many warpgroups, without tensor memory.
    cluster: CTAs of a cluster. paired: whether two CTAs' tensor cores work on each MMA (cta_group=2).
    multicast: whether loads go to several CTAs.
    steady: whether its course, addresses and operands are the same for all data, so that marks in them change nothing.
    ended: whether the run came to its end.
    """

    ctas: int = 0
    working: int = 0
    tiles: int = 0
    multiplies: bool = False
    loads: frozenset[str] = frozenset()
    copies: frozenset[str] = frozenset()
    tma_store: bool = False
    thread_store: bool = False
    depth: int = 0
    producers: frozenset[int] = frozenset()
    multipliers: frozenset[int] = frozenset()
    readers: frozenset[int] = frozenset()
    apart: bool = False
    tensor_memory: bool = False
    consumers: int = 0
    cluster: int = 1
    paired: bool = False
    multicast: bool = False
    steady: bool = True
    ended: bool = True

    @property
    def roles(self) -> bool:
        """Return whether different warps issue loads and MMAs, each in its own loop."""
        return bool(self.producers and self.multipliers) and not self.producers & self.multipliers and self.apart

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values, with sets as sorted lists."""
        return {
            field.name: sorted(value) if isinstance(value := getattr(self, field.name), frozenset) else value
            for field in fields(self)
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Facts:
        """Return the facts from an object of `as_dict`."""
        values: dict[str, Any] = {
            name: frozenset(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return cls(**values)


def contract_broken(lowered: PrimFunc, names: Sequence[str] = ("A", "B", "D"), zeroed: bool = False) -> str:
    """Return the use of arguments that violates the contract of D = A @ B.T or of a task, as a sentence, or "".

    names: of the parameters; the last one is the output. zeroed: whether it holds zeros at the launch.
    """
    *inputs, output = zip(lowered.params, names, strict=True)
    written = written_params(lowered)
    for buffer, name in inputs:
        if buffer in written:
            return f"the kernel writes to {name}, which is an input"
    if output[0] in _read(lowered) and not zeroed:
        return f"the kernel reads {output[1]}, which is an output: what it holds at the launch is undefined"
    return ""


def _read(lowered: PrimFunc) -> set[Buffer]:
    """Return the global buffers that a kernel reads, by loads or by instructions with a pointer or a map."""
    maps = {tensor_map.var: tensor_map.buffer for tensor_map in lowered.tensor_maps}
    found: set[Buffer] = set()
    for node in walk(lowered.body):
        if isinstance(node, BufferLoad):
            found.add(node.buffer.root)
        elif isinstance(node, Call) and (entry := instruction_of(node)) and Memory.GLOBAL in entry.reads:
            found |= {maps[arg] for arg in node.args if isinstance(arg, Var) and arg in maps}
            found |= {arg.buffer.root for arg in node.args if isinstance(arg, AddressOf)}
    return found


def resident_ctas(launch: Launch, gpu: GpuSpec) -> int:
    """Return the number of a launch's CTAs that a GPU holds at a time, limited by shared memory and threads."""
    arch = gpu.architecture
    by_memory = arch.smem_per_sm // (launch.smem_bytes + arch.smem_reserved)
    by_threads = arch.threads_per_sm // (launch.warps * 32)
    return gpu.sms * max(1, min(by_memory, by_threads, arch.ctas_per_sm))


def facts_of(lowered: PrimFunc, trace: Timeline | None, found: Dependence | None = None) -> Facts:
    """Return the facts about a kernel in canonical form.

    trace: of a run of it; None if there was none. found: what D depends on; without it, all that is done counts.
    """
    launch = lowered.launch
    assert launch is not None
    touched = {buffer.name for buffer in _touched(lowered) if buffer in lowered.params}
    mmas = [node for node in walk(lowered.body) if isinstance(node, Call) and _in_tensor_memory(node)]
    static = Facts(
        ctas=launch.num_ctas,
        copies=frozenset(touched & {"A", "B"}),
        thread_store="D" in touched,
        tensor_memory=bool(mmas),
        cluster=launch.cluster_size,
        paired=bool(mmas) and all(call.attr("cta_group") == 2 for call in mmas),
        ended=False,
    )
    if trace is None:
        return static
    facts = _observed(static, trace, launch)
    return facts if found is None else _proven(facts, trace, launch, found)


def observed(form: PrimFunc, spec: GpuSpec, shape: Shape, dtype: str, seed: int) -> Facts | None:
    """Return the facts about a right kernel in canonical form, on data of a seed: what D depends on.

    The result is None if that cannot be seen: where nothing is written, or A or B is.
    """
    if contract_broken(form):
        return None
    launch, data = form.launch, matrices(shape, dtype, seed)
    assert launch is not None
    clusters = range(launch.num_ctas // launch.cluster_size)
    found = dependence(Simulation(form, data, Question(spec)), data, clusters, seed)
    return replace(facts_of(form, found[1], found[0]), steady=_steady(form, spec)) if found is not None else None


def _steady(form: PrimFunc, spec: GpuSpec) -> bool:
    """Return whether a kernel can be executed without its data."""
    try:
        Simulation(form, (None, None, None), Question(spec, data=False))
    except TirxError:
        return False
    return True


def _in_tensor_memory(call: Call) -> bool:
    """Return whether an instruction is an MMA with its accumulator in tensor memory, completed by a commit."""
    entry = instruction_of(call)
    return entry is not None and entry.completion is Completion.COMMIT


def _touched(lowered: PrimFunc) -> Iterator[Buffer]:
    """Yield the buffers whose elements threads load, store or take the address of."""
    for node in walk(lowered.body):
        if isinstance(node, (BufferLoad, BufferStore, AddressOf)):
            yield node.buffer.root


def _observed(static: Facts, trace: Timeline, launch: Launch) -> Facts:
    """Return the facts, extended by the facts of a run."""
    loads = [each for each in trace.intervals if each.track.kind is TrackKind.TMA_LOAD]
    stores = {_of(each) for each in trace.intervals if each.track.kind is TrackKind.TMA_STORE}
    producers, multipliers = _issuers(trace, TMA), _issuers(trace, MMA)
    return replace(
        static,
        working=len({each.cluster for each in trace.ctas}),
        tiles=max(Counter(each.cta for each in trace.tiles).values(), default=0),
        multiplies=bool(multipliers),
        loads=frozenset(_of(each) for each in loads) & {"A", "B"},
        tma_store="D" in stores,
        depth=_depth(trace, loads),
        producers=frozenset(track.warp or 0 for track in producers),
        multipliers=frozenset(track.warp or 0 for track in multipliers),
        readers=frozenset(each.track.warp or 0 for each in trace.intervals if _reads_tensor_memory(each.name)),
        apart=_apart(trace, producers, launch),
        consumers=_most_units(multipliers, 1 if static.tensor_memory else 4),
        multicast=any(name == "multicast to CTAs" for each in loads for name, _ in each.operands),
        ended=trace.stuck is None,
    )


def _proven(facts: Facts, trace: Timeline, launch: Launch, found: Dependence) -> Facts:
    """Return the facts without work on which D does not depend."""
    loads = [load for load in found.loads if load.counts]
    issuers = {(load.issuer, load.warp) for load in loads}
    producers = [track for track in trace.roles if (track.cta, track.warp) in issuers]
    width = 1 if facts.tensor_memory else WARPGROUP_WARPS
    multiplying = {(cta, unit * width + warp) for _, cta, unit in found.multipliers for warp in range(width)}
    return replace(
        facts,
        working=len({cluster for cluster, _, _ in found.multipliers}),
        multiplies=found.multiplied >= WHOLE,
        depth=depth_of(loads),
        producers=frozenset(warp for _, warp in issuers),
        multipliers=frozenset(warp for _, warp in multiplying),
        apart=_apart(trace, producers, launch),
        consumers=found.consumers,
        multicast=sum(not load.alone and load.to != load.issuer for load in loads) >= SOME * len(loads) > 0,
    )


TMA, MMA = "TMA", "MMA"


def _reads_tensor_memory(name: str) -> bool:
    """Return whether a timeline interval, by its name, is an instruction that only reads tensor memory."""
    entry = TABLE.get(name)
    return entry is not None and (entry.reads, entry.writes) == (Memory.TENSOR, Memory.NONE)


def _issuers(trace: Timeline, part: str) -> list[Track]:
    """Return the warps that issue a role's work, as the timeline names roles; "all" is every warp."""
    return [track for track, role in trace.roles.items() if role == "all" or part in role.split(", ")]


def _most_units(tracks: Iterable[Track], warps: int) -> int:
    """Return the maximum number of units of `warps` warps in one CTA among these tracks."""
    units: dict[int, set[int]] = defaultdict(set)
    for track in tracks:
        units[track.cta].add((track.warp or 0) // warps)
    return max(map(len, units.values()), default=0)


def _of(interval: Interval) -> str:
    """Return the buffer that a copy loads or stores: "A" for "load A"."""
    return interval.name.partition(" ")[2]


def _depth(trace: Timeline, loads: Iterable[Interval]) -> int:
    """Return the number of K tiles loaded, or being loaded, at the end of a CTA's first MMA; the maximum over CTAs.

    Loads that signal the same phase of the same mbarrier fill one stage. A stage may have several loads of an operand,
    for several blocks of rows, with mbarriers of their own; so it is the loads of the same rows that are counted.
    """
    ends: dict[int, float] = {}
    for each in trace.intervals:
        if each.track.kind is TrackKind.TENSOR:
            ends[each.track.cta] = min(each.end, ends.get(each.track.cta, each.end))
    filled: dict[tuple[int, str], set[tuple[object, int | None]]] = defaultdict(set)
    for each in loads:
        if each.track.cta in ends and each.start < ends[each.track.cta]:
            rows = dict(each.operands)["box"].partition(",")[0]
            filled[each.track.cta, rows].add((each.barrier, each.phase))
    return max(map(len, filled.values()), default=0)


def _apart(trace: Timeline, producers: Iterable[Track], launch: Launch) -> bool:
    """Return whether no loading warp waits for its whole CTA or cluster between its first and last load."""
    starts: dict[int, list[float]] = defaultdict(list)
    for each in trace.intervals:
        if each.track.kind is TrackKind.TMA_LOAD:
            starts[each.track.cta].append(each.start)
    issuing = set(producers)
    return not any(
        min(starts[each.track.cta]) < each.start < max(starts[each.track.cta]) and _of_all(each, launch)
        for each in trace.intervals
        if each.track in issuing and each.activity is Activity.WAIT and starts[each.track.cta]
    )


def _of_all(wait: Interval, launch: Launch) -> bool:
    """Return whether a wait is at a barrier of the whole CTA or cluster."""
    if wait.awaited is Awaited.CLUSTER:
        return True
    threads = dict(wait.operands).get("threads")
    return wait.awaited is Awaited.THREADS and (threads is None or threads == str(launch.threads))
