"""The schedule of a single tensor."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from tirx_mini.ir import INT32, PARALLEL, THREAD, UNROLLED, VECTORIZED, TirxError, Var
from tirx_mini.records import dataclass
from tirx_mini.script import caller_span

from .axis import DATA_PARALLEL, REDUCTION, THREAD_INDEX, VIRTUAL, IterVar
from .intrinsic import TensorIntrin
from .tensor import ComputeOp, Operation, Tensor


@dataclass(frozen=True, eq=False)
class Split:
    """A split of the loop `parent` into ``outer * extent(inner) + inner``. Either `factor`, the extent of inner, or
    `parts`, the extent of outer, is given.
    """

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int | None
    parts: int | None


@dataclass(frozen=True, eq=False)
class Fuse:
    """A fusion of two loops into `fused`, which equals ``outer * extent(inner) + inner``."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


def relation_kind(relation: Split | Fuse) -> str:
    """Return the kind of a relation's loops."""
    return relation.parent.kind if isinstance(relation, Split) else relation.fused.kind


@dataclass(frozen=True)
class Root:
    """The stage is computed in full, before its readers."""


@dataclass(frozen=True)
class Inline:
    """The stage is computed inline, by each reader for the elements that it reads."""


@dataclass(frozen=True)
class At:
    """The stage is computed at the start of each iteration of loop `axis` of `stage`, for the elements needed there."""

    stage: Stage
    axis: IterVar


@dataclass(eq=False)
class Stage:
    """The schedule of one tensor: a loop nest over `leaves`, and its attachment point.

    relations: the splits and fusions, in order.
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
        """The tensors that the stage computes."""
        return self.op.tensors

    def single(self, what: str) -> None:
        """Raise `TirxError` for a stage that computes several tensors."""
        if len(self.tensors) > 1:
            hint = "compute the tensors apart, each with te.compute"
            name, count = self.op.name, len(self.tensors)
            raise TirxError(f"{what}: {name} computes {count} tensors together", caller_span(), hint)

    @property
    def compute(self) -> ComputeOp:
        """The operation. Raises `TirxError` for a placeholder, which has no loops."""
        if not isinstance(self.op, ComputeOp):
            raise TirxError(f"{self.op.name} is a placeholder: no loops compute it", caller_span())
        return self.op

    @property
    def leaf_iter_vars(self) -> list[IterVar]:
        """The loops, outermost first."""
        return list(self.leaves)

    @property
    def scheduled(self) -> bool:
        """Return whether a transformation has been applied."""
        return bool(self.relations or self.kinds or self.threads or not isinstance(self.place, Root))

    # -- loops --------------------------------------------------------------------------------------------------

    def split(self, parent: IterVar, factor: int | None = None, nparts: int | None = None) -> tuple[IterVar, IterVar]:
        """Split a loop into two, with an inner extent of `factor` or an outer extent of `nparts`."""
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
        """Fuse consecutive loops into one."""
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
        """Tile two loops by `x_factor` and `y_factor`: x.outer, y.outer, x.inner, y.inner."""
        x_outer, x_inner = self.split(x_parent, factor=x_factor)
        y_outer, y_inner = self.split(y_parent, factor=y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def reorder(self, *axes: IterVar) -> None:
        """Reorder the loops `axes` among the positions that they occupy."""
        places = [self._leaf(axis, "reorder") for axis in axes]
        if len(set(places)) != len(places):
            raise TirxError(f"reorder names a loop twice: {', '.join(map(str, axes))}", caller_span())
        for place, axis in zip(sorted(places), axes, strict=True):
            self.leaves[place] = axis

    def vectorize(self, var: IterVar) -> None:
        """Vectorise a loop."""
        self._independent(var, "vectorize", "vectorized")
        self.kinds[var] = VECTORIZED

    def unroll(self, var: IterVar) -> None:
        """Unroll a loop fully."""
        self._leaf(var, "unroll")
        self.kinds[var] = UNROLLED

    def parallel(self, var: IterVar) -> None:
        """Execute the iterations of a loop in parallel on the cores of a CPU."""
        self._independent(var, "parallel", "parallel")
        self.kinds[var] = PARALLEL

    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Map the iterations of a loop to CTAs or threads by a grid index.

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
        """Bind a reduction loop to threads."""
        self._leaf(ivar, "bind")
        self.single("bind")
        known = [thread.thread for thread in self.threads.values()]
        if self.across is not None or thread_ivar.thread in known:
            hint = "fuse the loops that reduce, and bind the fused one to an index of its own"
            raise TirxError(f"{ivar}: {self.op.name} has another loop of threads for that", caller_span(), hint)
        self.across = (ivar, thread_ivar)

    def set_store_predicate(self, predicate: object) -> None:
        """Set the predicate of a cross-thread reduction's storing thread. It has no effect: one thread always stores.

        Raises `TirxError` for a stage that is not reduced across threads.
        """
        if self.across is None:
            hint = "bind the loop that reduces to a thread index first"
            raise TirxError(f"{self.op.name} is not reduced across threads", caller_span(), hint)

    # -- place and storage --------------------------------------------------------------------------------------

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute the stage in each iteration of loop `scope` of `parent`, for the elements needed there."""
        self._movable("compute_at")
        if parent is self:
            raise TirxError(f"{self.op.name} cannot be computed at its own loop", caller_span())
        parent._leaf(scope, "compute_at")
        self.place = At(parent, scope)

    def compute_inline(self) -> None:
        """Inline the stage into its readers, without storing the tensor."""
        self._movable("compute_inline")
        if self.compute.reduction is not None:
            raise TirxError(
                f"{self.op.name} is a reduction, whose readers cannot compute it within an expression",
                caller_span(),
                "use compute_at",
            )
        self.place = Inline()

    def compute_root(self) -> None:
        """Compute the tensor in full, before its readers."""
        self.place = Root()

    def set_scope(self, scope: str) -> None:
        """Set the memory of the tensor: "global", "shared" or "local"."""
        self.scope = checked_scope(scope)

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Pad the storage so that neighbours along `axis` are ``factor * n + offset`` elements apart."""
        if axis not in self.compute.axis:
            raise TirxError(
                f"{axis} is not an axis of {self.op.name}", caller_span(), f"name one of {list(self.compute.axis)}"
            )
        if factor < 1 or offset < 0:
            raise TirxError(f"storage_align with factor={factor} and offset={offset}", caller_span())
        self.align[axis] = (factor, offset)

    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Replace the loop `var` and its inner loops by an instruction."""
        self._leaf(var, "tensorize")
        self.single("tensorize")
        if not isinstance(tensor_intrin, TensorIntrin):
            raise TirxError(f"{tensor_intrin!r} is not an instruction", caller_span(), "use te.decl_tensor_intrin")
        self.tensorized = (var, tensor_intrin)

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: object = None) -> None:
        """Attach a hint to a loop as in TVM, such as "auto_unroll_max_step". Hints never change a result.

        The compilers behind a target decide about unrolling themselves, so these hints have no effect; `unroll` has.
        Raises `TirxError` for others than those of `PRAGMAS`.
        """
        self._leaf(var, "pragma")
        if pragma_type not in PRAGMAS:
            raise TirxError(f"the pragma {pragma_type!r} is not provided", caller_span(), f"use {', '.join(PRAGMAS)}")

    def prefetch(self, tensor: Tensor, var: IterVar, offset: object) -> None:
        """Request a prefetch of data for a later iteration; it has no effect, since CPUs prefetch in hardware."""
        self._leaf(var, "prefetch")
        if tensor not in self.op.input_tensors:
            raise TirxError(f"prefetch: {self.op.name} does not read {tensor.name}", caller_span())

    def double_buffer(self) -> None:
        """Double-buffer the stage: a loop fills one buffer for its next iteration while it uses the other.

        It is for a stage computed at a serial loop (`compute_at`); at another one it changes nothing.
        """
        self._movable("double_buffer")
        self.single("double_buffer")
        self.doubled = True

    # -- checks -------------------------------------------------------------------------------------------------

    def _leaf(self, axis: Any, what: str) -> int:
        """Return the position of a loop."""
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
    """Return the normalised memory of a stage; "shared.dyn" is "shared". Raises `TirxError` for any other name."""
    scope = "shared" if scope == "shared.dyn" else scope
    if scope not in SCOPES_OF_STAGES:
        hint = f"use one of {', '.join(SCOPES_OF_STAGES)}"
        raise TirxError(f"{scope!r} is not a memory of a stage", caller_span(), hint)
    return scope
