"""Translation of lowered IR to a Python generator function that executes one warp.

translation = translate(func)
translation.source       # the Python text, one function
translation.image        # the program and the buffers that it names, for the machine
"""

from __future__ import annotations

import hashlib
import linecache
import weakref
from collections.abc import Iterable, Set
from typing import Any

from tirx_mini.hardware import CROWDED_WARPS, DEFAULT_ARCH, WARP_SIZE, architecture_of
from tirx_mini.ir import (
    EARLY_ACCESSES,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    DataType,
    DeclBuffer,
    PrimFunc,
    Ramp,
    Span,
    Stmt,
    TirxError,
    Var,
)  # fmt: skip
from tirx_mini.isa import addressed_widths, grid_wide, written_params
from tirx_mini.records import dataclass

from ..machine import GlobalBuffer, KernelImage, SharedBuffer, WrittenTile, tile_of_buffer
from .batchable import batchable
from .clock_only import ClockStatements
from .decided import idle_reads, tested_reads
from .leaving import asks_once, waits_for_memory
from .needed import extent, needed
from .pressure import registers_of
from .repeats import Cut, Repeats, repeats
from .representatives import Led, led_products
from .sameness import Samenesses
from .statements import Statements
from .storage import Place
from .support import NAMESPACE, DivisionByZero, EndlessLoop, IndexOverflow, Poll, RunawayLoop
from .threads import selected, thread_values
from .travels import travelled
from .uniformity import analyse
from .untimed import UntimedStatements
from .values import Value, ranged
from .writer import Writer


@dataclass(frozen=True)
class Translation:
    """A translated kernel. source: the text of the generator function. image: the input of `sim.machine.Gpu`."""

    source: str
    image: KernelImage


def translate(
    func: PrimFunc,
    scalars: tuple[object, ...] = (),
    *,
    data: bool = True,
    cut: Cut | None = None,
    untimed: bool = False,
    decided: Set[Stmt] | None = None,
    sms: int | None = None,
) -> Translation:
    """Translate a lowered function. scalars: the values of its scalar parameters, in their order.

    sms: of the GPU, among which the grid is distributed; None for a grid that fills each. data: whether all values are
    computed, or only those in `needed`. cut: the part that a run without data leaves out. untimed: whether to translate
    for a run with data that needs only results. decided: the branches and loops whose decisions are recorded to compare
    clusters; None if clusters may differ otherwise.

    Raises `TirxError` if the function is not lowered, or if it depends on data in a run without data.
    """
    if func.launch is None:
        raise TirxError(f"{func.name} has no launch: lower it first", func.span)
    registers = registers_of(func)
    launch, sm = func.launch, architecture_of(DEFAULT_ARCH)
    ctas = sm.resident_ctas(launch.warps * WARP_SIZE, launch.smem_bytes, registers)
    if sms is not None:
        ctas = min(ctas, -(-launch.num_ctas // sms))
    writer = Writer(NAMESPACE, crowded=launch.warps * ctas > CROWDED_WARPS)
    writer.prologue.append("    wid = w.warp_id")
    parts = (func, analyse(func), Samenesses(func, written_params(func)), writer)
    if not data:
        statements = ClockStatements(*parts, needed(func), cut or Cut())
    elif untimed:
        statements = UntimedStatements(*parts, led_products(func, decided or frozenset()))
    else:
        statements = Statements(*parts)
    statements.course.decided = (decided if data else None) or frozenset()
    shared, globals_ = _declare_buffers(func, statements, writer)
    _declare_scalars(func, statements, scalars)
    statements.stmt(func.body)
    writer.settle()
    for counter in ("polls", "steps"):
        if any(f"{counter} += " in line for line in writer.lines):
            writer.prologue.append(f"    {counter} = 0")
    writer.line("yield from ()")
    source = writer.source("program(w)")
    image = KernelImage(
        func.name, func.launch, _compiled(func.name, source, writer.namespace), tuple(shared), tuple(globals_),
        {tensor_map.var.name: tensor_map for tensor_map in func.tensor_maps},
        registers=registers, local_bytes=sum(b.nbytes for b in _declared(func) if b.scope == "local"),
        tmem_names=tuple(dict.fromkeys(b.name for b in _declared(func) if b.scope == "tmem")), span=func.span,
        early_accesses=dict(func.attrs).get(EARLY_ACCESSES, (frozenset(), frozenset())),
        grid_wide=grid_wide(func), equal=data and decided is not None and decided <= statements.course.noted,
        represented=statements.represented > 0,
        idle=idle_reads(func) if data else frozenset(), tested=tested_reads(func) if data else frozenset(),
        fixed=parts[2].fixed(func) if data else frozenset(), travelled=travelled(func) if data else {},
        instructions=statements.calls.used, tile_writes=_tile_writes(func) if data else {},
    )  # fmt: skip
    statements.close()
    return Translation(source, image)


def _compiled(name: str, source: str, namespace: dict[str, Any]) -> Any:
    """Compile the function in `source`. Tracebacks and `inspect` find its text during the lifetime of the function."""
    filename = f"<simulation of {name} {hashlib.sha1(source.encode()).hexdigest()[:10]}>"
    text = (len(source), None, source.splitlines(keepends=True), filename)
    linecache.cache[filename] = text
    exec(compile(source, filename, "exec"), namespace)
    program = namespace.pop("program")  # which refers to the namespace
    weakref.finalize(program, _forget, filename, text)
    return program


def _forget(filename: str, text: tuple[object, ...]) -> None:
    """Drop the text of a deleted function, unless a function of the same name has replaced it."""
    if linecache.cache.get(filename) is text:
        del linecache.cache[filename]


# -- buffers -----------------------------------------------------------------------------------------------------------


def _declared(func: PrimFunc) -> Iterable[Buffer]:
    for stmt in func.nodes:
        if isinstance(stmt, (AllocBuffer, DeclBuffer)):
            yield stmt.buffer


def _declare_buffers(
    func: PrimFunc, statements: Statements, writer: Writer
) -> tuple[list[SharedBuffer], list[GlobalBuffer]]:
    """Assign a location to every buffer in shared and global memory. The machine does not depend on the pools."""
    grain, written = _narrowest(func), written_params(func)
    shared: list[SharedBuffer] = []
    globals_: list[GlobalBuffer] = []
    for slot, buffer in enumerate(param for param in func.params if isinstance(param, Buffer)):
        made = GlobalBuffer(
            buffer.name,
            buffer.dtype,
            buffer.size,
            slot,
            buffer.shape,
            buffer in written,
            grain.get(buffer, MOST),
            buffer.span,
        )
        globals_.append(made)
        statements.storage.places[buffer] = Place("memory", writer.object("B", made))
    declared = list(dict.fromkeys(b for b in _declared(func) if b.scope == "shared"))
    pools = {buffer.root for buffer in declared if buffer.source is not None}
    for buffer in declared:
        _, offset, _ = extent(buffer)
        made = SharedBuffer(
            buffer.name, buffer.dtype, offset, buffer.size, buffer.shape, grain.get(buffer, MOST), buffer.span
        )
        statements.storage.places[buffer] = Place("memory", writer.object("B", made))
        if buffer not in pools:
            shared.append(made)
    return shared, globals_


MOST = 16
"""The maximum granularity of race detection, in bytes."""


def _tile_writes(func: PrimFunc) -> dict[Span, tuple[WrittenTile, ...]]:
    """Return the tiles that tile calls write, by the source locations of the calls."""
    found: dict[Span, tuple[WrittenTile, ...]] = {}
    tiles: dict[Any, WrittenTile | None] = {}
    for write in func.tile_writes:
        if write.span is None:
            continue
        buffer, own = write.buffer, found.setdefault(write.span, ())
        if buffer is None:
            continue
        place = (buffer.name, extent(buffer)[1], buffer.dtype, buffer.shape, buffer.layout)
        if place not in tiles:
            tiles[place] = tile_of_buffer(buffer, place[1])
        tile = tiles[place]
        if tile is not None and tile not in own:
            found[write.span] = (*own, tile)
    return found


def _narrowest(func: PrimFunc) -> dict[Buffer, int]:
    """Return the narrowest access to each buffer, in bytes."""
    grain: dict[Buffer, int] = {}
    anywhere = MOST
    for node in func.nodes:
        if isinstance(node, (BufferLoad, BufferStore)) and node.indices:
            index = node.indices[0]
            width = node.buffer.dtype.itemsize * (index.lanes if isinstance(index, Ramp) else 1)
            grain[node.buffer] = min(grain.get(node.buffer, MOST), width)
        elif isinstance(node, Call):
            for buffer, width in addressed_widths(node):
                if buffer is None:
                    anywhere = min(anywhere, width)
                else:
                    grain[buffer] = min(grain.get(buffer, MOST), width)
    if anywhere < MOST:
        buffers = [*_declared(func), *(param for param in func.params if isinstance(param, Buffer))]
        return {buffer: min(grain.get(buffer, MOST), anywhere) for buffer in buffers}
    return grain


def _declare_scalars(func: PrimFunc, statements: Statements, scalars: tuple[object, ...]) -> None:
    """Declare the scalar parameters, which are constants of the run."""
    params = [param for param in func.params if isinstance(param, Var)]
    for param, value in zip(params, scalars, strict=True):
        name = statements.out.object("A", value, param)
        statements.expressions.vars[param] = _scalar(name, value, param.dtype)


def _scalar(name: str, value: Any, dtype: DataType) -> Value:
    if dtype.is_integer or dtype.is_bool:
        return Value(name, dtype, low=int(value), high=int(value))
    return ranged(name, dtype)


__all__ = [
    "Cut", "DivisionByZero", "EndlessLoop", "IndexOverflow",
    "Led", "Poll", "Repeats", "RunawayLoop", "Translation", "asks_once",
    "extent", "needed",
    "batchable", "registers_of", "repeats", "selected", "thread_values", "translate", "waits_for_memory",
]  # fmt: skip
