"""``python -m tirx_mini inspect``, and inspect_cuda.py: every stage of a step, comments, and bad input."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tirx_mini.__main__ import main
from tirx_mini.commands.stage_output import folded
from tirx_mini.passes import PIPELINE

ROOT = Path(__file__).parents[3]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    assert main(["inspect", *arguments]) == status
    return capsys.readouterr()


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("stage", "text"),
    [
        ("tir", "Tx.gemm_async(tmem[0:128, 0:128], Asmem[0:128, 0:64], Bsmem[0:128, 0:64], accum=False"),
        ("cuda", 'extern "C" __global__ void __launch_bounds__(128) kernel_kernel('),
        ("ptx", "tcgen05.mma.cta_group::1.kind::f16"),
        ("sass", "UTCHMMA"),
    ],
)
def test_each_stage_is_shown(capsys: pytest.CaptureFixture[str], stage: str, text: str) -> None:
    out, notes = shown(capsys, "1", "--kernels", "kernels_ref", "--stage", stage, "--arch", "sm_100a")
    assert text in out and notes == ""


def test_an_architecture_selects_its_ladder(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown(capsys, "1", "--kernels", "kernels_ref", "--arch", "sm_90a")
    assert "wgmma" in out and "tcgen05" not in out


@pytest.mark.compiler
def test_sass_ends_with_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown(capsys, "4", "256", "--kernels", "kernels_ref", "--stage", "sass", "--arch", "sm_100a")
    summary = [line for line in out.splitlines() if line.startswith("//   ")][-7:]
    assert [line.split()[1] for line in summary] == [
        "tensor",
        "TMA",
        "barriers",
        "memory",
        "local",
        "registers",
        "shared",
    ]
    assert "0 bytes spilled" in summary[-2] and "cp.async.bulk.tensor load" in summary[1]


def test_passes_are_shown_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown(capsys, "1", "--kernels", "kernels_ref", "--stage", "passes")
    heads = [line for line in out.splitlines() if line.startswith("# ---- ")]
    assert heads == ["# ---- as written ----", *(f"# ---- after {step.name} ----" for step in PIPELINE)]
    changes, _ = shown(capsys, "1", "--kernels", "kernels_ref", "--stage", "passes", "--diff")
    lowered = changes.split("# ---- after DispatchTilePrimitives ----")[0]
    assert "\n-    with Tx.kernel():" in lowered and "\n+    Tx.launch(" in lowered
    assert changes.rstrip().endswith("# no change")  # the last pass only checks


def test_the_passes_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown(capsys, "--list-passes")
    assert [line.split()[0] for line in out.splitlines()] == [step.name for step in PIPELINE]


def test_a_step_that_is_not_written_yet_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out, errors = shown(capsys, "7", status=2)
    assert out == ""
    assert errors == "error: step 7 of gemm_kernels.py is not written yet; --reference shows the reference\n"


def test_the_reference_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    out, errors = shown(capsys, "7", "--reference")
    assert out.count("tvm_builtin_ptx_mbarrier_init(&") == 6 and errors == ""
    out, errors = shown(capsys, "7", "--reference", "--kernels", "gemm_kernels.py", status=2)
    assert (out, errors) == ("", "error: --reference shows the reference: leave out --kernels\n")


def test_the_cuda_text_has_comments_unless_they_are_turned_off(capsys: pytest.CaptureFixture[str]) -> None:
    commented, _ = shown(capsys, "7", "--kernels", "kernels_ref")
    plain, _ = shown(capsys, "7", "--kernels", "kernels_ref", "--no-comments")
    assert "  if ((warp_id_in_cta >> 2) == 1) {  // wg_id == 1\n" in commented
    assert "  if ((warp_id_in_cta >> 2) == 1) {\n" in plain and "  // " not in plain[plain.index("__global__") :]


def test_quotes_are_the_kernels_own_lines(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown(capsys, "1", "--kernels", "kernels_ref", "--quotes")
    lines = [line.strip() for line in out.splitlines()]
    at = lines.index("tvm_builtin_ptx_tcgen05_alloc_cta_group_1(&tmem_addr[0], 512);")
    assert lines[at - 1].startswith("// step01_single_tile.py:")
    assert lines[at - 1].endswith("Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)")
    assert "if (warp_id_in_cta == 0) {" in lines  # the line above says so already


def test_output_is_utf_8_whatever_the_terminal_is() -> None:
    command = [sys.executable, "inspect_cuda.py", "1", "--kernels", "kernels_ref"]
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert "// f16·f16→f32, M 128, N 128" in done.stdout.decode("utf-8")


def test_the_commands_of_the_documentation_are_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "cuda.md").read_text(encoding="utf-8")
    commands = re.findall(r"python inspect_cuda.py ([^`]+)`", page)
    assert len(commands) >= 5
    for command in commands:
        shown(capsys, *command.split(), "--list-passes")  # instead of the stage, which takes longer


def test_output_goes_to_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, _ = shown(capsys, "1", "--kernels", "kernels_ref", "-o", str(tmp_path / "v1.cu"))
    assert out == "" and "__global__" in (tmp_path / "v1.cu").read_text(encoding="utf-8")


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "which step"),
        (("1", "100"), 2, "error: step 1 takes no size: it is one tile, M = 128, N = 128 and K = 64\n"),
        (("2", "100"), 2, "error: hgemm_v2 needs K to be a multiple of 64, but K is 100\n"),
        (("7", "100", "--kernels", "kernels_ref"), 2, "error: hgemm_v7 needs M to be a multiple of 128, but M is 100"),
        (("7", "--kernels", "nowhere.py"), 2, "error: the kernel file nowhere.py does not exist"),
        (("7", "--kernels", "gemm_kernels.py"), 1, "error[TX402]: TODO at line"),
        (
            ("4", "--kernels", "kernels_ref/sm100", "--stage", "ptx", "--arch", "sm_90a"),
            1,
            "needs sm_100a, but the target is",
        ),
        (("1", "--kernels", "kernels_ref", "--stage", "ptx", "--arch", "volta"), 2, "there is no architecture 'volta'"),
    ],
)
def test_bad_input_is_explained(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int, message: str
) -> None:
    out, errors = shown(capsys, *arguments, status=status)
    assert out == "" and message in errors and "Traceback" not in errors


def test_inspect_cuda_is_the_same_command(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "inspect_cuda.py", "1", "--kernels", "kernels_ref"]
    script = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=ROOT, check=False)
    out, _ = shown(capsys, "1", "--kernels", "kernels_ref")
    assert (script.returncode, script.stdout) == (0, out)
    script = subprocess.run(command[:2], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (script.returncode, script.stderr) == (2, "error: which step? Write for example: python inspect_cuda.py 7\n")


def test_modal_is_imported_by_its_runner_alone() -> None:
    sources = [*ROOT.glob("*.py"), *(ROOT / "cloud").rglob("*.py"), *(ROOT / "tirx_mini").rglob("*.py")]
    assert [path.name for path in sources if "import modal" in path.read_text(encoding="utf-8")] == ["run_modal.py"]


def test_long_lines_are_folded_at_spaces_and_comments_stay_comments() -> None:
    text = (
        "    f(alpha, beta); // the first of two\n    // a comment of a whole line\n    g(alpha, beta, gamma, delta);\n"
        "    mangled_name_without_spaces_12345678;\n\nshort\n"
    )
    assert folded(text, 26).splitlines() == [
        "    f(alpha, beta); // the",
        "        // first of two",
        "    // a comment of a",
        "    // whole line",
        "    g(alpha, beta, gamma,",
        "        delta);",
        "    mangled_name_without_spaces_12345678;",
        "",
        "short",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_gets_folded_lines(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    whole, _ = shown(capsys, "7", "--kernels", str(ROOT / "kernels_ref"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    out, _ = shown(capsys, "7", "--kernels", str(ROOT / "kernels_ref"))
    assert out == (folded(whole, 60) if terminal else whole) and folded(whole, 60) != whole
