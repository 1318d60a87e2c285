"""Instructions by PTX opcode, with operands in PTX order: ``T.ptx["mbarrier.init.shared.b64"](bar, 1)``,
``T.ptx.mbarrier.init.shared.b64(bar, 1)``. The instruction table determines the valid opcodes (`isa.spelling`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tirx_mini.ir import (
    HANDLE,
    UINT32,
    UINT64,
    AddressOf,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    If,
    TirxError,
    as_bool,
    binary,
    cast,
    const,
)
from tirx_mini.isa import (
    Access,
    Instruction,
    OperandKind,
    Scalar,
    bits_as,
    next_words,
    opcode_of,
    readings,
    register_pointers,
    scalar,
)
from tirx_mini.isa import continuations as entries_continue
from tirx_mini.records import replace
from tirx_mini.wording import described

from .builder import current, place
from .diagnostics import UnknownName, unknown
from .refused import refusal

Issue = Callable[[Instruction, tuple[Any, ...], dict[str, Any]], "Call | None"]
"""Calls one entry of the table: its operands and modifiers, and its value if it has one."""


class Spelt:
    """A complete or partial opcode, which is callable.

    With an argument before the operands of PTX, a result is stored there: a scalar, or a pointer to one.
    """

    def __init__(self, opcode: str, issue: Issue) -> None:
        self._opcode, self._issue = opcode, issue

    def __getattr__(self, name: str) -> Spelt:
        if name.startswith("_"):
            raise AttributeError(name)
        return spelt(f"{self._opcode}.{word_of(self._opcode, name)}", self._issue)

    def __repr__(self) -> str:
        return f'Tx.ptx["{self._opcode}"]'

    def __call__(self, *args: object, pred: object = None, **kwargs: object) -> Any:
        """Issue the instruction. pred: its predicate ``@p``; without one, it always executes."""
        if pred is None:
            return self._issued(args, kwargs)
        builder = current(repr(self))
        with builder.block() as guarded:
            value = self._issued(args, kwargs)
        if value is not None:
            message = f"`{self._opcode}` with a predicate needs the register of its result as the first argument"
            raise TirxError(message, place(), f"write {self!r}(register, …, pred=condition)")
        builder.emit(If(as_bool(pred), builder.body(guarded)))
        return None

    def _issued(self, args: tuple[object, ...], kwargs: dict[str, Any]) -> object:
        operation, wide = scalar(self._opcode), _WIDE.fullmatch(self._opcode)
        if wide is not None:
            return _wide_words(wide, args, self._issue)
        found = readings(self._opcode)
        if operation is not None and not kwargs:
            return _computed(operation, args)
        if not found:
            raise TirxError(f"`{self._opcode}` is only the beginning of an opcode", place(), following(self._opcode))
        refused: TirxError | None = None
        for reading, after in itertools.product(found, (0, 1)):
            if after and not _may_follow_register(reading.entry, args):
                continue
            try:
                operands, modifiers, destination = reading.arguments(args[after:])
                with side_by_side(reading.entry, operands) as places:
                    value = self._issue(reading.entry, places, {**modifiers, **kwargs})
            except TirxError as error:
                refused = refused or error
                continue
            destination = args[:after] or destination
            if not destination or value is None:
                return value
            _store(destination[0], value, self._opcode)
            return None
        assert refused is not None
        if refused.diagnostic.hint is None:
            refused.diagnostic = replace(refused.diagnostic, hint="give the operands in the order of the PTX ISA")
        raise refused.at(place())


def _computed(operation: Scalar, args: tuple[object, ...]) -> Expr | None:
    """Store an operation's value in the register given first, or return the value if none is given."""
    if len(args) == len(operation.operands):
        return operation(*args)
    _store(args[0] if args else None, operation(*args[1:]), operation.opcode)
    return None


_WIDE = re.compile(r"((?:ld|st)\..*)\.v([24])\.([busf])64")
"""Vectors of words of 64 bits, which are vectors of twice as many of 32."""


def _wide_words(wide: re.Match[str], args: tuple[object, ...], issue: Issue) -> None:
    """Emit a vector access of 64-bit words: an address, and a register or value for each word."""
    head, count = wide[1], int(wide[2])
    if len(args) != count + 1:
        raise TirxError(
            f"`{wide[0]}` takes an address and {count} registers, but {len(args)} operands are given", place()
        )
    opcode, builder = Spelt(f"{head}.v{2 * count}.b32", issue), current(f"Tx.ptx[{wide[0]!r}]")
    halves = builder.alloc(Buffer(builder.take_name("words"), (2 * count,), UINT32, "local"))
    words = [halves[word] for word in range(2 * count)]
    if head.startswith("st"):
        for number, value in enumerate(args[1:]):
            bits = bits_as(UINT64, value)
            for half in (0, 1):
                part = cast(UINT32, binary(">>", bits, const(32 * half, UINT64)))
                builder.emit(BufferStore(halves, (const(2 * number + half),), part))
        opcode(args[0], *words)
        return
    opcode(*words, args[-1])
    for number, register in enumerate(args[:-1]):
        low, high = (cast(UINT64, word) for word in words[2 * number : 2 * number + 2])
        _store(register, binary("|", low, binary("<<", high, const(32, UINT64))), wide[0])


def _may_follow_register(entry: Instruction, args: tuple[object, ...]) -> bool:
    """Return whether the first argument may be the result register, before a variadic list of operands."""
    many = any(operand.variadic for operand in entry.operands)
    return many and entry.result is not None and bool(args) and _is_register(args[0])


@contextmanager
def side_by_side(entry: Instruction, operands: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the operands with scattered registers copied to contiguous ones, for entries that require them."""
    builder, places, after = current("Tx.ptx"), list(operands), []
    for number, (operand, given) in enumerate(zip(entry.operands, operands, strict=False)):
        if operand.type.kind is OperandKind.REGISTERS and _is_register(given) and not isinstance(given, Buffer):
            places[number] = AddressOf(HANDLE, given.buffer, given.indices)
        if operand.type.kind is not OperandKind.REGISTERS or entry.scattered or not isinstance(given, (list, tuple)):
            continue
        if len(given) < 2 or not all(map(_is_register, given)):
            continue
        if len(register_pointers(operand, given, len(given), entry.name)) == 1:
            continue
        elements = [each[(0,) * each.ndim] if isinstance(each, Buffer) else each for each in given]
        temporary = Buffer(builder.take_name("words"), (len(given),), elements[0].dtype, "local")
        copies = [(BufferLoad(one.dtype, temporary, (const(at),)), one) for at, one in enumerate(elements)]
        places[number] = builder.alloc(temporary).ptr_to([0])
        if Access.READ in operand.type.access:
            for inside, outside in copies:
                builder.emit(BufferStore(temporary, inside.indices, bits_as(temporary.dtype, outside)))
        if Access.WRITE in operand.type.access:
            after += copies
    yield tuple(places)
    for inside, outside in after:
        builder.emit(BufferStore(outside.buffer, outside.indices, bits_as(outside.dtype, inside)))


def _is_register(arg: object) -> bool:
    return isinstance(arg, (Buffer, BufferLoad)) and (arg if isinstance(arg, Buffer) else arg.buffer).scope == "local"


def word_of(opcode: str, name: str) -> str:
    """Return the opcode part that a Python name denotes; ``shfl_sync`` may stand for two parts."""
    word = opcode_of(name)
    parts = word.replace("_", ".")
    before = f"{opcode}." if opcode else ""
    return parts if "_" in word and not begins(before + word) and begins(before + parts) else word


def continuations(opcode: str) -> list[str]:
    """Return the words that may continue an opcode, or an empty list for an invalid prefix."""
    ends = [""] if scalar(opcode) is not None else []
    return list(dict.fromkeys([*entries_continue(opcode), *ends, *next_words(opcode)]))


def spelt(opcode: str, issue: Issue) -> Spelt:
    """Return the opcode or opcode prefix. Raises `TirxError` if no instruction of the table matches."""
    if not begins(opcode):
        if refusal(f"ptx.{opcode}") is not None:
            owner, _, name = f"Tx.ptx.{opcode}".rpartition(".")
            raise unknown(owner, name, None)
        known = opcode.rpartition(".")[0]
        while known and not continuations(known):
            known = known.rpartition(".")[0]
        hint = following(known) if known else "docs/reference/instructions.md lists the instructions that there are"
        raise UnknownName(f"no instruction of the table has the opcode `{opcode}`", place(), hint, kind="not-modelled")
    return Spelt(opcode, issue)


def begins(opcode: str) -> bool:
    """Return whether an opcode prefix matches an instruction of the table."""
    wide = _WIDE.fullmatch(opcode)
    return bool(continuations(opcode if wide is None else f"{wide[1]}.v{2 * int(wide[2])}.b32"))


def following(opcode: str) -> str | None:
    """Return a hint with the possible continuations of an opcode, or None for an invalid prefix."""
    if not begins(opcode):
        return None
    words = [f"`.{word}`" for word in continuations(opcode) if word]
    more = f" and {len(words) - 12} more" if len(words) > 12 else ""
    return f"after `{opcode}` can come {', '.join(words[:12])}{more}" if words else f"`{opcode}` is a whole opcode"


def _store(destination: object, value: Expr, opcode: str) -> None:
    """Store a result's bits at the destination given by the first argument."""
    target = destination
    if isinstance(target, Buffer):
        target = target[(0,) * target.ndim]
    if not isinstance(target, (BufferLoad, AddressOf)) or target.buffer.scope != "local":
        raise TirxError(
            f"the result of {opcode} is stored in a register, but {described(destination)} is given", place()
        )
    buffer = target.buffer
    indices = target.indices or (const(0),) * buffer.ndim
    current("Tx.ptx").emit(BufferStore(buffer, tuple(indices), bits_as(buffer.dtype, value)))
