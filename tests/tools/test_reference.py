"""The reference: its pages are current, they name everything, and what they show as code is read."""

from __future__ import annotations

import inspect
import re

import pytest

from tests.tirx_mini.script.reading import kernel_text
from tirx_mini import lang, layout
from tirx_mini.commands import commands
from tirx_mini.isa import NAMES
from tirx_mini.layout import Axis
from tirx_mini.script import from_source, tirx
from tirx_mini.tile import OPS, OPTIONS, SPELLINGS
from tools.pages import headings, links
from tools.reference import PAGES, page, path_of, tx
from tools.reference import layout as layouts
from tools.reference._markdown import Doc, doc_of, parsed, signature, table
from tools.reference.commands import parser_of
from tools.reference.lang import examples

TEXTS = {name: path_of(name).read_text(encoding="utf-8") for name in PAGES}
IN_KERNELS = {name: getattr(lang, name) for name in lang.__all__}


@pytest.mark.parametrize("name", PAGES)
def test_the_committed_page_is_current(name: str) -> None:
    assert TEXTS[name] == page(name), "run make reference"


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    anchors = {heading.anchor for heading in headings(TEXTS[name])}
    for link in links(TEXTS[name]):
        path, _, anchor = link.target.partition("#")
        target = path_of(name).parent / path if path else path_of(name)
        found = anchors if not path else {heading.anchor for heading in headings(target.read_text(encoding="utf-8"))}
        assert not anchor or anchor in found, f"{link.target}, line {link.line}"


def test_every_name_has_its_place() -> None:
    assert [name for name in lang.__all__ if name != "SMEMPool" and f"# {name}\n" not in TEXTS["lang"]] == []
    named = {name for names in tx.SECTIONS.values() for name in names.split()}
    named |= {other for name in named for other in tx.aliases(name)} | {"PoolAllocator", "SMEMPool"}
    named |= {name for name in tirx.__all__ if name in layout.__all__}
    assert set(tirx.__all__) == named
    elsewhere = {"ptx", "cuda", "tile", "threadIdx", "blockIdx", "clusterCtaIdx", "gridDim", *OPS, *SPELLINGS}
    assert [n for n in dir(tirx) if n not in elsewhere and f"Tx.{n}" not in TEXTS["tx"] + TEXTS["instructions"]] == []
    assert [path for path in NAMES if f"Tx.{path}" not in TEXTS["instructions"]] == []
    assert [name for name in OPS if f"`{name}(" not in TEXTS["tile"]] == []
    assert [name for name in SPELLINGS if f"`{name}`" not in TEXTS["tile"]] == []
    assert [name for name in OPTIONS if f"`{name}`" not in TEXTS["tile"]] == []
    axes = {name for name in layout.__all__ if isinstance(getattr(layout, name), Axis)} | {"AXES", "Axis", "Stride"}
    listed = {name for names in layouts.SECTIONS.values() for name in names}
    assert set(layout.__all__) - {"Coord"} == axes | listed
    assert [name for name in axes if f"`{name}`" not in TEXTS["layout"]] == []


@pytest.mark.parametrize("name", [name for name in lang.__all__ if name != "SMEMPool"])
def test_every_argument_of_the_library_is_explained(name: str) -> None:
    thing = getattr(lang, name)
    methods = [] if inspect.isfunction(thing) else [getattr(m, "origin", m) for m in vars(thing).values()]
    methods = [method for method in methods if inspect.isfunction(method) and not method.__name__.startswith("_")]
    inherited = {"TMABar", "TCGen05Bar"}  # their arguments are those of MBarrier
    for function in [*([] if name in inherited else [thing]), *methods]:
        names = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]
        explained = {each for group, _ in doc_of(function).parameters for each in group.split(", ")}
        assert set(names) <= explained, f"{name}: {function.__name__}"
    assert doc_of(thing).example and (doc_of(thing).cost or name in inherited)


@pytest.mark.parametrize("name", examples())
def test_an_example_is_a_part_of_a_kernel(name: str) -> None:
    from_source(kernel_text(examples()[name]), IN_KERNELS)


@pytest.mark.parametrize("command", commands())
def test_every_option_of_a_command_is_listed(command: str) -> None:
    (section,) = re.findall(rf"^## {command}\n(.*?)(?=^## |\Z)", TEXTS["commands"], re.MULTILINE | re.DOTALL)
    for action in parser_of(command)._actions:
        for option in action.option_strings:
            assert option in section or option in ("-h", "--help")


def test_a_docstring_is_read_by_its_parts() -> None:
    text = (
        "Wait for ``a``.\n\nA * b < c, as `x*y`.\n\na, b: the first\n    two.\nc: the third.\n\nCost: one\nword.\n\n"
        "Example:\n\n    wait()\n\n    done()\n"
    )
    assert parsed(text) == Doc(
        "Wait for `a`.",
        (r"A \* b &lt; c, as `x*y`.",),
        (("a, b", "the first two."), ("c", "the third.")),
        "one word.",
        "wait()\n\ndone()",
    )
    with pytest.raises(ValueError, match="no docstring"):
        parsed("", "nothing")


def test_a_signature_is_as_a_call_writes_it() -> None:
    def wait(self, stage: int, *rest: str, kind: str = "a", **more: int) -> None: ...
    def only(a: int, *, b: int = 2) -> int: ...

    assert signature("wait", wait) == 'wait(stage: int, *rest: str, kind: str = "a", **more: int)'
    assert signature("only", only) == "only(a: int, *, b: int = 2) -> int"
    long = signature("o" * 90, only).splitlines()
    assert long == ["o" * 90 + "(", "    a: int,", "    *,", "    b: int = 2,", ") -> int"]


def test_no_cell_of_a_table_has_a_bar() -> None:
    assert table(("a", "b"), [("x: int | None", "z")]) == "| a | b |\n| --- | --- |\n| x: int or None | z |"
