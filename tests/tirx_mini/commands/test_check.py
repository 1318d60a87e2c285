"""``python -m tirx_mini check``: kernels are found, judged and explained; and bad input."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import pytest

from tests.kernels_ref.edits import HOPPER_SOURCES, SOURCES, Edit
from tirx_mini.__main__ import main
from tirx_mini.commands.arguments import INCOMPLETE, shape
from tirx_mini.course import KernelRef, load_kernel
from tirx_mini.hardware import HOPPER
from tirx_mini.ir import TirxError
from tools.pages import blocks

ROOT = Path(__file__).parents[3]
STEP_1 = f"{SOURCES[1]}:hgemm_v1"

NATIVE = """
from tirx_mini.script import tirx as Tx


@Tx.prim_func(tirx=True)
def double(A: Tx.Buffer((64,), "float32"), B: Tx.Buffer((64,), "int32")):
    with Tx.kernel():
        bx = Tx.cta_id([1], parent="kernel")
        tid = Tx.thread_id([64], parent="cta")
        with Tx.thread():
            A[tid] = A[B[tid]] * 2.0
"""


def wrong(tmp_path: Path, edit: Edit) -> str:
    path = tmp_path / "mine.py"
    path.write_text(edit.source(), encoding="utf-8")
    return f"{path}:hgemm_v{edit.step}"


@pytest.mark.parametrize(("text", "expected"), [("512,256,128", (512, 256, 128)), ("1x2x3", (1, 2, 3))])
def test_a_shape_is_three_numbers(text: str, expected: tuple[int, int, int]) -> None:
    assert shape(text) == expected


@pytest.mark.parametrize("text", ["1,2", "a,b,c", "0,1,1", "-1,1,1", ""])
def test_a_wrong_shape_is_explained(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a shape; write M,N,K as in 512,256,128"):
        shape(text)


def test_the_product_of_a_right_kernel_is_compared_with_float64(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", STEP_1, "--schedules", "2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "hgemm_v1: ok" in out and "no findings in 2 schedules; D is A @ B.T to within" in out


def test_the_plan_is_printed_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", STEP_1, "-v"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "plan: the whole launch assumes nothing saves nothing" in out
    assert "not equivalence classes of clusters: more is asked for than values, findings and time" in out


def test_a_wrong_kernel_is_a_page_that_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["check", wrong(tmp_path, Edit(7, "tma2mma.init(1)", "tma2mma.init(2)")), "--shape", "256,256,128"]) == 1
    )
    out = capsys.readouterr().out
    assert "hgemm_v7: deadlock" in out and "error[TX107]" in out and "explain TX107" in out
    assert max(map(len, out.splitlines())) <= 80 and "\x1b" not in out


def test_a_wrong_product_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = wrong(tmp_path, Edit(3, "B[n_st : n_st + BLK_N", "B[m_st : m_st + BLK_N"))
    path = tmp_path / "report.json"
    assert main(["check", kernel, "--shape", "256,256,64", "--json", str(path)]) == 1
    page = capsys.readouterr().out
    out = " ".join(page.split())
    assert "error[TX501]" in out and "of D is wrong" in out and "B is accessed here" in out
    assert "hgemm_v3: wrong (1 error)" in out and ": ok" not in out and "bound by" not in out
    store = page.splitlines()[next(n for n, line in enumerate(page.splitlines()) if "^^^" in line) - 1]
    assert "Tx.copy(D[row, n_st : n_st + BLK_N], Dreg_16b[:])" in store
    data = json.loads(path.read_text())
    assert data["verdict"] == "wrong" and data["findings"][0]["code"] == "TX501" and not data["product"]["ok"]


def test_warnings_alone_are_ok(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fence = "                                Tx.ptx.tcgen05.fence.after_thread_sync()\n"
    assert main(["check", wrong(tmp_path, Edit(7, fence, "")), "--shape", "128,128,64"]) == 0
    out = capsys.readouterr().out
    assert "hgemm_v7: ok (" in out and "warning[TX203]" in out and "no errors in 1 schedule" in out


def test_a_read_before_the_next_load_without_a_fence_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A thread reads the tile that it then loads again."""
    flip = "                        phase_tma = phase_tma ^ 1\n"
    kernel = wrong(tmp_path, Edit(4, flip, f"{flip}                        Dreg_16b[0] = Asmem[0, 0]\n"))
    assert main(["check", kernel]) == 0
    assert "warning[TX202]" in capsys.readouterr().out


def test_a_kernel_whose_errors_are_all_possible_is_right_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit = Edit(
        step=2,
        old="            Tx.cuda.cta_sync()\n            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
        new="            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
    )
    target = tmp_path / "report.json"
    assert main(["check", wrong(tmp_path, edit), "--size", "128", "--json", str(target)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "hgemm_v2: hazard (1 possible error)" in out and "right here; wrong if the dealloc of " in out
    assert "possible: not seen in this run: it goes wrong if the dealloc of " in out
    assert "no error happened in 1 schedule; D is A @ B.T to within" in out
    data = json.loads(target.read_text())
    assert data["verdict"] == "hazard" and data["right"] is True and data["product"]["ok"]
    assert data["findings"][0]["happened"] is False and data["findings"][0]["order"].startswith("if the dealloc of ")


@pytest.mark.parametrize("page", ["README.md", "docs/report.md"])
def test_the_report_on_a_page_is_what_is_printed(
    page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line, except where an ellipsis leaves lines out."""
    (report,) = [block.text for block in blocks((ROOT / page).read_text(encoding="utf-8")) if "TX107" in block.text]
    shown = [line.strip() for line in report.splitlines()]
    text = SOURCES[7].read_text(encoding="utf-8").replace("tma2mma.init(1)", "tma2mma.init(2)")
    (tmp_path / "my_step7.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "my_step7.py:hgemm_v7"]) == 1
    printed = iter([line.strip() for line in capsys.readouterr().out.splitlines()])
    missing = [line for line in shown if line and line != "…" and line not in printed]
    assert missing == []


def test_a_failing_schedule_can_be_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = wrong(tmp_path, Edit(7, "ld2mma.init(128)", "ld2mma.init(256)"))
    assert main(["check", kernel, "--shape", "384,384,64", "--schedules", "3", "--seed", "17"]) == 1
    out = "".join(capsys.readouterr().out.split())  # a long path is folded anywhere
    assert "replaywith--seed17" in out and f"check{kernel}--seed17" in out


def test_json_for_the_terminal_stands_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", STEP_1, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["verdict"], data["kernel"], data["product"]["ok"]) == ("ok", "hgemm_v1", True)


def test_the_events_of_one_barrier_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{SOURCES[4]}:hgemm_v4", "--shape", "128,128,128", "--trace-barriers", "mma_bar"]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = lines[: lines.index("")]
    assert max(map(len, table)) <= 80
    what = [next(word for word in line.split() if word in ("commit", "complete", "wait")) for line in table[1:]]
    assert what == ["commit", "complete", "wait"] * 2
    assert all("mma_bar" in line for line in table[1:])


def test_a_kernel_without_a_factory_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "native.py"
    path.write_text(NATIVE)
    assert main(["check", str(path)]) == 1  # each thread reads what others write
    assert "error[TX201]" in capsys.readouterr().out


OPAQUE = NATIVE.replace("A[B[tid]] * 2.0", 'Tx.cuda.func_call("two", A[tid], source_code="", return_type="float32")')


def test_a_kernel_that_is_not_wholly_modelled_is_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "native.py"
    path.write_text(OPAQUE)
    assert main(["check", str(path), "--json", "-"]) == 3
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] == "incomplete" and data["findings"][0]["code"] == "TX601"
    assert main(["check", str(path)]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "double: incomplete (1 note)" in out and "note[TX601]: the simulator does not model the CUDA function" in out
    assert "as far as it is modelled, no errors in 1 schedule" in out


def test_a_todo_is_reported_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{ROOT / 'gemm_kernels.py'}:hgemm_v3"]) == 1
    assert "error[TX402]: TODO at line" in capsys.readouterr().out


def test_an_impossible_layout_is_reported_at_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    layouts = "from tirx_mini.layout import SwizzleMode, tma_shared_layout"
    call = "tma_shared_layout(dtype, MODE, (M, 60))"
    factory = f"def hgemm_v4(M, N, K, dtype='float16'):\n    {call}\n"
    path.write_text(f"{layouts}\nMODE = SwizzleMode.SWIZZLE_128B_ATOM\n{factory}")
    assert main(["check", f"{path}:hgemm_v4"]) == 1
    out = capsys.readouterr().out
    assert "error[TX401]: the last dimension of shape (256, 60) is 60" in out
    assert "mine.py:4:5" in out.replace("\n", "") and call in out


def test_the_page_of_an_error_and_that_of_its_finding_begin_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SOURCES[3].read_text().replace("Tx.cuda.cta_sync()", "Tx.cuda.cta_sink()", 1))
    with pytest.raises(TirxError) as caught:
        load_kernel(KernelRef(path, "hgemm_v3"))
    first = str(caught.value).splitlines()[0]
    assert first.startswith("error[TX403]: ")
    assert main(["check", f"{path}:hgemm_v3"]) == 1
    assert first in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.py:f"], "the kernel file none.py does not exist"),
        (["none.py:f", "--what-if", "DEPTH=2"], "the kernel file none.py does not exist"),
        ([f"{ROOT / 'gemm_kernels.py'}"], "several kernels; write for example :hgemm_v1"),
        ([f"{ROOT / 'gemm_kernels.py'}:nothing"], "defines no nothing"),
        ([f"{ROOT / 'gemm_kernels.py'}:Tx"], "is neither a kernel nor a function that makes one"),
        ([STEP_1, "--shape", "1,2,3"], "M must be 128"),
        ([STEP_1, "--gpu", "b1000"], "unknown GPU"),
    ],
)
def test_bad_input_is_explained(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *arguments]) == 2
    assert words in " ".join(capsys.readouterr().out.split())


def test_all_orders_of_a_small_kernel_are_explored(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", STEP_1, "--exhaustive", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert "schedules of 1 class (complete)" in " ".join(captured.err.split())
    assert json.loads(captured.out)["exploration"]["complete"] is True
    assert main(["check", STEP_1, "--exhaustive", "2"]) == 0
    assert "2 schedules of 1 class (incomplete: the limit was reached)" in " ".join(capsys.readouterr().out.split())


def test_a_run_ends_at_the_budget_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", STEP_1, "--budget", "201"]) == INCOMPLETE
    out = " ".join(capsys.readouterr().out.split())
    assert "hgemm_v1: incomplete" in out and "TX602" in out and "its budget of 201 iterations" in out


def test_what_bounds_a_right_kernel_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", STEP_1, "--json", str(tmp_path / "report.json")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "bound by launch and set-up, 71 % of the 5.1 µs: launch, set-up and write-back take " in out
    bound = json.loads((tmp_path / "report.json").read_text())["bound"]
    assert bound["causes"][0]["kind"] == "one-batch" and bound["shares"][0]["resource"] == "launch and set-up"


def test_what_bounds_a_wrong_kernel_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", wrong(tmp_path, Edit(1, "mma_bar.ptr_to([0]), 1)", "mma_bar.ptr_to([0]), 2)"))]) == 1
    assert "bound by" not in capsys.readouterr().out


SCHEDULED = """
from tirx_mini import te
from tirx_mini.script import tir as T

A = te.placeholder((256, 256), name="A")
B = te.compute((256, 256), lambda i, j: A[i, j] + 1.0, name="B")
C = te.compute((256, 256), lambda i, j: B[i, j] * 2.0, name="C")
s = te.create_schedule(C.op)


def fused():
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    s[C].vectorize(s[C].split(C.op.axis[1], factor=16)[1])
    return s, [A, C]


g = te.create_schedule(C.op)
staged = g.cache_read(A, "shared", [B])
g[B].compute_inline()
g[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))


@T.prim_func
def total(X: T.Buffer((64, 64), "float32"), Y: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 64):
        with T.block("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            Y[vi] = Y[vi] + X[vi, vk]


@T.prim_func
def bound(X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    for i in T.thread_binding(1, thread="blockIdx.x"):
        for j in T.thread_binding(64, thread="threadIdx.x"):
            Y[j] = X[j] * 2.0
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", ["s, for a CPU: 3 notes", "B is kept in full", "g, for a GPU", "no loop is bound to blockIdx",
              "total, for a CPU: 2 notes", "bound, for a GPU: nothing to note"]),
        (":fused", ["fused, for a CPU: nothing to note"]),
        (":total", ["Y is added to, but nothing gives it a first value", "with T.init():"]),
        (":bound", ["bound, for a GPU: nothing to note", "bound: ok"]),
    ],
)  # fmt: skip
def test_schedules_get_notes(tmp_path: Path, name: str, said: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scheduled.py"
    path.write_text(SCHEDULED, encoding="utf-8")
    assert main(["check", f"{path}{name}"]) == 0
    printed = capsys.readouterr().out
    for text in said:
        assert text in printed, printed


def test_a_schedule_that_is_refused_has_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "refused.py"
    path.write_text(SCHEDULED.split("def fused")[0] + "s[B].vectorize(C.op.axis[0])\n", encoding="utf-8")
    assert main(["check", str(path)]) == 1
    assert "vectorize: i is not a loop of B" in capsys.readouterr().out


TILELANG = """
from tirx_mini import tilelang
from tirx_mini.tilelang import language as T


@tilelang.jit(out_idx=[-1])
def product(M=64, N=64, K=64):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((M, K), "float16"), T.alloc_shared((K, N), "float16")
            c = T.alloc_fragment((M, N), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    return main


@T.prim_func
def racing(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        B[0] = A[tx]
"""


def test_programs_in_tilelang(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "programs.py"
    file.write_text(TILELANG)
    assert main(["check", f"{file}:product", "--gpu", "h100"]) == 0, capsys.readouterr().out
    assert main(["check", f"{file}:racing", "--gpu", "h100"]) == 1
    said = capsys.readouterr().out
    assert "TX201" in said and "B[0] = A[tx]" in said


@pytest.mark.parametrize("command", ["check", "trace"])
def test_the_ladder_for_hopper_runs_on_its_gpu(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / HOPPER.student_file
    shutil.copy(HOPPER_SOURCES[1], file)
    assert main([command, f"{file}:hgemm_v1"]) == 0
    assert "on H100" in capsys.readouterr().out
    assert main([command, f"{file}:hgemm_v1", "--gpu", "b200"]) == 1
    assert "--gpu h100" in " ".join("".join(capsys.readouterr()).split())


def test_as_gpu_shows_a_wrong_product_and_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    kernel = wrong(tmp_path, Edit(2, "accum=(k != 0)", "accum=(k > 1)"))
    assert main(["check", kernel, "--shape", "128,128,256", "--as-gpu"]) == 1
    said = capsys.readouterr().out
    assert "it ends, and 9" in said and "####" in said and "mma_bar" in said and "TX" not in said


def test_as_gpu_of_a_right_kernel_says_the_time_and_the_references(capsys: pytest.CaptureFixture) -> None:
    assert main(["check", STEP_1, "--as-gpu"]) == 0
    assert "µs in a row of launches, as the reference" in " ".join(capsys.readouterr().out.split())


def test_as_gpu_shows_the_tiles_of_a_few_sms(capsys: pytest.CaptureFixture) -> None:
    assert main(["check", f"{SOURCES[3]}:hgemm_v3", "--size", "256", "--sms", "4", "--as-gpu"]) == 0
    assert "4 tiles on 4 SMs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--all"], "leave out --all"), (["--schedules", "3"], "leave out --schedules"),
        (["--json", "-"], "leave out --json"), (["--size", "100"], "multiple of 64"),
    ],
)  # fmt: skip
def test_as_gpu_refuses_what_a_gpu_does_not_show(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["check", f"{SOURCES[2]}:hgemm_v2", "--as-gpu", *arguments]) == 2
    out = capsys.readouterr()
    assert said in out.out + out.err
