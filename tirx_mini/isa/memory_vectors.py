"""Atomic operations on vectors in registers, and on 128 bits (PTX ISA: "atom", "red").

Each element of a vector is updated atomically by itself. The 128 bits of a `.b128` are updated together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

from tirx_mini.ir import Expr

from .core import instruction
from .facts import Memory, Scope
from .machine import Machine, Thread
from .memory import InScope, Space
from .operands import MemoryAddress, Registers, SourceRegisters
from .requests import MemoryAccess

VectorType = Literal["f32", "f16", "bf16", "f16x2", "bf16x2"]
Acquires = Literal["", "relaxed", "acquire", "release", "acq_rel"]
_SIZES: Mapping[str, tuple[str, ...]] = {
    "f32": ("v2", "v4"), **dict.fromkeys(("f16", "bf16"), ("v2", "v4", "v8")),
    **dict.fromkeys(("f16x2", "bf16x2"), ("", "v2", "v4")),
}  # fmt: skip
_DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_atomic = partial(
    instruction, issued_by=Scope.THREAD, min_sm=90, reads=Memory.GLOBAL | Memory.SHARED,
    writes=Memory.GLOBAL | Memory.SHARED, lanewise=True, only_in_ptx=True,
)  # fmt: skip


def _count(vec: str) -> int:
    return int(vec[1:] or 1)


def _registers(vec: str, **_: object) -> int:
    return _count(vec)


def _wrong(operands: Sequence[Expr], op: str, type: str, vec: str, space: str, **_: object) -> str | None:
    """Return the error in the modifiers of a vector operation, or None (PTX ISA: "atom", "red", syntax)."""
    if vec not in _SIZES[type]:
        sizes = " or ".join(size or "no vector" for size in _SIZES[type])
        return f"{type} is updated as {sizes}"
    if op != "add" and (type == "f32" or not vec):
        return f"{op} is for vectors of 16-bit elements"
    return "vectors are updated in global memory" if vec and space not in ("", "global") else None


def _text(head: str, tail: str) -> Callable[..., str]:
    def template(type: str, vec: str, **_: object) -> str:
        rounded = "" if type == "f32" else ".noftz"
        text = f"{head}{{.sem}}{{.scope}}{{.space}}{{.op}}{rounded}{{.vec}}.{type} {tail}"
        return text if vec else text.replace("{{", "{").replace("}}", "}")

    return template


def _elements(type: str, vec: str, sem: str, scope: str, space: str, *, returns: bool) -> MemoryAccess:
    """Return the description of an access, by default relaxed at the scope of the GPU."""
    dtype, each = _DTYPES[type.removesuffix("x2")], 2 if type.endswith("x2") else 1
    return MemoryAccess(dtype, sem or "relaxed", scope or "gpu", space, each * _count(vec), returns=returns)


@_atomic(
    _text("atom", "{{dst}}, [{address}], {{src}};"),
    name="atom.registers",
    isa="atom",
    cost="smem_atomic",
    registers=_registers,
    check=_wrong,
)
def atom_registers(
    gpu: Machine,
    thread: Thread,
    dst: Registers,
    address: MemoryAddress,
    src: SourceRegisters,
    *,
    type: VectorType,
    vec: Literal["", "v2", "v4", "v8"],
    op: Literal["add", "min", "max"] = "add",
    sem: Acquires = "",
    scope: InScope = "",
    space: Space = "global",
) -> None:
    """Update adjacent elements atomically, each by itself, and return the old ones.

    A register holds an element of f32, f16 or bf16, or a pair. A minimum or maximum ignores NaN.
    """
    access = _elements(type, vec, sem, scope, space, returns=True)
    gpu.update_registers(thread, access, address, op, src, None, dst, _count(vec))


@_atomic(
    _text("red", "[{address}], {{src}};"),
    name="red.registers",
    isa="red",
    cost="alu",
    registers=_registers,
    check=_wrong,
)
def red_registers(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    src: SourceRegisters,
    *,
    type: VectorType,
    vec: Literal["", "v2", "v4", "v8"],
    op: Literal["add", "min", "max"] = "add",
    sem: Literal["", "relaxed", "release"] = "",
    scope: InScope = "",
    space: Space = "global",
) -> None:
    """Update memory as `atom.registers` does, without a result."""
    access = _elements(type, vec, sem, scope, space, returns=False)
    gpu.update_registers(thread, access, address, op, src, None, None, _count(vec))


def _whole(sem: str, scope: str, space: str) -> MemoryAccess:
    return MemoryAccess("uint32", sem or "relaxed", scope or "gpu", space, 4, returns=True)


def _quad(**_: object) -> int:
    return 4


@_atomic(
    "atom{.sem}{.scope}{.space}.exch.b128 {{dst}}, [{address}], {{src}};",
    name="atom.exch.b128",
    isa="atom",
    cost="smem_atomic",
    registers=_quad,
)
def atom_exch_b128(
    gpu: Machine,
    thread: Thread,
    dst: Registers,
    address: MemoryAddress,
    src: SourceRegisters,
    *,
    sem: Acquires = "",
    scope: InScope = "",
    space: Space = "global",
) -> None:
    """Replace the 128 bits of four registers atomically; return the old ones."""
    gpu.update_registers(thread, _whole(sem, scope, space), address, "exch", src, None, dst, 4)


@_atomic(
    "atom{.sem}{.scope}{.space}.cas.b128 {{dst}}, [{address}], {{compare}}, {{src}};",
    name="atom.cas.b128",
    isa="atom",
    cost="smem_atomic",
    registers=_quad,
)
def atom_cas_b128(
    gpu: Machine,
    thread: Thread,
    dst: Registers,
    address: MemoryAddress,
    compare: SourceRegisters,
    src: SourceRegisters,
    *,
    sem: Acquires = "",
    scope: InScope = "",
    space: Space = "global",
) -> None:
    """Replace 128 bits atomically where they equal `compare`; return the old ones."""
    gpu.update_registers(thread, _whole(sem, scope, space), address, "cas", src, compare, dst, 4)
