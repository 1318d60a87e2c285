"""Printing of nodes, as shown by `repr` and `PrimFunc.script`.

The printer imports every node class, so no node class can import the printer. Both import this module instead:
`printer.py` registers one function for each base class, and the node classes call `node_text`.
"""

from __future__ import annotations

from functools import singledispatch

Written = tuple[str, tuple[int, ...], tuple[str, ...], tuple[int, ...]]
"""How a kernel calls an instruction: the path, operands and modifiers that are left out, operands that are numbers."""


@singledispatch
def node_text(node: object) -> str:
    """Return the source text of an expression, statement or function."""
    raise NotImplementedError(f"ir/printer.py registers no text for {type(node).__name__}")
