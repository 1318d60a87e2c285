"""Printer for structured kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .syntax import Break, Continue, Exit, If, Instruction, Loop, Node, SetFlag, Switch, Test


def printed(nodes: Sequence[Node]) -> str:
    return "\n".join(_lines(nodes, ""))


def _lines(nodes: Sequence[Node], indent: str) -> Iterator[str]:
    inner = indent + "  "
    for node in nodes:
        if isinstance(node, Instruction):
            yield indent + node.text
        elif isinstance(node, If):
            yield f"{indent}if {_test(node.test)}:"
            yield from _lines(node.then, inner)
            if node.orelse:
                yield f"{indent}else:"
                yield from _lines(node.orelse, inner)
        elif isinstance(node, Loop):
            yield f"{indent}loop:"
            yield from _lines(node.body, inner)
        elif isinstance(node, Switch):
            yield f"{indent}switch {getattr(node.index, 'name', node.index)}:"
            for number, case in enumerate(node.cases):
                yield f"{indent}case {number}:"
                yield from _lines(case, inner)
        elif isinstance(node, SetFlag):
            yield f"{indent}{node.name} = {str(node.value).lower()}"
        else:
            yield indent + {Break: "break", Continue: "continue", Exit: "exit"}[type(node)]


def _test(test: Test) -> str:
    return ("not " if test.negated else "") + test.name
