"""A stage: how a schedule computes one tensor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tirx_mini.ir import INT32, PARALLEL, THREAD, UNROLLED, VECTORIZED, TirxError, Var
from tirx_mini.script import caller_span

from .axis import DATA_PARALLEL, REDUCTION, THREAD_INDEX, VIRTUAL, IterVar
from .intrinsic import TensorIntrin
from .tensor import ComputeOp, Operation, Tensor


@dataclass(frozen=True, eq=False)
class Split:
    """`parent` counts ``outer * extent(inner) + inner``. One of `factor` (the extent of inner) and `parts` (that of
    outer) is given.
    """

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int | None
    parts: int | None


@dataclass(frozen=True, eq=False)
class Fuse:
    """`fused` counts ``outer * extent(inner) + inner``."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


def relation_kind(relation: Split | Fuse) -> str:
    """The kind of the loops of a relation."""
    return relation.parent.kind if isinstance(relation, Split) else relation.fused.kind


@dataclass(frozen=True)
class Root:
    """The stage is computed in full, before the stages that read it."""


@dataclass(frozen=True)
class Inline:
    """Each reader computes the elements that it reads."""


@dataclass(frozen=True)
class At:
    """The elements that one iteration of the loop `axis` of `stage` needs are computed at its beginning."""

    stage: Stage
    axis: IterVar


@dataclass(eq=False)
class Stage:
    """The schedule of one tensor: a nest of loops over `leaves`, at a place.

    relations: what was split and fused, in order.
    kinds: the kinds of loops that are not serial.
    threads: the indices of the grid that loops are bound to.
    align: for a dimension, the factor and offset of `storage_align`.
    tensorized: the loop from which on an instruction computes the stage, and the instruction.
    doubled: whether it is in two buffers, one of them for the next iteration of the loop that it is computed at.
    across: the loop that threads reduce together, and their index.
    virtual: the loops that virtual threads count.
    scope: the memory of the tensor; "" to follow from the place.
    """

    op: Operation
    is_output: bool = False
    scope: str = ""
    leaves: list[IterVar] = field(default_factory=list)
    relations: list[Split | Fuse] = field(default_factory=list)
    kinds: dict[IterVar, str] = field(default_factory=dict)
    threads: dict[IterVar, IterVar] = field(default_factory=dict)
    place: Root | Inline | At = field(default_factory=Root)
    align: dict[IterVar, tuple[int, int]] = field(default_factory=dict)
    tensorized: tuple[IterVar, TensorIntrin] | None = None
    doubled: bool = False
    across: tuple[IterVar, IterVar] | None = None
    virtual: set[IterVar] = field(default_factory=set)

    def __post_init__(self) -> None:
        if isinstance(self.op, ComputeOp):
            self.leaves = [*self.op.axis, *self.op.reduce_axis]

    def __repr__(self) -> str:
        return f"stage({self.op.name})"

    @property
    def tensor(self) -> Tensor:
        return self.op.tensor

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors that the stage computes."""
        return self.op.tensors

    def single(self, what: str) -> None:
        """Raise `TirxError` for a stage that computes several tensors."""
        if len(self.tensors) > 1:
            hint = "compute the tensors apart, each with te.compute"
            name, count = self.op.name, len(self.tensors)
            raise TirxError(f"{what}: {name} computes {count} tensors together", caller_span(), hint)

    @property
    def compute(self) -> ComputeOp:
        """The operation. Raises `TirxError` for a placeholder, which no loop computes."""
        if not isinstance(self.op, ComputeOp):
            raise TirxError(f"{self.op.name} is a placeholder: no loops compute it", caller_span())
        return self.op

    @property
    def leaf_iter_vars(self) -> list[IterVar]:
        """The loops, outermost first."""
        return list(self.leaves)

    @property
    def scheduled(self) -> bool:
        """Return whether a transformation was applied."""
        return bool(self.relations or self.kinds or self.threads or not isinstance(self.place, Root))

    # -- loops --------------------------------------------------------------------------------------------------

    def split(self, parent: IterVar, factor: int | None = None, nparts: int | None = None) -> tuple[IterVar, IterVar]:
        """Two loops for one: the inner one of `factor` iterations, or the outer one of `nparts`."""
        position = self._leaf(parent, "split")
        if (factor is None) == (nparts is None):
            raise TirxError(f"split of {parent} needs either factor or nparts", caller_span())
        number = factor if factor is not None else nparts
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise TirxError(f"{parent} cannot be split by {number!r}", caller_span(), "give a positive whole number")
        outer, inner = (IterVar(Var(INT32, f"{parent.name}.{part}"), parent.kind) for part in ("outer", "inner"))
        self.relations.append(Split(parent, outer, inner, factor, nparts))
        self.leaves[position : position + 1] = [outer, inner]
        return outer, inner

    def fuse(self, *axes: IterVar) -> IterVar:
        """One loop for several that follow one another."""
        if not axes:
            raise TirxError("fuse needs at least one loop", caller_span())
        fused = axes[0]
        for axis in axes[1:]:
            fused = self._fuse(fused, axis)
        return fused

    def _fuse(self, outer: IterVar, inner: IterVar) -> IterVar:
        position = self._leaf(outer, "fuse")
        if self._leaf(inner, "fuse") != position + 1:
            raise TirxError(
                f"{outer} and {inner} cannot be fused: {inner} is not the loop directly inside {outer}",
                caller_span(),
                "reorder the loops first",
            )
        if outer.kind != inner.kind:
            raise TirxError(
                f"{outer} ({outer.kind}) and {inner} ({inner.kind}) cannot be fused: the loop would be both",
                caller_span(),
                "fuse data parallel axes with one another, and reduction axes with one another",
            )
        fused = IterVar(Var(INT32, f"{outer.name}.{inner.name}.fused"), outer.kind)
        self.relations.append(Fuse(outer, inner, fused))
        self.leaves[position : position + 2] = [fused]
        return fused

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: int, y_factor: int
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Two loops as a loop over tiles of `x_factor` by `y_factor`: x.outer, y.outer, x.inner, y.inner."""
        x_outer, x_inner = self.split(x_parent, factor=x_factor)
        y_outer, y_inner = self.split(y_parent, factor=y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def reorder(self, *axes: IterVar) -> None:
        """Put the loops `axes` in this order, into the places that they have together."""
        places = [self._leaf(axis, "reorder") for axis in axes]
        if len(set(places)) != len(places):
            raise TirxError(f"reorder names a loop twice: {', '.join(map(str, axes))}", caller_span())
        for place, axis in zip(sorted(places), axes, strict=True):
            self.leaves[place] = axis

    def vectorize(self, var: IterVar) -> None:
        """Compute all iterations of a loop as one vector."""
        self._independent(var, "vectorize", "vectorized")
        self.kinds[var] = VECTORIZED

    def unroll(self, var: IterVar) -> None:
        """Write out the iterations of a loop one after the other."""
        self._leaf(var, "unroll")
        self.kinds[var] = UNROLLED

    def parallel(self, var: IterVar) -> None:
        """Share the iterations of a loop among the cores of a CPU."""
        self._independent(var, "parallel", "parallel")
        self.kinds[var] = PARALLEL

    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Make the iterations of a loop the CTAs, or the threads of a CTA, that an index counts.

        Those of a virtual thread, `thread_axis("vthread")`, each thread executes one after the other, unrolled. The
        threads of a loop that reduces combine their results through shared memory.
        """
        if thread_ivar.kind != THREAD_INDEX:
            hint = 'bind to te.thread_axis("threadIdx.x")'
            raise TirxError(f"{thread_ivar} is not an index of a grid", caller_span(), hint)
        if ivar.kind == REDUCTION and thread_ivar.thread.startswith("threadIdx"):
            self._across(ivar, thread_ivar)
            return
        self._independent(ivar, "bind", f"bound to {thread_ivar.thread}")
        if thread_ivar.thread == VIRTUAL:
            self.kinds[ivar] = UNROLLED
            self.virtual.add(ivar)
            return
        taken = next((axis for axis, index in self.threads.items() if index.thread == thread_ivar.thread), None)
        if taken is not None and taken is not ivar:
            raise TirxError(
                f"{taken} and {ivar} cannot both be {thread_ivar.thread}: iterations in which the two differ would be "
                "left out",
                caller_span(),
                f"fuse the two loops, or bind {ivar} to another index",
            )
        self.kinds[ivar] = THREAD
        self.threads[ivar] = thread_ivar

    def _across(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Reduce across threads."""
        self._leaf(ivar, "bind")
        self.single("bind")
        known = [thread.thread for thread in self.threads.values()]
        if self.across is not None or thread_ivar.thread in known:
            hint = "fuse the loops that reduce, and bind the fused one to an index of its own"
            raise TirxError(f"{ivar}: {self.op.name} has another loop of threads for that", caller_span(), hint)
        self.across = (ivar, thread_ivar)

    def set_store_predicate(self, predicate: Any) -> None:
        """Which threads store the result of a reduction across threads, as TVM has it. It is one thread always.

        Raises `TirxError` for a stage that is not reduced across threads.
        """
        if self.across is None:
            hint = "bind the loop that reduces to a thread index first"
            raise TirxError(f"{self.op.name} is not reduced across threads", caller_span(), hint)

    # -- place and storage --------------------------------------------------------------------------------------

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute, in each iteration of the loop `scope` of `parent`, the elements that this iteration needs."""
        self._movable("compute_at")
        if parent is self:
            raise TirxError(f"{self.op.name} cannot be computed at its own loop", caller_span())
        parent._leaf(scope, "compute_at")
        self.place = At(parent, scope)

    def compute_inline(self) -> None:
        """Have each reader compute the elements that it reads; the tensor is not stored."""
        self._movable("compute_inline")
        if self.compute.reduction is not None:
            raise TirxError(
                f"{self.op.name} is a reduction, whose readers cannot compute it within an expression",
                caller_span(),
                "use compute_at",
            )
        self.place = Inline()

    def compute_root(self) -> None:
        """Compute the tensor in full, before the stages that read it."""
        self.place = Root()

    def set_scope(self, scope: str) -> None:
        """Keep the tensor in a memory: "global", "shared" or "local"."""
        self.scope = checked_scope(scope)

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Pad the rows of the storage, so that neighbours along `axis` are ``factor * n + offset`` elements apart."""
        if axis not in self.compute.axis:
            raise TirxError(
                f"{axis} is not an axis of {self.op.name}", caller_span(), f"name one of {list(self.compute.axis)}"
            )
        if factor < 1 or offset < 0:
            raise TirxError(f"storage_align with factor={factor} and offset={offset}", caller_span())
        self.align[axis] = (factor, offset)

    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Let an instruction compute what the loop `var` and those inside it compute."""
        self._leaf(var, "tensorize")
        self.single("tensorize")
        if not isinstance(tensor_intrin, TensorIntrin):
            raise TirxError(f"{tensor_intrin!r} is not an instruction", caller_span(), "use te.decl_tensor_intrin")
        self.tensorized = (var, tensor_intrin)

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """A hint for a loop, as TVM has them, such as "auto_unroll_max_step". None of them changes a result.

        The compilers behind a target decide about unrolling themselves, so these hints have no effect; `unroll` has.
        Raises `TirxError` for others than those of `PRAGMAS`.
        """
        self._leaf(var, "pragma")
        if pragma_type not in PRAGMAS:
            raise TirxError(f"the pragma {pragma_type!r} is not provided", caller_span(), f"use {', '.join(PRAGMAS)}")

    def prefetch(self, tensor: Tensor, var: IterVar, offset: Any) -> None:
        """A hint to load what a later iteration reads of a tensor. It has no effect: CPUs do that themselves."""
        self._leaf(var, "prefetch")
        if tensor not in self.op.input_tensors:
            raise TirxError(f"prefetch: {self.op.name} does not read {tensor.name}", caller_span())

    def double_buffer(self) -> None:
        """Keep the stage in two buffers: a loop fills one of them for its next iteration before it uses the other one.

        It is for a stage computed at a serial loop (`compute_at`); at another one it changes nothing.
        """
        self._movable("double_buffer")
        self.single("double_buffer")
        self.doubled = True

    # -- checks -------------------------------------------------------------------------------------------------

    def _leaf(self, axis: Any, what: str) -> int:
        """The position of a loop."""
        self.compute  # noqa: B018 - raises for a placeholder
        if axis in self.leaves:
            return self.leaves.index(axis)
        for relation in self.relations:
            if isinstance(relation, Split) and relation.parent is axis:
                became = f"it was split into {relation.outer} and {relation.inner}"
                break
            if isinstance(relation, Fuse) and axis in (relation.outer, relation.inner):
                became = f"it was fused into {relation.fused}"
                break
        else:
            became = f"the loops are {', '.join(map(str, self.leaves))}"
        raise TirxError(f"{what}: {axis} is not a loop of {self.op.name}; {became}", caller_span())

    def _independent(self, axis: IterVar, call: str, what: str) -> None:
        self._leaf(axis, call)
        if axis.kind == REDUCTION:
            raise TirxError(
                f"{axis} is a reduction: its iterations add to the same elements, so it cannot be {what}",
                caller_span(),
                f"choose a data parallel loop of {self.op.name}: "
                + ", ".join(str(leaf) for leaf in self.leaves if leaf.kind == DATA_PARALLEL),
            )

    def _movable(self, what: str) -> None:
        self.compute  # noqa: B018 - raises for a placeholder
        if self.is_output:
            raise TirxError(
                f"{what}: {self.op.name} is an output of the schedule, so all of it is computed",
                caller_span(),
                "apply it to a tensor that another stage reads",
            )


PRAGMAS = (
    "auto_unroll_max_step", "auto_unroll_max_depth", "auto_unroll_max_extent", "unroll_explicit",
    "parallel_launch_point", "parallel_stride_pattern", "parallel_barrier_when_finish",
)  # fmt: skip
"""Hints for loops that `pragma` takes."""
ACCUMULATOR = "wmma.accumulator"
"""Registers of a warp that hold the accumulators of tensor cores; `tensorize` alone accesses them."""
SCOPES_OF_STAGES = ("global", "shared", "local", ACCUMULATOR)


def checked_scope(scope: str) -> str:
    """A memory that a stage may be in; "shared.dyn" is "shared". Raises `TirxError` for another one."""
    scope = "shared" if scope == "shared.dyn" else scope
    if scope not in SCOPES_OF_STAGES:
        hint = f"use one of {', '.join(SCOPES_OF_STAGES)}"
        raise TirxError(f"{scope!r} is not a memory of a stage", caller_span(), hint)
    return scope
