"""Inference of element types for byte arrays, which NVVM emits for all arrays, from the instructions that access them.
"""

from __future__ import annotations

from collections.abc import Iterable

from tirx_mini.records import replace

from .arguments import bits_of, size_of
from .origins import Origins
from .syntax import Address, Declaration, Float, Immediate, Initial, Instruction, Register, Symbol

_ACCESSES = ("ld", "st", "atom", "red")
_KINDS = ("f", "s", "u", "b")
"""Kinds of types, from the one that says most."""


def with_element_types(
    variables: tuple[Declaration, ...], code: Iterable[Instruction], origins: Origins
) -> tuple[Declaration, ...]:
    """Retype byte arrays with the type of their accesses if all accesses have the same width."""
    arrays = {each.name: each for each in variables if each.type == "b8" and len(each.shape) == 1 and _is_bytes(each)}
    if not arrays:
        return variables
    found: dict[str, set[str]] = {}
    for each in code:
        if each.opcode[0] not in _ACCESSES:
            continue
        address = next((operand for operand in each.operands if isinstance(operand, Address)), None)
        if address is None:
            continue
        base = address.base
        names = [base.name] if isinstance(base, Symbol) else []
        if isinstance(base, Register):
            names = list(origins.get(base.name, ()))
        for name in names:
            if name in arrays:
                found.setdefault(name, set()).add(each.opcode[-1])
    return tuple(_typed(each, found.get(each.name, set())) for each in variables)


def _typed(variable: Declaration, kinds: set[str]) -> Declaration:
    widths = {bits_of(kind) for kind in kinds}
    if len(widths) != 1 or 0 in widths or variable.type != "b8":
        return variable
    width = widths.pop() // 8
    count = None if variable.shape == (None,) else size_of(variable) // width
    if width > 8 or (count is not None and count * width != size_of(variable)) or variable.align % width:
        return variable
    kinds = {f"b{8 * width}" if kind == "f16" and variable.initial else kind for kind in kinds}
    best = min(kinds, key=lambda kind: _KINDS.index(kind[0]) if kind[0] in _KINDS else len(_KINDS))
    return replace(variable, type=best, shape=(count,), initial=_joined(variable, best, width))


def _is_bytes(variable: Declaration) -> bool:
    """Return whether the initial values of a byte array, if it has any, are numbers."""
    initial = variable.initial
    return initial is None or (isinstance(initial, tuple) and all(isinstance(each, Immediate) for each in initial))


def _joined(variable: Declaration, kind: str, width: int) -> Initial | None:
    """Return the initial values of a byte array as elements of `width` bytes."""
    if not isinstance(variable.initial, tuple):
        return None
    data = bytes(each.value & 0xFF for each in variable.initial if isinstance(each, Immediate))
    words = [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]
    return tuple(Float(word, 8 * width) if kind in ("f32", "f64") else Immediate(word) for word in words)
