"""Operands and modifiers of instructions: their types, and how the arguments of a call become them."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Mapping, Sequence
from enum import Enum, Flag
from typing import Annotated, Any

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

from .descriptors import INSTRUCTION, TCGEN05, WGMMA
from .machine import RegisterOperand


class OtherSignature(TirxError):
    """A call with other parameters than those of the instruction."""


class BadCombination(TirxError):
    """A call whose arguments fit one by one, but not together."""


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
        """Whether it is a word that the tensor core decodes (`descriptors.describe`)."""
        return self.value in (TCGEN05, WGMMA, INSTRUCTION)

    @property
    def in_shared_memory(self) -> bool:
        """Whether it is an address of shared memory, of the CTA or of the cluster."""
        return self in (OperandKind.SHARED, OperandKind.MBARRIER)


class Access(Flag):
    """How an instruction uses the registers of an operand."""

    READ = 1
    WRITE = 2
    UPDATE = READ | WRITE


@dataclass(frozen=True)
class OperandType:
    """The type of an operand or a result.

    kind: of the operand.
    dtype: the type of its value in the IR; None for any.
    what: a description for error messages, as in "an integer".
    access: for registers, whether they are read, written or both.
    spellings: other names under which every operand of this type can be passed.
    """

    kind: OperandKind
    dtype: DataType | None
    what: str
    access: Access = Access.READ
    spellings: tuple[str, ...] = ()


def _operand(
    kind: OperandKind, dtype: str | None, what: str, access: Access = Access.READ, spellings: tuple[str, ...] = ()
) -> OperandType:
    return OperandType(kind, None if dtype is None else DataType(dtype), what, access, spellings)


_SHARED = "a pointer to shared memory, as in bar.ptr_to([0])"
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
SharedAddress = Annotated[int, _operand(OperandKind.SHARED, None, _SHARED)]
MbarrierAddress = Annotated[int, _operand(OperandKind.MBARRIER, None, _SHARED, spellings=("ptr", "mbar"))]
CtaRank = Annotated[int, _operand(OperandKind.CTA_RANK, "uint32", "the rank of a CTA in the cluster, an integer")]
GlobalAddress = Annotated[
    int, _operand(OperandKind.GLOBAL, None, "a pointer to global memory, as in A.ptr_to([0, 0])")
]
MemoryAddress = Annotated[
    int, _operand(OperandKind.MEMORY, None, "a pointer to global or shared memory", spellings=("addr", "ptr"))
]
typed_value = Annotated[Any, _operand(OperandKind.TYPED, None, "a value of the instruction's type")]
waited_pred = Annotated[Generator[object, None, bool], _PREDICATE]
waited_u32 = Annotated[Generator[object, None, int], _U32]
"""Results of instructions that block."""
TmemAddress = Annotated[
    int, _operand(OperandKind.TMEM, "uint32", "an address of tensor memory, as tcgen05.alloc wrote it")
]
Registers = Annotated[RegisterOperand, _operand(OperandKind.REGISTERS, None, _REGISTERS, Access.WRITE)]
SourceRegisters = Annotated[RegisterOperand, _operand(OperandKind.REGISTERS, None, _REGISTERS, Access.READ)]
UpdatedRegisters = Annotated[RegisterOperand, _operand(OperandKind.REGISTERS, None, _REGISTERS, Access.UPDATE)]
TensorMapHandle = Annotated[TensorMap, _operand(OperandKind.TENSOR_MAP, "tensormap", "a tensor map")]


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

    def convert(self, value: Any, instruction: str) -> Expr:
        """`value` as an expression of the operand's type; raises `TirxError`, which names `instruction`."""
        kind, dtype = self.type.kind, self.type.dtype
        if isinstance(value, Buffer):
            value = value.data if dtype is None else value[(0,) * value.ndim]
        needed = f"{self.name!r} of {instruction} needs {self.type.what}"
        try:
            expr = as_expr(value)
        except TirxError:
            raise TirxError(f"{needed}, but {value!r} is given") from None
        if kind is OperandKind.PREDICATE:
            return as_bool(expr)
        if kind.in_shared_memory or kind is OperandKind.GLOBAL:
            return self._pointer(expr, needed)
        if kind is OperandKind.MEMORY:
            return self._generic(expr, needed)
        wrong = TirxError(f"{needed}, but {expr!r} is given", expr.span)
        if kind is OperandKind.REGISTERS:
            if not isinstance(expr, AddressOf) or expr.buffer.scope != "local":
                raise wrong
            return expr
        if dtype is None:
            return expr
        if kind is OperandKind.TENSOR_MAP:
            if expr.dtype != dtype:
                raise wrong
            return expr
        if kind is OperandKind.TCGEN05_DESCRIPTOR and expr.dtype == UINT32:  # an address of tensor memory
            raise wrong
        if expr.dtype.is_handle or (dtype.is_integer and not (expr.dtype.is_integer or expr.dtype.is_bool)):
            raise wrong
        return cast(dtype, expr)

    def _pointer(self, expr: Expr, needed: str) -> Expr:
        """A pointer to shared or global memory; an integer can be an address of the cluster's shared memory."""
        scope = "shared" if self.type.kind.in_shared_memory else "global"
        if isinstance(expr, BufferLoad) and expr.buffer.scope == "shared":
            place = f"{expr.buffer.name}.ptr_to([{', '.join(map(repr, expr.indices))}])"
            raise TirxError(f"{needed}, but {expr!r} is the value stored there", expr.span, f"write {place}")
        if isinstance(expr, AddressOf) and expr.buffer.scope != scope:
            raise TirxError(f"{needed}, but {expr.buffer.name} is in {expr.buffer.scope} memory", expr.span)
        if expr.dtype == HANDLE:
            return expr
        if scope == "shared" and expr.dtype.is_integer:
            return cast(UINT32, expr)
        raise TirxError(f"{needed}, but {expr!r} is given", expr.span)


    def _generic(self, expr: Expr, needed: str) -> Expr:
        """A pointer to shared or global memory, or an address of the cluster's shared memory."""
        if isinstance(expr, AddressOf) and expr.buffer.scope in ("global", "shared"):
            return expr
        if isinstance(expr, BufferLoad) and expr.buffer.scope in ("global", "shared"):
            place = f"{expr.buffer.name}.ptr_to([{', '.join(map(repr, expr.indices))}])"
            raise TirxError(f"{needed}, but {expr!r} is the value stored there", expr.span, f"write {place}")
        if expr.dtype == HANDLE and not isinstance(expr, AddressOf):
            return expr
        if expr.dtype.is_integer:
            return cast(UINT32, expr)
        raise TirxError(f"{needed}, but {expr!r} is given", expr.span)


REGISTER_TYPES: Mapping[str, str] = {
    **{f"{c}{n}": f"{'int' if c == 's' else 'uint'}{n}" for c in "bus" for n in (8, 16, 32, 64)},
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip
"""The dtypes of PTX's types of registers. The untyped ones hold any value of their width."""


_POINTED = {dtype: name for name, dtype in REGISTER_TYPES.items() if name[0] in "usf" or name == "bf16"}


def pointed_type(operands: Sequence[Expr], instruction: str) -> str:
    """The PTX type of the elements that the first operand, an address, points to; raises `TirxError` if it has none."""
    pointer = operands[0]
    if isinstance(pointer, AddressOf) and pointer.buffer.dtype in _POINTED:
        return _POINTED[pointer.buffer.dtype]
    raise TirxError(f"{instruction} needs the type of the value, as in type='u32'", pointer.span)


def typed(expr: Expr, kind: str, wanted: OperandType, instruction: str) -> Expr:
    """An operand whose type the PTX type `kind` decides, as a value of that; others as they are."""
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
    counts: whether it is a whole number from 0 on.
    """

    name: str
    default: Any
    choices: tuple[Any, ...] | None
    counts: bool = False

    @property
    def required(self) -> bool:
        """Whether a call must give it a value."""
        return self.default is inspect.Parameter.empty

    def convert(self, value: Any, instruction: str) -> Any:
        """`value` as the modifier's; raises `TirxError`, which names `instruction`."""
        if isinstance(value, Expr):
            known = getattr(value, "value", None)
            if not isinstance(known, (int, float)):
                raise TirxError(f"{self.name!r} of {instruction} must be known at compile time, but it is {value!r}")
            value = known
        if self.choices is not None and value not in self.choices:
            choices = ", ".join(map(repr, self.choices))
            raise TirxError(f"{self.name!r} of {instruction} is {value!r}; it can be {choices}")
        if self.counts and value is not None and (not isinstance(value, int) or value < 0):
            raise TirxError(f"{self.name!r} of {instruction} is {value!r}; it must be a whole number from 0 on")
        return value
