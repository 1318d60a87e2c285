"""PTX text to a module."""

from __future__ import annotations

import pytest

from tirx_mini.codegen import GENERATED
from tirx_mini.frontends.ptx.reader import read
from tirx_mini.frontends.ptx.syntax import (
    Address,
    Declaration,
    Directive,
    Float,
    Function,
    Group,
    Immediate,
    Instruction,
    Label,
    Module,
    Operand,
    Pair,
    Prototype,
    Register,
    Scope,
    Sink,
    Special,
    Statement,
    Symbol,
    Targets,
    Vector,
)
from tirx_mini.ir import Span, TirxError

HEAD = ".version 9.0\n.target sm_100a\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"


def module(text: str) -> Module:
    return read(HEAD + text)


def body(text: str) -> tuple[Statement, ...]:
    """The statements of a kernel, without the declarations that all tests share."""
    found = module(f".visible .entry k()\n{{\n{REGISTERS}{text}\n}}\n").functions[0].body
    assert found is not None
    return found[3:]


def instruction(text: str) -> Instruction:
    (found,) = body(text)
    assert isinstance(found, Instruction)
    return found


def operands(text: str) -> tuple[Operand, ...]:
    return instruction(text).operands


def error(text: str) -> TirxError:
    with pytest.raises(TirxError) as caught:
        module(text)
    return caught.value


def test_the_head_of_a_module() -> None:
    found = module("")
    assert (found.version, found.target, found.address_size) == ((9, 0), ("sm_100a",), 64)
    assert read(".version 8.7\n.target sm_90a, debug\n").target == ("sm_90a", "debug")


@pytest.mark.parametrize("text", ["", "hello", ".version 9.0\n.entry k() { ret; }", ".version nine\n.target sm_90"])
def test_a_text_without_a_head_is_no_ptx(text: str) -> None:
    with pytest.raises(TirxError, match=r"PTX starts with \.version and \.target"):
        read(text)


def test_old_versions_are_refused() -> None:
    with pytest.raises(TirxError, match=r"PTX 5\.0 is older than 6\.0"):
        read(".version 5.0\n.target sm_30\n")


def test_an_instruction_has_its_parts_and_its_line() -> None:
    found = instruction("@!%p1 mbarrier.try_wait.parity.shared::cta.b64   %p2, [%r1+8],\n %r2;")
    assert found.opcode == ("mbarrier", "try_wait", "parity", "shared::cta", "b64")
    assert found.name == "mbarrier.try_wait.parity.shared::cta.b64"
    assert found.guard == Register("%p1", negated=True)
    assert found.operands == (Register("%p2"), Address(Register("%r1"), 8), Register("%r2"))
    assert found.text == "@!%p1 mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+8], %r2"
    assert found.line == 7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mov.u32 %r1, %tid.x;", (Register("%r1"), Special("tid", "x"))),
        ("mov.u64 %rd1, %clock64;", (Register("%rd1"), Special("clock64"))),
        ("mov.u32 %r1, WARP_SZ;", (Register("%r1"), Immediate(32))),
        ("mov.u32 %r1, 0xFFFFFFFFU;", (Register("%r1"), Immediate(0xFFFFFFFF))),
        ("mov.u32 %r1, 017;", (Register("%r1"), Immediate(15))),
        ("mov.u32 %r1, 0b101;", (Register("%r1"), Immediate(5))),
        ("mov.u32 %r1, -1;", (Register("%r1"), Immediate(-1))),
        ("mov.u32 %r1, (1<<4)+2*3;", (Register("%r1"), Immediate(22))),
        ("mov.u32 %r1, 7/-2 + 7%4;", (Register("%r1"), Immediate(0))),
        ("mov.u32 %r1, 1==2 ? 3 : ~4;", (Register("%r1"), Immediate(-5))),
        ("mov.f32 %r1, 0f3F800000;", (Register("%r1"), Float(0x3F800000, 32))),
        ("mov.f64 %rd1, 0d3FF0000000000000;", (Register("%rd1"), Float(0x3FF0000000000000, 64))),
        ("mov.f64 %rd1, -1.0;", (Register("%rd1"), Float(0xBFF0000000000000, 64))),
        ("mov.f64 %rd1, 5e-1;", (Register("%rd1"), Float(0x3FE0000000000000, 64))),
        ("mov.u64 %rd1, smem+16;", (Register("%rd1"), Symbol("smem", 16))),
        ("ld.shared.u32 %r1, [smem+4];", (Register("%r1"), Address(Symbol("smem"), 4))),
        ("ld.shared.u32 %r1, [%r2+-4];", (Register("%r1"), Address(Register("%r2"), -4))),
        ("ld.shared.u32 %r1, [%r2-4];", (Register("%r1"), Address(Register("%r2"), -4))),
        ("ld.global.u32 %r1, [64];", (Register("%r1"), Address(Immediate(64)))),
        ("elect.sync _|%p1, -1;", (Pair(Sink(), Register("%p1")), Immediate(-1))),
        ("setp.lt.and.s32 %p1|%p2, %r1, 0, !%p3;",
         (Pair(Register("%p1"), Register("%p2")), Register("%r1"), Immediate(0), Register("%p3", negated=True))),
        ("ld.v2.u32 {%r1,_}, [%rd1];", (Vector((Register("%r1"), Sink())), Address(Register("%rd1")))),
        ("st.bulk.x [%r1], [%rd1, {%r2, 0}], [%r3];",
         (Address(Register("%r1")), Address(Register("%rd1"), 0, (Vector((Register("%r2"), Immediate(0))),)),
          Address(Register("%r3")))),
        ("call (r), f, (%r1, a);", (Group((Symbol("r"),)), Symbol("f"), Group((Register("%r1"), Symbol("a"))))),
        ("call.uni f;", (Symbol("f"),)),
        ("cp.async.bulk.commit_group ;", ()),
    ],
)  # fmt: skip
def test_operands(text: str, expected: tuple[Operand, ...]) -> None:
    assert operands(text) == expected


def test_a_component_of_a_vector() -> None:
    found = body(".reg .v4 .b32 v; mov.b32 %r1, v.y;")
    assert isinstance(found[0], Declaration) and (found[0].vector, found[0].type) == (4, "b32")
    assert isinstance(found[1], Instruction) and found[1].operands[1] == Register("v", component="y")


def test_comments_and_debug_information_are_no_statements() -> None:
    found = module(
        '.section .debug_str\n{\n$L__info: .b8 95\n.b8 0\n}\n.file 1 "http://a.cu"\n'
        ".entry k() { // a ; comment\n /* ret;\n */ ret; }"
    )
    (k,) = found.functions
    assert k.body is not None and len(k.body) == 1
    assert isinstance(k.body[0], Instruction) and k.body[0].line == 12
    assert found.files == {1: "http:/a.cu"}


def test_statements_share_lines_and_have_labels() -> None:
    found = body("WAIT: @%p1 bra DONE; bra WAIT; DONE:")
    assert [type(each) for each in found] == [Label, Instruction, Instruction, Label]


def test_scopes_have_registers_of_their_own() -> None:
    (first, second) = body("{ .reg .pred p; setp.eq.u32 p, %r1, 0; } { mov.u64 %rd1, p; }")
    assert isinstance(first, Scope) and isinstance(second, Scope)
    assert isinstance(first.body[1], Instruction) and first.body[1].operands[0] == Register("p")
    assert isinstance(second.body[0], Instruction) and second.body[0].operands[1] == Symbol("p")


def test_tables_prototypes_and_pragmas() -> None:
    found = body(
        "T: .branchtargets A, B;\nP: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _);\n"
        '.pragma "nounroll";'
    )
    assert found[0] == Targets("branchtargets", "T", ("A", "B"), 7)
    assert isinstance(found[1], Prototype) and len(found[1].parameters) == 2 and found[1].results[0].type == "b32"
    assert found[2] == Directive("pragma", ("nounroll",), 9)


def test_variables() -> None:
    found = module(
        ".extern .shared .align 1024 .b8 smem[];\n.visible .global .align 4 .u32 table[2][2] = {{1, 2}, {3, -4}};\n"
        ".const .f32 one = 0f3F800000;\n.global .u64 where[2] = {table+4, generic(table)};\n.shared .b32 a, b[3];"
    ).variables
    assert [each.name for each in found] == ["smem", "table", "one", "where", "a", "b"]
    smem, table, one, where, _, b = found
    assert (smem.space, smem.linkage, smem.align, smem.shape) == ("shared", "extern", 1024, (None,))
    assert table.initial == ((Immediate(1), Immediate(2)), (Immediate(3), Immediate(-4))) and table.shape == (2, 2)
    assert (one.space, one.initial) == ("const", Float(0x3F800000, 32))
    assert where.initial == (Symbol("table", 4), Symbol("table", 0, generic=True))
    assert (b.type, b.shape) == ("b32", (3,))


def test_functions_with_parameters_and_directives() -> None:
    found = module(
        ".extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b);\n"
        ".visible .entry k(\n .param .u64 .ptr .global .align 16 k_0,\n"
        " .param .align 64 .b8 k_1[128],\n .param .f32 k_2\n)\n"
        ".reqntid 128, 1, 1\n.maxnreg 64\n.reqnctapercluster 2\n{ ret; }\n"
        ".func (.reg .b32 %out) g(.reg .b32 %in) .noreturn { mov.b32 %out, %in; ret; }"
    ).functions
    printf, k, g = found
    assert printf.body is None and printf.linkage == "extern" and [each.name for each in printf.results] == ["result"]
    pointer, array, scalar = k.parameters
    assert (pointer.type, pointer.pointer, pointer.pointer_align) == ("u64", "global", 16)
    assert (array.align, array.type, array.shape) == (64, "b8", (128,))
    assert (scalar.type, scalar.pointer) == ("f32", None)
    assert k.directive("reqntid") == (128, 1, 1)
    assert (k.directive("maxnreg"), k.directive("reqnctapercluster")) == ((64,), (2,))
    assert k.directive("maxntid") is None
    assert isinstance(g, Function) and g.directive("noreturn") == () and g.parameters[0].space == "reg"


def test_a_location_has_the_calls_that_were_inlined() -> None:
    (found,) = body(
        ".loc 1 20 5\n.loc 1 10 3, function_name $L__a, inlined_at 1 20 5\n"
        ".loc 1 3 1, function_name $L__b+4, inlined_at 1 10 3\nmov.u32 %r1, 1;\n"
    )
    assert isinstance(found, Instruction)
    assert [(span.line, span.column) for span in found.span.chain()] == [(3, 0), (10, 2), (20, 4)]


def test_the_helpers_of_emitted_text_are_no_lines_of_the_user() -> None:
    text = (
        f'.file 1 "{GENERATED}"\n.file 2 "wrong.py"\n.entry k() {{\n.loc 2 20 5\n'
        ".loc 1 7 3, function_name $L__a, inlined_at 2 20 5\nret;\n}\n"
    )
    (function,) = read(HEAD + text).functions
    assert function.body is not None and isinstance(function.body[0], Instruction)
    span = function.body[0].span
    assert (span.line, span.library, span.user.line) == (7, True, 20)


def test_a_location_of_no_line_is_that_before() -> None:
    found = body(".loc 1 20 5\nmov.u32 %r1, 1;\n.loc 1 0 5\nmov.u32 %r1, 2;")
    assert [each.span.line for each in found if isinstance(each, Instruction)] == [20, 20]


def test_files_stand_anywhere() -> None:
    found = read(HEAD + '.entry k() {\n.loc 7 5 1\nret;\n}\n.file 7 "/tmp/a.cu", 1, 2\n.file 8 "/tmp" "b.cu"\n')
    assert dict(found.files) == {7: "/tmp/a.cu", 8: "/tmp/b.cu"}
    k = found.functions[0]
    assert k.body is not None and isinstance(k.body[0], Instruction)
    assert k.body[0].span == Span("/tmp/a.cu", 5, 0)


def test_without_locations_the_lines_are_those_of_the_text() -> None:
    (found,) = body("ret;")
    assert isinstance(found, Instruction)
    assert found.span.line == found.line == 7 and "ptx" in found.span.file


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (".entry k() {\nmov.u32 %r1, 1;\n}", "`mov.u32` cannot be read: the register %r1 is not declared", 5),
        (".entry k() {\n.reg .b32 %r<2>;\nmov.u32 %r2, 1;\n}", "the register %r2 is not declared", 6),
        (".entry k() {\n.reg .b32 %r<2>;\nmov.u32 %r1, 1\nret;\n}", "a semicolon may be missing", 6),
        (".entry k() {\nret\n}", "`ret` is not a statement: it has no semicolon", 5),
        (".entry k() {\nret;\n", "the function has no closing brace", 4),
        (".entry k() {\n.reg .b33 %r<2>;\n}", ".b33 is not a state space, type or qualifier", 5),
        (".entry k() {\n.reg %r;\n}", "a declaration lacks its type", 5),
        (".entry k() {\n.branchtargets A;\n}", ".branchtargets has no name", 5),
        (".entry k() {\nld.u32 _, [a;\n}", "an operand is missing", 5),
        (".entry k() {\nmov.u32 _, 1/0;\n}", "a constant is divided by zero", 5),
        (".entry k() {\nmov.u32 _, 1 2;\n}", "'2' stands behind the operand `1 2`", 5),
        (".global .u32 a[2;\n", "a variable cannot be read", 4),
        ("hello;\n", "`hello;` is not a statement of a module", 4),
        (".entry k(.param .u32 a .param .u32 b) { ret; }", "a function cannot be read: '.' stands where ',' is", 4),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(text: str, message: str, line: int) -> None:
    found = error(text)
    assert message in found.diagnostic.message
    assert found.span is not None and found.span.line == line


def test_many_blank_lines_cost_nothing() -> None:
    """Blanked debug sections are such lines: a search of each of them for the next word would take minutes."""
    blank = "\n" * 300_000
    found = module(f'{blank}.file 1 "k.cu"{blank}\n.entry k() {{ .loc 1 2 3\n ret; }}{blank}')
    assert dict(found.files) == {1: "k.cu"} and [each.name for each in found.functions] == ["k"]
