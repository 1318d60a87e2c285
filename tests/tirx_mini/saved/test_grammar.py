"""The grammar of saved kernels is the whole IR, field by field."""

from __future__ import annotations

import enum
from dataclasses import fields

import pytest

from tirx_mini.ir import Expr, Stmt
from tirx_mini.saved import GRAMMAR


def kinds(base: type) -> set[type]:
    """The classes of nodes below a base class that have none below them."""
    return {base} if not base.__subclasses__() else {kind for each in base.__subclasses__() for kind in kinds(each)}


def test_every_node_of_the_ir_has_its_line() -> None:
    nodes = {each for each in kinds(Expr) | kinds(Stmt) if each.__module__.startswith("tirx_mini.ir")}
    assert nodes == {each for each in GRAMMAR if issubclass(each, (Expr, Stmt))}


@pytest.mark.parametrize("cls", [each for each in GRAMMAR if not issubclass(each, enum.Enum)])
def test_a_line_has_all_fields_of_its_class(cls: type) -> None:
    assert set(GRAMMAR[cls]) == {each.name for each in fields(cls)} - {"span"}
