"""Every code block of every page runs in the environment of a student, or says why it does not.

`python` blocks of a page run in order, in one namespace, in an empty folder; a `text` block that follows one is what it
prints. `sh` blocks run in order in a copy of the tree; sizes above 512 are 512 there, unless the output is compared. A
comment above a block changes that:

<!-- not run: why -->   the block is not run
<!-- environment -->    the block makes the environment in which all others run (`student.py`)
<!-- needs: EXTRA -->   the block needs another extra of the package: it runs in the environment of the tests, and so do
                        all `python` blocks of its page once more, whose names it may use
<!-- fails: why -->     each command of the block, or the Python block, must fail
<!-- solved -->         gemm_kernels.py has the reference of the step that the block names in place of the skeleton, and
                        first_kernel.py has no wrong line
<!-- output -->         above a `text` block that follows an `sh` block: it is what that block prints, 80 columns wide;
                        a line "…" stands for any lines
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.copies import Restorable
from tests.docs.student import DEVELOPERS, IGNORED, Environment
from tests.kernels_ref.skeletons import FIRST_KERNEL, repaired
from tests.project.test_packaging import EXTRAS
from tools.pages import DOCS, ROOT, Block, blocks

PAGES = [
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")),
    *(path for folder in ("lessons", "examples") for path in sorted((ROOT / folder).rglob("*.md"))),
]  # fmt: skip
BLOCKS = {page.relative_to(ROOT).as_posix(): blocks(page.read_text(encoding="utf-8")) for page in PAGES}
ELSEWHERE = {
    ("CONTRIBUTING.md", "python"): "tests/project/test_contributing.py",
    ("CONTRIBUTING.md", "diff"): "tests/project/test_contributing.py",
    ("docs/findings.md", "python"): "tests/tirx_mini/course/test_book.py",
    ("docs/findings.md", "diff"): "tests/tirx_mini/course/test_book.py",
    ("docs/findings.md", "cuda"): "tests/tirx_mini/course/test_book.py",
    ("docs/language.md", "python"): "tests/tirx_mini/script/test_language_page.py",
    ("docs/cuda.md", "cuda"): "tests/tirx_mini/codegen/test_cuda_page.py",
}
"""What other tests run, by page and language."""

SHOWN = {"", "text", "diff"}
"""Languages of blocks that are not run: what a program prints, and differences."""

SHELL = pytest.mark.skipif(os.name == "nt", reason="the commands are a shell's")
SIZE = re.compile(r"(--sizes? )\d{4,}")
STEP = re.compile(r"hgemm_v(\d+)|test_step(\d+)|inspect_cuda\.py (\d+)")


def runs(block: Block, language: str) -> bool:
    """Return whether this module runs a block, and as a block of this language."""
    return block.language == language and block.mark not in ("not run", "environment")


def run_here(language: str, needing: bool = False) -> list[str]:
    """The pages with blocks of a language that this module runs. needing: those where a block needs an extra."""
    return [
        page
        for page, found in BLOCKS.items()
        if (page, language) not in ELSEWHERE
        and any(runs(block, language) and bool(block.needs) >= needing for block in found)
    ]


def pairs(page: str) -> Iterator[tuple[Block, Block | None]]:
    """The blocks of a page, each with the next one."""
    return zip(BLOCKS[page], [*BLOCKS[page][1:], None], strict=True)


def run_python(page: str, environment: Environment, folder: Path) -> None:
    """Run the Python blocks of a page that can run in an environment, and compare what they print."""
    found = [
        (block, after)
        for block, after in pairs(page)
        if runs(block, "python") and (environment is DEVELOPERS or not block.needs)
    ]
    said = environment.printed([block for block, _ in found], folder)
    for (_, after), printed in zip(found, said, strict=True):
        if after is not None and after.language == "text" and not after.mark:
            assert same(after.text, printed), f"line {after.line}: this was printed:\n{printed}"


@pytest.mark.parametrize("page", run_here("python"))
def test_python_blocks_run(page: str, student: Environment, tmp_path: Path) -> None:
    run_python(page, student, tmp_path)


@pytest.mark.parametrize("page", run_here("python", needing=True))
def test_python_blocks_that_need_an_extra_run_where_it_is(page: str, tmp_path: Path) -> None:
    run_python(page, DEVELOPERS, tmp_path)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Restorable:
    return Restorable.of(ROOT, tmp_path_factory.mktemp("project") / "tree", *IGNORED)


@pytest.fixture
def tree(project: Restorable, student: Environment) -> Path:
    """A copy of the project, with the environment of a student."""
    project.restore()
    if student is not DEVELOPERS:
        (project.folder / ".venv").symlink_to(student.python.parents[1])
    return project.folder


def commands(text: str) -> list[str]:
    """The commands of a block: its lines, those that a backslash continues as one."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def solution(text: str) -> str:
    """gemm_kernels.py with the references of the steps that a block names."""
    steps = sorted({int("".join(match.groups(""))) for match in STEP.finditer(text)})
    assert steps, "the block names no step"
    paths = [next((ROOT / "kernels_ref/sm100").glob(f"step{step:02}_*.py")) for step in steps]
    if len(paths) == 1:
        return paths[0].read_text(encoding="utf-8")
    lines = [
        f"from kernels_ref.sm100.{path.stem} import hgemm_v{step}\n" for step, path in zip(steps, paths, strict=True)
    ]
    return "".join(lines)


def run_block(block: Block, tree: Path, environment: Environment, compared: bool = False) -> str:
    """What a block of commands prints; each must end as it should. compared: run it at the sizes that it has."""
    skeleton = (ROOT / "gemm_kernels.py").read_text(encoding="utf-8")
    text = solution(block.text) if block.mark == "solved" else skeleton
    (tree / "gemm_kernels.py").write_text(text, encoding="utf-8")
    first = repaired() if block.mark == "solved" else FIRST_KERNEL.read_text(encoding="utf-8")
    (tree / FIRST_KERNEL.name).write_text(first, encoding="utf-8")
    lines = commands(block.text if compared else SIZE.sub(r"\g<1>512", block.text))
    scripts = lines if block.mark == "fails" else ["\n".join(lines)]
    output = ""
    for script in scripts:
        done = environment.shell(script, tree)
        assert (done.returncode != 0) is (block.mark == "fails"), (
            f"{script}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
        output += done.stdout
    return output


def same(shown: str, printed: str) -> bool:
    """Return whether a text, in which a line "…" stands for any lines, is what was printed."""
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "".join(".*?" if line.strip() == "…" else re.escape(line) + r" *\n" for line in lines)
    return re.fullmatch(pattern, printed.strip("\n") + "\n", re.DOTALL) is not None


@SHELL
@pytest.mark.compiler
@pytest.mark.parametrize("page", run_here("sh"))
def test_commands_run(page: str, tree: Path, student: Environment) -> None:
    printed = None
    for block, after in pairs(page):
        if block.mark == "output":
            assert printed is not None, f"line {block.line}: no commands were run before this output"
            assert same(block.text, printed), f"line {block.line}: this was printed:\n{printed}"
        printed = None
        if runs(block, "sh"):
            environment = DEVELOPERS if block.needs else student
            printed = run_block(block, tree, environment, compared=after is not None and after.mark == "output")


@pytest.mark.parametrize("page", BLOCKS)
def test_blocks_are_run_or_marked(page: str) -> None:
    known = SHOWN | {"python", "sh"} | {language for where, language in ELSEWHERE if where == page}
    exempt = [block for block in BLOCKS[page] if block.language in known or block.generated or block.mark == "not run"]
    wrong = [f"line {b.line}: {b.info}" for b in BLOCKS[page] if b not in exempt]
    wrong += [f"line {b.line}: why?" for b in BLOCKS[page] if b.mark in ("not run", "fails") and not b.why]
    wrong += [f"line {b.line}: no extra {b.needs}" for b in BLOCKS[page] if b.needs and b.needs not in EXTRAS]
    assert wrong == []


def test_what_is_run_elsewhere_is_there() -> None:
    for (page, language), path in ELSEWHERE.items():
        assert any(block.language == language for block in BLOCKS[page]), f"{page} has no {language}"
        assert (
            Path(page).name in (ROOT / path).read_text(encoding="utf-8") or "findings_book" in (ROOT / path).read_text()
        )


@SHELL
def test_a_block_that_ends_otherwise_than_it_says_is_seen(tree: Path, student: Environment) -> None:
    for mark, text in (("", "false"), ("fails", "true"), ("fails", "false\ntrue"), ("", "false | cat\ntrue")):
        with pytest.raises(AssertionError):
            run_block(Block(1, "sh", text, mark, ""), tree, student)
    assert run_block(Block(1, "sh", "echo 1  # one\n# two\necho \\\n  3\n", "", ""), tree, student) == "1\n3\n"


def test_a_python_block_that_ends_otherwise_than_it_says_is_seen(student: Environment, tmp_path: Path) -> None:
    for mark, text in (("", "1 / 0"), ("fails", "1 / 1")):
        with pytest.raises(AssertionError):
            student.printed([Block(1, "python", text, mark, "")], tmp_path)
    two = [Block(1, "python", "a = 1\nprint(a)", "", ""), Block(9, "python", "print(a)\na / 0", "fails", "")]
    assert student.printed(two, tmp_path) == ["1\n", "1\n"]


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [("a\nb\n", "a\nb", True), ("a\n…\nd\n", "a\nb\nc\nd\n", True), ("a\n", "a\nb\n", False), ("a\n…\n", "b\n", False)],
)
def test_an_output_is_compared(shown: str, printed: str, expected: bool) -> None:
    assert same(shown, printed) is expected
