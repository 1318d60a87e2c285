"""The effects of a kernel on what lies outside it."""

from __future__ import annotations

from tirx_mini.ir import AddressOf, Buffer, BufferLoad, BufferStore, Call, PrimFunc, Var, walk

from .debug import printf
from .facts import Memory
from .table import instruction_of


def written_params(func: PrimFunc) -> frozenset[Buffer]:
    """The global buffers that a lowered kernel may write: by stores, and by instructions given a pointer or a map."""
    maps = {tensor_map.var: tensor_map.buffer for tensor_map in func.tensor_maps}
    written: set[Buffer] = set()
    for node in walk(func.body):
        if isinstance(node, BufferStore):
            written.add(node.buffer)
        elif isinstance(node, Call) and (entry := instruction_of(node)) and Memory.GLOBAL in entry.writes:
            written |= {maps[arg] for arg in node.args if isinstance(arg, Var) and arg in maps}
            written |= {arg.buffer for arg in node.args if isinstance(arg, AddressOf)}
    return frozenset(param for param in func.params if isinstance(param, Buffer) and param in written)


def named_params(func: PrimFunc) -> frozenset[Buffer]:
    """The global buffers that a lowered kernel names at all, to read or to write them."""
    named = {tensor_map.buffer for tensor_map in func.tensor_maps}
    named |= {node.buffer for node in walk(func.body) if isinstance(node, (BufferLoad, BufferStore, AddressOf))}
    return frozenset(param for param in func.params if isinstance(param, Buffer) and param in named)


def prints(func: PrimFunc) -> bool:
    """Whether a lowered kernel writes to standard output."""
    return any(isinstance(node, Call) and instruction_of(node) is printf for node in walk(func.body))
