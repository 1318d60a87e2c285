"""Lowering state: the IR values and variables of registers, and the statements emitted so far."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from tirx_mini.ir import (
    HANDLE,
    AddressOf,
    AllocBuffer,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    DataType,
    Evaluate,
    Expr,
    Launch,
    Span,
    Stmt,
    TirxError,
    Var,
    binary,
    cast,
    const,
    int_value,
    reinterpret,
    scalar,
    special,
    unary,
    walk,
)
from tirx_mini.ir import Address as Pointer
from tirx_mini.isa import GENERIC_SHARED, Instruction, bits_as
from tirx_mini.sim import LANES, thread_values

from .arguments import Bound
from .local_memory import LocalMemory
from .origins import ANYWHERE, Origins
from .registers import Registers, name_of
from .specials import special_register
from .syntax import Address, Float, Immediate, Kernel, Operand, Register, Sink, Special, Symbol
from .syntax import Instruction as PtxInstruction
from .variables import Variables

ADDRESS = DataType("int64")
"""The type of addresses in registers of 64 bits."""

_OF_TEXTURES = ("tex", "tld4", "txq", "suld", "sust", "sured", "suq")
MOST_DEFINITIONS = 32
"""The most definitions that are searched for a value that all threads of a warp share."""


def refused(instruction: PtxInstruction, why: str = "") -> TirxError:
    """Return the error for an instruction that the simulator does not support."""
    why = why or ("textures and surfaces are not modelled" if instruction.opcode[0] in _OF_TEXTURES else "")
    reason = f": {why}" if why else ""
    message = f"the simulator does not execute `{instruction.text}` (line {instruction.line} of the PTX){reason}"
    return TirxError(message, instruction.span, kind="not-modelled")


class Context:
    """The kernel under construction.

    block: its dimensions. values: the registers that are values, by their names. stored: the value last stored to each
    location of a local variable. waits_for_grids: whether an instruction waits for the kernels before this one.
    """

    def __init__(
        self, kernel: Kernel, bound: Bound, launch: Launch, block: tuple[int, int, int], registers: Registers,
        origins: Origins, variables: Variables, locals_: LocalMemory,
    ) -> None:  # fmt: skip
        self.kernel, self.bound, self.launch, self.block = kernel, bound, launch, block
        self.locals = locals_
        self.definitions: dict[Var, Expr] = {}
        self.variable: set[str] = set()
        self.stored: dict[tuple[str, int], Operand] = {}
        self.registers, self.origins, self.variables = registers, origins, variables
        self.values: dict[str, Expr] = {}
        self.arrays = [
            Buffer(f"registers_{number}", (length,), dtype, "local")
            for number, (dtype, length) in enumerate(registers.arrays)
        ]
        self.scalars: dict[str, Buffer] = {}
        self.allocated: list[Buffer] = [*self.arrays, *(array.buffer for array in locals_.arrays.values())]
        self.out: list[Stmt] = []
        self.span: Span | None = None
        self.temporaries = 0
        self.waits_for_grids = False

    # -- statements ----------------------------------------------------------------------------------------------

    def emit(self, stmt: Stmt) -> None:
        self.out.append(stmt)

    @contextmanager
    def inside(self) -> Iterator[list[Stmt]]:
        """Collect the statements emitted inside the context into a separate list."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    def execute(self, entry: Instruction, args: Sequence[object], attrs: Mapping[str, object]) -> Call:
        """Return a call to a table entry. Raises `TirxError` if the arguments do not fit."""
        operands, bound = entry.bind(tuple(args), attrs)
        self.waits_for_grids |= entry.waits_for_grids
        dtype = entry.result_type(operands, dict(bound)) or HANDLE
        return Call(dtype, entry.name, operands, bound, span=self.span)

    def evaluate(self, call: Call) -> None:
        self.emit(Evaluate(call, span=self.span))

    def declarations(self) -> list[Stmt]:
        """Return the allocations of the registers that are lowered to variables."""
        return [AllocBuffer(buffer) for buffer in self.allocated]

    def temporary(self, dtype: DataType, length: int) -> Buffer:
        """Allocate a temporary register array that does not appear in the PTX text."""
        self.temporaries += 1
        buffer = Buffer(f"vector_{self.temporaries}", (length,), dtype, "local")
        self.allocated.append(buffer)
        return buffer

    def kept(self, value: Expr, name: str = "value") -> Expr:
        """Bind a value to a variable for reuse; constants and variables are returned unchanged."""
        if isinstance(value, (Var, Const)):
            return value
        var = Var(value.dtype, name, span=self.span)
        self.emit(Bind(var, value, span=self.span))
        return var

    def of_warps(self, value: Expr) -> Expr:
        """Replace a value by the warp index if every thread's value equals its warp index."""
        known = self._in_threads(value)
        if known is None:
            return value
        numbers = np.broadcast_to(np.asarray(known), (self.launch.warps, LANES))
        same = (numbers == np.arange(self.launch.warps)[:, None]).all()
        return cast(value.dtype, special("warp_id_in_cta")) if same else value

    def _in_threads(self, value: Expr) -> np.ndarray | None:
        """Return the value in each thread; None if it depends on more, or on too many definitions."""
        warps, known, waiting = self.launch.warps, dict[Var, np.ndarray | None](), [value]
        variables: dict[Var, Expr] = {}
        while waiting:
            for node in walk(waiting.pop()):
                if isinstance(node, (BufferLoad, Call)):
                    return None
                if isinstance(node, Var) and node not in variables:
                    if node not in self.definitions or len(variables) == MOST_DEFINITIONS:
                        return None
                    variables[node] = self.definitions[node]
                    waiting.append(variables[node])

        def of(var: Var) -> np.ndarray | None:
            if var not in known:
                known[var] = thread_values(variables[var], warps, of)
            return known[var]

        return thread_values(value, warps, of)

    # -- registers -----------------------------------------------------------------------------------------------

    def place(self, register: Register) -> tuple[Buffer, int]:
        """Return the buffer and index of a register that is lowered to a variable."""
        name = name_of(register)
        slot = self.registers.slots.get(name)
        if slot is not None:
            return self.arrays[slot.array], slot.index
        buffer = self.scalars.get(name)
        if buffer is None:
            dtype = self.registers.dtypes.get(name)
            if dtype is None:
                raise TirxError(f"the register {name} is not declared", self.span)
            buffer = self.scalars[name] = scalar(name.lstrip("%"), dtype)
            self.allocated.append(buffer)
        return buffer, 0

    def raw(self, register: Register) -> Expr:
        """Return the value of a register in its storage type."""
        known = self.values.get(name_of(register))
        if known is None:
            buffer, index = self.place(register)
            known = BufferLoad(buffer.dtype, buffer, (const(index),), span=self.span)
        return unary("not", known) if register.negated else known

    def read(self, operand: Operand, dtype: DataType | None = None) -> Expr:
        """Return the value of an operand, converted to `dtype` if given."""
        if isinstance(operand, Register):
            value = self.raw(operand)
        elif isinstance(operand, Immediate):
            return self._immediate(operand.value, dtype or DataType("int64"))
        elif isinstance(operand, Float):
            value = _number(operand, dtype)
        elif isinstance(operand, Special):
            value = special_register(operand, self.launch, self.block, self.span)
        elif isinstance(operand, Symbol):
            value = self.symbol(operand)
        else:
            raise TirxError(f"{operand!r} is not a value here", self.span)
        return value if dtype is None else as_type(dtype, value)

    def _immediate(self, value: int, dtype: DataType) -> Expr:
        if dtype.is_float:
            return const(float(value), dtype)
        return const(bool(value) if dtype.is_bool else value, dtype)

    def write(self, operand: Operand, value: Expr) -> None:
        """Write a value to a register."""
        if isinstance(operand, Sink):
            if isinstance(value, Call):
                self.evaluate(value)
            return
        assert isinstance(operand, Register)
        name = name_of(operand)
        use = self.registers.uses.get(name)
        if name not in self.registers.slots and name not in self.variable and use is not None and use.is_value:
            if not use.reads and not isinstance(value, Call):
                return
            if isinstance(value, (Const, Var)):
                self.values[name] = value
                return
            var = Var(value.dtype, name.lstrip("%"), span=self.span)
            self.values[name] = self.definitions_of(var, value)
            self.emit(Bind(var, value, span=self.span))
            return
        buffer, index = self.place(operand)
        self.emit(BufferStore(buffer, (const(index),), as_type(buffer.dtype, value), span=self.span))

    def make_variable(self, operand: Operand) -> None:
        """Mark a register as a mutable variable because several statements write it."""
        if isinstance(operand, Register):
            self.variable.add(name_of(operand))

    def definitions_of(self, var: Var, value: Expr) -> Var:
        """Record the definition of a variable, unless it is a call, and return the variable."""
        if not isinstance(value, Call):
            self.definitions[var] = value
        return var

    def is_read(self, operand: Operand) -> bool:
        """Return whether any instruction reads the destination register of an operand."""
        use = self.registers.uses.get(name_of(operand)) if isinstance(operand, Register) else None
        return use is not None and bool(use.reads)

    def pointers(self, items: Sequence[Operand]) -> tuple[AddressOf, ...]:
        """Return one pointer per register."""
        found: list[AddressOf] = []
        for item in items:
            if not isinstance(item, Register):
                raise TirxError("a constant stands where a register is needed", self.span, kind="not-modelled")
            buffer, index = self.place(item)
            found.append(AddressOf(HANDLE, buffer, (const(index),)))
        return tuple(found)

    # -- addresses -----------------------------------------------------------------------------------------------

    def symbol(self, symbol: Symbol) -> Expr:
        """Return the address of a variable, in its own state space or as a generic address."""
        if symbol.name in self.locals.offsets:
            return const(self.locals.offsets[symbol.name] + symbol.offset, ADDRESS)
        value = self.variables.address(symbol.name, self.span)
        if symbol.generic and self.variables.space(symbol.name) == "shared":
            value = binary("+", cast(ADDRESS, value), const(GENERIC_SHARED, ADDRESS))
        return binary("+", value, const(symbol.offset, value.dtype)) if symbol.offset else value

    def address(self, operand: Address, *, generic: bool = False) -> Pointer:
        """Return the value of a bracketed address. generic: the address is generic and must lie in shared memory."""
        base = self.read(operand.base)
        if base.dtype.is_float:
            base = as_type(ADDRESS, base)
        if generic and not isinstance(operand.base, Symbol):
            base = binary("-", cast(ADDRESS, base), const(GENERIC_SHARED, ADDRESS))
        value = binary("+", base, const(operand.offset, base.dtype)) if operand.offset else base
        return Pointer(HANDLE, value, self.targets(operand.base), span=self.span)

    def names(self, operand: Operand) -> frozenset[str]:
        """Return the names of the arrays and variables that an address may point into."""
        if isinstance(operand, Symbol):
            return frozenset((operand.name,))
        return self.origins.get(name_of(operand), frozenset()) if isinstance(operand, Register) else frozenset()

    def targets(self, operand: Operand) -> tuple[Buffer, ...] | None:
        """Return the buffers that an address may point into, or None if it may point anywhere."""
        names = self.names(operand)
        found = [self.bound.arrays.get(name) or self.variables.buffer(name) for name in sorted(names - {ANYWHERE})]
        buffers = tuple(buffer for buffer in found if buffer is not None)
        return buffers if buffers and ANYWHERE not in names else None


def side_by_side(pointers: Sequence[AddressOf]) -> bool:
    """Return whether register pointers refer to consecutive elements of one buffer."""
    first = pointers[0]
    start = int_value(first.indices[0])
    return start is not None and all(
        pointer.buffer is first.buffer and int_value(pointer.indices[0]) == start + number
        for number, pointer in enumerate(pointers)
    )


def as_type(dtype: DataType, value: Expr) -> Expr:
    """Return the bits of a value in another type: zero- or sign-extended or cut off; constants are folded."""
    if isinstance(value, Const) and value.dtype.bits == dtype.bits and not dtype.is_bool and not value.dtype.is_bool:
        if value.dtype.is_float and dtype.is_integer:
            word = np.asarray(value.value, _numpy(value.dtype)).view(f"u{dtype.itemsize}")
            return const(int(word), dtype)
        if value.dtype.is_integer and dtype.is_float and dtype.bits >= 32:
            word = np.asarray(int(value.value) & ((1 << dtype.bits) - 1), f"u{dtype.itemsize}")
            return const(float(word.view(_numpy(dtype))), dtype) if not np.isnan(word.view(_numpy(dtype))) else (
                reinterpret(dtype, const(int(word), f"uint{dtype.bits}"))
            )
    if value.dtype.bits != dtype.bits and not dtype.is_bool and not value.dtype.is_bool:
        if value.dtype.is_float:
            value = reinterpret(f"uint{value.dtype.bits}", value)
        if dtype.is_float:
            value = cast(f"uint{dtype.bits}", value)
    return bits_as(dtype, value)


def _numpy(dtype: DataType) -> str:
    return f"f{dtype.itemsize}"


def _number(operand: Float, dtype: DataType | None) -> Expr:
    """Return a floating-point constant, or its bit pattern if the context needs an integer."""
    form, kind = ("<If", "float32") if operand.width == 32 else ("<Qd", "float64")
    value = struct.unpack(f"<{form[2]}", struct.pack(f"<{form[1]}", operand.bits))[0]
    if dtype is not None and dtype.is_float:
        return const(float(value), dtype)
    if value != value:
        return reinterpret(kind, const(operand.bits, f"uint{operand.width}"))
    return const(value, kind)
