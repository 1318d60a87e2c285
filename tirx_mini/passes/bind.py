"""The BindLoops pass: map scheduled loops to CTAs and threads, with barriers between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from tirx_mini.hardware import WARP_SIZE
from tirx_mini.ir import (
    COURSE,
    INT32,
    PARALLEL,
    THREAD,
    TIR,
    UNROLLED,
    VECTORIZED,
    AllocBuffer,
    Analyzer,
    Buffer,
    BufferLoad,
    BufferStore,
    Cast,
    Expr,
    For,
    Hint,
    If,
    Mutator,
    PrimFunc,
    Ramp,
    Scope,
    ScopeIds,
    Seq,
    Stmt,
    TileCall,
    TirxError,
    Var,
    binary,
    const,
    int_value,
    seq,
    special,
    substitute,
    walk,
)
from tirx_mini.records import dataclass, replace

from .barriers import insert_barriers
from .invariant import hoist_loads
from .vectorize import MOST_BYTES, vectorize

_AXES = "xyz"
TENSOR_INTRIN = "tensor_intrin"
"""The attribute around statements that the lanes of a warp, counted by threadIdx.x, execute together."""


@dataclass(frozen=True)
class Kernels:
    """A function split into kernels that the host launches in order.

    functions: the kernels; the parameters of each are those of the function, and temporaries, that it uses.
    temporaries: buffers in global memory from one kernel to a later one.
    """

    functions: tuple[PrimFunc, ...]
    temporaries: tuple[Buffer, ...]


def split_kernels(func: PrimFunc) -> Kernels:
    """Split a function into kernels, one per top-level loop nest.

    Raises `TirxError` for a nest none of whose loops is bound to the grid.
    """
    parts = func.body.stmts if isinstance(func.body, Seq) else (func.body,)
    temporaries = tuple(part.buffer for part in parts if isinstance(part, AllocBuffer))
    for buffer in temporaries:
        if buffer.scope != "global":
            raise TirxError(
                f"{buffer.name} is in {buffer.scope} memory, but no loop that is bound to the grid is around it",
                buffer.span,
                "compute it at a loop of the stage that reads it: compute_at",
            )
    nests = [part for part in parts if not isinstance(part, AllocBuffer)]
    functions: list[PrimFunc] = []
    for number, nest in enumerate(nests):
        name = func.name if len(nests) == 1 else f"{func.name}_{number}"
        used = {node.buffer for node in walk(nest) if isinstance(node, (BufferLoad, BufferStore))}
        params = [p for p in func.params if p in used or len(nests) == 1]
        params += [buffer for buffer in temporaries if buffer in used]
        functions.append(replace(func, name=name, params=tuple(params), body=nest))
    return Kernels(tuple(functions), temporaries)


def bind_loops(func: PrimFunc) -> PrimFunc:
    """Convert a scheduled function to a kernel; any other function is returned unchanged.

    Raises `TirxError` where the function is several kernels, or has loops that are not for a GPU.
    """
    if func.spelling != TIR:
        return func
    kernels = split_kernels(vectorize(func))
    if len(kernels.functions) != 1 or kernels.temporaries:
        names = ", ".join(kernel.name for kernel in kernels.functions)
        raise TirxError(
            f"{func.name} is {len(kernels.functions)} kernels, one for each nest of loops at its top: {names}",
            func.span,
            "build it with tvm.build, which launches them in order, or fuse the stages with compute_at",
        )
    (kernel,) = kernels.functions
    extents = _grid(kernel)
    ids, names = _ids(extents)
    body = hoist_loads(_Bind(extents, names).stmt(kernel.body))
    body = insert_barriers(body, _threads(extents), numbers=_numbers(extents, names))
    whole = Scope("kernel", seq(*ids, Scope("thread", body, span=func.span)), span=func.span)
    attrs = tuple((key, value) for key, value in func.attrs if not key.startswith("tir."))
    return replace(kernel, body=whole, attrs=attrs, spelling=COURSE)


def _grid(func: PrimFunc) -> dict[str, int]:
    """Return the extent of each bound index: the maximum over its loops."""
    extents: dict[str, int] = {}
    for node in func.nodes:
        if isinstance(node, For) and node.kind == THREAD:
            extent = int_value(node.stop)
            if extent is None:
                raise TirxError(f"the extent of {node.thread} is not known when the kernel is compiled", node.span)
            extents[node.thread] = max(extent, extents.get(node.thread, 1))
    if not extents:
        raise TirxError(
            f"no loop of {func.name} is bound to the grid, so a GPU would compute it in one thread",
            func.span,
            'bind loops, as in s[C].bind(outer, te.thread_axis("blockIdx.x"))',
        )
    return extents


def _ids(extents: dict[str, int]) -> tuple[list[Stmt], dict[str, Var]]:
    """Return the declarations of the indices, with their variables."""
    names: dict[str, Var] = {}
    found: list[Stmt] = []
    for prefix, kind, parent in (("blockIdx", "cta", "kernel"), ("threadIdx", "thread", "cta")):
        sizes = [extents.get(f"{prefix}.{axis}", 1) for axis in _AXES]
        while len(sizes) > 1 and sizes[-1] == 1:
            sizes.pop()
        own = {f"{prefix}.{axis}": Var(INT32, f"{prefix}_{axis}") for axis, _ in zip(_AXES, sizes, strict=False)}
        names |= own
        found.append(ScopeIds(tuple(own.values()), tuple(sizes), kind, parent))
    return found, names


def _threads(extents: Mapping[str, int]) -> int:
    """Return the number of threads in a CTA."""
    return prod(extent for index, extent in extents.items() if index.startswith("threadIdx"))


def _numbers(extents: Mapping[str, int], names: Mapping[str, Var]) -> dict[Var, Expr]:
    """Return the thread indices as functions of the linear thread index."""
    number: Expr = special("threadIdx.x")
    found: dict[Var, Expr] = {}
    for index in (f"threadIdx.{axis}" for axis in _AXES):
        extent = extents.get(index, 1)
        if index in names:
            found[names[index]] = number % extent
        number = number // extent
    return found


class _Bind(Mutator):
    """Replaces bound loops by indices, and CPU loop kinds by serial loops.

    An iteration that a thread is not to execute, because its index is beyond the extent of a loop, is left out where it
    stores: barriers around it are still for all threads. Where several threads would store the same element, the first
    one does.
    """

    def __init__(self, extents: dict[str, int], names: dict[str, Var]) -> None:
        self.extents, self.names = extents, names
        self.conditions: dict[str, Expr] = {}
        self.analyzer = Analyzer({names[index]: (0, extent - 1) for index, extent in extents.items() if index in names})

    def visit_For(self, node: For) -> Stmt:
        if node.kind == PARALLEL:
            raise TirxError(
                f"the loop over {node.var.name} is parallel, which is for the cores of a CPU",
                node.span,
                "bind it to an index of the grid",
            )
        if node.kind == THREAD:
            return self._bound(node)
        loop = self.rebuild(node)
        return replace(loop, kind=UNROLLED) if loop.kind == VECTORIZED else loop

    def _bound(self, node: For) -> Stmt:
        extent, index = int_value(node.stop), node.thread
        assert extent is not None
        var: Expr = self.names[index] if index in self.names else const(0)
        before = dict(self.conditions)
        self.conditions.pop(index, None)  # of a loop around, whose index this one counts anew
        if extent < self.extents[index]:
            self.conditions[index] = var < extent
        body = self.stmt(substitute(node.body, {node.var: var}))
        self.conditions = before
        return body

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        conditions = [*self.conditions.values(), *self._once(node)]
        stores = _narrow(node, self.analyzer)
        if not conditions:
            return stores
        together = conditions[0]
        for condition in conditions[1:]:
            together = binary("and", together, condition)
        return If(together, stores, span=node.span)

    def visit_Hint(self, node: Hint) -> Stmt:
        if TENSOR_INTRIN not in dict(node.attrs):
            return self.rebuild(node)
        if self.extents.get("threadIdx.x") != WARP_SIZE:
            raise TirxError(
                f"{dict(node.attrs)[TENSOR_INTRIN]} is an instruction of a warp, but threadIdx.x has "
                f"{self.extents.get('threadIdx.x', 1)} values",
                node.span,
                f"bind a loop of {WARP_SIZE} iterations to threadIdx.x, as in the copies into shared memory",
            )
        if self.conditions:
            raise TirxError("only some warps would execute an instruction of a warp", node.span)
        assert node.body is not None
        return node.body

    def visit_TileCall(self, node: TileCall) -> Stmt:
        return node

    def _once(self, node: BufferStore) -> Iterator[Expr]:
        """Return the conditions under which a single thread stores an element that several threads compute."""
        shared_by = {"global": ("blockIdx", "threadIdx"), "shared": ("threadIdx",)}.get(node.buffer.scope, ())
        inside = {part for index in node.indices for part in walk(index)}
        for index, extent in self.extents.items():
            if index.startswith(shared_by) and extent > 1 and self.names[index] not in inside:
                yield self.names[index].__eq__(0)


def _narrow(node: BufferStore, analyzer: Analyzer) -> Stmt:
    """Legalise a vector store for GPUs: an aligned copy of up to 16 bytes, or one store per element."""
    index = node.indices[-1]
    if not isinstance(index, Ramp):
        return node
    copied = isinstance(node.value, BufferLoad) and isinstance(node.value.indices[-1], Ramp)
    places = [(node.buffer, node.indices)]
    if isinstance(node.value, BufferLoad):
        places.append((node.value.buffer, node.value.indices))
    width = index.lanes * node.buffer.dtype.itemsize
    fits = copied and width <= MOST_BYTES and not width & (width - 1)
    if fits and all(_aligned(buffer, indices, index.lanes, analyzer) for buffer, indices in places):
        return node
    lane = Var(INT32, "lane")
    return For(lane, const(0), const(index.lanes), _Lane(lane).stmt(node), kind=UNROLLED, span=node.span)


def _aligned(buffer: Buffer, indices: Sequence[Expr], lanes: int, analyzer: Analyzer) -> bool:
    """Return whether the vector at `indices` is aligned to its size."""
    strides = [1] * buffer.ndim
    if buffer.layout is not None:
        units = ([int(dim == along) for dim in range(buffer.ndim)] for along in range(buffer.ndim))
        strides = [buffer.layout.apply_m(*unit) for unit in units]
    else:
        for dim in reversed(range(buffer.ndim - 1)):
            strides[dim] = strides[dim + 1] * buffer.shape[dim + 1]
    last = indices[-1]
    starts = [*indices[:-1], last.base if isinstance(last, Ramp) else last]
    return all(
        analyzer.divisible(start * stride, lanes) for start, stride in zip(starts, strides, strict=True) if stride
    )


class _Lane(Mutator):
    """Extracts one lane of a vector operation."""

    def __init__(self, lane: Var) -> None:
        self.lane = lane

    def expr(self, node: Expr) -> Expr:
        if isinstance(node, Ramp):
            return node.base + self.lane
        if isinstance(node, Cast) and node.dtype.lanes > 1 and node.value.dtype.lanes == 1:
            return node.value
        done = super().expr(node)
        return replace(done, dtype=done.dtype.scalar) if done.dtype.lanes > 1 else done
