"""The effects of a kernel on memory and state outside it."""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.ir import (
    Address,
    AddressOf,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    DataType,
    Expr,
    If,
    PrimFunc,
    Select,
    Stmt,
    Var,
    walk,
)

from .core import Instruction
from .debug import printf
from .facts import Memory
from .fence import membar
from .operands import REGISTER_TYPES, Operand, OperandKind
from .table import instruction_of, instructions

_ORDERS = ("volatile", "acquire", "release", "acq_rel", "sc")


def written_params(func: PrimFunc) -> frozenset[Buffer]:
    """Return the global buffers that a lowered kernel may write.

    Stores write, as do instructions with a pointer or a tensor map operand. A pointer that is no operand of an
    instruction counts as written through: nothing follows it further, but where a kernel has an `Address`, these say
    where its pointers lead.
    """
    written, _ = _accesses(func)
    return written


def restrict_params(func: PrimFunc) -> frozenset[Buffer]:
    """Return the global buffers whose pointer may be `__restrict__` in CUDA C++.

    Through such a pointer the compiler may read early, keep values, and write late: no barrier, fence or memory
    clobber applies to it. That is right for a buffer that nothing writes during the launch, and for one that is only
    written, by stores. It is wrong where an instruction writes the buffer (TMA, bulk copies, atomics), where threads
    read what others wrote, and where the kernel orders accesses of several threads or waits for another kernel.

    It is wrong for a buffer that is read where another arm of a branch reads one that threads write: NVRTC 13.0 turns
    ``x = a[i] if c else b[j]`` into one load from a selected address, and reads it through the read-only cache
    (ld.global.nc) if one of the two pointers is ``const __restrict__``.
    """
    assert func.launch is not None
    if func.launch.programmatic or orders_memory(func):
        return frozenset()
    written, stored_only = _accesses(func)
    merged = _merged_with(func, written - stored_only)
    buffers = (param for param in func.params if isinstance(param, Buffer))
    return frozenset(param for param in buffers if param in stored_only or param not in written | merged)


def _merged_with(func: PrimFunc, written: frozenset[Buffer]) -> frozenset[Buffer]:
    """Return the buffers that one arm of a branch reads while the other arm reads one of `written`."""
    merged = set[Buffer]()
    for node in func.nodes if written else ():
        if isinstance(node, If) and node.orelse is not None:
            arms: tuple[Stmt | Expr, ...] = node.then, node.orelse
        elif isinstance(node, Select):
            arms = node.a, node.b
        else:
            continue
        loads = [{each.buffer for each in walk(arm) if isinstance(each, BufferLoad)} for arm in arms]
        merged |= {buffer for one, other in (loads, loads[::-1]) if other & written for buffer in one}
    return frozenset(merged)


def _accesses(func: PrimFunc) -> tuple[frozenset[Buffer], frozenset[Buffer]]:
    """Return the global buffers that a lowered kernel may write, and the subset written by stores only."""
    maps = {tensor_map.var: tensor_map.buffer for tensor_map in func.tensor_maps}
    loaded, stored, written = set[Buffer](), set[Buffer](), set[Buffer]()
    operands: set[int] = set()  # pointers that an instruction gets, by identity: a call precedes its operands
    params = frozenset(param for param in func.params if isinstance(param, Buffer))
    followed = bool(func.of(Address))
    for node in func.nodes:
        if isinstance(node, BufferStore):
            stored.add(node.buffer)
        elif isinstance(node, BufferLoad):
            loaded.add(node.buffer)
        elif isinstance(node, AddressOf) and not followed and id(node) not in operands:
            written.add(node.buffer)
        elif isinstance(node, Call) and (entry := instruction_of(node)):
            named = {maps[arg] for arg in node.args if isinstance(arg, Var) and arg in maps}
            pointers = [arg for arg in node.args if isinstance(arg, AddressOf)]
            operands |= set(map(id, pointers))
            named |= {arg.buffer for arg in pointers}
            for arg in node.args:
                if isinstance(arg, Address):
                    named |= params if arg.buffers is None else set(arg.buffers)
            (written if Memory.GLOBAL in entry.writes else loaded).update(named)
    return params & (stored | written), params & (stored - written - loaded)


def named_params(func: PrimFunc) -> frozenset[Buffer]:
    """Return the global buffers that a lowered kernel reads or writes by name."""
    named = {tensor_map.buffer for tensor_map in func.tensor_maps}
    named |= {node.buffer for node in func.nodes if isinstance(node, (BufferLoad, BufferStore, AddressOf))}
    return frozenset(param for param in func.params if isinstance(param, Buffer) and param in named)


def addressed_widths(call: Call) -> Iterator[tuple[Buffer | None, int]]:
    """Yield the buffers that a call addresses, with the bytes of each access; None for an unknown buffer."""
    entry = instruction_of(call)
    if entry is None:
        return
    for operand, argument in zip(entry.operands, call.args, strict=False):
        if isinstance(argument, AddressOf):
            if entry.typed and operand.type.kind is OperandKind.MEMORY:
                yield argument.buffer, _width(entry, call)
        elif isinstance(argument, Address):
            width = _computed_width(entry, operand, call)
            for buffer in (None,) if argument.buffers is None else argument.buffers:
                yield buffer, width


def atomic_operation(call: Call) -> str:
    """Return the operation of an atomic instruction, such as "add"; compare-and-swap has no modifier for it."""
    return str(call.attr("op", "cas"))


def _width(entry: Instruction, call: Call) -> int:
    return DataType(REGISTER_TYPES[str(call.attr(entry.typed))]).itemsize


def _computed_width(entry: Instruction, operand: Operand, call: Call) -> int:
    """Return the bytes accessed at a computed address: the size of the access type, or the maximum."""
    if entry.typed:
        words = str(call.attr("vec") or "1")
        return _width(entry, call) * int(words.removeprefix("v"))
    if operand.type.kind is OperandKind.MBARRIER:
        return MBARRIER_BYTES
    whole = entry.completion is not None or entry.registers is not None
    count = call.attr("bytes")
    return count if isinstance(count, int) and count else ROW_BYTES if whole else WORD_BYTES


MBARRIER_BYTES, ROW_BYTES, WORD_BYTES = 8, 16, 4


def grid_wide(func: PrimFunc) -> bool:
    """Return whether threads of different clusters synchronise in a lowered kernel."""
    wide = any(call.attr("scope") in ("", "gpu", "sys") for call in _orders(func))
    return cooperative(func) or wide or any(call.attr("level", "gl") != "cta" for call in _membars(func))


def orders_memory(func: PrimFunc) -> bool:
    """Return whether a lowered kernel has accesses or fences that order other accesses."""
    return cooperative(func) or any(True for _ in (*_orders(func), *_membars(func)))


def cooperative(func: PrimFunc) -> bool:
    """Return whether a lowered kernel needs a cooperative launch, with all CTAs resident at the same time."""
    return any(entry.grid_wide for entry in instructions(func))


def _orders(func: PrimFunc) -> Iterator[Call]:
    """Yield the calls with release or acquire semantics."""
    for node in func.nodes:
        if isinstance(node, Call) and instruction_of(node) and node.attr("sem") in _ORDERS:
            yield node


def _membars(func: PrimFunc) -> Iterator[Call]:
    """Yield the calls of `membar`, a fence.sc whose scope is its level."""
    for node in func.nodes:
        if isinstance(node, Call) and instruction_of(node) is membar:
            yield node


def prints(func: PrimFunc) -> bool:
    """Return whether a lowered kernel writes to standard output."""
    return any(isinstance(node, Call) and instruction_of(node) is printf for node in func.nodes)
