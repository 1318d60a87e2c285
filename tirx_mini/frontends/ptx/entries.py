"""Lowering of PTX instructions through the `isa` table: match the opcode, then place its operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tirx_mini.ir import BOOL, AddressOf, BufferLoad, BufferStore, DataType, Expr, TirxError, binary, const
from tirx_mini.isa import Access, Instruction, OperandKind, OperandType, Reading, readings, value_of
from tirx_mini.records import dataclass, replace

from .context import Context, as_type, refused, side_by_side
from .opcodes import TYPES
from .syntax import Address, Immediate, Operand, Pair, Register, Sink, Vector
from .syntax import Instruction as PtxInstruction

_MAP = DataType("tensormap")
_TENSOR_COPY = ("cp", "async", "bulk", "tensor")
_POLICY = "L2::cache_hint"
_STATIONARY = ("tcgen05", "mma", "ws")
_COMPLETE_TX = ("mbarrier", "complete_tx")
_SPACES: Mapping[tuple[str, ...], tuple[int, str]] = {
    ("tcgen05", "commit"): (4, "shared::cluster"), ("tcgen05", "alloc"): (-1, "shared::cta"),
}  # fmt: skip
"""Instructions that take generic addresses too, with the state space that the table has for them, and its place."""
_IN_SHARED = (OperandKind.SHARED, OperandKind.MBARRIER)
_POINTERS = (*_IN_SHARED, OperandKind.GLOBAL, OperandKind.MEMORY)


@dataclass(frozen=True)
class _Form:
    """One way to read an opcode: an entry of the table, and where its operands stand.

    types: of the entry's operands, by their names. many: the position of a variadic operand, or None.
    """

    entry: Instruction
    attrs: Mapping[str, object]
    places: tuple[str | int, ...]
    types: Mapping[str, OperandType]
    variadic: frozenset[str]
    many: int | None

    @staticmethod
    def of(reading: Reading, defaults: Mapping[str, object]) -> _Form:
        """Return the form of a reading. defaults: modifiers that the opcode implies."""
        operands = reading.entry.operands
        variadic = frozenset(operand.name for operand in operands if operand.variadic)
        many = next((n for n, name in enumerate(reading.places) if name in variadic), None)
        types = {operand.name: operand.type for operand in operands}
        return _Form(reading.entry, {**reading.attrs, **defaults}, reading.places, types, variadic, many)


@lru_cache(maxsize=4096)
def _forms(opcode: tuple[str, ...]) -> tuple[_Form, ...]:
    words, defaults = _in_order(opcode)
    return tuple(_Form.of(reading, defaults) for reading in readings(".".join(words)))


def call_entry(context: Context, instruction: PtxInstruction) -> bool:
    """Lower an instruction through the `isa` table. Return whether the table has an entry for its operands."""
    words = instruction.opcode
    operands = instruction.operands
    if _POLICY in words:
        words, operands = tuple(word for word in words if word != _POLICY), operands[:-1]
    if words[:3] == _STATIONARY and isinstance(operands[-1], Register) and len(operands) == 5:
        operands = (*operands, Immediate(0))  # the mask of zero columns may be absent
    given = _slots(operands)
    why = ""
    for form in _forms(words):
        chosen = _placed(form, given)
        if chosen is None:
            continue
        try:
            _call(context, form, chosen, instruction.is_generic)
        except TirxError as error:
            if error.kind == "not-modelled":
                raise
            why = error.diagnostic.message
            continue
        return True
    if why:
        raise refused(instruction, why)
    return False


def _in_order(words: tuple[str, ...]) -> tuple[tuple[str, ...], Mapping[str, object]]:
    """Return an opcode as the table spells it, with modifiers that the opcode implies.

    The load mode of a tensor copy may stand before the state spaces, its group of CTAs anywhere, and the multicast of
    tcgen05.cp before its shape. Kinds of block scaling may leave out their number of factors, or name the size of a
    block. Collectors keep matrices for later MMAs, and change no result.
    """
    if words[:4] == _TENSOR_COPY:
        return _of_tensor(words), {}
    if words[:2] == ("tcgen05", "mma"):
        words = tuple(word for word in words if not word.startswith("collector::"))
    if words[:2] in _SPACES and not any(word.startswith("shared") for word in words):
        place, space = _SPACES[words[:2]]
        return (*words[:place], space, *words[place:]), {}
    if words[:2] == _COMPLETE_TX:  # the scope and the space do not matter: it releases nothing
        return (*_COMPLETE_TX, "relaxed", "cluster", "shared::cluster", "b64"), {}
    if words[:2] == ("tcgen05", "cp") and words[3].startswith("warpx"):
        return (*words[:3], *words[4:5], words[3], *words[5:]), {}
    if "block_scale" not in words:
        return words, {}
    kind = next(word for word in words if word.startswith("kind::")).removeprefix("kind::")
    found = next((word for word in words if word.startswith(("scale_vec::", "block16", "block32"))), "")
    rest = tuple(word for word in words if word != found)
    if kind != "mxf4nvf4":
        return rest, {"scale_vec": 1 if kind == "mxf8f6f4" else 2}
    vec = {"block16": "scale_vec::4X", "block32": "scale_vec::2X"}.get(found, found)
    place = rest.index("block_scale") + 1
    return (*rest[:place], vec, *rest[place:]), {}


def _of_tensor(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the opcode of a tensor copy as the table spells it.

    An mbarrier of cta_group::1 belongs to the CTA that copies, which is the default.
    """
    group = tuple(word for word in words if word.startswith("cta_group::") and word != "cta_group::1")
    words = tuple(word for word in words if not word.startswith("cta_group::"))
    if words[5].startswith("tile"):
        words = (*words[:5], *words[6:8], words[5], *words[8:])
    return (*words, *group)


def _slots(operands: Sequence[Operand]) -> list[Operand]:
    """Flatten the operands in textual order, counting those after a comma in brackets as separate operands."""
    found: list[Operand] = []
    for operand in operands:
        found.append(operand)
        if isinstance(operand, Address):
            found.extend(operand.more)
    return found


def _placed(form: _Form, given: Sequence[Operand]) -> list[tuple[str, Operand]] | None:
    """Map operands to their named slots, or return None if they do not fit."""
    places, many, operands = form.places, form.many, list(given)
    if operands and isinstance(operands[0], Sink) and len(operands) == len(places) + 1:
        operands = operands[1:]
    if many is not None and len(operands) > len(places):
        end = many + len(operands) - len(places) + 1
        operands[many:end] = [Vector(tuple(operands[many:end]))]
    if len(operands) != len(places):
        return None
    found: list[tuple[str, Operand]] = []
    for place, operand in zip(places, operands, strict=True):
        if isinstance(place, int):
            if not isinstance(operand, Immediate) or (operand.value - place) % (1 << 32):
                return None
        elif not _fits(operand, form, place):
            return None
        else:
            found.append((place, operand))
    return found


def _fits(operand: Operand, form: _Form, place: str) -> bool:
    """Return whether an operand is valid in a slot."""
    kind = form.types[place].kind if place in form.types else None
    if kind is OperandKind.REGISTERS:
        return isinstance(operand, (Vector, Register))
    if isinstance(operand, Vector):
        return place in form.variadic
    if isinstance(operand, Address):
        return kind in (*_POINTERS, OperandKind.TENSOR_MAP, OperandKind.TMEM)
    return kind is not OperandKind.TENSOR_MAP and not (kind is OperandKind.TMEM and place == "a")


def _call(context: Context, form: _Form, chosen: Sequence[tuple[str, Operand]], generic: bool) -> None:
    """Emit the call and assign its result."""
    entry, attrs = form.entry, form.attrs
    result: Operand | None = None
    values: dict[str, Any] = {}
    for place, operand in chosen:
        if place == "result":
            result = operand
        elif place not in form.types:
            values[place] = _modifier(operand)
        elif place in form.variadic and isinstance(operand, Vector):
            kind = _dtype(entry, form.types[place], attrs)
            values[place] = tuple(context.read(item, kind) for item in operand.items)
        else:
            values[place] = _value(context, entry, form.types[place], operand, attrs, generic)
    args: list[Any] = []
    for operand in entry.operands:
        value = values.pop(operand.name)
        args.extend(value if operand.variadic and isinstance(value, tuple) else [value])
    call = context.execute(entry, args, {**attrs, **values})
    if result is None:
        context.evaluate(call)
        return
    if isinstance(result, Pair) and entry.elects:
        if not isinstance(result.first, Sink):
            _elected(context, result, call)
            return
        result = result.second
    context.write(result, call)


def _elected(context: Context, result: Pair, call: Expr) -> None:
    """Lower elect.sync with a lane result; the simulator elects the lowest active lane."""
    context.write(result.second, call)
    mask = value_of("activemask.b32", DataType("uint32"))
    first = binary("&", mask, binary("+", binary("^", mask, const((1 << 32) - 1, "uint32")), const(1, "uint32")))
    context.write(result.first, binary("-", const(31, "uint32"), value_of("clz.b32", DataType("uint32"), first)))


def _modifier(operand: Operand) -> object:
    if isinstance(operand, Immediate):
        return operand.value
    raise TirxError("a modifier is not a constant")


def _dtype(entry: Instruction, wanted: OperandType, attrs: Mapping[str, object]) -> DataType | None:
    """Return the type in which an operand is read."""
    if wanted.kind is OperandKind.TYPED:
        if entry.carriers is not None:
            return TYPES.get(entry.carriers(**{a.name: a.default for a in entry.attributes} | dict(attrs))[0])
        return TYPES.get(str(attrs.get(entry.typed)))
    return wanted.dtype


def _value(
    context: Context,
    entry: Instruction,
    wanted: OperandType,
    operand: Operand,
    attrs: Mapping[str, object],
    generic: bool,
) -> Any:
    """Convert an operand to the form that the table entry expects."""
    kind = wanted.kind
    if kind is OperandKind.REGISTERS and isinstance(operand, Register) and wanted.access is Access.READ:
        copy = context.temporary(DataType("uint32"), 1)
        context.emit(BufferStore(copy, (const(0),), context.read(operand, copy.dtype), span=context.span))
        return copy.data
    if kind is OperandKind.REGISTERS:
        items = operand.items if isinstance(operand, Vector) else (operand,)
        return _gathered(context, context.pointers(items), entry, wanted.access)
    if kind is OperandKind.TENSOR_MAP:
        return _tensor_map(context, operand)
    if kind in _POINTERS:
        if isinstance(operand, Address):
            return context.address(operand, generic=generic and kind in _IN_SHARED)
        return context.read(operand, DataType("uint32"))
    if isinstance(operand, Address):  # of tensor memory
        base = context.read(operand.base, DataType("uint32"))
        return binary("+", base, const(operand.offset, base.dtype)) if operand.offset else base
    if kind is OperandKind.PREDICATE:
        return context.read(operand, BOOL)
    return context.read(operand, _dtype(entry, wanted, attrs))


def _gathered(context: Context, pointers: Sequence[AddressOf], entry: Instruction, access: Access) -> object:
    """Return one pointer if the registers are contiguous, else a pointer to each register if the entry accepts that."""
    if side_by_side(pointers):
        return pointers[0]
    if entry.scattered:
        return pointers
    if access & Access.WRITE:
        raise TirxError(
            f"the registers of {entry.name} stand in another order than in an instruction before it", context.span,
            kind="not-modelled",
        )  # fmt: skip
    copy = context.temporary(pointers[0].buffer.dtype, len(pointers))
    for number, pointer in enumerate(pointers):
        value = as_type(copy.dtype, BufferLoad(pointer.buffer.dtype, pointer.buffer, pointer.indices))
        context.emit(BufferStore(copy, (const(number),), value, span=context.span))
    return copy.data


def _tensor_map(context: Context, operand: Operand) -> Expr:
    """Return the tensor-map parameter that an address originates from, or the address of a map in memory."""
    base = operand.base if isinstance(operand, Address) else operand
    maps = [context.bound.maps[name] for name in context.names(base) if name in context.bound.maps]
    if not maps and isinstance(operand, Address) and not _is_parameter(context, base):
        return replace(context.address(operand), dtype=_MAP)
    if len(maps) != 1:
        why = "it is chosen while the kernel runs" if maps else "it is not an argument `TensorMap(array, box, …)`"
        raise TirxError(f"the simulator cannot read this tensor map: {why}", context.span, kind="not-modelled")
    return maps[0]


def _is_parameter(context: Context, base: Operand) -> bool:
    """Return whether an address lies in a parameter of the kernel, such as an opaque map that is passed by value."""
    bound = context.bound
    return any(name in bound.constants and not bound.pointers.get(name) for name in context.names(base))
