"""Comments in the emitted text: roles of branches, contents of shared memory, and descriptor fields.

A comment is at the end of the line that it explains: line numbers are the same without it, and a search that finds the
line finds the comment. A comment does not repeat the code.
"""

from __future__ import annotations

import linecache
import re
from contextlib import suppress
from functools import cache, reduce
from typing import Any

from tirx_mini.ir import (
    AddressOf,
    Binary,
    Buffer,
    BufferLoad,
    Call,
    Const,
    Expr,
    Span,
    Special,
    Var,
    walk,
)
from tirx_mini.isa import PTX_TYPES, TABLE, LaneResult, Operand, OperandKind, describe
from tirx_mini.layout import SwizzleMode, swizzle_mode

from .writer import Writer

_NAMESPACES = re.compile(r"\b(?:\w+\.)+(?=\w+\()")
_SPACES = re.compile(r"[\s()]")


class Notes:
    """The comments of a kernel. Each method is called right after its line is written, `finish` at the end."""

    def __init__(self, out: Writer, enabled: bool) -> None:
        self.out, self.enabled = out, enabled
        self._values: dict[Var | Buffer, list[tuple[int, Expr]]] = {}
        self._descriptors: list[tuple[int, Expr, Operand, Call]] = []
        self._shared: list[tuple[int, Buffer]] = []
        self._barriers: set[Buffer] = set()

    def role(self, cond: Expr, text: str) -> None:
        """Comment the last line, a branch on `cond` printed as `text`, with the source of a thread-id test."""
        if self.enabled and (source := _source(cond.span)) and _tests_ids(cond) and not _repeats(source, text):
            self._add(len(self.out.lines) - 1, source)

    def pool(self, buffer: Buffer) -> None:
        """Comment the last line, the declaration of dynamic shared memory."""
        if self.enabled:
            self._add(len(self.out.lines) - 1, f"{buffer.nbytes} bytes")

    def shared(self, buffer: Buffer) -> None:
        """Comment the last line, the declaration of a shared-memory part."""
        if self.enabled:
            self._shared.append((len(self.out.lines) - 1, buffer))

    def value(self, target: Var | Buffer, value: Expr) -> None:
        """Record the last line's assignment to a variable, which may be a descriptor."""
        if self.enabled and target.dtype in ("uint32", "uint64"):
            self._values.setdefault(target, []).append((len(self.out.lines) - 1, value))

    def instruction(self, call: Call) -> None:
        """Comment the last line, which executes an instruction."""
        if not self.enabled:
            return
        for position, operand in _explained(call.op):
            arg = call.args[position]
            if operand.type.kind.is_descriptor:
                self._descriptors.append((len(self.out.lines) - 1, arg, operand, call))
            elif isinstance(arg, AddressOf):
                self._barriers.add(arg.buffer)

    def finish(self) -> None:
        """Write the comments that depend on later lines, on descriptors and shared memory."""
        for line, buffer in self._shared:
            self._add(line, _contents(buffer, buffer in self._barriers))
        for line, word, operand, call in self._descriptors:
            self._descriptor(line, word, operand, call)

    def _descriptor(self, line: int, word: Expr, operand: Operand, call: Call) -> None:
        """Comment the constant part of `word` where it is computed: on `line`, or at its variables' assignments."""
        constant, variables = _parts(word)
        if constant is not None:
            attrs: dict[str, Any] = {a.name: a.default for a in TABLE[call.op].attributes} | dict(call.attrs)
            mma = {name: attrs[name] for name in ("kind", "cta_group") if name in attrs}
            with suppress(ValueError):  # not a valid descriptor: the simulator reports it
                self._add(line, describe(operand.type.kind.value, constant, **mma))
        for variable in variables:
            for place, value in self._values.pop(variable, ()):
                self._descriptor(place, value, operand, call)

    def _add(self, line: int, note: str) -> None:
        text = self.out.lines[line]
        if not text.endswith(f"// {note}"):
            self.out.lines[line] = f"{text}{'; ' if '  // ' in text else '  // '}{note}"


@cache
def _explained(op: str) -> tuple[tuple[int, Operand], ...]:
    """Return an instruction's operands that a comment explains, by position: descriptors and mbarriers."""
    return tuple(
        (position, operand)
        for position, operand in enumerate(TABLE[op].operands if op in TABLE else ())
        if operand.type.kind.is_descriptor or operand.type.kind is OperandKind.MBARRIER
    )


def _parts(word: Expr) -> tuple[int | None, tuple[Var | Buffer, ...]]:
    """Return the constant fields of a descriptor combined by ``|``, and the variables that provide the others.

    An added number advances the descriptor's start address, so it is not a field.
    """
    if isinstance(word, Const):
        return int(word.value), ()
    if isinstance(word, Var):
        return None, (word,)
    if isinstance(word, BufferLoad) and word.buffer.scalar:
        return None, (word.buffer,)
    if not isinstance(word, Binary) or word.op not in ("|", "+"):
        return None, ()
    sides = [_parts(side) for side in (word.a, word.b) if word.op == "|" or not isinstance(side, Const)]
    constants = [constant for constant, _ in sides if constant is not None]
    fields = reduce(int.__or__, constants) if constants else None
    return fields, tuple(variable for _, variables in sides for variable in variables)


def _contents(buffer: Buffer, barrier: bool) -> str:
    """Return name, shape, type and swizzle, such as ``Asmem[2][128][64] f16, 128B swizzle``."""
    kind = "mbarrier" if barrier else PTX_TYPES.get(buffer.dtype, str(buffer.dtype))
    text = f"{buffer.name}{''.join(f'[{extent}]' for extent in buffer.shape)} {kind}"
    mode = swizzle_mode(buffer.layout)
    return text if mode is SwizzleMode.SWIZZLE_NONE else f"{text}, {mode.span_bytes}B swizzle"


def _tests_ids(cond: Expr) -> bool:
    """Return whether a condition tests thread, warp or CTA ids, or elects a thread."""
    return any(
        isinstance(node, Special) or (isinstance(node, Call) and TABLE[node.op].lanes is LaneResult.ELECTED)
        for node in walk(cond)
    )


def _source(span: Span | None) -> str:
    """Return the source text of `span` without namespaces, or "" for library code and missing text."""
    if span is None or span.library or span.end_line != span.line:
        return ""
    line = linecache.getline(span.file, span.line).encode()  # columns count bytes
    text = line[span.column : span.end_column].decode(errors="replace")
    return _NAMESPACES.sub("", text)


def _repeats(source: str, code: str) -> bool:
    """Return whether a condition is identical in the source and the emitted text, up to parentheses and conversions."""
    return _SPACES.sub("", source).endswith(_SPACES.sub("", code.replace("(int)", "")))
