"""A lowered kernel with its arguments, ready to be executed on a modelled GPU as often as one likes."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tirx_mini.arguments import check_room, with_tensor_maps
from tirx_mini.ir import Buffer, PrimFunc, TirxError
from tirx_mini.isa import Completion, Memory, OperandKind, for_target, named_params, prints, written_params
from tirx_mini.worker import Team, Twin

from .alike import MOST_KINDS, Unlike
from .arguments import bind_arguments, named_apart
from .engines import Strips
from .facts import Entry, Origin
from .gpu import Gpu, Part, Share
from .machine import KernelImage, MbarrierFact, Probe
from .outcome import Outcome, Size
from .outputs import NothingWritten, last_unused, unwritten
from .plans.batched import WideGpu
from .plans.equality import decisions
from .plans.process import running
from .plans.sampling import Sampling
from .plans.sharded import Piece, Portion, run_apart, run_portion, run_wide, separable, wide_shares
from .question import DETERMINISTIC, Circumstances, Question
from .timing import Clock
from .translate import Cut, translate

WORTH_A_PROCESS = 5_000
"""Iterations of CTAs that take about as long as two starts of a process."""
WORTH_A_TWIN = 1_000
"""The same where a process begins as a copy of this one."""
WORTH_PROCESSES = 15_000
"""Iterations with data and checks, for what more it costs to run clusters apart (`apart`)."""
WORTH_TWINS = 4_000
"""The same where the processes are copies of this one."""
WORTH_WIDE = 5_000
"""The same in one process, for what it costs to execute a launch once for its time and again for its results."""
WORTH_BYTES = 16 << 20
"""Bytes of the arguments of such a launch, at least: this is known without a look at the loops of the kernel."""
LAUNCH = "launch.pickle"
SHADOW_BYTES = 8
"""What the checks keep of each granule of an argument that the kernel writes; a copy of that is kept besides."""


class Simulation:
    """One kernel, one set of arguments, one GPU.

    args: a torch tensor or NumPy array for each buffer parameter, a number for each scalar one; the buffers are written
    in place. Without data, None stands for any array. Raises `ArgumentError` for arguments that do not fit the kernel,
    and `TirxError` for a kernel that the GPU's architecture cannot execute.
    """

    def __init__(self, func: PrimFunc, args: Sequence[Any], question: Question) -> None:
        self.question = question
        func, args = with_tensor_maps(named_apart(func), args)
        self.spec, self.data = question.gpu, question.data
        self.arrays, self._scalars = bind_arguments(func, args, data=self.data)
        self.func = for_target(func, self.spec.arch)
        self._decided = decisions(self.func) if self.data else None
        self.image = translate(self.func, self._scalars, data=self.data, decided=self._decided).image
        written = [buffer for buffer in self.image.globals if buffer.written and self.data]
        self._written = [buffer.slot for buffer in written]
        check_room(sum(b.nbytes * (1 + SHADOW_BYTES / b.access_bytes) for b in written), f"simulating {func.name}")
        self._originals: dict[int, np.ndarray] = {}
        self._strips: dict[str, Strips] = {}
        self._timing: Clock | None = None
        self._machine: Gpu | None = None

    @property
    def fits_l2(self) -> bool:
        """Whether the L2 holds all arguments, from one launch to the next."""
        return sum(buffer.nbytes for buffer in self.image.globals) <= self.spec.l2_shared_bytes

    @property
    def _limits(self) -> dict[str, Any]:
        """What all machines of a question have in common."""
        return {"budget": self.question.budget, "pedantic": self.question.pedantic}

    @property
    def _alone(self) -> Question:
        """The question for one process: nobody watches it, and it calls no functions of Python."""
        return replace(self.question, watch=None, functions=None, jobs=1)

    def keep(self) -> None:
        """Remember what the arguments hold now, for `restore`."""
        self._originals = {slot: self.arrays[slot].copy() for slot in self._written}

    def restore(self) -> None:
        """Give the arguments back what they held at `keep`."""
        for slot, original in self._originals.items():
            np.copyto(self.arrays[slot], original)

    def results(self) -> tuple[bytes, ...]:
        """The bytes of all buffers that the kernel writes."""
        return tuple(self.arrays[slot].tobytes() for slot in self._written)

    def put_back(self, results: Sequence[bytes]) -> None:
        """Give the buffers that the kernel writes what they held when these were their `results`."""
        for slot, data in zip(self._written, results, strict=True):
            array = self.arrays[slot]
            np.copyto(array, np.frombuffer(data, array.dtype).reshape(array.shape))

    def run(self, circumstances: Circumstances = DETERMINISTIC) -> Outcome:
        """Execute the kernel once."""
        asked, given = self.question, circumstances
        if asked.sampled and not self.data:
            found = self._sampled(given.seed)
            if found is not None:
                return found
        plain = not (asked.trace or asked.log_barriers or given.mixed or given.late or given.cold)
        if given.clock is None and asked.checks and plain:
            for found in self._attempts(given.seed):
                if found is not None:
                    return found
                self.restore()
        self.close()
        with running(4 if asked.trace else 1):
            machine = self._machine = Gpu(
                self.image, self.arrays, self.spec,
                seed=given.seed, trace=asked.trace, log_barriers=asked.log_barriers, clock=given.clock,
                checks=asked.checks, data=self.data, pedantic=asked.pedantic, budget=asked.budget, mixed=given.mixed,
                late=given.late, cold=given.cold, functions=asked.functions,
            )  # fmt: skip
            self._begin(machine)
            return self._complete(machine, machine.run())

    def close(self) -> None:
        """Take the machine of the last run apart. Its outcome refers to it: facts to clusters, blocked warps to all."""
        if self._machine is not None:
            self._machine.close()
            self._machine = None

    def _begin(self, machine: Gpu) -> None:
        """Let others watch a run of the whole launch."""
        if self.question.watch is not None:
            self.question.watch(machine.standing())

    def _complete(self, machine: Gpu, outcome: Outcome) -> Outcome:
        """The outcome of a run, with what its results show if it has come to its end."""
        if outcome.fault is not None or outcome.blocked or not self.data:
            return outcome
        facts = (*outcome.facts, *self._no_effect(machine))
        missing, unread = tuple(unwritten(machine.memory)), tuple(machine.unread.values())
        return replace(outcome, facts=facts, unwritten=missing, unread=unread)

    def _attempts(self, seed: int | None) -> Iterator[Outcome | None]:
        """The outcomes of faster ways to execute the launch than with every access checked; None where that has to be,
        or where the next way may do.
        """
        effort, jobs = self._separable_effort if seed is None else -1, self.question.jobs
        if jobs > 1 and effort >= (WORTH_TWINS if Twin.possible() else WORTH_PROCESSES):
            yield self._apart()
            return
        if self.image.wide and effort >= WORTH_WIDE:
            share, others = wide_shares(self.image)
            portion = self.wide_portion(others, whole=True)
            if portion is not None:
                yield run_wide(self, portion, share)
                return
            yield None
        yield self._alike(seed)

    # -- clusters that are alike -----------------------------------------------------------------------------------

    def _alike(self, seed: int | None) -> Outcome | None:
        """The outcome of a launch of which a few clusters are checked for all; None where all have to be."""
        if not self.image.alike or not self._originals or self.question.functions:
            return None
        with (
            suppress(Unlike), running(),
            Gpu(self.image, self.arrays, self.spec, seed=seed, alike=True, **self._limits) as machine,
        ):
            self._begin(machine)
            outcome = self._complete(machine, machine.run())
            told = outcome.facts or outcome.blocked or outcome.mixed or outcome.tested or outcome.repeats
            unknown = machine.kinds.unknown.values() if machine.kinds is not None else ()
            if not told and not outcome.unread and self.all_checked(unknown):
                return outcome
        return None

    def all_checked(self, unknown: Collection[int]) -> bool:
        """Whether these clusters, one of each kind that no other one was checked of, have nothing to report."""
        if len(unknown) > MOST_KINDS:
            return False
        with suppress(Unlike), running():
            return all(self._checked_portion(range(number, number + 1)) for number in unknown)
        return False

    def _checked_portion(self, clusters: range, *, keep: bool = False) -> Portion | None:
        """What a few clusters that are alike do, with checks and alone on the GPU; None if there is any to report."""
        with Gpu(
            self.image, self.arrays, self.spec, part=Part(clusters), alike=True, **self._limits
        ) as machine:
            return run_portion(machine, keep=keep)

    # -- clusters apart --------------------------------------------------------------------------------------------

    @cached_property
    def _separable_effort(self) -> float:
        """Iterations of the CTAs of a launch whose clusters may be executed apart, and whose arguments were kept.

        It is -1 for any other one, and for a small one.
        """
        if not self.data or not self._originals or self.question.functions:
            return -1
        if sum(array.nbytes for array in self.arrays) < WORTH_BYTES:
            return -1
        try:
            effort = self._sampling.effort([self._sampling.whole])
        except TirxError:  # the control flow depends on data
            return -1
        return effort if separable(self.func, self.image, self.arrays) else -1

    def _apart(self) -> Outcome | None:
        """The outcome of a launch that several processes execute; None where one has to, from the beginning."""

        def payload(folder: Path, piece: Piece) -> _PortionOfLaunch:
            return _PortionOfLaunch(folder, piece)

        return run_apart(self, self._save, _portion_in_child, payload, self.question.jobs)

    def _save(self, folder: Path) -> None:
        """Save the launch, with the arguments, for `_held`."""
        kinds = [(array.dtype, array.shape) for array in self.arrays]
        (folder / LAUNCH).write_bytes(pickle.dumps((self.func, self._scalars, self._alone, kinds)))
        for slot, array in enumerate(self.arrays):
            np.save(folder / f"{slot}.npy", array.reshape(-1).view(np.uint8))

    def portion(self, piece: Piece, *, keep: bool = False) -> Portion | None:
        """What some clusters do, with data; checked if they are not alike. None where there is anything to report."""
        wide = None if piece.checked else self.wide_portion(piece.clusters, keep=keep)
        if wide is not None:
            return wide
        with suppress(Unlike), running():
            if piece.checked:
                return self._checked_portion(piece.clusters, keep=keep)
            machine = Gpu(
                self._prompt_image if self.image.alike else self.image, self.arrays, self.spec,
                part=Part(piece.clusters, untimed=True), alike=self.image.alike, **self._limits,
            )  # fmt: skip
            with machine:
                return run_portion(machine, keep=keep)
        return None

    def wide_portion(self, clusters: range, *, keep: bool = False, whole: bool = False) -> Portion | None:
        """The same of clusters that are alike, several at a time; None also where that is not possible.

        whole: whether these are nearly all clusters of the launch.
        """
        if not (clusters and self.image.alike and self.image.wide and self.divisible):
            return None
        with suppress(Unlike, ValueError), running():  # NumPy refuses lanes of one cluster beside those of several
            options: Any = {"budget": self.question.budget, "strips": self._strips}
            machine = WideGpu(self._prompt_image, self.arrays, self.spec, clusters, **options)
            with machine:
                if whole:
                    self._begin(machine)
                return run_portion(machine, keep=keep)
        return None

    @cached_property
    def _prompt_image(self) -> KernelImage:
        """The kernel for a run of which only the results matter: another one if its warps issue wgmmas together."""
        entries = self.image.instructions.values()
        if not any(entry.completion is Completion.WGMMA_GROUP for entry in entries):
            return self.image
        return translate(self.func, self._scalars, prompt=True, decided=self._decided).image

    @property
    def divisible(self) -> bool:
        """Whether one run may execute some clusters with data, and others without: global memory is only accessed by
        instructions that do without data.
        """
        return all(
            Memory.GLOBAL not in entry.reads | entry.writes
            or any(operand.type.kind is OperandKind.TENSOR_MAP for operand in entry.operands)
            for entry in self.image.instructions.values()
        )

    def timed(self, share: range) -> Portion | None:
        """What a share of the clusters do, with data and checks, and the outcome of the whole launch.

        None where there is anything to report, or where the time depends on data. Without a share, the whole launch is
        executed without data.
        """
        with suppress(Unlike, TirxError), running():
            bare = Simulation(self.func, tuple(self._arguments()), replace(self._alone, data=False))
            if share:
                machine = Gpu(
                    self.image, self.arrays, self.spec, share=Share(share, bare.image), alike=self.image.alike,
                    strips=self._strips, **self._limits,
                )  # fmt: skip
            else:
                machine = Gpu(bare.image, bare.arrays, self.spec, data=False, alike=True, **self._limits)
            self._timing = machine.clock
            with machine:
                self._begin(machine)
                return run_portion(machine, keep=False)
        return None

    def stop_timing(self) -> None:
        """Have `timed` end soon, in whichever thread: what it finds is not needed."""
        if self._timing is not None:
            self._timing.at(-1.0, None, _give_up)  # before all other events

    # -- samples ---------------------------------------------------------------------------------------------------

    def _sampled(self, seed: int | None) -> Outcome | None:
        """The outcome of a launch of which parts are run; None where all of it has to be."""
        args = tuple(self._arguments())

        def payload(size: Size) -> _PartOfLaunch:
            return _PartOfLaunch(self.func, args, self._alone, size, seed)

        def here(size: Size) -> Outcome | None:
            return self.part(size, seed)

        worth = WORTH_A_TWIN if Twin.possible() else WORTH_A_PROCESS
        with Team(_in_child, payload, here, self.question.jobs, twin=here) as team:

            def run(sizes: Sequence[Size]) -> Mapping[Size, Outcome | None]:
                if self._sampling.effort(sizes) >= worth:
                    return team.results(sizes)
                return {size: here(size) for size in sizes}

            found = self._sampling.outcome(run)
        return None if found is None else replace(found[0], sampled=found[1])

    def _arguments(self) -> Iterator[Any]:
        """The arguments of the same run without data in another process."""
        scalars = iter(self._scalars)
        for param in self.func.params:
            yield None if isinstance(param, Buffer) else next(scalars)

    @cached_property
    def _sampling(self) -> Sampling:
        return Sampling(self.func, self.image, self.spec)

    def excerpt(self, clusters: Sequence[int], probe: Probe | None = None, *, trace: bool = False) -> Outcome:
        """The outcome of some clusters alone on the GPU, with their data and without checks."""
        options: Any = {"trace": trace, "checks": False, "data": self.data, "part": Part(clusters), "probe": probe}
        with running(4 if trace else 1), Gpu(self.image, self.arrays, self.spec, **options) as machine:
            return machine.run()

    def part(self, size: Size, seed: int | None) -> Outcome | None:
        """The outcome of a part of the launch, without data.

        None where it does not come to its end, or uses an mbarrier wrongly: such a run keeps nothing to explain that.
        """
        cut, part = self._sampling.part(size)
        image = translate(self.func, self._scalars, data=False, cut=cut).image if cut != Cut() else self.image
        options: Any = {"seed": seed, "budget": self.question.budget, "data": False, "part": part}
        with running(), Gpu(image, self.arrays, self.spec, **options) as machine:
            outcome = machine.run()
        wrong = any(isinstance(entry.fact, MbarrierFact) for entry in outcome.facts)
        return None if wrong or outcome.fault is not None or outcome.blocked else outcome

    def _no_effect(self, machine: Gpu) -> tuple[Entry, ...]:
        """The fact that a run wrote no argument, for a kernel that computes with some and has one for the result.

        That is one which it names nowhere, or whose stores no thread came to. A kernel that prints has an effect.
        """
        untouched = [segment.untouched() for segment in machine.memory.segments.values()]
        if len(untouched) < len(self._written) or not all(places.all() for places in untouched):
            return ()
        if machine.stats.get("tma_store_bytes"):
            return ()  # stores of boxes that lie outside of their tensors
        named, written = named_params(self.func), written_params(self.func)
        buffers = [param for param in self.func.params if isinstance(param, Buffer)]
        results = tuple(buffer.name for buffer in buffers if buffer not in named or buffer in written)
        if not results or not named or prints(self.func):
            return ()
        last = last_unused(self.func)
        if last is None:
            last = next((columns.span for columns in machine.unread.values()), None)
        return (Entry(NothingWritten(Origin("", "", "", self.func.span), results, last)),)


@dataclass(frozen=True)
class _PartOfLaunch:
    """A part of a launch, for another process."""

    func: PrimFunc
    args: tuple[Any, ...]
    question: Question
    size: Size
    seed: int | None


def _in_child(part: _PartOfLaunch) -> Generator[None, None, Outcome | None]:
    yield
    return Simulation(part.func, part.args, part.question).part(part.size, part.seed)


@dataclass(frozen=True)
class _PortionOfLaunch:
    """A portion of a launch, for another process. folder: holds the launch."""

    folder: Path
    piece: Piece


def _portion_in_child(part: _PortionOfLaunch) -> Generator[None, None, Portion | None]:
    yield
    return _held(part.folder).portion(part.piece, keep=True)


@lru_cache(maxsize=1)
def _held(folder: Path) -> Simulation:
    """The launch that the portions of a child belong to. Its copies of the arguments are its own."""
    func, scalars, question, kinds = pickle.loads((folder / LAUNCH).read_bytes())
    arrays = (
        np.load(folder / f"{slot}.npy", mmap_mode="c").view(dtype).reshape(shape)
        for slot, (dtype, shape) in enumerate(kinds)
    )
    numbers = iter(scalars)
    args = [next(arrays) if isinstance(param, Buffer) else next(numbers) for param in func.params]
    return Simulation(func, args, question)


def _give_up() -> NoReturn:
    raise Unlike
