"""Operands and modifiers of instructions: their types and the conversion of call arguments."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Hashable, Mapping, Sequence
from enum import Enum, Flag
from typing import Annotated, Any, Protocol

import numpy as np

from tirx_mini.ir import (
    HANDLE,
    UINT32,
    AddressOf,
    Buffer,
    BufferLoad,
    DataType,
    Expr,
    TensorMap,
    TirxError,
    as_bool,
    as_expr,
    cast,
)
from tirx_mini.records import dataclass
from tirx_mini.wording import described

from .descriptors import INSTRUCTION, TCGEN05, WGMMA
from .machine import RegisterOperand


class OtherSignature(TirxError):
    """The error for a call whose parameters differ from the instruction's."""


class BadCombination(TirxError):
    """The error for a call whose arguments fit individually, but not in combination."""


class OperandKind(Enum):
    """The kinds of operands."""

    U32 = "u32"
    S32 = "s32"
    U64 = "u64"
    F32 = "f32"
    F64 = "f64"
    PREDICATE = "pred"
    ANY = "any"
    SHARED = "shared"
    MBARRIER = "mbarrier"
    CTA_RANK = "rank"
    GLOBAL = "global"
    MEMORY = "memory"
    TYPED = "typed"
    TMEM = "tmem"
    REGISTERS = "registers"
    TENSOR_MAP = "tensormap"
    TCGEN05_DESCRIPTOR = TCGEN05
    WGMMA_DESCRIPTOR = WGMMA
    INSTRUCTION_DESCRIPTOR = INSTRUCTION

    @property
    def is_descriptor(self) -> bool:
        """Return whether the operand is a descriptor word of the tensor core (`descriptors.describe`)."""
        return self.value in (TCGEN05, WGMMA, INSTRUCTION)

    @property
    def in_shared_memory(self) -> bool:
        """Return whether the operand is a shared-memory address, of the CTA or of the cluster."""
        return self in (OperandKind.SHARED, OperandKind.MBARRIER)


class Access(Flag):
    """The accesses of an instruction to an operand's registers."""

    READ = 1
    WRITE = 2
    UPDATE = READ | WRITE


_FLAGS: tuple[type, ...] = (bool, int, np.bool_)

@dataclass(frozen=True)
class OperandType:
    """The type of an operand or a result.

    kind: of the operand.
    dtype: the type of its value in the IR; None for any.
    what: a description for error messages, as in "an integer".
    access: for registers, whether they are read, written or both.
    """

    kind: OperandKind
    dtype: DataType | None
    what: str
    access: Access = Access.READ


def _operand(kind: OperandKind, dtype: str | None, what: str, access: Access = Access.READ) -> OperandType:
    return OperandType(kind, None if dtype is None else DataType(dtype), what, access)


_SHARED = "a pointer to shared memory, as in tile.ptr_to([0, 0])"
_BARRIER = "an mbarrier, as in bar.ptr_to([stage])"
_REGISTERS = "a pointer to a register buffer"

_U32 = _operand(OperandKind.U32, "uint32", "an integer")
u32 = Annotated[int, _U32]
s32 = Annotated[int, _operand(OperandKind.S32, "int32", "an integer")]
u64 = Annotated[int, _operand(OperandKind.U64, "uint64", "a 64-bit integer")]
Tcgen05Descriptor = Annotated[
    int, _operand(OperandKind.TCGEN05_DESCRIPTOR, "uint64", "a shared-memory descriptor")
]
WgmmaDescriptor = Annotated[int, _operand(OperandKind.WGMMA_DESCRIPTOR, "uint64", "a matrix descriptor")]
InstructionWord = Annotated[int, _operand(OperandKind.INSTRUCTION_DESCRIPTOR, "uint32", "an instruction descriptor")]
f32 = Annotated[float, _operand(OperandKind.F32, "float32", "a number")]
f64 = Annotated[float, _operand(OperandKind.F64, "float64", "a number")]
_PREDICATE = _operand(OperandKind.PREDICATE, "bool", "a condition")
pred = Annotated[bool, _PREDICATE]
any_value = Annotated[Any, _operand(OperandKind.ANY, None, "a value")]
barrier_type = _operand(OperandKind.MBARRIER, None, _BARRIER)
shared_type = _operand(OperandKind.SHARED, None, _SHARED)
SharedAddress = Annotated[int, shared_type]
MbarrierAddress = Annotated[int, barrier_type]
CtaRank = Annotated[int, _operand(OperandKind.CTA_RANK, "uint32", "the rank of a CTA in the cluster, an integer")]
GlobalAddress = Annotated[
    int, _operand(OperandKind.GLOBAL, None, "a pointer to global memory, as in A.ptr_to([0, 0])")
]
MemoryAddress = Annotated[
    int, _operand(OperandKind.MEMORY, None, "a pointer to global or shared memory")
]
typed_value = Annotated[Any, _operand(OperandKind.TYPED, None, "a value of the instruction's type")]
waited_pred = Annotated[Generator[object, None, bool], _PREDICATE]
waited_u32 = Annotated[Generator[object, None, int], _U32]
"""The result types of blocking instructions."""
TmemAddress = Annotated[
    int, _operand(OperandKind.TMEM, "uint32", "an address of tensor memory, as tcgen05.alloc wrote it")
]
Registers = Annotated[RegisterOperand, _operand(OperandKind.REGISTERS, None, _REGISTERS, Access.WRITE)]
SourceRegisters = Annotated[RegisterOperand, _operand(OperandKind.REGISTERS, None, _REGISTERS, Access.READ)]
UpdatedRegisters = Annotated[RegisterOperand, _operand(OperandKind.REGISTERS, None, _REGISTERS, Access.UPDATE)]
TensorMapHandle = Annotated["TensorMap | int", _operand(OperandKind.TENSOR_MAP, "tensormap", "a tensor map")]


@dataclass(frozen=True)
class Operand:
    """A parameter of an instruction.

    name: as in the entry's signature and its PTX.
    type: of the values that can be passed.
    variadic: whether it stands for any number of operands, as the coordinates of a box do.
    """

    name: str
    type: OperandType
    variadic: bool = False

    def convert(self, value: object, instruction: str) -> Expr:
        """Convert `value` to an expression of the operand's type; raises `TirxError`, which names `instruction`."""
        kind, dtype = self.type.kind, self.type.dtype
        needed = f"{self.name!r} of {instruction} needs {self.type.what}"
        expr = self._expression(value, needed)
        if kind.in_shared_memory or kind is OperandKind.GLOBAL:
            return self._pointer(expr, needed, value)
        if kind is OperandKind.MEMORY:
            return self._generic(expr, needed, value)
        if not self._fits(expr):
            raise TirxError(f"{needed}, but {described(expr)} is given", expr.span, about=value)
        if kind is OperandKind.PREDICATE:
            return as_bool(expr)
        return expr if dtype is None or kind is OperandKind.TENSOR_MAP else cast(dtype, expr)

    def _expression(self, value: object, needed: str) -> Expr:
        """Convert `value` to an expression: a barrier to a pointer, a buffer to its address or its first element."""
        kind, given = self.type.kind, value
        if kind.in_shared_memory:
            value = at_barrier(value, needed, kind is OperandKind.MBARRIER)
        if isinstance(value, Buffer):
            value = value.data if self.type.dtype is None else value[(0,) * value.ndim]
        try:
            return as_expr(value)
        except TirxError:
            raise TirxError(f"{needed}, but {described(given)} is given", about=given) from None

    def _fits(self, expr: Expr) -> bool:
        """Return whether an expression is valid for this operand, which is no pointer to memory."""
        kind, dtype = self.type.kind, self.type.dtype
        if kind is OperandKind.REGISTERS:
            return isinstance(expr, AddressOf) and expr.buffer.scope == "local"
        if kind is OperandKind.TENSOR_MAP:
            return expr.dtype == dtype
        if expr.is_tile or dtype is None:
            return not expr.is_tile
        if expr.dtype.is_handle or expr.dtype.lanes > 1:
            return False
        if kind is OperandKind.TCGEN05_DESCRIPTOR and expr.dtype == UINT32:  # an address of tensor memory
            return False
        return kind is OperandKind.PREDICATE or not dtype.is_integer or expr.dtype.is_integer or expr.dtype.is_bool

    def _pointer(self, expr: Expr, needed: str, given: object) -> Expr:
        """Convert to a pointer to shared or global memory; integers can be shared-memory addresses of the cluster."""
        scope = "shared" if self.type.kind.in_shared_memory else "global"
        if isinstance(expr, BufferLoad) and expr.buffer.scope == "shared":
            raise _stored_there(expr, needed, given)
        if isinstance(expr, AddressOf) and expr.buffer.scope != scope:
            message = f"{needed}, but {expr.buffer.name} is in {expr.buffer.scope} memory"
            raise TirxError(message, expr.span, about=given)
        if expr.dtype == HANDLE and not expr.is_tile:
            return expr
        if scope == "shared" and expr.dtype.is_integer and not expr.is_tile:
            return cast(UINT32, expr)
        raise TirxError(f"{needed}, but {described(expr)} is given", expr.span, about=given)

    def _generic(self, expr: Expr, needed: str, given: object) -> Expr:
        """Convert to a pointer to shared or global memory, or to a shared-memory address of the cluster."""
        if isinstance(expr, AddressOf) and expr.buffer.scope in ("global", "shared"):
            return expr
        if isinstance(expr, BufferLoad) and expr.buffer.scope in ("global", "shared"):
            raise _stored_there(expr, needed, given)
        if expr.dtype == HANDLE and not isinstance(expr, AddressOf) and not expr.is_tile:
            return expr
        if expr.dtype.is_integer and not expr.is_tile:
            return cast(UINT32, expr)
        raise TirxError(f"{needed}, but {described(expr)} is given", expr.span, about=given)


def _stored_there(element: BufferLoad, needed: str, given: object) -> TirxError:
    """Return the error for an element in place of a pointer to it."""
    place = f"{element.buffer.name}.ptr_to([{', '.join(map(repr, element.indices))}])"
    message = f"{needed}, but {described(element)} is the value stored there"
    return TirxError(message, element.span, f"write {place}", about=given)


class Barriers(Protocol):
    """An object that holds mbarriers, such as a `TMABar`.

    depth: how many they are.
    """

    depth: int

    @property
    def name(self) -> str:
        """The name of the object in the kernel."""
        ...

    def ptr_to(self, indices: object) -> Expr:
        """Return a pointer to one of the barriers."""
        ...


def at_barrier(value: object, needed: str, only_barriers: bool = True) -> object:
    """Return a pointer to the barrier of an object or buffer that holds one; return other values unchanged.

    needed: the first clause of the message, as in "'bar' of mbarrier.arrive needs an mbarrier".
    only_barriers: whether a buffer stands for a barrier, too, and not for its own address.

    Raises `TirxError` for several barriers, and for a buffer of another type.
    """
    given: Any = value
    if isinstance(value, Buffer):
        if not only_barriers or value.scope != "shared":
            return value
        if not value.dtype.is_integer or value.dtype.bits != 64:
            message = f"{needed}, which is uint64, but {described(value)} has elements of {value.dtype}"
            raise TirxError(message, hint=f'write {value.name} = pool.alloc((STAGES,), "uint64")', about=value)
        name, count, first = value.name, value.size, [0] * value.ndim
    elif hasattr(value, "depth") and hasattr(value, "ptr_to"):
        barriers: Barriers = given
        name, count, first = barriers.name, barriers.depth, [0]
    else:
        return value
    if count != 1:
        stage = ", ".join(["stage", *"ijkl"][: len(first)])
        message = f"{needed}, but {described(value)} holds {count}, one for each stage"
        raise TirxError(message, hint=f"write {name}.ptr_to([{stage}])", about=value)
    return given.ptr_to(first)


REGISTER_TYPES: Mapping[str, str] = {
    **{f"{c}{n}": f"{'int' if c == 's' else 'uint'}{n}" for c in "bus" for n in (8, 16, 32, 64)},
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip
"""The dtypes of PTX register types; untyped registers hold any value of their width."""


_POINTED = {dtype: name for name, dtype in REGISTER_TYPES.items() if name[0] in "usf" or name == "bf16"}


def pointed_type(operands: Sequence[Expr], instruction: str) -> str:
    """Return the PTX type of the elements at the first operand, an address; raises `TirxError` if it has none."""
    pointer = operands[0]
    if isinstance(pointer, AddressOf) and pointer.buffer.dtype in _POINTED:
        return _POINTED[pointer.buffer.dtype]
    raise TirxError(f"{instruction} needs the type of the value, as in type='u32'", pointer.span)


def typed(expr: Expr, kind: str, wanted: OperandType, instruction: str) -> Expr:
    """Convert an operand whose type is set by the PTX type `kind`; return other operands unchanged."""
    if wanted.kind is not OperandKind.TYPED:
        return expr
    dtype = DataType(REGISTER_TYPES[kind])
    if kind.startswith("b") and kind != "bf16" and expr.dtype.bits == dtype.bits and expr.dtype.lanes == 1:
        return expr
    if expr.dtype.is_handle or expr.dtype.lanes > 1 or (dtype.is_integer and expr.dtype.is_float):
        raise TirxError(f"{instruction} of type {kind} needs {dtype}, but {expr!r} is {expr.dtype}", expr.span)
    return cast(dtype, expr)


@dataclass(frozen=True)
class Attribute:
    """A static modifier.

    name: as in the entry's signature and its PTX.
    default: its value where none is given; `inspect.Parameter.empty` where one must be.
    choices: the values that it can have; None for any.
    counts: whether it is a whole number from 0 on. texts: whether it is a string. flags: whether it is a truth value.
    """

    name: str
    default: object
    choices: tuple[object, ...] | None
    counts: bool = False
    texts: bool = False
    flags: bool = False

    @property
    def required(self) -> bool:
        """Return whether calls must provide a value."""
        return self.default is inspect.Parameter.empty

    def convert(self, value: object, instruction: str) -> object:
        """Convert `value` to the modifier's type; raises `TirxError`, which names `instruction`."""
        if self.choices is not None and isinstance(value, str) and value in self.choices:
            return value
        if isinstance(value, Expr):
            known = getattr(value, "value", None)
            if not isinstance(known, (int, float)):
                raise TirxError(
                    f"{self.name!r} of {instruction} must be known at compile time, but it is {described(value)}",
                    about=value,
                )
            value = known
        if self.required and value is None:
            raise TirxError(f"{self.name!r} of {instruction} needs a value, but None is given")
        if self.choices is not None and (not isinstance(value, Hashable) or value not in self.choices):
            choices = ", ".join(map(repr, self.choices))
            message = f"{self.name!r} of {instruction} is {described(value)}; it can be {choices}"
            raise TirxError(message, about=value)
        if self.texts and not isinstance(value, str):
            message = f"{self.name!r} of {instruction} must be a string, not {described(value)}"
            raise TirxError(message, about=value)
        if self.flags and not isinstance(value, _FLAGS):
            message = f"{self.name!r} of {instruction} must be True or False, not {described(value)}"
            raise TirxError(message, about=value)
        if self.counts and value is not None and (not isinstance(value, int) or value < 0):
            message = f"{self.name!r} of {instruction} is {described(value)}; it must be a whole number from 0 on"
            raise TirxError(message, about=value)
        return value
