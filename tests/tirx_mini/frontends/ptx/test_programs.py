"""Kernels of PTX and CUDA C++ that are simulated: `read_ptx`, `read_cuda`, and files on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tirx_mini
from tirx_mini.__main__ import main
from tirx_mini.arguments import ArgumentError
from tirx_mini.course import KernelFileError, LaunchText
from tirx_mini.frontends.ptx.files import PtxFiles
from tirx_mini.frontends.ptx.programs import runs_on
from tirx_mini.ir import TirxError
from tirx_mini.runtime import ToolchainError
from tirx_mini.runtime.toolchain import assembler
from tools.pages import DOCS

SCALE = """\
.version 8.0
.target sm_80
.entry scale(.param .u64 .ptr x, .param .f32 factor)
{
.reg .b64 %rd<4>; .reg .b32 %r<2>; .reg .f32 %f<4>;
ld.param.u64 %rd1, [x];
ld.param.f32 %f1, [factor];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f2, [%rd3];
mul.rn.f32 %f3, %f1, %f2;
st.global.f32 [%rd3], %f3;
ret;
}
"""
REDUCE = """\
__global__ void reduce(const float* x, float* sums, int n) {
  __shared__ float part[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? x[i] : 0.0f;
  for (int width = blockDim.x / 2; width > 0; width /= 2) {
    __syncthreads();
    if (t < width) part[t] += part[t + width];
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}
template <class T> __global__ void twice(T* x) { x[threadIdx.x] *= T(2); }
"""
RACY = REDUCE.replace("    __syncthreads();\n", "")
LAUNCH = ("--args", "float32[1024], zeros(float32[8]), 1024", "--grid", "8", "--block", "128")


def test_a_kernel_of_ptx_is_simulated() -> None:
    x = np.arange(32, dtype=np.float32)
    report = tirx_mini.read_ptx(SCALE).entry("scale").simulate([x, 3.0], grid=1, block=32)
    assert (report.verdict, report.kernel) == ("ok", "scale")
    assert (x == 3 * np.arange(32)).all()


def test_an_access_outside_is_at_its_line() -> None:
    report = (
        tirx_mini.read_ptx(SCALE, file="scale.ptx").entry().simulate([np.zeros(20, np.float32), 1.0], grid=1, block=32)
    )
    (finding,) = report.findings
    assert (report.verdict, finding.code) == ("fault", "TX301")
    assert finding.span is not None and (finding.span.file, finding.span.line) == ("scale.ptx", 11)


def test_what_is_not_modelled_makes_the_run_incomplete_at_its_line() -> None:
    text = SCALE.replace("ret;", "vadd.u32.u32.u32 %r1, %r1, %r1;\nret;")
    report = tirx_mini.read_ptx(text).entry().simulate([np.zeros(32, np.float32), 1.0], grid=1, block=32)
    (finding,) = report.findings
    assert (report.verdict, finding.code) == ("incomplete", "TX601")
    assert "vadd.u32.u32.u32 %r1, %r1, %r1" in finding.message
    assert finding.span is not None and finding.span.line == 14


def test_a_recursive_function_makes_the_run_incomplete() -> None:
    text = SCALE.replace("ret;", "call f;\nret;").replace(".entry", ".func f() { call f; ret; }\n.entry")
    report = tirx_mini.read_ptx(text).entry().simulate([np.zeros(32, np.float32), 1.0], grid=1, block=32)
    assert report.verdict == "incomplete" and "the function f is recursive" in report.findings[0].message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": 0, "block": 32}, "grid must be one to three positive numbers, but it is 0"),
        ({"grid": (1, 1, 1, 1), "block": 32}, "grid must be one to three positive numbers"),
        ({"grid": 1, "block": (64, 32)}, "a block of 64 × 32 × 1 threads is too large: 1024 is the most"),
        ({"grid": 1, "block": 64}, "scale requires blocks of 32 × 1, not of 64 × 1 × 1"),
        ({"grid": 1, "block": 32, "gpu": "b200"}, "scale is compiled for sm_90a, which B200 does not run"),
    ],
)
def test_a_launch_that_does_not_fit_is_one_sentence(options: dict, message: str) -> None:
    text = SCALE.replace("sm_80", "sm_90a").replace("\n{", "\n.reqntid 32, 1\n{")
    with pytest.raises(ArgumentError, match=message.replace("(", r"\(")):
        tirx_mini.read_ptx(text).entry().simulate([np.zeros(32, np.float32), 1.0], **options)


def test_a_block_may_be_smaller_than_the_largest() -> None:
    kernel = tirx_mini.read_ptx(SCALE.replace("\n{", "\n.maxntid 32\n{")).entry()
    assert kernel.simulate([np.zeros(32, np.float32), 1.0], grid=1, block=16).ok
    with pytest.raises(ArgumentError, match="compiled for at most 32 threads a block, but 64 × 1 × 1 are launched"):
        kernel.simulate([np.zeros(64, np.float32), 1.0], grid=1, block=64)


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(ArgumentError, match="there is no kernel scales: the module has scale"):
        tirx_mini.read_ptx(SCALE).entry("scales")
    both = SCALE + SCALE[SCALE.index(".entry") :].replace("scale", "second")
    assert tirx_mini.read_ptx(both).entries == ("scale", "second")
    with pytest.raises(ArgumentError, match="a kernel must be named: the module has scale, second"):
        tirx_mini.read_ptx(both).entry()


@pytest.mark.parametrize(
    ("target", "arch", "expected"),
    [
        ("sm_80", "sm_90a", True), ("sm_90", "sm_100a", True), ("sm_90a", "sm_90a", True),
        ("sm_90a", "sm_100a", False), ("sm_100a", "sm_103a", False), ("sm_100f", "sm_103a", True),
        ("sm_103f", "sm_100a", False), ("sm_100", "sm_90a", False),
    ],
)  # fmt: skip
def test_targets_run_on_architectures(target: str, arch: str, expected: bool) -> None:
    assert runs_on(target, arch) == expected


@pytest.mark.parametrize(("target", "gpu"), [("sm_80", "B200"), ("sm_90a", "H100"), ("sm_103a", "B300")])
def test_the_gpu_is_one_that_the_module_is_for(target: str, gpu: str) -> None:
    kernel = tirx_mini.read_ptx(SCALE.replace("sm_80", target)).entry()
    assert kernel.simulate([np.zeros(32, np.float32), 1.0], grid=1, block=32).gpu == gpu


@pytest.mark.compiler
@pytest.mark.parametrize("optimize", [False, True])
def test_a_kernel_of_cuda_is_simulated(optimize: bool) -> None:
    module = tirx_mini.read_cuda(REDUCE, optimize=optimize)
    x, sums = np.random.default_rng(0).random(1000, np.float32), np.zeros(8, np.float32)
    report = module.entry("reduce").simulate([x, sums, 1000], grid=8, block=128)
    assert report.ok and not report.findings
    assert np.allclose(sums.sum(), x.sum())


@pytest.mark.compiler
def test_a_race_is_at_the_line_of_the_source_in_its_words() -> None:
    args = [np.zeros(1024, np.float32), np.zeros(8, np.float32), 1024]
    report = tirx_mini.read_cuda(RACY).entry("reduce").simulate(args, grid=8, block=128)
    first = report.findings[0]
    assert (report.verdict, first.code) == ("hazard", "TX201")
    assert first.span is not None and first.span.line == 6
    assert "part[64] to part[95]" in first.message
    assert "__syncthreads()" in first.details["hint"] and "cta_sync" not in first.details["hint"]
    assert "    if (t < width) part[t] += part[t + width];" in str(report)


@pytest.mark.compiler
def test_an_argument_is_named_as_in_the_source() -> None:
    args = [np.zeros(1000, np.float32), np.zeros(8, np.float32), 1024]
    report = tirx_mini.read_cuda(REDUCE).entry("reduce").simulate(args, grid=8, block=128)
    assert report.findings[0].code == "TX301" and "element 1000 of x" in report.findings[0].message
    with pytest.raises(ArgumentError, match=r"reduce takes 3 arguments \(x, sums, n\), but 1 were given"):
        tirx_mini.read_cuda(REDUCE).entry("reduce").simulate([1], grid=1, block=1)


@pytest.mark.compiler
def test_an_instance_of_a_template_has_its_name_in_cpp() -> None:
    module = tirx_mini.read_cuda(REDUCE, names=["twice<int>"])
    x = np.arange(32, dtype=np.int32)
    report = module.entry("twice<int>").simulate([x], grid=1, block=32)
    assert (report.verdict, report.kernel) == ("ok", "twice<int>") and (x == 2 * np.arange(32)).all()


@pytest.mark.compiler
def test_folders_and_macros_of_cuda(tmp_path: Path) -> None:
    (tmp_path / "beside.h").write_text("#define BESIDE 1\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "other.h").write_text("#define OTHER 2\n")
    file = tmp_path / "k.cu"
    file.write_text('#include "beside.h"\n#include <other.h>\n__global__ void k(int* x) { *x = BESIDE + OTHER + N; }\n')
    for define in ({"N": "4"}, ["N=4"]):
        x = np.zeros(1, np.int32)
        kernel = tirx_mini.read_cuda(file, include=[other], define=define).entry("k")
        assert kernel.simulate([x], grid=1, block=1).ok and x[0] == 7


@pytest.mark.compiler
def test_headers_of_c_and_of_the_driver() -> None:
    source = (
        "#include <assert.h>\n#include <cstdio>\n#include <cfloat>\n#include <math.h>\n#include <stdint.h>\n"
        "#include <climits>\n#include <cuda.h>\n"
        "__global__ void k(int* x, float* y, const __grid_constant__ CUtensorMap map) {\n"
        '  assert(x[0] == 3);\n  printf("%d\\n", x[0]);\n  x[0] = INT_MAX - (int)sizeof(int64_t);\n'
        "  y[0] = FLT_MAX; y[1] = INFINITY;\n}\n"
    )
    kernel = tirx_mini.read_cuda(source).entry("k")
    x, y = np.array([3], np.int32), np.zeros(2, np.float32)
    tensor_map = tirx_mini.TensorMap(np.zeros((32, 32), np.float32), box=(32, 32))
    assert kernel.simulate([x, y, tensor_map], grid=1, block=1).ok
    assert x[0] == 2**31 - 9 and y[0] == np.finfo(np.float32).max and np.isinf(y[1])
    report = kernel.simulate([x, y, tensor_map], grid=1, block=1)
    assert (report.verdict, report.findings[0].code) == ("fault", "TX307")
    assert report.findings[0].span is not None and report.findings[0].span.line == 9


@pytest.mark.compiler
def test_an_error_of_the_compiler_is_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text("__global__ void k(int* x) {\n  *x = y;\n}\n")
    with pytest.raises(TirxError, match='the CUDA compiler rejects this: identifier "y" is undefined') as caught:
        tirx_mini.read_cuda(file)
    assert caught.value.span is not None
    assert (caught.value.span.file, caught.value.span.line) == (str(file), 2)


@pytest.mark.compiler
def test_check_takes_a_file_of_cuda(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a longer path would be wrapped
    file = Path("reduce.cu")
    file.write_text(RACY)
    assert main(["check", f"{file}:reduce", *LAUNCH]) == 1
    out = capsys.readouterr().out
    assert "error[TX201]" in out and "reduce.cu:6:5" in out and "__syncthreads()" in out
    file.write_text(REDUCE)
    assert main(["check", f"{file}:reduce", *LAUNCH]) == 0
    assert "no findings in 1 schedule" in capsys.readouterr().out
    assert main(["check", f"{file}:twice<float>", "--args", "float32[32]", "--grid", "1", "--block", "32"]) == 0
    assert capsys.readouterr().out.startswith("twice<float>: ok")
    assert main(["trace", f"{file}:reduce", *LAUNCH]) == 0
    assert "CTA 0 on SM 0" in capsys.readouterr().out


def test_check_takes_a_file_of_ptx(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a longer path would be wrapped
    file = Path("scale.ptx")
    file.write_text(SCALE)
    launch = ["--args", "float32[20], 2.0", "--grid", "1", "--block", "32"]
    assert main(["check", str(file), *launch]) == 1
    out = capsys.readouterr().out
    assert "error[TX301]" in out and "scale.ptx:11:1" in out
    file.write_text(SCALE.replace("ret;", "vadd.u32.u32.u32 %r1, %r1, %r1;\nret;"))
    assert main(["check", str(file), *launch]) == 3


@pytest.mark.compiler
def test_inspect_shows_a_kernel_of_cuda_at_each_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reduce.cu").write_text(REDUCE)

    def shown(*arguments: str) -> str:
        assert main(["inspect", *arguments, "--gpu", "h100"]) == 0
        return capsys.readouterr().out

    text = shown("reduce.cu:reduce")
    assert ".target sm_90a" in text and "_Z6reducePKfPfi(" in text and "bar.sync" in text
    assert "def reduce(" in (ir := shown("--stage", "tir", "reduce.cu:reduce", *LAUNCH)) and "Tx.ptx.bar.sync" in ir
    sass = shown("reduce.cu:twice<float>", "--stage", "sass")
    assert ".text._Z5twiceIfEvPT_ " in sass and "_Z6reduce" not in sass and "// sm_90a: " in sass
    Path("reduce.ptx").write_text(text)
    assert shown("reduce.ptx:reduce") == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scale.ptx", "--stage", "tir"], "scale.ptx does not say how it is launched: give its launch, as in --args"),
        (["scale.ptx:other"], "there is no kernel other: the module has scale"),
        (["nowhere.cu:k", "--stage", "sass"], "nowhere.cu does not exist"),
        (["program.py"], "program.py is a Python program: only kernels in .cu and .ptx files have stages"),
        (["scale.ptx", "--stage", "sass", "--gpu", "t1000"], "unknown GPU 't1000'"),
    ],
)
def test_bad_input_of_inspect(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("scale.ptx").write_text(SCALE)
    Path("program.py").write_text("@triton.jit\ndef program(): ...\n")
    assert main(["inspect", *arguments]) == 2
    found = capsys.readouterr()
    assert found.err.startswith(f"error: {message}") and found.err.count("\n") == 1 and not found.out


@pytest.mark.compiler
def test_inspect_assembles_ptx(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        assembler()
    except ToolchainError:
        pytest.skip("ptxas is in no package that the tests install")
    monkeypatch.chdir(tmp_path)
    file = Path("scale.ptx")
    file.write_text(SCALE)
    assert main(["inspect", str(file), "--stage", "sass", "-o", "scale.sass"]) == 0
    assert "st.global 1" in Path("scale.sass").read_text() and not capsys.readouterr().out
    file.write_text(SCALE.replace("ret;", "wrong;"))
    assert main(["inspect", str(file), "--stage", "sass"]) == 1
    assert re.search(r"the assembler \(ptxas\) rejects this: line \d+: ", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "does not say how it is launched: give its launch, as in --args"),
        (["--grid", "1", "--block", "32", "--size", "4"], "has the arguments of its launch: leave out --size"),
        (["--grid", "1", "--block", "x"], "--block x: write one to three numbers, as in 8,4"),
        (["--grid", "1", "--block", "32", "--args", "what"], "'what' is not an argument"),
        (["--grid", "1", "--block", "32", "--args", "1"], "scale takes 2 arguments (x, factor), but 1 were given"),
    ],
)
def test_bad_input_of_check(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scale.ptx"
    file.write_text(SCALE)
    assert main(["check", f"{file}:scale", *options]) == 2
    assert message in " ".join(capsys.readouterr().out.split())


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(KernelFileError, match=r"nowhere\.ptx does not exist"):
        PtxFiles().launched("nowhere.ptx:k", LaunchText(grid="1", block="1"), None)


def test_a_race_of_a_long_computation_is_explained_at_once() -> None:
    """Each sum has the one before twice: a walk along each way to the first one would never end."""
    sums = " ".join(f"add.u32 %r{i + 1}, %r{i}, %r{i};" for i in range(80))
    body = f"ld.param.u64 %rd1, [x]; ld.global.u32 %r0, [%rd1]; {sums} st.global.u32 [%rd1], %r80; ret;"
    text = f"{SCALE[: SCALE.index('{')]}{{ .reg .b64 %rd<2>; .reg .b32 %r<81>; {body} }}"
    report = tirx_mini.read_ptx(text).entry().simulate([np.ones(1, np.int32), 1.0], grid=2, block=32)
    assert "TX201" in {finding.code for finding in report.findings}


@pytest.mark.compiler
def test_a_kernel_without_tensor_cores_is_not_bound_by_who_issues_mmas() -> None:
    """The product of docs/ptx.md, with its second barrier."""
    page = (DOCS / "ptx.md").read_text(encoding="utf-8")
    source = page.partition("cat > matmul.cu <<'END'\n")[2].partition("END\n")[0]
    source = re.sub(r"(    for \(int j = 0.*)", r"\1\n    __syncthreads();", source)
    a, b, c = np.random.default_rng(0).standard_normal((3, 64, 64)).astype(np.float32)
    kernel = tirx_mini.read_cuda(source, names=["matmul<16>"]).entry("matmul<16>")
    report = kernel.simulate([a, b, c, 64], grid=(4, 4), block=(16, 16), trace=True)
    assert report.ok and np.allclose(c, a @ b, atol=1e-4)
    assert "multiplies" not in str(report)


@pytest.mark.parametrize(
    ("header", "hint"),
    [("nv/nothing", "install nvidia-cuda-cccl"), ("crt/nothing.h", "install nvidia-cuda-crt"), ("mine.h", "-I")],
)
def test_a_header_that_is_not_there_is_at_its_line_with_what_to_do(header: str, hint: str) -> None:
    with pytest.raises(TirxError) as caught:
        tirx_mini.read_cuda(f"#include <{header}>\n__global__ void f() {{}}\n")
    assert header in str(caught.value) and hint in str(caught.value)
    assert caught.value.span is not None and caught.value.span.line == 1


ADD = SCALE.replace(
    "st.global.f32 [%rd3], %f3;", "red.global.add.f32 [%rd3], %f3;\nst.global.v2.f32 [%rd3], {%f3, %f2};"
)


@pytest.mark.parametrize("text", [SCALE, ADD.replace("mul.wide.u32 %rd2, %r1, 4", "mul.wide.u32 %rd2, %r1, 8")])
def test_a_run_for_the_time_alone_takes_the_same_time(text: str) -> None:
    entry, x = tirx_mini.read_ptx(text).entry("scale"), np.ones(4096, np.float32)
    timed = entry.simulate([x, 2.0], grid=2, block=128, data=False)
    assert timed.verdict == "clock" and (x == 1).all()
    run = entry.simulate([x, 2.0], grid=2, block=128, checks=False)
    assert run.ok and run.cycles == pytest.approx(timed.cycles) and not (x == 1).all()


def test_a_store_outside_is_found_without_data() -> None:
    report = tirx_mini.read_ptx(SCALE).entry().simulate([np.zeros(100, np.float32), 1.0], grid=1, block=128, data=False)
    assert (report.verdict, report.findings[0].code) == ("fault", "TX301")


def test_a_kernel_that_launches_another_is_refused_with_what_to_do() -> None:
    text = "__global__ void child() {}\n__global__ void parent() { child<<<1, 32>>>(); }\n"
    with pytest.raises(TirxError, match="launch both from the host") as caught:
        tirx_mini.read_cuda(text)
    assert caught.value.span is not None and caught.value.span.line == 2


def test_the_macros_of_math_need_no_include() -> None:
    x = np.zeros(2, np.float32)
    source = "#ifndef M_PI\n#error\n#endif\n__global__ void k(float* x) { x[0] = -INFINITY; x[1] = M_PI; }"
    assert tirx_mini.read_cuda(source).entry("k").simulate([x], grid=1, block=1).ok
    assert x.tolist() == [-np.inf, np.float32(np.pi)]


def test_variables_that_a_kernel_does_not_use_are_left_out() -> None:
    source = """
    __device__ int value = 7, *pointer = &value, sum[4];  // the value of a pointer is not modelled
    __global__ void k(int* sum, int at) { sum[at] = value; }
    """
    kernel, out = tirx_mini.read_cuda(source).entry("k"), np.zeros(1, np.int32)
    assert kernel.simulate([out, 0], grid=1, block=1).ok and out[0] == 7
    report = kernel.simulate([out, 64], grid=1, block=1)
    assert report.findings[0].message == "element 64 of sum is accessed, but sum has 1 elements"
