"""Lowering of warp-level instructions: shuffles with arbitrary bounds, votes, matches and reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tirx_mini.ir import BOOL, Call, Const, DataType, Expr, binary, cast, const, int_value, select
from tirx_mini.isa import TABLE, value_of

from .context import Context, refused
from .entries import call_entry
from .opcodes import TYPES
from .specials import special_register
from .syntax import Immediate, Instruction, Pair, Sink, Special

_U32, _S32 = DataType("uint32"), DataType("int32")


def _lane(context: Context) -> Expr:
    return special_register(Special("laneid"), context.launch, context.block, context.span)


def _shuffle(context: Context, instruction: Instruction) -> None:
    """Lower shfl.sync, computing source lane and segment membership by the formula of the PTX ISA."""
    result, value, source, bounds, *more = instruction.operands
    mode = next(word for word in instruction.opcode if word in ("idx", "up", "down", "bfly"))
    mask = context.read(more[0], _U32) if more else const((1 << 32) - 1, _U32)
    lane, b, c = _lane(context), cast(_S32, context.read(source, _U32)), context.read(bounds, _S32)
    segment = binary("&", binary(">>", c, const(8, _S32)), const(31, _S32))
    clamp, b = binary("&", c, const(31, _S32)), binary("&", b, const(31, _S32))
    other = binary("^", segment, const(31, _S32))
    most = binary("|", binary("&", lane, segment), binary("&", clamp, other))
    least = binary("&", lane, segment)
    from_, inside = {
        "up": lambda: _near(binary("-", lane, b), ">=", most),
        "down": lambda: _near(binary("+", lane, b), "<=", most),
        "bfly": lambda: _near(binary("^", lane, b), "<=", most),
        "idx": lambda: _near(binary("|", least, binary("&", b, other)), "<=", most),
    }[mode]()
    chosen = select(inside, from_, lane)
    if mode == "idx" and isinstance(b, Const) and int_value(c) == 31:
        chosen = b
    moved = context.read(value, None)
    if isinstance(value, Immediate):
        moved = context.read(value, _U32)
    first, second = (result.first, result.second) if isinstance(result, Pair) else (result, Sink())
    shuffled = value_of("shfl.idx.segment", moved.dtype, moved, chosen, mask, width=32, span=context.span)
    same = context.of_warps(moved) if mode == "idx" and isinstance(chosen, Const) else moved
    if same is not moved:
        assert isinstance(shuffled, Call)
        context.evaluate(shuffled)
        context.write(first, same)
    else:
        context.write(first, shuffled)
    if context.is_read(second):
        context.write(second, inside)


def _near(lane: Expr, op: str, bound: Expr) -> tuple[Expr, Expr]:
    return lane, binary(op, lane, bound)


def _vote(context: Context, instruction: Instruction) -> None:
    """Lower vote.sync; .uni tests whether all lanes have the same value."""
    words = instruction.opcode
    result, condition, *more = instruction.operands
    mask = context.read(more[0], _U32) if more else const((1 << 32) - 1, _U32)
    holds = context.read(condition, BOOL)
    mode = next(word for word in words if word in ("all", "any", "uni", "ballot"))
    if mode == "uni":
        every = context.kept(value_of("vote.all", BOOL, mask, holds, span=context.span))
        some = context.kept(value_of("vote.any", BOOL, mask, holds, span=context.span))
        context.write(result, binary("==", every, some))
        return
    dtype = _U32 if mode == "ballot" else BOOL
    context.write(result, value_of(f"vote.{mode}", dtype, mask, holds, span=context.span))


def _match(context: Context, instruction: Instruction) -> None:
    """Lower match.sync; a 64-bit match requires both halves to match."""
    words = instruction.opcode
    result, value, mask_operand = instruction.operands
    mode, mask = words[1], context.read(mask_operand, _U32)
    dtype = TYPES[words[-1]]
    whole = context.kept(context.read(value, dtype))
    halves = [cast(_U32, whole)]
    if dtype.bits == 64:
        halves.append(cast(_U32, binary(">>", whole, const(32, dtype))))
    found: Expr | None = None
    for half in halves:
        one = value_of(f"match.{mode}.sync.b32", _U32, half, mask, span=context.span)
        found = one if found is None else binary("&", found, one)
    assert found is not None
    if not isinstance(result, Pair):
        context.write(result, found)
        return
    found = context.kept(found)
    context.write(result.first, found)
    context.write(result.second, binary("!=", found, const(0, _U32)))


def _redux(context: Context, instruction: Instruction) -> None:
    """Lower redux.sync: arithmetic reductions use the table, bitwise ones a vote per bit."""
    result, value, mask_operand = instruction.operands
    op, kind, mask = instruction.opcode[2], instruction.opcode[-1], context.read(mask_operand, _U32)
    if kind in ("u32", "s32"):
        dtype = TYPES[kind]
        call = value_of(f"redux.{kind}", dtype, mask, context.read(value, dtype), op=op, span=context.span)
        context.write(result, call)
        return
    if kind == "f32":
        dtype, words = TYPES[kind], instruction.opcode
        given = {name.lower(): name if name in words else "" for name in ("abs", "NaN")}
        call = value_of("redux.f32", dtype, mask, context.read(value, dtype), op=op, span=context.span, **given)
        context.write(result, call)
        return
    if kind != "b32":
        raise refused(instruction)
    word = context.kept(context.read(value, _U32))
    total: Expr = const(0, _U32)
    for place in range(32):
        bit = binary("!=", binary("&", word, const(1 << place, _U32)), const(0, _U32))
        total = context.kept(binary("|", total, _bit(context, op, mask, bit, place)))
    context.write(result, total)


def _bit(context: Context, op: str, mask: Expr, bit: Expr, place: int) -> Expr:
    if op in ("and", "or"):
        name = "vote.all" if op == "and" else "vote.any"
        holds: Expr = value_of(name, BOOL, mask, bit, span=context.span)
    else:
        ballot = value_of("vote.ballot", _U32, mask, bit, span=context.span)
        count = value_of("popc.b32", _U32, ballot)
        holds = binary("!=", binary("&", count, const(1, _U32)), const(0, _U32))
    return select(holds, const(1 << place, _U32), const(0, _U32))


def _barrier(context: Context, instruction: Instruction) -> None:
    """Lower the CTA barriers bar and barrier: sync, arrive and red."""
    name, *words = instruction.opcode
    if words[0] in ("warp", "cluster"):
        if not call_entry(context, instruction):
            raise refused(instruction)
        return
    kind = next(word for word in words if word in ("sync", "arrive", "red"))
    aligned = name == "bar" or "aligned" in words
    operands = list(instruction.operands)
    if kind == "red":
        _reduced(context, instruction, words)
        return
    args = [context.read(operand, _U32) for operand in operands]
    if len(args) == 1 and not aligned:
        args.append(const(context.launch.warps * 32, _U32))
    entry = "bar.sync.all" if len(args) == 1 else f"{'bar' if aligned else 'barrier'}.{kind}"
    context.evaluate(context.execute(TABLE[entry], args, {}))


def _reduced(context: Context, instruction: Instruction, words: Sequence[str]) -> None:
    """Lower bar.red over all threads of the CTA."""
    result, number, *more = instruction.operands
    if len(more) == 2 and more[0] != Immediate(context.launch.threads):
        raise refused(instruction, "it is of a part of the CTA")
    op = next(word for word in words if word in ("popc", "and", "or"))
    args = (context.read(number, _U32), context.read(more[-1], BOOL))
    context.write(result, context.execute(TABLE[f"bar.red.{op}"], args, {}))


HANDLERS: Mapping[str, Callable[[Context, Instruction], None]] = {
    "bar": _barrier, "barrier": _barrier, "shfl": _shuffle, "vote": _vote, "match": _match, "redux": _redux,
}  # fmt: skip
