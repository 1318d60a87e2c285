"""A small dialect, printed, parsed, verified and rewritten."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.frontends.tile_ir.ssa import (
    FLAG,
    INT,
    INTS,
    KEEP,
    STRING,
    Builder,
    Dialect,
    Module,
    Op,
    ParseError,
    Parser,
    Region,
    Rewriter,
    Scalar,
    Type,
    merge_equal,
    one_of,
    parse_module,
    print_module,
    remove_dead,
    rewrite,
    uses,
    verify,
)
from tirx_mini.ir import TirxError

I32 = Scalar("i32")
TOY = Dialect("toy")


@dataclass(frozen=True)
class Box(Type):
    dims: tuple[int | None, ...]
    element: Type

    def __str__(self) -> str:
        dims = "".join("?x" if d is None else f"{d}x" for d in self.dims)
        return f"box<{dims}{self.element}>"


def _parse_box(p: Parser) -> Box:
    p.expect("<")
    box = Box(p.dims(), p.type())
    p.expect(">")
    return box


TOY.types["box"] = _parse_box


def _equal_types(op: Op) -> list[str]:
    return [] if op.lhs.type == op.rhs.type else [f"{op.lhs.type} and {op.rhs.type} differ"]


CONST = TOY.op("const", "", "value", "$number : type($value)", attrs={"number": INT}, pure=True)
ADD = TOY.op("add", "lhs rhs", "sum", "$lhs, $rhs [[wrap $wrap]] attr-dict : type($lhs)", infer="lhs",
             verify=_equal_types, pure=True,
             attrs={"wrap": one_of("none", "both", default="none"), "note": STRING("")})  # fmt: skip
PACK = TOY.op("pack", "*items last?", "box", "[$items] [[or $last : type($last)]] -> type($box) attr-dict",
              attrs={"order": INTS(()), "fast": FLAG})  # fmt: skip
LOOP = TOY.op("loop", "count", "", "$count $body", regions="body")
FORK = TOY.op("fork", "", "", "$one $other", regions="one other")
END = TOY.op("end", "*values", "", "[[$values]]", terminator=True)
FUNC = TOY.op("func", "", "", "$body", regions="body")


def _module(write) -> Module:
    b = Builder()
    b.emit(FUNC, regions=[b.body([], write)])
    return Module("m", tuple(b.ops))


def _example() -> Module:
    def body(b: Builder) -> None:
        one = b.emit(CONST, number=1, types=[I32], hint="one")
        two = b.emit(ADD, one, one, wrap="both", note='a "quoted"\nline')
        b.emit(PACK, [one, two], two, types=[Box((2, None), I32)], order=(1, 0), fast=True, hint="one")

        def inner(b: Builder, i) -> None:
            b.emit(ADD, i, two)
            b.emit(END, [])

        b.emit(LOOP, two, regions=[b.body([I32], inner, ["i"])])
        b.emit(END, [one, two])

    return _module(body)


def test_text_of_a_module() -> None:
    assert (
        print_module(_example())
        == """toy.module @m {
  func {
    %one = const 1 : i32
    %0 = add %one, %one wrap both {note = "a \\"quoted\\"\\nline"} : i32
    %one_1 = pack [%one, %0] or %0 : i32 -> box<2x?xi32> {order = [1, 0], fast}
    loop %0 {
    ^(%i: i32):
      %1 = add %i, %0 : i32
      end
    }
    end %one, %0
  }
}
"""
    )


def test_text_is_read_back() -> None:
    text = print_module(_example())
    assert print_module(verify(parse_module(text, [TOY]))) == text


@pytest.mark.parametrize(
    "text, message",
    [
        ("toy.module @m { add %a, %a : i32 }", "line 1, column 21: `%a` is not defined above"),
        ("toy.module @m {\n  sub }", "line 2, column 3: unknown operation `sub`"),
        ("toy.module @m { %a = const x : i32 }", "column 28: expected a number, found `x`"),
        ("toy.module @m { %a = const 1 : what }", "column 32: unknown type `what`"),
        ("toy.module @m { %a, %b = const 1 : i32 }", "toy.const has 1 results, not 2"),
        ("toy.module @m { func {", "expected a word, found `the end`"),
        ("toy.module @m { %a = const 1 : i32 %b = add %a, %a {tag = 1} : i32 }", "toy.add has no attribute `tag`"),
        ("toy.module @m { %a = const 1 : i32 %b = add %a, %a : f32 }", "%a has the type i32, not f32"),
    ],
)
def test_bad_text_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_module(text, [TOY])
    assert message in str(error.value)


def test_a_value_must_be_defined_before_it_is_used() -> None:
    module = _example()
    (func,) = module.ops
    first, *rest = func.body.ops
    late = Op(func.kind, regions=(Region((), (*rest, first)),))
    with pytest.raises(TirxError, match="%one is used before it is defined"):
        verify(Module("m", (late,)))


def test_operations_keep_their_own_rules() -> None:
    def body(b: Builder) -> None:
        b.emit(ADD, b.emit(CONST, number=1, types=[I32]), b.emit(CONST, number=1, types=[Scalar("i64")]))

    with pytest.raises(TirxError, match=r"toy\.add after lowering: i32 and i64 differ"):
        verify(_module(body), "lowering")


def test_nothing_follows_a_terminator() -> None:
    def body(b: Builder) -> None:
        b.emit(END, [])
        b.emit(CONST, number=1, types=[I32])

    with pytest.raises(TirxError, match="operations follow the end of the region"):
        verify(_module(body))


def test_rewriting_replaces_operations_and_types() -> None:
    def doubled(op: Op, rw: Rewriter):
        return rw.emit(CONST, number=2 * op.number, types=[Scalar("i64")]) if op.number == 1 else KEEP

    text = print_module(rewrite(_example(), {CONST: doubled}, lambda t: Scalar("i64") if t == I32 else t))
    assert "%one = const 2 : i64" in text
    assert "^(%i: i64):" in text


def test_dead_and_repeated_operations_go() -> None:
    def body(b: Builder) -> None:
        a = b.emit(CONST, number=1, types=[I32])
        again = b.emit(CONST, number=1, types=[I32])
        other = b.emit(CONST, number=1, types=[Scalar("i64")])
        nested = b.body([], lambda b: b.emit(LOOP, b.emit(CONST, number=1, types=[I32]), regions=[Region()]))
        b.emit(LOOP, a, regions=[nested])
        b.emit(END, [again, other])

    module = merge_equal(_module(body))
    assert len(list(module.find(CONST))) == 2
    assert len(uses(module)[next(module.find(CONST)).result]) == 3

    def apart(b: Builder) -> None:
        def arm(b: Builder) -> None:
            b.emit(CONST, number=1, types=[I32])
            b.emit(END, [])

        b.emit(FORK, regions=[b.body([], arm), b.body([], arm)])
        b.emit(END, [])

    assert len(list(merge_equal(_module(apart)).find(CONST))) == 2

    def dead(b: Builder) -> None:
        a = b.emit(CONST, number=1, types=[I32])
        b.emit(ADD, a, a)
        b.emit(END, [])

    assert [op.name for op in remove_dead(_module(dead)).walk()] == ["toy.func", "toy.end"]


_ADDS = st.tuples(
    st.integers(0, 9), st.integers(0, 9), st.sampled_from(["none", "both"]), st.text('ab"\\\n', max_size=4)
)


@given(st.lists(_ADDS))
def test_every_module_is_read_back(adds) -> None:
    def body(b: Builder) -> None:
        values = [b.emit(CONST, number=-1, types=[I32], hint="x")]
        for i, j, wrap, note in adds:
            lhs, rhs = values[i % len(values)], values[j % len(values)]
            values.append(b.emit(ADD, lhs, rhs, wrap=wrap, note=note, hint="x"[: i % 2]))
        b.emit(END, values)

    text = print_module(_module(body))
    assert print_module(parse_module(text, [TOY])) == text
