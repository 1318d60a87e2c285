"""CONTRIBUTING shows changes as diffs: each applies to the package as it is, and the program below it then runs.

A block of ```diff is followed by a block of ```python. The diff is applied to a copy of the package, and of the other
files that it names, in a folder of their own; the program runs there, and must fail without the diff.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import copies

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
FILES = {
    "Adding an instruction": 1, "Adding a product": 1, "Adding a finding": 1, "Adding a plan": 2,
    "Adding a GPU or an architecture": 1,
}  # fmt: skip
"""How many files of the package a change touches, by the section that shows it."""
MADE = frozenset(("Adding a product",))
"""Sections whose change the package has already: copies lose it first."""


@dataclass(frozen=True)
class Change:
    """A diff of CONTRIBUTING, and the program that needs it. section: the heading above them."""

    section: str
    diff: str
    program: str


@dataclass(frozen=True)
class Hunk:
    """Lines of one file that other lines take the place of."""

    path: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def changes(text: str) -> Iterator[Change]:
    """The changes that a page shows."""
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        section = part.partition("\n")[0]
        blocks = [(m[1], m[2]) for m in BLOCK.finditer(part)]
        for index, (kind, diff) in enumerate(blocks):
            if kind == "diff":
                after, program = blocks[index + 1] if index + 1 < len(blocks) else ("", "")
                assert after == "python", f"{section}: no program follows the diff"
                yield Change(section, diff, program)


def hunks(diff: str) -> Iterator[Hunk]:
    """The hunks of a unified diff; their counts of lines must be right."""
    path, lines = "", iter(diff.splitlines())
    for line in lines:
        if line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
        elif head := HUNK.match(line):
            left = [int(count or 1) for count in head.groups()]
            before: list[str] = []
            after: list[str] = []
            while any(left):
                part = next(lines, "the end of the diff") or " "  # editors strip the space of an empty line
                sign, text = part[0], part[1:]
                assert sign in "+- ", f"{path}: {part!r} is no line of a hunk"
                if sign != "+":
                    before.append(text)
                    left[0] -= 1
                if sign != "-":
                    after.append(text)
                    left[1] -= 1
            yield Hunk(path, tuple(before), tuple(after))
        else:
            assert line.startswith("--- "), f"{line!r} is no line of a diff"


def apply(diff: str, project: Path) -> None:
    """Change the files of `project`. The lines of a hunk are found by their text, which must be there exactly once."""
    for hunk in hunks(diff):
        file = project / hunk.path
        before, after = ("".join(f"{line}\n" for line in lines) for lines in (hunk.before, hunk.after))
        text = file.read_text("utf-8") if file.exists() else ""
        count = text.count(before) if text else not before
        assert count == 1, f"{hunk.path} has these lines {int(count)} times:\n{before}"
        file.write_text(text.replace(before, after) if before else after, "utf-8")


def reverted(diff: str) -> str:
    """The diff that undoes another one, of lines alone."""
    heads = re.compile(r"@@ -(\S+) \+(\S+) @@")
    signs = {"+": "-", "-": "+"}
    lines = []
    for line in diff.splitlines():
        head = line.startswith(("--- ", "+++ "))
        turned = line if head else heads.sub(r"@@ -\2 +\1 @@", line)
        lines.append(turned if head or not line else signs.get(turned[0], turned[0]) + turned[1:])
    return "\n".join(lines) + "\n"


def copied(diff: str, project: Path) -> Path:
    """A copy of the package, and of the other files that a diff names."""
    copies.copied(ROOT / "tirx_mini", project / "tirx_mini")
    for path in {hunk.path for hunk in hunks(diff)}:
        if (ROOT / path).exists() and not (project / path).exists():
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, project / path)
    return project


def run(program: str, project: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with the package that lies in `project`."""
    (project / "program.py").write_text(program, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(project)}
    return subprocess.run(
        [sys.executable, "program.py"], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


CHANGES = [pytest.param(c, id=c.section) for c in changes((ROOT / "CONTRIBUTING.md").read_text("utf-8"))]


@pytest.mark.parametrize("change", CHANGES)
def test_the_program_runs_once_the_diff_is_applied(change: Change, tmp_path: Path) -> None:
    project = copied(change.diff, tmp_path)
    if change.section in MADE:
        apply(reverted(change.diff), project)
    assert run(change.program, project).returncode != 0, "the program does not need the diff"
    apply(change.diff, project)
    done = run(change.program, project)
    assert done.returncode == 0, done.stderr


@pytest.mark.compiler
def test_without_its_entry_a_product_is_computed_by_another_instruction(tmp_path: Path) -> None:
    (change,) = (parameter.values[0] for parameter in CHANGES if parameter.id == "Adding a product")
    project = copied(change.diff, tmp_path)
    apply(reverted(change.diff), project)
    wanted, others = "wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16", "mma.sync.aligned.m16n8k16"
    program = change.program.replace("in (course, tilelang,", "in (tilelang,").replace(wanted, others)
    assert others in program and "in (tilelang," in program
    done = run(program, project)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_touches_as_few_files_as_the_section_says(change: Change) -> None:
    assert change.section in FILES, "FILES says how many files of the package the change of a section touches"
    touched = {hunk.path for hunk in hunks(change.diff) if hunk.path.startswith("tirx_mini/")}
    assert len(touched) == FILES[change.section]


def test_every_section_that_counts_files_shows_a_change() -> None:
    assert {parameter.id for parameter in CHANGES} == set(FILES)


# -- reading and applying diffs ----------------------------------------------------------------------------------------

DIFF = """\
--- a/one.txt
+++ b/one.txt
@@ -1,3 +1,3 @@
 a
-b
+B
 c
"""


def test_a_diff_is_applied_where_its_lines_are(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("x\na\nb\nc\n")
    apply(DIFF, tmp_path)
    assert (tmp_path / "one.txt").read_text() == "x\na\nB\nc\n"


def test_a_diff_can_make_a_file(tmp_path: Path) -> None:
    apply("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n", tmp_path)
    assert (tmp_path / "new.txt").read_text() == "a\nb\n"


@pytest.mark.parametrize(
    ("text", "diff"),
    [
        ("a\nb\n", DIFF),
        ("a\nb\nc\na\nb\nc\n", DIFF),
        ("a\nb\nc\n", DIFF.replace("-1,3", "-1,4")),
        ("a\nb\nc\n", DIFF.replace("+B\n", "B\n")),
    ],
    ids=["lines that are not there", "lines that are there twice", "a wrong count", "a line without a sign"],
)
def test_a_stale_diff_is_refused(text: str, diff: str, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(text)
    with pytest.raises(AssertionError):
        apply(diff, tmp_path)


def test_a_diff_that_no_program_follows_is_refused() -> None:
    with pytest.raises(AssertionError, match="no program follows the diff"):
        list(changes(f"## Adding\n\n```diff\n{DIFF}```\n\n```sh\nmake test\n```\n"))
