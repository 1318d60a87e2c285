"""The reference kernels: the text of each parses back to an equal function, as written and after every pass."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tirx_mini.ir import AllocBuffer, DeclBuffer, PrimFunc, structural_equal, walk
from tirx_mini.passes import lower
from tirx_mini.script import from_source

STEPS = sorted((Path(__file__).parents[3] / "kernels_ref" / "sm100").glob("step*.py"))
SHAPES = {1: (128, 128, 64), 2: (128, 128, 256)}


def kernel(path: Path, dtype: str = "float16") -> PrimFunc:
    module = importlib.import_module(f"kernels_ref.sm100.{path.stem}")
    step = int(path.stem[4:6])
    return getattr(module, f"hgemm_v{step}")(*SHAPES.get(step, (1024, 1024, 512)), dtype)


def stages(func: PrimFunc) -> Iterator[tuple[str, PrimFunc]]:
    passed = [("source", func)]
    lower(func, after=lambda name, result: passed.append((name, result)))
    yield from passed


@pytest.mark.parametrize("path", STEPS, ids=lambda path: path.stem)
def test_the_text_of_every_stage_parses_back_equal(path: Path) -> None:
    for name, func in stages(kernel(path)):
        text = func.script()
        again = from_source(text)
        assert structural_equal(func, again), f"after {name}:\n{text}"
        assert again.script() == text, name


@pytest.mark.parametrize("path", STEPS, ids=lambda path: path.stem)
def test_every_node_has_a_span_in_the_reference(path: Path) -> None:
    for node in walk(kernel(path, "bfloat16").body):
        assert node.span is not None, repr(node)
        assert Path(node.span.user.file) == path, repr(node)


def test_buffers_have_their_names_from_the_source() -> None:
    names = {n.buffer.name for n in walk(kernel(STEPS[-1]).body) if isinstance(n, (AllocBuffer, DeclBuffer))}
    assert {"tma2mma", "mma2tma", "mma2ld", "ld2mma", "Asmem", "Bsmem", "Dsmem", "tmem", "tmem_addr"} <= names


def test_a_correct_kernel_is_read_without_text_of_its_syntax(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ast.unparse` takes longer than all else in the front end; only error pages need it."""
    texts: list[str] = []
    unparse = ast.unparse

    def noted(node: ast.AST) -> str:
        texts.append(unparse(node))
        return texts[-1]

    monkeypatch.setattr(ast, "unparse", noted)
    kernel(STEPS[-1])
    assert texts == []
