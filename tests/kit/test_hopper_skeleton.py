"""The Hopper assignment and its references are the same kernels: what a skeleton gives, its reference has, in order.

Each `...` stands for the statements that the reference has in its place; a skeleton that is filled in with them is the
reference.
"""

from __future__ import annotations

import ast
import copy
from pathlib import Path

import pytest

from tirx_mini.course import STEPS, Shape, load_kernels

ROOT = Path(__file__).parents[2]
SKELETON = ROOT / "gemm_kernels_sm90.py"
FOLDER = ROOT / "kernels_ref" / "sm90"
SHAPES: tuple[tuple[int, Shape], ...] = (
    *((step, steps.shape(1024)) for step, steps in STEPS.items()),
    (10, (2048, 2048, 1024)),  # step 10 has another tile for each of these
    (10, (8192, 8192, 1024)),
    (10, (4096, 14336, 1024)),
)
BODIES = ("body", "orelse")


class Differs(Exception):
    """A statement that the skeleton gives and the reference does not have there, or the other way round."""


def is_todo(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and statement.value.value is ...
    )


def alike(given: ast.stmt, reference: ast.stmt) -> bool:
    """Whether two statements are the same but for the statements in them."""

    def outside(statement: ast.stmt) -> str:
        shallow = copy.copy(statement)
        for field in BODIES:
            if hasattr(shallow, field):
                setattr(shallow, field, [])
        return ast.dump(shallow)

    return outside(given) == outside(reference)


def fill_in(given: list[ast.stmt], reference: list[ast.stmt]) -> list[ast.stmt]:
    """`given` with statements of `reference` in place of each `...`. Raises `Differs` where the rest is not alike."""
    if not given:
        if reference:
            raise Differs(ast.unparse(reference[0]))
        return []
    if not is_todo(given[0]):
        if not reference or not alike(given[0], reference[0]):
            raise Differs(f"line {given[0].lineno}: {ast.unparse(given[0])}")
        first = copy.copy(given[0])
        for field in BODIES:
            if isinstance(inner := getattr(first, field, None), list):
                setattr(first, field, fill_in(inner, getattr(reference[0], field)))
        return [first, *fill_in(given[1:], reference[1:])]
    problem = Differs(f"line {given[0].lineno}: nothing in the reference stands for it")
    for count in range(1, len(reference) + 1):
        try:
            return [*reference[:count], *fill_in(given[1:], reference[count:])]
        except Differs as differs:
            problem = differs
    raise problem


def kernel_of(module: ast.Module, step: int) -> ast.FunctionDef:
    """The definition of the kernel in `hgemm_v{step}`."""
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    (factory,) = (function for function in functions if function.name == f"hgemm_v{step}")
    (kernel,) = (node for node in factory.body if isinstance(node, ast.FunctionDef))
    return kernel


def filled_in(step: int) -> str:
    """The skeleton's text with the TODOs of `step` written as in the reference."""
    module = ast.parse(SKELETON.read_text(encoding="utf-8"))
    (path,) = FOLDER.glob(f"step{step:02}_*.py")
    kernel = kernel_of(module, step)
    kernel.body = fill_in(kernel.body, kernel_of(ast.parse(path.read_text(encoding="utf-8")), step).body)
    return ast.unparse(module)


@pytest.mark.parametrize(("step", "shape"), SHAPES)
def test_the_skeleton_that_is_filled_in_is_the_reference(step: int, shape: Shape, tmp_path: Path) -> None:
    path = tmp_path / "filled_in.py"
    path.write_text(filled_in(step), encoding="utf-8")
    for dtype in ("float16", "bfloat16"):
        kernel, reference = (load_kernels(source)[step](*shape, dtype=dtype) for source in (path, FOLDER))
        assert kernel.script() == reference.script()


@pytest.mark.parametrize(
    "other", ["a = 1\nb = 2", "a = 1\nb = 2\nc = 4", "a = 1\nc = 3", "b = 2\nc = 3", "a = 1\nb = 2\nc = 3\nd = 4"]
)
def test_what_differs_is_not_filled_in(other: str) -> None:
    given = ast.parse("a = 1\n...\nc = 3").body
    assert len(fill_in(given, ast.parse("a = 1\nb = 2\nb = 3\nc = 3").body)) == 4
    with pytest.raises(Differs):
        fill_in(given, ast.parse(other).body)
