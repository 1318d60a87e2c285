"""Names and words of the source language in reports."""

from __future__ import annotations

import pytest

from tirx_mini.diagnose import Finding, Report
from tirx_mini.frontends.ptx.element_types import with_element_types
from tirx_mini.frontends.ptx.kernel import kernel
from tirx_mini.frontends.ptx.names import parameters_in, plain_name
from tirx_mini.frontends.ptx.origins import ANYWHERE, origins_of
from tirx_mini.frontends.ptx.reader import read
from tirx_mini.frontends.ptx.registers import instructions
from tirx_mini.frontends.ptx.syntax import Kernel
from tirx_mini.frontends.ptx.words import in_words_of, made_by_triton

HEAD = ".version 9.0\n.target sm_90\n"


def of(text: str, parameters: tuple[str, ...] = ()) -> Kernel:
    return kernel(read(HEAD + text), "", parameters)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("scale", "scale"), ("_Z6reducePKfPfi", "reduce"), ("_ZN3gpu4math5scaleEPf", "scale"), ("_ZL5tablex", "table"),
        ("_Z5twiceIiEvPT_", "twice"), ("_ZZ6reducePKfPfiE4part", "part"), ("_ZZ1kvE1s_0", "s"), ("_ZZ1kvE1s_$_0", "s"),
        ("_ZZN1a1kEvE4tile", "tile"), ("_Zwhat", "_Zwhat"), ("__local_depot0", "__local_depot0"),
    ],
)  # fmt: skip
def test_names_of_cpp_without_scopes_and_types(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__global__ void k(const float* __restrict__ x, int n) {}", ("x", "n")),
        ("__global__ void\n__launch_bounds__(128, 1) k(float4 *x, // first\n int (&y)[4], P<int, 2> z = {}) {}",
         ("x", "y", "z")),
        ("void k(int wrong);\ntemplate <class T>\n__global__ void k(T x[4]) {}", ("x",)),
        ("__global__ void k() {}", ()),
        ("__global__ void k(int) {}", ()),
        ("__global__ void other(int x) { k(x); }", ()),
    ],
)  # fmt: skip
def test_parameters_have_their_names_of_the_source(source: str, names: tuple[str, ...]) -> None:
    assert parameters_in(source, "_Z1kv") == names


def test_a_kernel_has_plain_names() -> None:
    found = of(
        ".shared .b32 _ZZ1kPfE1s;\n.entry _Z1kPf(.param .u64 _Z1kPf_param_0) { .reg .b64 %rd1; .reg .b32 %r1;"
        " ld.param.u64 %rd1, [_Z1kPf_param_0]; ld.shared.u32 %r1, [_ZZ1kPfE1s]; ret; }",
        ("x",),
    )
    assert (found.name, found.parameters[0].name) == ("k", "x")
    assert [each.name for each in found.variables] == ["s"]


def test_names_that_two_variables_would_have_stay() -> None:
    found = of(
        ".shared .b32 _ZZ1kvE1s;\n.shared .b32 _ZZ1kvE1s_0;\n.entry _Z1kv() { st.shared.u32 [_ZZ1kvE1s], 0;"
        " st.shared.u32 [_ZZ1kvE1s_0], 0; ret; }"
    )
    assert [each.name for each in found.variables] == ["_ZZ1kvE1s", "_ZZ1kvE1s_0"]


@pytest.mark.parametrize(
    ("accesses", "expected"),
    [
        (("st.shared.f32 [s], %f1", "ld.shared.v2.f32 {%f1, %f1}, [%rd1]"), ("f32", (16,))),
        (("st.shared.b32 [s], %r1", "st.shared.f32 [%rd1+8], %f1"), ("f32", (16,))),
        (("st.shared.u16 [s], %h1", "st.shared.f32 [%rd1], %f1"), ("b8", (64,))),
        (("st.shared.u8 [s], %h1",), ("u8", (64,))),
        ((), ("b8", (64,))),
    ],
)
def test_arrays_of_bytes_have_the_type_of_their_accesses(accesses: tuple[str, ...], expected: tuple) -> None:
    found = of(
        ".shared .align 16 .b8 s[64];\n.entry k() { .reg .b64 %rd1; .reg .f32 %f1; .reg .b32 %r1; .reg .b16 %h1;"
        f" mov.u64 %rd1, s; {' '.join(f'{each};' for each in accesses)} ret; }}"
    )
    flat = tuple(instructions(found.body))
    (variable,) = with_element_types(found.variables, flat, origins_of(flat, {}))
    assert (variable.type, variable.shape) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("mov.u64 %d1, s; add.u64 %d3, %d1, %d2;", {"s"}),
        ("mov.u64 %d1, s; ld.global.u64 %d2, [%d4]; add.u64 %d3, %d1, %d2;", {"s"}),  # what is loaded is a number
        ("ld.global.u64 %d2, [%d4]; add.u64 %d3, %d2, 8;", {ANYWHERE}),
        ("mov.u64 %d1, s; ld.global.u64 %d1, [%d4]; add.u64 %d3, %d1, 8;", {"s", ANYWHERE}),
        ("add.u64 %d3, %d1, 8; mov.u64 %d1, %d2; mov.u64 %d2, s;", {"s"}),  # as around a loop
        ("mov.u64 %d1, s; mul.lo.u64 %d3, %d1, 2;", set()),
    ],
)
def test_what_an_address_may_point_into(code: str, expected: set[str]) -> None:
    found = of(f".shared .b8 s[64];\n.entry k() {{ .reg .b64 %d<9>; {code} ret; }}")
    assert origins_of(tuple(instructions(found.body)), {}).get("%d3", set()) == expected


def test_parameters_of_calls_become_registers() -> None:
    function = ".func f(.param .b64 in) { .reg .b32 %a<3>; ld.param.v2.b32 {%a1, %a2}, [in]; ret; }\n"
    found = of(
        f"{function}.entry k() {{ .reg .b32 %r<3>; .param .b64 p; st.param.b32 [p], %r1; st.param.b32 [p+4], %r2;"
        " call f, (p); ret; }"
    )
    assert found.variables == ()
    assert {"p_0", "p_4"} <= set(found.registers)


@pytest.mark.parametrize(
    "use",
    ["ld.param.b64 %d1, [in];", "mov.u64 %d1, in;", "ld.param.b16 %h1, [in+2];"],
)
def test_a_parameter_that_is_read_in_other_pieces_stays(use: str) -> None:
    function = f".func f(.param .b64 in) {{ .reg .b64 %d1; .reg .b16 %h1; {use} ret; }}\n"
    found = of(
        f"{function}.entry k() {{ .reg .b32 %r<3>; .param .b64 p; st.param.b32 [p], %r1; st.param.b32 [p+4], %r2;"
        " call f, (p); ret; }"
    )
    assert [each.name for each in found.variables] == ["p"]


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ('.file 1 "a.cu"\n', "call __syncthreads() or __syncwarp(), then fence.proxy.async, tcgen05.wait::ld"),
        ('.file 1 "a.py"\n', "call tl.debug_barrier() or bar.warp.sync -1, then fence.proxy.async, tcgen05.wait::ld"),
        ("", "call bar.sync 0 or bar.warp.sync -1, then fence.proxy.async, tcgen05.wait::ld"),
    ],
)
def test_hints_are_in_the_words_of_the_language(files: str, hint: str) -> None:
    ours = "call cta_sync() or Tx.cuda.warp_sync(), then Tx.ptx.fence.proxy_async(), Tx.ptx.tcgen05.wait.ld()"
    details = {"hint": ours, "notes": (("cta_sync()", None),)}
    message = "no cta_sync() and no tcgen05.fence.after_thread_sync() between the two"
    report = Report("hazard", (Finding("race", "error", message, None, details),))
    (finding,) = in_words_of(read(HEAD + files), report).findings
    assert "no tcgen05.fence::after_thread_sync between" in finding.message
    assert finding.details["hint"] == hint
    assert "cta_sync" not in finding.message + finding.details["notes"][0][0]


def test_cuda_with_the_lines_of_a_python_file_is_our_own() -> None:
    """NVRTC maps the text of a kernel to its source by ``#line``; such a module is none of Triton's."""
    lines = HEAD + '.file 1 "a.py"\n'
    module = read("//\n// Generated by NVIDIA NVVM Compiler\n//\n" + lines)
    assert made_by_triton(read(lines)) and not made_by_triton(module)
    report = Report("hazard", (Finding("race", "error", "no cta_sync() here", None, {"hint": "cta_sync()"}),))
    assert in_words_of(module, report) is report
