"""Random programs: straight lines, nested branches, loops, tables of jumps, exchanges, votes and sums of all threads.

Variables of each type are overwritten by random instructions, whose every result is also stored in a column of its own.
Memory is free of races: threads have their own bytes, exchange values between two barriers, and add to shared sums by
atomic operations whose order does not matter. Random bits of NaNs reach no other type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .forms import Form
from .kinds import FRACTION, HALVES, POOLS, letter, plain, pool
from .program import Launch, Program
from .table import FULL

STYLES = ("integers", "floats", "memory", "warps", "branches", "mixed")
VARIABLES = 4
UNGUARDED = ("set", "testp")
"""Instructions without a guard: ptxas 13.0 lets parts of them write their results where the guard is false."""
UNRELATED = ("lop3.", ".cc.", "bfe.", "bfi.")
"""Parts of opcodes with operands from memory, as ptxas 13.0 folds them wrongly with what computes them: and.b32
with a lop3 of twice the same register, borrows of a difference from abs, bfe by the position of no bit.
"""
_EDGES = {"integers": 0.04, "floats": 0.04, "memory": 0.1, "warps": 0.12, "branches": 0.4, "mixed": 0.2}
"""The share of statements that branch, by style."""


def random_program(name: str, seed: int, usable: Sequence[Form]) -> Launch:
    """The program of a seed. usable: the forms that it may have."""
    return Generator(name, seed, usable).program()


class Generator:
    def __init__(self, name: str, seed: int, usable: Sequence[Form]) -> None:
        self.rng = np.random.default_rng(seed)
        self.style = STYLES[seed % len(STYLES)]
        grid, warps = int(self.rng.integers(1, 5)), int(self.rng.choice([1, 1, 2, 4]))
        self.out = Program(name, grid, 32 * warps, seed, self.style)
        self.families = _by_family(usable, self.style)
        self.variables: dict[str, list[str]] = {}
        self.counters = 0

    def program(self) -> Launch:
        for kind in POOLS:
            of = {"b16": "u16", "b32": "u32", "b64": "u64"}.get(kind, kind)
            self.variables[kind] = [self.out.loaded(of) for _ in range(VARIABLES)]
        self.block(int(self.rng.integers(22, 40)), 0, FULL)
        self.out.emit("bar.sync 0;")
        for number in range(len(self.out.shared)):
            found = self.out.register("b64")
            self.out.emit(f"ld.shared.u64 {found}, [sum+{8 * number}];")
            self.out.stored(found, "b64", "sums in shared memory")
        for kind, names in self.variables.items():
            for each in names:
                self.out.stored(each, kind, f"variable of {kind}")
        return self.out.finished()

    # -- choices ----------------------------------------------------------------------------------------------------

    def flip(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def variable(self, kind: str) -> str:
        names = self.variables[pool(kind)]
        return names[self.number(0, len(names))]

    # -- statements -------------------------------------------------------------------------------------------------

    def block(self, count: int, depth: int, mask: str) -> None:
        """Statements. depth: of branches around them. mask: the lanes that execute them, or "" if it is not known."""
        while count > 0:
            if depth < 3 and self.flip(_EDGES[self.style]):
                inner = min(count, self.number(2, 7))
                self.branch(inner, depth, mask)
                count -= inner
            elif depth == 0 and self.flip(0.06):
                self.exchange()
                count -= 1
            elif self.flip(0.05):
                self.sum_of_all()
                count -= 1
            elif self.flip(0.02):
                self.call()
                count -= 1
            else:
                self.instruction(depth, mask)
                count -= 1

    def instruction(self, depth: int, mask: str) -> None:
        """A form on random variables; some have a guard."""
        form = self.form(depth, mask)
        fresh = any(part in form.name for part in UNRELATED)
        sources = [self.out.loaded(kind) if fresh else self.variable(kind) for kind in form.operands]
        operands = [self.out.narrowed(each, kind) for each, kind in zip(sources, form.operands, strict=True)]
        targets = [self.target(kind) for kind in form.results]
        guard = ""
        if not form.warp and form.text.count(";") == 1 and form.family not in UNGUARDED and self.flip(0.12):
            guard = f"@{'!' if self.flip(0.5) else ''}{self.variable('pred')}"
        what = f"{guard and 'guarded '}{form.name}"
        if guard:
            for each, kind in zip(targets, form.results, strict=True):
                self.out.emit(f"mov.{_moved(kind)} {each}, {self.variable(kind)};")
        self.out.apply(form, operands, targets, mask, guard)
        for each, kind in zip(targets, form.results, strict=True):
            self.out.stored(each, kind, what)
            self.out.emit(f"mov.{_moved(kind)} {self.variable(kind)}, {each};")

    def target(self, kind: str) -> str:
        return self.out.register(kind)

    def form(self, depth: int, mask: str) -> Form:
        while True:
            family = self.families[self.number(0, len(self.families))]
            found = family[self.number(0, len(family))]
            if found.warp in ("all", "cta") and depth:
                continue
            if found.warp == "mask" and not mask:
                continue
            return found

    def branch(self, count: int, depth: int, mask: str) -> None:
        kind = self.number(0, 5)
        if kind == 0:
            self.loop(count, depth)
        elif kind == 1:
            self.jumps(count, depth)
        else:
            self.either(count, depth, mask)

    def either(self, count: int, depth: int, mask: str) -> None:
        """if, with an else or without; the lanes of each side are known by a ballot."""
        out, test = self.out, self.condition()
        other, end = out.label("ELSE"), out.label("END")
        sides = ["", ""]
        if mask:
            sides = [out.register("b32"), out.register("b32")]
            out.emit(f"vote.sync.ballot.b32 {sides[0]}, {test}, {mask}; xor.b32 {sides[1]}, {sides[0]}, {mask};")
        has_else = self.flip(0.6)
        out.emit(f"@!{test} bra {other if has_else else end};")
        self.block(count // 2 + 1 if has_else else count, depth + 1, sides[0])
        if has_else:
            out.emit(f"bra.uni {end};" if self.flip(0.1) and depth > 5 else f"bra {end};")
            out.emit(f"{other}:")
            self.block(count // 2, depth + 1, sides[1])
        out.emit(f"{end}:")

    def condition(self) -> str:
        """A predicate of its own."""
        found = self.out.register("pred")
        which = self.number(0, 4)
        if which == 0:
            self.out.emit(f"setp.lt.s32 {found}, {self.variable('b32')}, {self.variable('b32')};")
        elif which == 1:
            word = self.out.register("b32")
            lane = "%laneid" if self.flip(0.5) else "%tid.x"
            self.out.emit(f"mov.u32 {word}, {lane}; and.b32 {word}, {word}, {self.number(1, 32)};")
            self.out.emit(f"setp.ne.u32 {found}, {word}, 0;")
        elif which == 2:
            self.out.emit(f"setp.gtu.f32 {found}, {self.variable('f32')}, {self.variable('f32')};")
        else:
            self.out.emit(f"mov.pred {found}, {self.variable('pred')};")
        return found

    def loop(self, count: int, depth: int) -> None:
        """A loop of at most four turns, whose number depends on data; it may be left early."""
        out, left, test = self.out, self.out.register("b32"), self.out.register("pred")
        begin, end = out.label("LOOP"), out.label("LEFT")
        out.emit(f"and.b32 {left}, {self.variable('b32')}, 3;")
        out.emit(f"{begin}:")
        first = self.flip(0.5)
        if first:
            out.emit(f"setp.eq.u32 {test}, {left}, 0; @{test} bra {end};")
        self.block(max(1, count // 2), depth + 1, "")
        if self.flip(0.4):
            out.emit(f"@{self.condition()} bra {end};")
            self.block(max(1, count // 3), depth + 1, "")
        if first:
            out.emit(f"sub.u32 {left}, {left}, 1; bra {begin};")
        else:
            out.emit(f"setp.ne.u32 {test}, {left}, 0; sub.u32 {left}, {left}, 1; @{test} bra {begin};")
        out.emit(f"{end}:")

    def jumps(self, count: int, depth: int) -> None:
        """A table of jumps; one case may fall through to the next."""
        out, index, ways = self.out, self.out.register("b32"), self.number(2, 5)
        labels, end, table = [out.label("CASE") for _ in range(ways)], out.label("END"), out.label("TABLE")
        out.emit(f"rem.u32 {index}, {self.variable('b32')}, {ways};")
        out.emit(f"{table}: .branchtargets {', '.join(labels)};")
        out.emit(f"brx.idx {index}, {table};")
        for label in labels:
            out.emit(f"{label}:")
            self.block(max(1, count // ways), depth + 1, "")
            if self.flip(0.8):
                out.emit(f"bra {end};")
        out.emit(f"{end}:")

    # -- what threads exchange --------------------------------------------------------------------------------------

    def exchange(self) -> None:
        """Every thread reads what another has written, between two barriers."""
        out = self.out
        kind = ("b16", "b32", "b64", "f32", "f64")[self.number(0, 5)]
        size, name = int(kind[1:]) // 8, "swap"
        mine, other, found = out.register("b32"), out.register("b32"), out.register(kind)
        out.emit(f"mov.u32 {mine}, {name}; mad.lo.u32 {other}, %rt, {size}, {mine};")
        out.emit(f"bar.sync 0; st.shared.{kind} [{other}], {self.variable(kind)};")
        step = f"add.u32 {other}, %rt, {self.number(1, out.block)}; and.b32 {other}, {other}, {out.block - 1};"
        if self.flip(0.5):
            step = f"xor.b32 {other}, %rt, {self.number(1, out.block)};"
        out.emit(f"{'bar.sync 0' if self.flip(0.6) else f'barrier.sync 2, {out.block}'}; {step}")
        out.emit(f"mad.lo.u32 {other}, {other}, {size}, {mine}; ld.shared.{kind} {found}, [{other}];")
        out.stored(found, kind, f"exchanged {kind}")
        out.emit(f"mov.{kind} {self.variable(kind)}, {found};")

    def call(self) -> None:
        """A call of a function of its own, which returns early for some threads."""
        out = self.out
        name = f"{out.name}_{len(out.functions)}"
        test = ("lt.s32", "eq.u32", "gt.u32")[self.number(0, 3)]
        out.functions.append(
            f".func (.param .b32 y) {name}(.param .b32 a, .param .b64 b) {{\n"
            ".reg .b32 %x<4>; .reg .b64 %w; .reg .pred %q;\n"
            "ld.param.b32 %x1, [a]; ld.param.b64 %w, [b]; cvt.u32.u64 %x2, %w;\n"
            f"setp.{test} %q, %x1, %x2; mov.b32 %x3, %x1; @%q bra OUT;\n"
            f"mad.lo.u32 %x3, %x1, %x2, {self.number(0, 1 << 31)}; shf.l.wrap.b32 %x3, %x3, %x1, 5;\n"
            "OUT: st.param.b32 [y], %x3; ret;\n}"
        )
        found = out.register("b32")
        out.emit("{ .param .b32 first; .param .b64 second; .param .b32 result;")
        out.emit(f"st.param.b32 [first], {self.variable('b32')}; st.param.b64 [second], {self.variable('b64')};")
        out.emit(f"call (result), {name}, (first, second); ld.param.b32 {found}, [result]; }}")
        out.stored(found, "b32", "a call")
        out.emit(f"mov.b32 {self.variable('b32')}, {found};")

    def sum_of_all(self) -> None:
        """All threads that pass here add to one number, of the CTA or of the grid."""
        out = self.out
        op = ("add", "and", "or", "xor", "min", "max")[self.number(0, 6)]
        bits = 32 if self.flip(0.6) else 64
        kind = f"b{bits}" if op in ("and", "or", "xor") else f"{'us'[self.number(0, 2)] if op != 'add' else 'u'}{bits}"
        value = self.variable(f"b{bits}")
        if self.flip(0.5):
            at = len(out.shared)
            out.shared[at] = f"{self.number(0, 1 << 62):#x}"
            if self.flip(0.5):
                out.emit(f"red.shared.{op}.{kind} [sum+{8 * at}], {value};")
            else:
                out.emit(f"atom.shared.{op}.{kind} {out.register(kind)}, [sum+{8 * at}], {value};")
            return
        place = out.register("b64")
        out.emit(f"ld.param.u64 {place}, [ps]; red.global.{op}.{kind} [{place}+{8 * out.sums}], {value};")
        out.sums += 1


def _moved(kind: str) -> str:
    return {"p": "pred", "h": "b16", "r": "b32", "d": "b64", "f": "f32", "g": "f64"}[letter(kind)]


def _by_family(usable: Sequence[Form], style: str) -> list[list[Form]]:
    """Forms by their first words, so that the many forms of cvt are not most of a program."""
    found: dict[str, list[Form]] = {}
    for form in usable:
        if form.usable and form.bound is None:
            found.setdefault(f"{form.family} {_group(form)}", []).append(form)
    wanted = {
        "integers": ("integer",), "floats": ("float",), "memory": ("memory", "integer"), "warps": ("warp", "integer"),
    }  # fmt: skip
    groups = wanted.get(style, ("integer", "float", "memory", "warp"))
    return [of for name, of in found.items() if name.rpartition(" ")[2] in groups]


def _group(form: Form) -> str:
    if form.warp:
        return "warp"
    if form.family.startswith(("ld", "st", "atom", "red", "isspacep")):
        return "memory"
    kinds = [plain(kind) for kind in (*form.operands, *form.results)]
    return "float" if any(kind in FRACTION or kind in HALVES for kind in kinds) else "integer"
