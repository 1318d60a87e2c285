"""A kernel under construction: its statements, its registers, the columns that it loads, and those that it stores.

Every thread has eight bytes of each column: each instruction stores its result in a column of its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .forms import Form
from .kinds import Words, canonical, column, letter, placed, plain, pool, restriction, width

OWN_BYTES = 64
"""Bytes of global, shared and local memory that each thread has for itself."""
HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
_TYPES = {"p": "pred", "h": "b16", "r": "b32", "d": "b64", "f": "f32", "g": "f64"}
_PLACES = {"G": "%dg", "S": "%rs", "L": "own", "SW": "%ds", "LW": "%dl"}


@dataclass(frozen=True)
class Slot:
    """A column of results. what: the instruction. kind: of the results. form: its form, or None."""

    what: str
    kind: str
    form: Form | None = None
    columns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Launch:
    """A finished kernel. slots: its columns of results. kinds: those of its operands. sums: shared by all threads."""

    name: str
    body: str
    grid: int
    block: int
    slots: tuple[Slot, ...]
    kinds: tuple[str, ...]
    sums: int
    seed: int
    style: str

    @property
    def threads(self) -> int:
        return self.grid * self.block

    @property
    def text(self) -> str:
        return HEADER + self.body

    def arguments(self) -> list[Words]:
        """Operands, results, the threads' own memory, and memory that all threads add to."""
        rng = np.random.default_rng((self.seed, zlib.crc32(self.name.encode())))
        operands = placed([column(kind, self.threads, rng) for kind in self.kinds], self.threads)
        results = np.full((max(1, len(self.slots)), self.threads), 0xA5A5A5A5A5A5A5A5, np.uint64)
        own = rng.integers(0, 1 << 63, self.threads * OWN_BYTES // 8, np.uint64)
        sums = rng.integers(0, 1 << 63, max(1, self.sums), np.uint64)
        return [operands.reshape(-1), results.reshape(-1), own, sums]


@dataclass
class Program:
    """Makes a kernel."""

    name: str
    grid: int
    block: int
    seed: int
    style: str
    lines: list[str] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    sums: int = 0
    shared: dict[int, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        return self.grid * self.block

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def register(self, kind: str) -> str:
        """A fresh register for a kind."""
        first = letter(kind)
        number = self._counts[first] = self._counts.get(first, 0) + 1
        return f"%{first}{number}"

    def label(self, word: str) -> str:
        number = self._counts["label"] = self._counts.get("label", 0) + 1
        return f"{word}{number}"

    def loaded(self, kind: str) -> str:
        """A register with an operand of the thread's own."""
        found, at = self.register(kind), len(self.kinds) * self.threads * 8
        self.kinds.append(kind)
        if plain(kind) == "pred":
            word = self.register("u32")
            self.emit(f"ld.global.u8 {word}, [%di+{at}]; setp.ne.u32 {found}, {word}, 0;")
        else:
            self.emit(f"ld.global.{'u8' if width(kind) == 8 else f'b{width(kind)}'} {found}, [%di+{at}];")
        return found

    def stored(self, register: str, kind: str, what: str, form: Form | None = None, of: Sequence[int] = ()) -> None:
        """Store a result of an instruction in a column of its own."""
        at = len(self.slots) * self.threads * 8
        self.slots.append(Slot(what, kind, form, tuple(of)))
        if plain(kind) == "pred":
            word = self.register("u32")
            self.emit(f"selp.u32 {word}, 1, 0, {register}; st.global.u32 [%do+{at}], {word};")
        else:
            self.emit(f"st.global.b{max(16, width(kind))} [%do+{at}], {register};")

    def narrowed(self, register: str, kind: str) -> str:
        """A register with a value of a restricted kind, made from any value."""
        sign, number = restriction(kind)
        if not sign:
            return register
        found, name, bits = self.register(kind), plain(kind), max(16, width(kind))
        if sign == "&":
            self.emit(f"and.b{bits} {found}, {register}, {number:#x};")
        elif sign == "!":
            self.emit(f"or.b{bits} {found}, {register}, 1;")
        elif sign == ">>":
            self.emit(f"shl.b{bits} {found}, {register}, {number}; shr.s{bits} {found}, {found}, {number};")
        else:
            test = self.register("pred")
            self.emit(f"setp.nan.{name} {test}, {register}, {register}; mov.b{bits} {found}, {register};")
            prefix = {"f32": "0f", "f64": "0d"}.get(name, "0x")
            move = name if name in ("f32", "f64") else "b16"
            self.emit(f"@{test} mov.{move} {found}, {prefix}{canonical(name):0{bits // 4}x};")
        return found

    def apply(self, form: Form, operands: Sequence[str], results: Sequence[str], mask: str, guard: str = "") -> None:
        """Write the statements of a form."""
        given = dict(zip("abco", operands, strict=False)) | dict(zip("defg", results, strict=False))
        line = form.text.format(**given, **_PLACES, m=mask)
        self.emit(f"{guard} {line}".strip())

    def finished(self) -> Launch:
        """The kernel as text."""
        declared = [
            f".reg .{_TYPES[first]} %{first}<{count + 1}>;" for first, count in self._counts.items() if first in _TYPES
        ]
        initial = [f"mov.u64 %dw, {value}; st.shared.u64 [sum+{8 * at}], %dw;" for at, value in self.shared.items()]
        if initial:
            initial = ["setp.ne.u32 %px, %rt, 0;", f"@%px bra READY_{self.name};", *initial]
            initial += [f"READY_{self.name}:", "bar.sync 0;"]
        row = self.threads * 8
        body = [
            *self.functions,
            f".visible .entry {self.name}(",
            ".param .u64 pi, .param .u64 po, .param .u64 pg, .param .u64 ps",
            ") {",
            *declared,
            ".reg .b64 %di, %do, %dg, %dt, %ds, %dl, %dw; .reg .b32 %rt, %rs, %rx, %rb, %rg; .reg .pred %px;",
            f".shared .align 16 .b8 mine[{OWN_BYTES * self.block}];",
            f".shared .align 16 .b8 swap[{8 * self.block}];",
            f".shared .align 16 .b8 sum[{8 * max(1, len(self.shared))}];",
            f".local .align 16 .b8 own[{OWN_BYTES}];",
            "mov.u32 %rt, %tid.x; mov.u32 %rb, %ctaid.x; mov.u32 %rx, %ntid.x; mad.lo.u32 %rg, %rb, %rx, %rt;",
            "mul.wide.u32 %dt, %rg, 8;",
            "ld.param.u64 %di, [pi]; add.s64 %di, %di, %dt; ld.param.u64 %do, [po]; add.s64 %do, %do, %dt;",
            f"mul.wide.u32 %dg, %rg, {OWN_BYTES}; ld.param.u64 %dw, [pg]; add.s64 %dg, %dg, %dw;",
            f"mov.u32 %rs, mine; mad.lo.u32 %rs, %rt, {OWN_BYTES}, %rs; cvt.u64.u32 %ds, %rs; mov.u64 %dl, own;",
            *initial,
            *self.lines,
            "ret;",
            "}\n",
        ]
        assert row
        return Launch(
            self.name, "\n".join(body), self.grid, self.block, tuple(self.slots), tuple(self.kinds), self.sums,
            self.seed, self.style,
        )  # fmt: skip


__all__ = ["OWN_BYTES", "Launch", "Program", "Slot", "pool"]
