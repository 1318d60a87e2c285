"""Lowering of loads, stores and atomics on parameters, global, shared and generic addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tirx_mini.ir import (
    HANDLE,
    AddressOf,
    Buffer,
    BufferLoad,
    BufferStore,
    Cast,
    DataType,
    Expr,
    If,
    binary,
    cast,
    const,
    seq,
)
from tirx_mini.isa import GENERIC_BITS, GENERIC_LOCAL, TABLE, value_of
from tirx_mini.records import dataclass

from .arguments import bits_of
from .atomics import KINDS, WIDE, atomic_vector, atomic_wide
from .context import ADDRESS, Context, as_type, refused, side_by_side
from .entries import call_entry
from .local_accesses import access_local, is_local
from .opcodes import TYPES
from .origins import ANYWHERE
from .syntax import Address, Instruction, Operand, Register, Sink, Symbol, Vector

_SEMANTICS = ("weak", "volatile", "relaxed", "acquire", "release", "acq_rel")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_SPACES = ("global", "shared", "const", "local", "param")
_OPS = ("add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas")
_U32 = DataType("uint32")


@dataclass(frozen=True)
class Form:
    """The form of a load or store. space: "" for a generic address. words: the vector length. kind: the element type.
    """

    space: str
    sem: str
    scope: str
    words: int
    kind: str
    nc: bool
    attrs: Mapping[str, Any]

    @staticmethod
    def of(opcode: Sequence[str]) -> Form:
        """Parse the form of an access from its opcode, ignoring cache hints, which do not affect values."""
        parts = opcode[1:]
        space = next((word for word in parts if word.split("::")[0] in _SPACES), "")
        sem = next((word for word in parts if word in _SEMANTICS), "")
        scope = next((word for word in parts if word in _SCOPES), "")
        words = next((int(word[1:]) for word in parts if word in ("v2", "v4", "v8")), 1)
        nc = "nc" in parts
        attrs: dict[str, Any] = {"sem": sem, "scope": scope, "space": "global" if space == "const" else space}
        if "L1::no_allocate" in parts and space == "global":
            attrs["evict"] = "L1::no_allocate"
        return Form(space.split("::")[0], sem, scope, words, opcode[-1], nc, attrs)

    @property
    def vector(self) -> str:
        """The length of the vector, as an opcode has it."""
        return f"v{self.words}" if self.words > 1 else ""


def load_or_store(context: Context, instruction: Instruction) -> None:
    """Lower ld, ldu and st."""
    if instruction.opcode[1] in ("mmio", "bulk", "async"):
        if not call_entry(context, instruction):
            raise refused(instruction)
        return
    form = Form.of(instruction.opcode)
    if form.kind not in TYPES:
        raise refused(instruction)
    if is_local(context, instruction, form.space):
        access_local(context, instruction, form.kind, form.space)
    elif not form.space and _may_be_local(context, instruction):
        _access_either(context, instruction, form)
    else:
        _access(context, instruction, form)


def _may_be_local(context: Context, instruction: Instruction) -> bool:
    """Return whether a generic address may point into local memory."""
    address = next(each for each in instruction.operands if isinstance(each, Address))
    names = context.names(address.base)
    unknown = not names or ANYWHERE in names
    return context.locals.generic and (unknown or any(name in context.locals.offsets for name in names))


def _access_either(context: Context, instruction: Instruction, form: Form) -> None:
    """Lower a generic access to a branch between local and other memory on the address window."""
    address = next(each for each in instruction.operands if isinstance(each, Address))
    window = binary(">>", cast(ADDRESS, context.read(address.base)), const(GENERIC_BITS, ADDRESS))
    local = binary("==", window, const(GENERIC_LOCAL >> GENERIC_BITS, ADDRESS))
    targets = instruction.operands[0].items if isinstance(instruction.operands[0], Vector) else instruction.operands[:1]
    for target in targets if instruction.opcode[0] != "st" else ():
        context.make_variable(target)
    with context.inside() as near:
        access_local(context, instruction, form.kind, form.space)
    with context.inside() as far:
        _access(context, instruction, form)
    context.emit(If(context.kept(local, "local"), seq(*near), seq(*far), span=context.span))


def _access(context: Context, instruction: Instruction, form: Form) -> None:
    if instruction.opcode[0] == "st":
        _store(context, instruction, form)
    elif form.space == "param":
        _load_parameter(context, instruction, form)
    else:
        _load(context, instruction, form)


# -- parameters -----------------------------------------------------------------------------------------------------


def _load_parameter(context: Context, instruction: Instruction, form: Form) -> None:
    result, address = instruction.operands
    if not isinstance(address, Address) or not isinstance(address.base, Symbol):
        raise refused(instruction, "the place of the parameter is computed")
    name, first = address.base.name, address.base.offset + address.offset
    if name not in context.bound.constants:
        raise refused(instruction)
    width = bits_of(form.kind) // 8
    targets = result.items if isinstance(result, Vector) else (result,)
    for place, target in enumerate(targets):
        context.write(target, _parameter(context, instruction, name, first + place * width, form.kind))


def _parameter(context: Context, instruction: Instruction, name: str, first: int, kind: str) -> Expr:
    """Return the value at a byte offset of a parameter."""
    width = bits_of(kind) // 8
    for start, end, array in context.bound.pointers.get(name, ()):
        if (start, end) == (first, first + width):
            return Cast(ADDRESS, AddressOf(HANDLE, context.bound.arrays[array], (const(0),)))
        if start < first + width and first < end:
            raise refused(instruction, "it takes a part of a pointer")
    data = context.bound.constants[name][first : first + width]
    if len(data) < width:
        raise refused(instruction, f"{name} has {len(context.bound.constants[name])} bytes")
    return as_type(TYPES[kind], const(int.from_bytes(data, "little"), f"uint{8 * width}"))


# -- loads ----------------------------------------------------------------------------------------------------------


def _load(context: Context, instruction: Instruction, form: Form) -> None:
    result, address = instruction.operands[:2]
    assert isinstance(address, Address)
    pointer = context.address(address)
    attrs = {**form.attrs, "nc": form.nc and form.space == "global"}
    if not isinstance(result, Vector):
        _load_one(context, result, pointer, form.kind, attrs)
        return
    bits = bits_of(form.kind) * form.words
    if bits < 32:  # one register, taken apart
        word = value_of("ld", TYPES[f"b{bits}"], pointer, type=f"b{bits}", span=context.span, **attrs)
        _take_apart(context, result.items, context.kept(word), form.kind)
        return
    words = bits // 32
    if words > 8:
        raise refused(instruction)
    vector = f"v{words}" if words > 1 else ""
    if bits_of(form.kind) == 32:
        named = all(isinstance(item, Register) for item in result.items)
        places = list(context.pointers(result.items)) if named else []
        if places and side_by_side(places):
            context.evaluate(context.execute(TABLE["ld.registers"], (pointer, places[0]), {**attrs, "vec": vector}))
            return
    array = context.temporary(_U32, words)
    context.evaluate(context.execute(TABLE["ld.registers"], (pointer, array.data), {**attrs, "vec": vector}))
    _from_words(context, result.items, array, form.kind)


def _load_one(context: Context, result: Operand, pointer: Expr, kind: str, attrs: Mapping[str, object]) -> None:
    dtype = TYPES[kind]
    context.write(result, value_of("ld", dtype, pointer, type=kind, span=context.span, **attrs))


def _take_apart(context: Context, items: Sequence[Operand], word: Expr, kind: str) -> None:
    bits, dtype = bits_of(kind), TYPES[kind]
    for place, item in enumerate(items):
        if not isinstance(item, Sink):
            part = cast(f"uint{bits}", binary(">>", word, const(place * bits, word.dtype)))
            context.write(item, as_type(dtype, part))


def _from_words(context: Context, items: Sequence[Operand], array: Buffer, kind: str) -> None:
    """Unpack 32-bit words into the registers of a vector."""
    bits, dtype = bits_of(kind), TYPES[kind]
    each = max(1, 32 // bits)

    def word(number: int) -> Expr:
        return BufferLoad(array.dtype, array, (const(number),), span=context.span)

    for place, item in enumerate(items):
        if isinstance(item, Sink):
            continue
        if bits == 64:
            low, high = cast("uint64", word(2 * place)), cast("uint64", word(2 * place + 1))
            value: Expr = binary("|", low, binary("<<", high, const(32, "uint64")))
        elif bits == 32:
            value = word(place)
        else:
            value = cast(f"uint{bits}", binary(">>", word(place // each), const(place % each * bits, _U32)))
        context.write(item, as_type(dtype, value))


# -- stores ---------------------------------------------------------------------------------------------------------


def _store(context: Context, instruction: Instruction, form: Form) -> None:
    address, source = instruction.operands[:2]
    assert isinstance(address, Address)
    if form.space in ("param", "const"):
        raise refused(instruction)
    pointer = context.address(address)
    dtype = TYPES[form.kind]
    items = source.items if isinstance(source, Vector) else (source,)
    values: list[Expr] = [context.read(item, dtype) for item in items]
    kind, vector = form.kind, form.words
    if vector > 4 or (vector > 2 and bits_of(kind) == 64):
        kind, values = _as_words(context, values)
        array = context.temporary(_U32, len(values))
        for place, value in enumerate(values):
            context.emit(BufferStore(array, (const(place),), value, span=context.span))
        args = (pointer, array.data)
        context.evaluate(context.execute(TABLE["st.registers"], args, {**form.attrs, "vec": f"v{len(values)}"}))
        return
    attrs = {**form.attrs, "type": kind, "vec": f"v{vector}" if vector > 1 else ""}
    context.evaluate(context.execute(TABLE["st"], (pointer, *values), attrs))


def _as_words(context: Context, values: Sequence[Expr]) -> tuple[str, list[Expr]]:
    found: list[Expr] = []
    for value in values:
        if value.dtype.bits == 64:
            whole = context.kept(as_type(DataType("uint64"), value))
            found += [cast(_U32, whole), cast(_U32, binary(">>", whole, const(32, "uint64")))]
        else:
            found.append(as_type(_U32, value))
    return "b32", found


# -- atomic operations ------------------------------------------------------------------------------------------------


def atomic(context: Context, instruction: Instruction) -> None:
    """Lower atom and red."""
    parts = instruction.opcode
    form = Form.of(parts)
    op = next((word for word in parts[1:] if word in _OPS), "")
    returns = parts[0] == "atom"
    operands = list(instruction.operands)
    if "L2::cache_hint" in parts:
        operands.pop()
    result = operands.pop(0) if returns else Sink()
    address, *values = operands
    kind = parts[-1] if parts[-1] in KINDS else next((word for word in parts if word in KINDS), "")
    if not op or not isinstance(address, Address) or form.space == "local":
        raise refused(instruction)
    pointer = context.address(address)
    attrs = {"sem": form.sem, "scope": form.scope, "space": form.attrs["space"]}
    if op in WIDE and kind == "b128":
        atomic_wide(context, (result, pointer, values), op, attrs)
        return
    if kind in ("f16x2", "bf16x2") or any(isinstance(value, Vector) for value in values):
        if len(values) != 1:
            raise refused(instruction)
        atomic_vector(context, (result, pointer, values[0]), kind, {**attrs, "op": op, "vec": form.vector})
        return
    if kind not in TYPES:
        raise refused(instruction)
    dtype = TYPES[kind]
    args = [context.read(value, dtype) for value in values]
    if op == "cas":
        call = context.execute(TABLE["atom.cas"], (pointer, *args), {**attrs, "type": kind})
    elif returns:
        call = context.execute(TABLE["atom"], (pointer, *args), {**attrs, "op": op, "type": kind})
    else:
        context.evaluate(context.execute(TABLE["red"], (pointer, *args), {**attrs, "op": op, "type": kind}))
        return
    context.write(result, call)


def prefetch(context: Context, instruction: Instruction) -> bool:
    """Return whether an instruction is a cache hint, which the simulator ignores."""
    name = instruction.opcode[0]
    if name == "prefetch" and "tensormap" in instruction.opcode:
        return False
    return name in ("prefetch", "prefetchu", "applypriority", "discard")


def policy(context: Context, instruction: Instruction) -> None:
    """Lower createpolicy to 0, since cache policies do not affect the simulation."""
    context.write(instruction.operands[0], const(0, "uint64"))


HANDLERS: Mapping[str, Callable[[Context, Instruction], None]] = {
    "ld": load_or_store, "ldu": load_or_store, "st": load_or_store, "atom": atomic, "red": atomic,
    "createpolicy": policy,
}  # fmt: skip
