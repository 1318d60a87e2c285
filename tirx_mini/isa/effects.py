"""The effects of a kernel on what lies outside it."""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.ir import AddressOf, Buffer, BufferLoad, BufferStore, Call, DataType, PrimFunc, Var

from .debug import printf
from .facts import Memory
from .operands import REGISTER_TYPES, OperandKind
from .table import instruction_of, instructions

_ORDERS = ("volatile", "acquire", "release", "acq_rel", "sc")


def written_params(func: PrimFunc) -> frozenset[Buffer]:
    """The global buffers that a lowered kernel may write: by stores, and by instructions given a pointer or a map."""
    maps = {tensor_map.var: tensor_map.buffer for tensor_map in func.tensor_maps}
    written: set[Buffer] = set()
    for node in func.nodes:
        if isinstance(node, BufferStore):
            written.add(node.buffer)
        elif isinstance(node, Call) and (entry := instruction_of(node)) and Memory.GLOBAL in entry.writes:
            written |= {maps[arg] for arg in node.args if isinstance(arg, Var) and arg in maps}
            written |= {arg.buffer for arg in node.args if isinstance(arg, AddressOf)}
    return frozenset(param for param in func.params if isinstance(param, Buffer) and param in written)


def named_params(func: PrimFunc) -> frozenset[Buffer]:
    """The global buffers that a lowered kernel names at all, to read or to write them."""
    named = {tensor_map.buffer for tensor_map in func.tensor_maps}
    named |= {node.buffer for node in func.nodes if isinstance(node, (BufferLoad, BufferStore, AddressOf))}
    return frozenset(param for param in func.params if isinstance(param, Buffer) and param in named)


def addressed_widths(call: Call) -> Iterator[tuple[Buffer, int]]:
    """The buffers whose elements a call accesses at addresses with a memory order, with the bytes of each access."""
    entry = instruction_of(call)
    if entry is not None and entry.typed:
        for operand, argument in zip(entry.operands, call.args, strict=False):
            if operand.type.kind is OperandKind.MEMORY and isinstance(argument, AddressOf):
                yield argument.buffer, DataType(REGISTER_TYPES[call.attr(entry.typed)]).itemsize


def grid_wide(func: PrimFunc) -> bool:
    """Whether threads of different clusters synchronise with one another in a lowered kernel."""
    return cooperative(func) or any(call.attr("scope") in ("", "gpu", "sys") for call in _orders(func))


def orders_memory(func: PrimFunc) -> bool:
    """Whether a lowered kernel has accesses or fences that order others."""
    return cooperative(func) or any(True for _ in _orders(func))


def cooperative(func: PrimFunc) -> bool:
    """Whether a lowered kernel is launched cooperatively: all of its CTAs are then resident at a time."""
    return any(entry.grid_wide for entry in instructions(func))


def _orders(func: PrimFunc) -> Iterator[Call]:
    """The calls that release or acquire."""
    for node in func.nodes:
        if isinstance(node, Call) and instruction_of(node) and node.attr("sem") in _ORDERS:
            yield node


def prints(func: PrimFunc) -> bool:
    """Whether a lowered kernel writes to standard output."""
    return any(isinstance(node, Call) and instruction_of(node) is printf for node in func.nodes)
