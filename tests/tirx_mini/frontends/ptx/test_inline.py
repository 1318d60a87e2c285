"""Names of nested scopes, and calls of functions."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tirx_mini.frontends.ptx.kernel import kernel
from tirx_mini.frontends.ptx.printing import printed
from tirx_mini.frontends.ptx.reader import read
from tirx_mini.frontends.ptx.syntax import If, Immediate, Instruction, Kernel, Loop, Node, Register
from tirx_mini.ir import TirxError

HEAD = ".version 9.0\n.target sm_90\n"
SQUARE = """
.func (.param .b32 square_result) square(.param .b32 square_0)
{
.reg .b32 %r<3>;
ld.param.b32 %r1, [square_0];
mul.lo.s32 %r2, %r1, %r1;
st.param.b32 [square_result], %r2;
ret;
}
"""
CALL = "{{ .param .b32 p; .param .b32 q; st.param.b32 [p], {0}; call.uni (q), {2}, (p); ld.param.b32 {1}, [q]; }}\n"


def of(text: str, name: str = "k") -> Kernel:
    return kernel(read(HEAD + text), name)


def instructions(nodes: tuple[Node, ...]) -> list[Instruction]:
    found: list[Instruction] = []
    for node in nodes:
        if isinstance(node, Instruction):
            found.append(node)
        elif isinstance(node, If):
            found += [*instructions(node.then), *instructions(node.orelse)]
        elif isinstance(node, Loop):
            found += instructions(node.body)
    return found


def test_names_that_repeat_in_scopes_become_unique() -> None:
    wait = "{ .reg .pred done; WAIT: setp.eq.u32 done, %r1, 0; @done bra DONE; bra WAIT; DONE: }\n"
    found = of(f".entry k() {{ .reg .b32 %r<2>; {wait * 3} ret; }}")
    assert {"done", "done_2", "done_3"} <= set(found.registers)
    first = [each.operands[0] for each in instructions(found.body)]
    assert first == [Register("done"), Register("done_2"), Register("done_3")]
    assert sum(isinstance(node, Loop) for node in found.body) == 3


def test_a_scope_sees_the_registers_around_it() -> None:
    found = of(
        ".entry k() { .reg .b32 a; mov.u32 a, 1; { .reg .b32 b; mov.u32 b, a; { .reg .b32 a; mov.u32 a, b; } }"
        " mov.u32 a, 2; ret; }"
    )
    assert [each.operands[0] for each in instructions(found.body)] == [
        Register("a"), Register("b"), Register("a_2"), Register("a"),
    ]  # fmt: skip


def test_a_call_is_replaced_by_the_body() -> None:
    call = CALL.format("%r1", "%r2", "square")
    found = of(f"{SQUARE}.entry k() {{ .reg .b32 %r<3>; {call} ret; }}")
    given, taken, product, result, back = instructions(found.body)
    assert [each.opcode[0] for each in (given, taken, product, result, back)] == ["mov", "mov", "mul", "mov", "mov"]
    assert given.operands == (Register("p_0"), Register("%r1")) and taken.operands[1] == Register("p_0")
    assert product.operands[1] == taken.operands[0] != Register("%r1")
    assert result.operands == (Register("q_0"), product.operands[0])
    assert back.operands == (Register("%r2"), Register("q_0"))
    assert found.variables == ()


def test_each_call_has_registers_of_its_own() -> None:
    calls = CALL.format("%r1", "%r2", "square") + CALL.format("%r2", "%r1", "square")
    found = of(f"{SQUARE}.entry k() {{ .reg .b32 %r<3>; {calls} ret; }}")
    products = [each.operands[0] for each in instructions(found.body) if each.opcode[0] == "mul"]
    assert len(set(products)) == 2


def test_a_function_that_returns_early_goes_on_behind_the_call() -> None:
    text = printed(
        of(
            ".func f(.reg .b32 %a) { .reg .pred %p; setp.eq.u32 %p, %a, 0; @%p ret; bar.sync 0; ret; }\n"
            ".entry k() { .reg .b32 %r; mov.u32 %r, 1; call f, (%r); bar.sync 1; ret; }"
        ).body
    )
    assert text == dedent("""\
        mov.u32 %r, 1
        call f, (%r)
        setp.eq.u32 %p, %a, 0
        if not %p:
          bar.sync 0
        bar.sync 1""")


def test_a_call_under_a_guard() -> None:
    text = printed(
        of(".func f() { bar.sync 0; ret; }\n.entry k() { .reg .pred %p; @%p call f; bar.sync 1; ret; }").body
    )
    assert text == "if %p:\n  bar.sync 0\nbar.sync 1"


def test_calls_inside_of_functions_keep_the_lines_of_both_calls() -> None:
    found = of(
        ".func f() {\n.loc 1 5 1\nbar.sync 0; ret; }\n.func g() {\n.loc 1 10 1\ncall f; ret; }\n"
        '.entry k() {\n.loc 1 20 1\ncall g; ret; }\n.file 1 "a.cu"\n'
    )
    (bar,) = instructions(found.body)
    assert [span.line for span in bar.span.chain()] == [5, 10, 20]


def test_shared_variables_of_functions_exist_once() -> None:
    function = ".func f() { .shared .b32 s; .local .b32 l; st.shared.b32 [s], 1; st.local.b32 [l], 1; ret; }\n"
    found = of(function + ".entry k() { call f; call f; ret; }")
    assert [each.space for each in found.variables] == ["shared", "local", "local"]
    addresses = [each.operands[0] for each in instructions(found.body)]
    assert addresses[0] == addresses[2] and addresses[1] != addresses[3]


def test_a_call_through_a_known_address() -> None:
    call = CALL.format("%r1", "%r2", "%rd1")
    found = of(f"{SQUARE}.entry k() {{ .reg .b32 %r<3>; .reg .b64 %rd1; mov.u64 %rd1, square; {call} ret; }}")
    assert "mul" in [each.opcode[0] for each in instructions(found.body)]


@pytest.mark.parametrize("again", ["mov.u64 %rd1, g;", "add.u64 %rd1, %rd1, 16;", "ld.global.u64 %rd1, [%rd2];"])
def test_a_call_through_an_address_that_changes_is_a_choice(again: str) -> None:
    functions = "".join(f".func {name}() {{ bar.sync {place}; ret; }}\n" for place, name in enumerate("fgh"))
    found = of(
        f".global .u64 table[2] = {{f, generic(g)}};\n{functions}"
        f".entry k() {{ .reg .b64 %rd<3>; mov.u64 %rd1, f; {again} call %rd1, P;"
        " P: .callprototype ()_ (); ret; }"
    )
    barriers = {str(each.operands[0]) for each in instructions(found.body) if each.opcode[0] == "bar"}
    assert barriers == {"Immediate(value=0)", "Immediate(value=1)"}  # nothing holds the address of h
    assert "trap" in [each.opcode[0] for each in instructions(found.body)]


def test_a_call_through_a_pointer_that_no_function_fits_stays() -> None:
    found = of(
        ".func f(.reg .b32 %a) { ret; }\n"
        ".entry k() { .reg .b64 %rd<3>; mov.u64 %rd1, f; ld.global.u64 %rd1, [%rd2]; call %rd1, P;"
        " P: .callprototype ()_ (); ret; }"
    )
    assert instructions(found.body)[-1].opcode[0] == "call"


@pytest.mark.parametrize(("before", "passed"), [("", Immediate(0)), ("mov.u16 %h1, 7;", Register("%h1"))])
def test_a_byte_that_nothing_sets_is_that_of_an_empty_structure(before: str, passed: object) -> None:
    found = of(
        ".func f(.param .b8 tag) { .reg .b16 %h; ld.param.u8 %h, [tag]; st.shared.u8 [0], %h; ret; }\n"
        f".entry k() {{ .reg .b16 %h<3>; {before} {{ .param .b8 p; st.param.b8 [p], %h1; call f, (p); }} ret; }}"
    )
    first = instructions(found.body)[1 if before else 0]
    assert first.operands[1] == passed


def test_calls_of_functions_without_a_body_stay() -> None:
    found = of(
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
        ".entry k() { .param .b32 r; .param .b64 a; .param .b64 b; call.uni (r), vprintf, (a, b); ret; }"
    )
    assert [each.name for each in instructions(found.body)] == ["call.uni"]


def test_a_recursive_function_is_refused() -> None:
    with pytest.raises(TirxError, match="the function f is recursive: f → g → f") as caught:
        of(".func f() { call g; ret; }\n.func g() {\ncall f; ret; }\n.entry k() { call f; ret; }")
    assert caught.value.kind == "not-modelled"
    assert caught.value.span is not None and caught.value.span.line == 5
    with pytest.raises(TirxError, match="the function fib is recursive: fib → fib"):
        of(".func _Z3fibi() {\ncall _Z3fibi; ret; }\n.entry k() { call _Z3fibi; ret; }")


def test_a_call_with_other_arguments_is_refused() -> None:
    with pytest.raises(TirxError, match=r"`call f` has other arguments than f"):
        of(".func f(.reg .b32 %a) { ret; }\n.entry k() { call f; ret; }")


def test_a_kernel_is_named_where_there_are_several() -> None:
    both = ".entry k() { ret; }\n.entry l() { ret; }"
    assert of(both, "l").name == "l"
    assert kernel(read(HEAD + ".entry only() { ret; }")).name == "only"
    with pytest.raises(TirxError, match="there is no kernel m: the module has k, l"):
        of(both, "m")
    with pytest.raises(TirxError, match="a kernel must be named: the module has k, l"):
        kernel(read(HEAD + both))
    with pytest.raises(TirxError, match="the module has no kernel"):
        of("")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("bra NOWHERE;", "`bra NOWHERE` jumps to a label that its function does not have"),
        (".reg .b32 %r; brx.idx %r, T;", "`brx.idx %r, T` has no table of labels"),
    ],
)
def test_jumps_to_nowhere_are_refused(body: str, message: str) -> None:
    with pytest.raises(TirxError, match=message):
        of(f".entry k() {{ {body} ret; }}")
