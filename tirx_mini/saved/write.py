"""Saving of kernels as rows of nodes, each after the nodes that it refers to."""

from __future__ import annotations

import json
from dataclasses import MISSING
from typing import Any

from tirx_mini.arguments import kernel_of
from tirx_mini.ir import IRModule, PrimFunc, Span
from tirx_mini.layout import Axis, Iter, Layout, Spec, Stride

from .grammar import FORMAT, GRAMMAR, VERSION, defaults, field_names


def save_json(kernel: PrimFunc | IRModule) -> str:
    """Serialise a kernel, lowered or not, to JSON, from which `load_json` restores an equal one."""
    writer = _Writer()
    func = writer.add(kernel_of(kernel, "save_json"))
    return json.dumps(
        {"format": FORMAT, "version": VERSION, "files": list(writer.files), "nodes": writer.nodes, "func": func},
        separators=(",", ":"),
    )


_NODES = frozenset(GRAMMAR)


class _Writer:
    def __init__(self) -> None:
        self.nodes: list[list[Any]] = []
        self.files: dict[str, int] = {}
        self._numbers: dict[Any, int] = {}
        self._kept: list[Any] = []

    def add(self, node: object) -> int:
        """Return the row number of a node, which is written after the rows of its operands."""
        key = node if isinstance(node, (Span, Layout, Spec, Stride, Iter, Axis)) else id(node)
        number = self._numbers.get(key)
        if number is None:
            values = {}
            for name in field_names(type(node)):
                value = getattr(node, name)
                if type(value) in _NODES or value != defaults(type(node)).get(name, MISSING):
                    values[name] = self._file(value) if name == "file" else self._value(value)
            number = self._numbers[key] = len(self.nodes)
            self.nodes.append([type(node).__name__, values])
            self._kept.append(node)
        return number

    def _file(self, name: str) -> int:
        return self.files.setdefault(name, len(self.files))

    def _value(self, value: object) -> Any:
        if type(value) in _NODES:
            return {"ref": self.add(value)}
        if isinstance(value, (tuple, list)):
            return [self._value(item) for item in value]
        if isinstance(value, float):
            return {"float": value.hex()}
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, str):
            return str(value)
        raise TypeError(f"{value!r} cannot be saved: a kernel holds numbers, strings, tuples, layouts and nodes")
