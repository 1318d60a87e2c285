"""The architectures that support the instructions of a kernel."""

from __future__ import annotations

from typing import TypeVar

from tirx_mini.hardware import GPUS, arch_name, compute_capability
from tirx_mini.ir import (
    AddressOf,
    Call,
    Evaluate,
    Expr,
    Mutator,
    PrimFunc,
    Stmt,
    TirxError,
    binary,
    const,
    seq,
    simplify,
)
from tirx_mini.records import replace

from .pairs import FUSED_PAIRS, on_pairs
from .table import TABLE, instruction_of
from .triples import MAXIMUM_OF_THREE, on_triples

_WIDE_SM = 100
"""The first architecture with 32-byte accesses (PTX ISA: "ld", "st", target notes)."""
_Pointer = TypeVar("_Pointer", bound=Expr)



def for_target(func: PrimFunc, arch: str) -> PrimFunc:
    """Return a lowered function for `arch`, as "sm_90a", with its widest accesses, pairs and triples of float32.

    Raises `TirxError` at the first instruction that `arch` lacks, or that has a modifier value that `arch` lacks, as
    kind::i8 on sm_103a (PTX ISA: "tcgen05.mma").
    """
    number = compute_capability(arch)
    wide = False
    for node in func.nodes:
        entry = instruction_of(node)
        if entry is None:
            continue
        if not entry.exists_on(number):
            message = f"{entry.name} needs {arch_name(entry.min_sm)}, but the target is {arch}"
            raise TirxError(message, node.span, _other_target(entry.min_sm))
        if number < _WIDE_SM and _is_wide(node):
            wide = True
            continue
        missing = entry.missing_on(number, dict(node.attrs)) if isinstance(node, Call) else None
        if missing is not None:
            name, value = missing
            some = " or ".join(map(arch_name, entry.only_on[missing]))
            message = f"{entry.name} with {name} = {value!r} needs {some}, but the target is {arch}"
            raise TirxError(message, node.span, _other_target(*entry.only_on[missing]))
    if wide:
        return _Halved().func(func)
    if TABLE[MAXIMUM_OF_THREE].exists_on(number):
        func = on_triples(func)
    return on_pairs(func) if TABLE[FUSED_PAIRS].exists_on(number) else func


def _other_target(*capabilities: int) -> str:
    """Return the hint for a kernel that needs one of these architectures, with the name of a GPU that has it."""
    archs = [arch_name(capability) for capability in capabilities]
    name = next((name for name, spec in GPUS.items() if spec.arch in archs), None)
    how = "" if name is None else f' (gpu="{name}", or --gpu {name})'
    return f"compile or simulate the kernel for that GPU{how}, or use an instruction that this one has"


def _is_wide(node: object) -> bool:
    """Return whether a node is a 32-byte load or store between a buffer and registers, which can be split in two."""
    return (
        isinstance(node, Call)
        and node.attr("vec") == "v8"
        and len(node.args) == 2
        and all(isinstance(arg, AddressOf) for arg in node.args)
    )


class _Halved(Mutator):
    """Split 32-byte accesses into two halves."""

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        call = node.call
        if not _is_wide(call):
            return self.rebuild(node)
        attrs = tuple((name, "v4" if name == "vec" else value) for name, value in call.attrs)
        halves = (tuple(_shifted(arg, start) for arg in call.args) for start in (0, 16))
        return seq(*(replace(node, call=replace(call, args=args, attrs=attrs)) for args in halves), span=node.span)


def _shifted(pointer: _Pointer, nbytes: int) -> _Pointer:
    """Return a pointer into a flat buffer, advanced by `nbytes` bytes."""
    if not isinstance(pointer, AddressOf) or not nbytes:
        return pointer
    *outer, last = pointer.indices
    step = const(nbytes * 8 // pointer.buffer.dtype.bits, last.dtype)
    return replace(pointer, indices=(*outer, simplify(binary("+", last, step))))
