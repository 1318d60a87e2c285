"""Local memory: per-thread variables lowered to register arrays.

Variables whose address is taken share one frame, whose bytes have addresses from 0 on. Each array has elements of the
narrowest access to it; wider accesses are made of several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tirx_mini.ir import Buffer, BufferLoad, BufferStore, DataType, Expr, For, Stmt, Var, binary, cast, const
from tirx_mini.records import dataclass

from .arguments import bits_of, size_of
from .opcodes import TYPES
from .origins import Origins
from .registers import name_of
from .syntax import Address, Declaration, Instruction, Register, Symbol, Vector

FRAME = "local_memory"
_SPACES = ("local", "param")
_INDEX = DataType("int32")


@dataclass(frozen=True)
class Array:
    """The storage of variables in local memory. width: bytes of an element."""

    buffer: Buffer
    width: int


@dataclass(frozen=True)
class LocalMemory:
    """The local variables of a thread. offsets: byte offsets in the frame. arrays: the frame and other arrays, by name.

    generic: whether generic addresses may be those of local memory.
    """

    offsets: Mapping[str, int]
    arrays: Mapping[str, Array]
    generic: bool

    def array(self, name: str) -> Array | None:
        """Return the array that holds a variable."""
        return self.arrays.get(name) or (self.arrays.get(FRAME) if name in self.offsets else None)

    def initialised(self) -> list[Stmt]:
        """Return statements that initialise the frame, since compilers copy bytes that were never written."""
        frame = self.arrays.get(FRAME)
        if frame is None:
            return []
        index = Var(_INDEX, "byte")
        store = BufferStore(frame.buffer, (index,), const(0, frame.buffer.dtype))
        return [For(index, const(0), const(frame.buffer.size), store, parallel=True)]

    def load(self, array: Array, offset: Expr, kind: str) -> Expr:
        """Return the value of the given type at a byte offset of an array."""
        width = bits_of(kind) // 8
        whole = DataType(f"uint{8 * width}")
        total: Expr | None = None
        for place, index in enumerate(_indices(array, offset, width)):
            part: Expr = BufferLoad(array.buffer.dtype, array.buffer, (index,))
            if width == array.width:
                return part
            moved = binary("<<", cast(whole, part), const(8 * array.width * place, whole))
            total = moved if total is None else binary("|", total, moved)
        assert total is not None
        return total

    def store(self, array: Array, offset: Expr, value: Expr) -> list[Stmt]:
        """Return statements that store an unsigned integer at a byte offset of an array."""
        width = value.dtype.itemsize
        stmts: list[Stmt] = []
        for place, index in enumerate(_indices(array, offset, width)):
            part = value
            if width != array.width:
                moved = binary(">>", value, const(8 * array.width * place, value.dtype))
                part = cast(array.buffer.dtype, moved)
            stmts.append(BufferStore(array.buffer, (index,), part))
        return stmts


def _indices(array: Array, offset: Expr, width: int) -> list[Expr]:
    """Return the element indices that cover `width` bytes at `offset`."""
    shift = array.width.bit_length() - 1
    first = binary(">>", cast(_INDEX, offset), const(shift)) if shift else cast(_INDEX, offset)
    return [binary("+", first, const(place)) for place in range(max(1, width // array.width))]


def place_locals(declared: Iterable[Declaration], flat: Sequence[Instruction], origins: Origins) -> LocalMemory:
    """Assign the local variables of a thread to arrays."""
    variables = {each.name: each for each in declared if each.space in _SPACES}
    taken = {name for instruction in flat for name in _taken(instruction) if name in variables}
    widths: dict[str, int] = {}
    generic = False
    for instruction in flat:
        if instruction.opcode[0] == "cvta" and "local" in instruction.opcode and "to" not in instruction.opcode:
            generic = True
        address = next((each for each in instruction.operands if isinstance(each, Address)), None)
        if address is None or instruction.opcode[-1] not in TYPES:
            continue
        for name in _named(address, instruction, origins, variables):
            where = FRAME if name in taken else name
            widths[where] = min(widths.get(where, 8), bits_of(instruction.opcode[-1]) // 8)
    offsets, end = _frame([each for name, each in variables.items() if name in taken])
    arrays = {
        name: _array(name, size_of(each), widths[name])
        for name, each in variables.items()
        if name not in taken and name in widths
    }
    if end:
        arrays[FRAME] = _array(FRAME, end, widths.get(FRAME, 8))
    return LocalMemory(offsets, arrays, generic)


def _array(name: str, nbytes: int, width: int) -> Array:
    length = -(-nbytes // width)
    return Array(Buffer(name, (length,), DataType(f"uint{8 * width}"), "local"), width)


def _frame(variables: Sequence[Declaration]) -> tuple[dict[str, int], int]:
    offset = 0
    found: dict[str, int] = {}
    for each in variables:
        step = max(each.align, bits_of(each.type) // 8, 1)
        offset = -(-offset // step) * step
        found[each.name] = offset
        offset += size_of(each)
    return found, -(-offset // 8) * 8


def _taken(instruction: Instruction) -> Iterable[str]:
    """Return the variables whose address an instruction uses other than for an access."""
    if instruction.opcode[0] == "call":
        return ()
    items = [item for each in instruction.operands for item in (each.items if isinstance(each, Vector) else (each,))]
    return [item.name for item in items if isinstance(item, Symbol)]


def _named(
    address: Address, instruction: Instruction, origins: Origins, variables: Mapping[str, Declaration]
) -> Iterable[str]:
    """Return the variables that an access may refer to."""
    if isinstance(address.base, Symbol):
        return [address.base.name] if address.base.name in variables else []
    known: Iterable[str] = origins.get(name_of(address.base), ()) if isinstance(address.base, Register) else ()
    found = [name for name in known if name in variables]
    if not found and "local" in instruction.opcode:
        return list(variables)
    return found
