"""The stub of the language: it is current, it names what exists, and its signatures are those of the tables."""

from __future__ import annotations

import ast
import inspect
import pydoc

import pytest

from tirx_mini.isa import NAMES
from tirx_mini.lang import TMABar
from tirx_mini.script import tirx as Tx
from tirx_mini.tile import OPS
from tools.stubs import STUB, stub

TREE = ast.parse(STUB.read_text(encoding="utf-8"))


def test_the_committed_stub_is_current() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run make stubs"


def declared() -> set[str]:
    """The public names that the stub declares."""
    names: set[str] = set()
    for node in TREE.body:
        if isinstance(node, ast.ImportFrom) and node.level + bool("tirx_mini" in (node.module or "")):
            names |= {alias.asname for alias in node.names if alias.asname is not None}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def test_the_stub_declares_every_name_that_completion_shows_at_run_time() -> None:
    assert set(dir(Tx)) - declared() == set()


def test_every_name_of_the_stub_exists() -> None:
    types = {node.target.id for node in TREE.body if isinstance(node, ast.AnnAssign) and is_alias(node)}
    assert [name for name in sorted(declared() - types) if not hasattr(Tx, name)] == []


def is_alias(node: ast.AnnAssign) -> bool:
    return isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"


@pytest.mark.parametrize("path", [path for path in NAMES if path.split(".")[-1] not in ("printf", "func_call")])
def test_help_and_the_signature_of_an_instruction_are_those_of_its_entry(path: str) -> None:
    node = Tx
    for part in path.split("."):
        node = getattr(node, part)
    shown = list(inspect.signature(node).parameters)
    entry, _ = NAMES[path].entries[-1]
    of_each = [
        [o.name for o in (*entry.operands, *entry.attributes) if o.name not in alias.preset]
        for entry, alias in NAMES[path].entries
        if not alias.order
    ]
    ordered = [[name.lstrip("*") for name in alias.order] for _, alias in NAMES[path].entries]
    assert shown == max(of_each or ordered, key=len)
    text = pydoc.plain(pydoc.render_doc(node))
    assert f"Tx.{path}(" in text and entry.doc.splitlines()[0] in text
    assert ("PTX ISA:" in text) == bool(entry.ptx)


def test_help_reads_as_a_page() -> None:
    lines = pydoc.plain(pydoc.render_doc(Tx.ptx.tcgen05.commit)).splitlines()
    text = "\n".join(line.strip() for line in lines)
    assert "Tx.ptx.tcgen05.commit(bar, cta_group=1, cta_mask=None)\n\nArrive once at `bar` when all MMAs" in text
    assert "PTX:\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];" in text
    assert "issued by:     each active thread\narchitectures: sm_100a to sm_110a\ncost:" in text
    assert text.rstrip().endswith("PTX ISA:       tcgen05.commit")


def test_help_of_a_group_lists_its_instructions() -> None:
    text = pydoc.plain(pydoc.render_doc(Tx.ptx.tcgen05))
    for name in ("alloc", "commit", "fence.after_thread_sync"):
        assert f"Tx.ptx.tcgen05.{name}: " in text


@pytest.mark.parametrize("name", OPS)
def test_help_of_a_tile_primitive_says_what_its_options_mean(name: str) -> None:
    text = pydoc.plain(pydoc.render_doc(getattr(Tx.cta, name)))
    assert OPS[name].doc in text
    for option in OPS[name].options:
        assert f"{option}: " in text


@pytest.mark.parametrize(
    ("path", "words", "parameters"),
    [
        ("cuda.printf", "writes its values to standard output", ["format", "values"]),
        ("cuda.warp_sum", "one value per thread over its warp or CTA", ["value", "args", "options"]),
        ("cuda.func_call", "The compiler emits the source", ["args", "function", "source_code", "return_type"]),
    ],
)
def test_help_of_a_function_over_instructions(path: str, words: str, parameters: list[str]) -> None:
    room, name = path.split(".")
    node = getattr(getattr(Tx, room), name)
    assert words in pydoc.plain(pydoc.render_doc(node)) and list(inspect.signature(node).parameters) == parameters


def test_help_of_a_method_of_the_library_has_its_signature_and_its_text() -> None:
    text = pydoc.plain(pydoc.render_doc(TMABar))
    assert list(inspect.signature(TMABar.arrive).parameters)[:4] == ["self", "stage", "bytes", "remote"]
    assert "Expect bytes in the current phase of the stage's barrier, then arrive once" in text
