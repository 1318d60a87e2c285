"""TIR blocks and their contents: ``with T.block("C"):``, ``T.axis.spatial``, ``T.reads``, ``T.init``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from tirx_mini.ir import (
    INT32,
    REDUCE,
    SCOPES,
    SPATIAL,
    TIR,
    AllocBuffer,
    Block,
    Buffer,
    BufferLoad,
    DataType,
    Expr,
    Range,
    Region,
    Stmt,
    TirxError,
    Var,
    as_bool,
    as_expr,
    binary,
    cast,
    const,
    int_value,
    seq,
)
from tirx_mini.layout import S, TileLayout
from tirx_mini.records import dataclass
from tirx_mini.wording import described

from .builder import Builder, current

_KINDS = {"S": SPATIAL, "R": REDUCE}


@dataclass(eq=False)
class OpenBlock:
    """A block ``with T.block(name):`` whose body is being parsed."""

    name: str
    vars: list[Var] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    domains: list[Range] = field(default_factory=list)
    values: list[Expr] = field(default_factory=list)
    reads: tuple[Region, ...] | None = None
    writes: tuple[Region, ...] | None = None
    predicate: Expr | None = None
    init: Stmt | None = None
    attrs: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def opened(self, builder: Builder) -> Iterator[None]:
        builder.tir_blocks.append(self)
        yield
        builder.tir_blocks.pop()

    def wrap(self, body: Stmt) -> Stmt:
        return Block(
            self.name, tuple(self.vars), tuple(self.kinds), tuple(self.domains), tuple(self.values), body, self.init,
            self.reads, self.writes, self.predicate, attrs=tuple(self.attrs.items()),
        )  # fmt: skip


@dataclass(eq=False)
class OpenInit:
    """A block ``with T.init():`` whose body is being parsed."""

    block: OpenBlock

    @contextmanager
    def opened(self, builder: Builder) -> Iterator[None]:
        yield

    def wrap(self, body: Stmt) -> Stmt:
        self.block.init = body
        return seq()


def block(name: str = "", no_realize: bool = False) -> OpenBlock:
    """Open a block, a computation whose iterations schedules may rearrange; its `T.axis` lines define the iterations.

    Raises `TirxError` for a second block of the same name, which a schedule could not tell from the first.
    """
    builder = current("T.block")
    builder.spelling = TIR
    known = builder.block_names
    chosen = name or next(f"block_{number}" for number in range(len(known) + 1) if f"block_{number}" not in known)
    if chosen in known:
        raise TirxError(f"there are two blocks named {described(chosen)}", hint="give each block a name of its own")
    known.add(chosen)
    return OpenBlock(chosen)


def _block(what: str) -> tuple[Builder, OpenBlock]:
    builder = current(what)
    if not builder.tir_blocks:
        raise TirxError(f"{what} stands in a block", hint='write it in `with T.block("name"):`')
    return builder, builder.tir_blocks[-1]


def init() -> OpenInit:
    """Open the initialisation of a reduction, executed before the rest of the block in the first iteration."""
    return OpenInit(_block("T.init")[1])


def reads(*regions: object) -> None:
    """Declare the regions that an iteration of the block reads."""
    _block("T.reads")[1].reads = _regions(regions)


def writes(*regions: object) -> None:
    """Declare the regions that an iteration of the block writes."""
    _block("T.writes")[1].writes = _regions(regions)


def where(predicate: object) -> None:
    """Skip the iterations for which `predicate` is false."""
    _block("T.where")[1].predicate = as_bool(predicate)


def block_attr(attrs: dict[str, Any]) -> None:
    """Annotate the block."""
    _block("T.block_attr")[1].attrs.update(attrs)


def alloc_block_buffer(
    shape: Sequence[int] | int,
    dtype: str = "float32",
    data: object = None,
    strides: Sequence[int] | None = None,
    elem_offset: object = None,
    scope: str = "global",
    **_: object,
) -> Buffer:
    """Allocate memory for values between blocks. strides: distances between neighbours, in elements."""
    builder = current("T.alloc_buffer")
    if scope not in SCOPES or scope == "tmem":
        raise TirxError(f"{described(scope)} is not a memory of TIR", hint='use "global", "shared" or "local"')
    listed = (shape,) if isinstance(shape, int) else shape
    extents = tuple(int(extent) for extent in listed)
    layout = None if strides is None else TileLayout(S[extents : tuple(strides)])
    name = builder.take_name("buffer")
    buffer = Buffer(name, extents, DataType(dtype), scope, layout, span=builder.span)
    builder.emit(AllocBuffer(buffer))
    return buffer


def _regions(given: Sequence[object]) -> tuple[Region, ...]:
    listed = given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given
    return tuple(_region(each) for each in listed)


def _region(given: object) -> Region:
    if isinstance(given, Buffer):
        return given.region()
    if isinstance(given, BufferLoad):
        return Region(given.dtype, given.buffer, tuple(Range(index, const(1)) for index in given.indices))
    if isinstance(given, Region):
        return given
    raise TirxError(f"{described(given)} is not a region of a buffer", hint="write the elements, as in A[vi, 0:128]")


class Axes:
    """The constructors of block variables, ``T.axis``."""

    def spatial(self, dom: object, binding: object, dtype: str = "int32") -> Var:
        """Declare a spatial variable, each value of which writes distinct elements."""
        return self._axis("spatial", SPATIAL, dom, binding)

    def reduce(self, dom: object, binding: object, dtype: str = "int32") -> Var:
        """Declare a reduction variable."""
        return self._axis("reduce", REDUCE, dom, binding)

    S, R = spatial, reduce

    def remap(self, kinds: str, bindings: Sequence[object], dtype: str = "int32") -> Any:
        """Declare a variable for each of several loops, with their domains: ``T.axis.remap("SSR", [i, j, k])``."""
        builder, _ = _block("T.axis.remap")
        if len(kinds) != len(bindings) or not set(kinds) <= set(_KINDS):
            raise TirxError(
                f"T.axis.remap({described(kinds)}, …) with {len(bindings)} loops",
                hint='write "S" or "R" for each of the loops',
            )
        names = [builder.take_name("v") for _ in kinds]
        found: list[Var] = []
        for kind, binding, name in zip(kinds, bindings, names, strict=True):
            var = as_expr(binding)
            extent = builder.loop_extents.get(var) if isinstance(var, Var) else None
            if extent is None:
                raise TirxError(f"{described(binding)} is not a loop", hint="use T.axis.spatial(extent, value)")
            found.append(_declared(_KINDS[kind], const(0), extent, var, name))
        return found[0] if len(found) == 1 else tuple(found)

    def _axis(self, what: str, kind: str, dom: object, binding: object) -> Var:
        builder, _ = _block(f"T.axis.{what}")
        first, end = dom if isinstance(dom, (tuple, list)) else (0, dom)
        start = as_expr(first)
        return _declared(kind, start, binary("-", end, start), as_expr(binding), builder.take_name("v"))


def _declared(kind: str, start: Expr, extent: Expr, value: Expr, name: str) -> Var:
    builder, opened = _block("T.axis")
    if int_value(extent) is None and not builder.is_symbolic(extent):
        raise TirxError(f"the domain of {name} is not known when the function is read", hint="give a number")
    var = Var(INT32, name, span=builder.span)
    opened.vars.append(var)
    opened.kinds.append(kind)
    opened.domains.append(Range(start, extent))
    opened.values.append(cast(INT32, value))
    return var


axis = Axes()
