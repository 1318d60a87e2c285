"""Verifier of modules: definitions dominate uses, and each operation obeys its own rules."""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.ir import TirxError

from .core import REQUIRED, Module, Op, Region, Value, flat
from .printer import Printer


def verify(module: Module, after: str = "") -> Module:
    """Verify a module and return it. Raises `TirxError` for the first violation, at the operation's source line.

    after: the pass that made the module, for the message.
    """
    for op, message in _problems(module.ops, set()):
        printer = Printer(op.kind.dialect)
        printer.op(op)
        where = f" after {after}" if after else ""
        raise TirxError(f"{op.kind.name}{where}: {message}", op.span, notes=((printer.lines[0], None),))
    return module


def _problems(ops: tuple[Op, ...], visible: set[Value]) -> Iterator[tuple[Op, str]]:
    defined: set[Value] = set()
    for position, op in enumerate(ops):
        for value in flat(op.args):
            if value not in visible and value not in defined:
                yield op, f"%{value.hint or '?'} is used before it is defined"
        yield from ((op, message) for message in _own(op))
        if op.kind.terminator and position != len(ops) - 1:
            yield op, "operations follow the end of the region"
        for region in op.regions:
            yield from _region(region, visible | defined)
        for value in op.results:
            if value in defined or value in visible:
                yield op, f"%{value.hint or '?'} is defined twice"
            defined.add(value)


def _region(region: Region, visible: set[Value]) -> Iterator[tuple[Op, str]]:
    yield from _problems(region.ops, visible | set(region.params))


def _own(op: Op) -> Iterator[str]:
    kind = op.kind
    for field, arg in zip(kind.operands, op.args, strict=True):
        if arg is None and not field.optional:
            yield f"the operand `{field.name}` is missing"
        if isinstance(arg, tuple) != field.variadic:
            yield f"the operand `{field.name}` must be {'a group of values' if field.variadic else 'one value'}"
    for name, codec in kind.attrs.items():
        if name not in op.attrs and not codec.flag and codec.default is REQUIRED:
            yield f"the attribute `{name}` is missing"
    variadic = kind.regions[-1:] != () and kind.regions[-1].startswith("*")
    if len(op.regions) != len(kind.regions) and not variadic:
        yield f"it has {len(op.regions)} regions, not {len(kind.regions)}"
    elif kind.verify is not None:
        yield from kind.verify(op)
