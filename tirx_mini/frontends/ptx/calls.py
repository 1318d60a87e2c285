"""Lowering of calls to external functions, such as printf and assertions, which the driver's library provides."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tirx_mini.ir import Const, Expr, binary, const, reinterpret
from tirx_mini.isa import GENERIC_LOCAL, TABLE

from .context import ADDRESS, Context, refused
from .local_memory import FRAME
from .syntax import Group, Immediate, Instruction, Operand, Symbol

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*(?:\d+)?(?:\.\d+)?)(?P<length>hh|h|ll|l|z|j|t)?"
    r"(?P<letter>[diuxXeEfFgGcspaA%])"
)


def call(context: Context, instruction: Instruction) -> None:
    """Lower a call to a function without a body."""
    groups = [each for each in instruction.operands if isinstance(each, Group)]
    names = [each.name for each in instruction.operands if isinstance(each, Symbol)]
    arguments = groups[-1].items if groups else ()
    if names[:1] == ["vprintf"] and len(arguments) == 2:
        _printf(context, instruction, arguments[0], arguments[1])
    elif names[:1] == ["__assertfail"]:
        context.evaluate(context.execute(TABLE["trap.unless"], (const(False),), {}))
    else:
        raise refused(instruction, f"the function {', '.join(names)} has no body here")


def _argument(context: Context, argument: Operand) -> Operand | None:
    """Return the value most recently stored to a parameter of the call."""
    return context.stored.get((argument.name, 0)) if isinstance(argument, Symbol) else argument


def _text(context: Context, operand: Operand | None) -> str | None:
    """Return the string at an address inside one initialised variable, or None."""
    names = context.names(operand) if operand is not None else frozenset()
    declared = [each for each in context.kernel.variables if each.name in names and each.initial is not None]
    if len(declared) != 1 or not isinstance(declared[0].initial, tuple):
        return None
    codes = [item.value for item in declared[0].initial if isinstance(item, Immediate)]
    return bytes(code & 0xFF for code in codes).split(b"\0")[0].decode(errors="replace")


def _printf(context: Context, instruction: Instruction, form: Operand, values: Operand) -> None:
    """Lower printf, whose values lie in local memory, each aligned to its size."""
    text = _text(context, _argument(context, form))
    stored = _argument(context, values)
    base: Expr = const(0, ADDRESS)
    if stored is not None and context.names(stored):
        base = binary("-", context.read(stored, ADDRESS), const(GENERIC_LOCAL, ADDRESS))
    if text is None or not isinstance(base, Const):
        raise refused(instruction, "its format is not a constant")
    shown, args = "", []
    for before, letter, kind, offset in _parts(text):
        shown += before
        if letter == "s":
            string = _text(context, context.stored.get((FRAME, int(base.value) + offset)))
            if string is None:
                raise refused(instruction, "the text of a %s is not a constant")
            shown = shown[:-2] + string.replace("%", "%%")
        elif kind:
            args.append(_value(context, int(base.value) + offset, kind))
    context.evaluate(context.execute(TABLE["printf"], args, {"format": shown}))
    _result(context, instruction, len(args))


def _result(context: Context, instruction: Instruction, value: int) -> None:
    """Write the call's result to its return parameter."""
    first = instruction.operands[0]
    names = [each.name for each in first.items if isinstance(each, Symbol)] if isinstance(first, Group) else []
    for name in names[:1] if len(instruction.operands) > 2 else ():
        array = context.locals.arrays.get(name)
        if array is not None:
            for stmt in context.locals.store(array, const(0), const(value, array.buffer.dtype)):
                context.emit(stmt)


def _parts(text: str) -> Iterator[tuple[str, str, str, int]]:
    """Yield the text, conversion letter, value type ("" if none) and byte offset of each conversion in a format string.
    """
    at = offset = 0
    for match in _CONVERSION.finditer(text):
        letter, length = match["letter"], match["length"] or ""
        before = text[at : match.start()]
        at = match.end()
        if letter == "%":
            yield before + "%%", letter, "", 0
            continue
        size = 8 if letter in "eEfFgGaAsp" or length in ("l", "ll", "z", "j", "t") else 4
        offset = -(-offset // size) * size
        kind = "f64" if letter in "eEfFgGaA" else f"{'s' if letter in 'di' else 'u'}{8 * size}"
        plain = {"p": "#x", "F": "f", "a": "e", "A": "E"}.get(letter, letter)
        shown = "%s" if letter == "s" else f"%{match['flags']}{'ll' * (size == 8)}{plain}"
        yield before + shown, letter, kind, offset
        offset += size
    yield text[at:], "", "", 0


def _value(context: Context, offset: int, kind: str) -> Expr:
    frame = context.locals.arrays[FRAME]
    value = context.locals.load(frame, const(offset), kind)
    if kind == "f64":
        return context.kept(reinterpret("float64", value), "printed")
    return context.kept(reinterpret(f"{'int' if kind[0] == 's' else 'uint'}{kind[1:]}", value), "printed")
