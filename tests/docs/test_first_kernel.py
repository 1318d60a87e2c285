"""The first kernel of the course, and the seven parts of step 1: one wrong line, one mistake a part."""

from __future__ import annotations

import ast
import difflib
import textwrap
from pathlib import Path

import pytest

from tests.kernels_ref.skeletons import FIRST_KERNEL, REPAIRED, ROOT, SKELETONS, WRONG, repaired
from tirx_mini.course import KernelRef, check_file, code_of, hints_of, kernel_of, reference_file, todos_in
from tools.pages import DOCS

PAGE = (DOCS / "steps/step01.md").read_text(encoding="utf-8")
MISTAKES = {
    1: (("Tx.ptx.tcgen05", "if lane_id == 0:\n        Tx.ptx.tcgen05"), "allocate in one lane only", "TX306"),
    2: (
        ('Tx.ptx.fence.proxy_async("shared::cta")\nTx.ptx.fence.mbarrier_init()\n', ""),
        "leave out both fences",
        "",
    ),
    3: (("with Tx.cta():", "with Tx.thread():"), "copy with each thread for itself", "TX202"),
    4: (("        Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)", ""), "leave out the commit", "TX103"),
    5: (("phase_mma)", "1)"), "wait for parity 1", "TX108"),
    6: (("warp_id * 32 + lane_id", "lane_id"), "store to row `lane_id`", "TX201"),
    7: (("    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)", ""), "leave out `dealloc`", "TX310"),
}
"""For each part: the change to its code, the words of the page, and the first code; "" for none."""


def test_the_first_kernel_is_the_reference_but_for_one_line() -> None:
    first = kernel_of(ast.parse(FIRST_KERNEL.read_text(encoding="utf-8")), 1)
    reference = kernel_of(ast.parse(reference_file(1, "sm100").read_text(encoding="utf-8")), 1)
    both = (ast.unparse(kernel).splitlines() for kernel in (first, reference))
    changed = [line for line in difflib.ndiff(*both) if line[0] in "-+"]
    assert [line.rpartition(".mbarrier")[2] for line in changed] == [
        text.removeprefix("mbarrier") for text in (WRONG, REPAIRED)
    ]


def test_its_report_names_the_line_and_it_passes_without_it(tmp_path: Path) -> None:
    finding = check_file(KernelRef(FIRST_KERNEL, "hgemm_v1")).report.findings[0]
    lines = FIRST_KERNEL.read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.endswith(WRONG))
    assert finding.code == "TX107" and f"first_kernel.py:{number}:" in finding.diagnostic.render()
    path = tmp_path / "first_kernel.py"
    path.write_text(repaired(), encoding="utf-8")
    checked = check_file(KernelRef(path, "hgemm_v1"))
    assert checked.ok and not checked.report.findings


@pytest.mark.parametrize("part", MISTAKES)
def test_each_part_is_checked_alone_and_its_mistake_is_found(part: int, tmp_path: Path) -> None:
    """The part is written, with its mistake and without, and the reference's code stands for the other six."""
    (old, new), words, code = MISTAKES[part]
    section = PAGE.partition(f"\n### Part {part}: ")[2].partition("\n### ")[0]
    assert words in " ".join(section.split()), "the page names another mistake"
    hints = hints_of(1, "sm100")
    right = textwrap.dedent(code_of(hints[part - 1], hints, 1, "sm100"))
    wrong = right.replace(old, new)
    assert wrong != right
    for text, expected in ((right, ""), (wrong, code)):
        checked = check_file(KernelRef(written(tmp_path, part, text), "hgemm_v1"), fill=True)
        assert checked.report.yours == "1 of 7 yours"
        codes = [finding.code for finding in checked.report.findings]
        assert codes[:1] == ([expected] if expected else []), codes


def written(folder: Path, part: int, code: str) -> Path:
    """The skeleton with this code in the place of one TODO of step 1."""
    text = SKELETONS["sm100"].read_text(encoding="utf-8")
    todo = todos_in(text)[1][part - 1]
    lines = text.splitlines()
    lines[todo.dots - 1] = textwrap.indent(code, " " * 12)
    path = folder / "gemm_kernels.py"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_first_command_of_the_readme_is_that_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = f"pytest tests/test_step01.py --kernels {FIRST_KERNEL.name}\n"
    assert command in readme and PAGE.count(command) == 2
