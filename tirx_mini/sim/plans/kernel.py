"""A lowered kernel bound to its arguments and a question; plans execute it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property

import numpy as np

from tirx_mini.arguments import check_room, with_tensor_maps
from tirx_mini.ir import Buffer, Call, PrimFunc, Stmt, TirxError
from tirx_mini.isa import (
    Completion,
    Memory,
    OperandKind,
    addressed_widths,
    for_target,
    instruction_of,
    named_params,
    prints,
    written_params,
)

from ..arguments import bind_arguments, named_apart, with_workspaces
from ..data_decides import data_decides
from ..engines import Strips
from ..facts import Entry, Origin
from ..gpu import Gpu
from ..launch import lost_share
from ..machine import NO_ORDER, NO_VALUES, ORDER, VALUES, KernelImage, Values
from ..outcome import Outcome
from ..outputs import NothingWritten, is_finite, last_unused, nan_result, unwritten
from ..question import Circumstances, Question
from ..setup import Setup
from ..translate import Cut, asks_once, batchable, translate
from .equality import Equality
from .process import running
from .sampling import Sampling

WORTH_BYTES = 16 << 20
"""The minimum size of the arguments, in bytes, of a launch that is worth dividing."""
SHADOW_BYTES = 8
"""The bytes that the checks keep per granule of a written argument, in addition to a copy of the argument."""


class BoundKernel:
    """A kernel with its arguments and a question.

    args: a torch tensor or NumPy array for each buffer parameter, a number for each scalar one; the buffers are written
    in place. Without data, None represents any array. Raises `ArgumentError` for arguments that do not fit the kernel,
    and `TirxError` for a kernel that the GPU's architecture cannot execute.
    """

    def __init__(self, func: PrimFunc, args: Sequence[object], question: Question) -> None:
        self.question = question
        func, args = with_tensor_maps(named_apart(func), args)
        self.spec, self.data = question.gpu, question.data
        func, args = with_workspaces(func, args, self.data)
        self.arrays, self.scalars = bind_arguments(func, args, data=self.data)
        self.func = for_target(func, self.spec.arch)
        self._decided = Equality.of(self.func).decided if self.data else None
        self.image = self.translated(data=self.data, decided=self._decided)
        written = [buffer for buffer in self.image.globals if buffer.written and self.data]
        self._written = [buffer.slot for buffer in written]
        check_room(sum(b.nbytes * (1 + SHADOW_BYTES / b.access_bytes) for b in written), f"simulating {func.name}")
        self._originals: dict[int, np.ndarray] = {}
        self._finite = question.checks and all(is_finite(self.arrays[slot]) for slot in self._written)
        self.strips: dict[str, Strips] = {}
        self._machine: Gpu | None = None

    # -- arguments -------------------------------------------------------------------------------------------------

    @property
    def begins_cold(self) -> bool:
        """Return whether the L2 holds none of the arguments from the launch before."""
        return lost_share(self.image, self.spec) == 1.0

    @property
    def kept(self) -> bool:
        """Return whether the original arguments are saved, so that a run can be repeated."""
        return bool(self._originals)

    def keep(self) -> None:
        """Save copies of the written arguments for `restore`."""
        self._originals = {slot: self.arrays[slot].copy() for slot in self._written}

    def restore(self) -> None:
        """Restore the arguments to their values at `keep`."""
        for slot, original in self._originals.items():
            np.copyto(self.arrays[slot], original)

    def results(self) -> tuple[bytes, ...]:
        """Return the bytes of all buffers that the kernel writes."""
        return tuple(self.arrays[slot].tobytes() for slot in self._written)

    def put_back(self, results: Sequence[bytes]) -> None:
        """Overwrite the buffers that the kernel writes with earlier `results`."""
        for slot, data in zip(self._written, results, strict=True):
            array = self.arrays[slot]
            np.copyto(array, np.frombuffer(data, array.dtype).reshape(array.shape))

    @property
    def without_data(self) -> tuple[object, ...]:
        """The arguments of the same kernel for a run without data."""
        scalars = iter(self.scalars)
        return tuple(None if isinstance(param, Buffer) else next(scalars) for param in self.func.params)

    @property
    def alone(self) -> Question:
        """The question in the form for another process, without a watcher and Python functions."""
        return replace(self.question, watch=None, functions=None, jobs=1)

    # -- properties that plans rest on -----------------------------------------------------------------------------

    @property
    def clusters(self) -> int:
        """The number of clusters of the launch."""
        return self.image.launch.num_ctas // self.image.launch.cluster_size

    def translated(
        self, *, data: bool = True, cut: Cut | None = None, untimed: bool = False, decided: Set[Stmt] | None = None
    ) -> KernelImage:
        """Return an image of the kernel for this GPU. See `sim.translate.translate`."""
        translation = translate(
            self.func, self.scalars, data=data, cut=cut, untimed=untimed, decided=decided, sms=self.spec.sms
        )
        return translation.image

    @cached_property
    def sampling(self) -> Sampling:
        """The sampled parts of the launch."""
        return Sampling(self.func, self.image, self.spec)

    @property
    def equal(self) -> bool:
        """Return whether all clusters provably execute the same, up to the output tiles that they compute."""
        try:
            return self.sampling.equal
        except TirxError:  # the loops depend on data
            return False

    @cached_property
    def untimed_image(self) -> KernelImage:
        """The kernel image for an untimed run; it differs if the warps of a warpgroup issue wgmmas together."""
        entries = self.image.instructions.values()
        if not any(entry.completion is Completion.WGMMA_GROUP for entry in entries):
            return self.image
        return self.translated(untimed=True, decided=self._decided)

    @property
    def divisible(self) -> bool:
        """Return whether one run may execute some clusters with data and others without.

        This requires that only instructions which can run without data access global memory.
        """
        return all(
            Memory.GLOBAL not in entry.reads | entry.writes
            or any(operand.type.kind is OperandKind.TENSOR_MAP for operand in entry.operands)
            for entry in self.image.instructions.values()
        )

    @cached_property
    def inseparable(self) -> str:
        """The reason why clusters cannot be executed separately; "" if they can.

        They cannot if they synchronise, cancel one another's launch, print, read the time, or get the old value of an
        element that they update atomically, or if two arguments overlap in memory.
        """
        if self.image.grid_wide or prints(self.func):
            return "clusters synchronise, or the kernel prints"
        for node in self.func.of(Call):
            entry = instruction_of(node)
            if entry is None:
                continue
            if entry.reads_clock or entry.cancels_launches or entry.opaque:
                return "the kernel reads the time or takes other clusters' places"
            if entry.is_atomic and entry.result and _addresses_globals(node):
                return "clusters count together"
        overlap = any(np.may_share_memory(a, b) for a, b in itertools.combinations(self.arrays, 2))
        return "two arguments overlap" if overlap else ""

    @cached_property
    def asks_once(self) -> bool:
        """Return whether the kernel tests an mbarrier once and branches on the result."""
        return asks_once(self.func.body)

    @cached_property
    def batchable(self) -> bool:
        """Return whether equal clusters may be executed as one (`machine.batched`)."""
        return batchable(self.func)

    @cached_property
    def effort(self) -> float:
        """The number of iterations of all CTAs; -1 for a small launch or data-dependent loops."""
        if sum(array.nbytes for array in self.arrays) < WORTH_BYTES:
            return -1
        try:
            return self.sampling.effort([self.sampling.whole])
        except TirxError:
            return -1

    # -- executions ------------------------------------------------------------------------------------------------

    @property
    def limits(self) -> Setup:
        """The part of a setup that is common to all machines of this question."""
        return Setup(budget=self.question.budget, pedantic=self.question.pedantic)

    @property
    def values(self) -> Values:
        """The `Values` collaborator of a machine that answers this question."""
        return VALUES if self.data else NO_VALUES

    def execute(self, circumstances: Circumstances, checks: bool = True) -> Outcome:
        """Execute the whole launch as the question asks, or without checks."""
        asked = self.question
        setup = replace(
            self.limits, seed=circumstances.seed, clock=circumstances.clock, mixed=circumstances.mixed or {},
            late=circumstances.late, cold=circumstances.cold, trace=asked.trace, log_barriers=asked.log_barriers,
            values=self.values, order=ORDER if asked.checks and checks else NO_ORDER, functions=asked.functions or {},
        )  # fmt: skip
        self.close()
        with running(4 if asked.trace else 1):
            machine = self._machine = Gpu(self.image, self.arrays, self.spec, setup)
            self.begin(machine)
            return self.complete(machine, machine.run())

    def close(self) -> None:
        """Close the machine of the last run. Its outcome refers to the machine: facts to clusters, blocked warps to all
        of it."""
        if self._machine is not None:
            self._machine.close()
            self._machine = None

    def begin(self, machine: Gpu) -> None:
        """Start the watcher of a run of the whole launch."""
        if self.question.watch is not None:
            self.question.watch(machine.standing())

    def complete(self, machine: Gpu, outcome: Outcome) -> Outcome:
        """Return the outcome of a run, extended with the facts that its results show if it has completed."""
        if outcome.fault is not None or outcome.blocked or not self.data:
            return outcome
        facts = (*outcome.facts, *self._no_effect(machine), *self._nans())
        missing, unread = tuple(unwritten(machine.memory)), tuple(machine.unread.values())
        return replace(outcome, facts=facts, unwritten=missing, unread=unread)

    def _nans(self) -> Iterator[Entry]:
        """Yield a fact for each result with NaN, if no argument and no tensor-map fill contains one."""
        if not self._finite or any(tensor_map.nan_fill for tensor_map in self.func.tensor_maps):
            return
        written = [buffer for buffer in self.image.globals if buffer.slot in self._written]
        found = [nan_result(buffer, self.arrays[buffer.slot], self.func.span) for buffer in written]
        read = (array for slot, array in enumerate(self.arrays) if slot not in self._written)
        if any(found) and all(map(is_finite, read)):
            yield from (Entry(each) for each in found if each is not None)

    def _no_effect(self, machine: Gpu) -> Iterator[Entry]:
        """Yield a fact if a kernel with arguments and a result buffer wrote nothing.

        Such a kernel never names the result buffer, or no thread executed its stores. A kernel that prints has an
        effect.
        """
        untouched = [segment.untouched() for segment in machine.memory.segments.values()]
        if len(untouched) < len(self._written) or not all(places.all() for places in untouched):
            return
        if machine.stats.get("tma_store_bytes"):
            return  # stores of boxes that lie outside of their tensors
        named, written = named_params(self.func), written_params(self.func)
        buffers = [param for param in self.func.params if isinstance(param, Buffer)]
        results = tuple(buffer.name for buffer in buffers if buffer not in named or buffer in written)
        if not results or not named or prints(self.func) or data_decides(self.func):
            return
        last = last_unused(self.func)
        if last is None:
            last = next((columns.span for columns in machine.unread.values()), None)
        yield Entry(NothingWritten(Origin("", "", "", self.func.span), results, last))


def _addresses_globals(call: Call) -> bool:
    """Return whether an atomic operation may address global memory."""
    return any(buffer is None or buffer.scope == "global" for buffer, _ in addressed_widths(call))
