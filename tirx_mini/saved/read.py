"""Loading of saved kernels; every row is checked before its node is created."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any

from tirx_mini.ir import PrimFunc, Span
from tirx_mini.layout import ComposeLayout, SwizzleMode
from tirx_mini.records import dataclass

from .grammar import (
    CLASSES,
    FORMAT,
    GRAMMAR,
    MOST_TEXT,
    RULES,
    VERSION,
    SavedKernelError,
    Unexpected,
    a,
    defaults,
    field_names,
    need,
    optional,
)

MOST_BYTES = 32 << 20
"""The maximum size of the text."""
MOST_NODES = 200_000
MOST_DEPTH = 400
"""The maximum nesting depth of nodes, without spans."""
MOST_INLINED = 64
"""The maximum number of calls through which a line is inlined."""
MOST_ITEMS = 100_000
"""The maximum length of a tuple."""

ELSEWHERE = "<elsewhere>"
"""The file name of spans whose file is not in `files`."""


def load_json(text: str | bytes, files: Mapping[str, str] | None = None) -> PrimFunc:
    """Load a kernel written by `save_json`, without evaluating any part of the text.

    files: the files whose lines reports may show: names in the text, with their paths. Other files are named
        `ELSEWHERE`. Without it, the names are kept, so the text must come from a trusted source.

    Raises `SavedKernelError` for a text that is not a saved kernel.
    """
    if len(text) > MOST_BYTES:
        raise SavedKernelError(f"a saved kernel has at most {MOST_BYTES} bytes, and this text {len(text)}")
    try:
        data = json.loads(text, parse_constant=lambda name: _refuse(f"{name} is no number of JSON"))
    except (ValueError, RecursionError) as error:
        raise SavedKernelError(f"this is not JSON: {error}") from None
    return _Reader(data, files).func()


def _refuse(message: str) -> object:
    raise ValueError(message)


@dataclass(frozen=True)
class _Loaded:
    """A node with its nesting depth."""

    node: Any
    depth: int


class _Reader:
    def __init__(self, data: object, files: Mapping[str, str] | None) -> None:
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise SavedKernelError(f'this is not a saved kernel: "format" is not "{FORMAT}"')
        if data.get("version") != VERSION:
            raise SavedKernelError(f"this kernel was saved in version {data.get('version')!r}; this is {VERSION}")
        names, nodes = data.get("files"), data.get("nodes")
        if not isinstance(names, list) or not all(isinstance(name, str) and len(name) <= MOST_TEXT for name in names):
            raise SavedKernelError("files: expected a list of names")
        if not isinstance(nodes, list) or len(nodes) > MOST_NODES:
            raise SavedKernelError(f"nodes: expected a list of at most {MOST_NODES}")
        self._files = [name if files is None else files.get(name, ELSEWHERE) for name in names]
        self._loaded: list[_Loaded] = []
        for number, line in enumerate(nodes):
            try:
                self._loaded.append(self._node(line))
            except Unexpected as error:
                raise SavedKernelError(f"nodes[{number}]{error}") from None
        self._func = data.get("func")

    def func(self) -> PrimFunc:
        """Return the kernel."""
        number = self._func
        if type(number) is int and 0 <= number < len(self._loaded):
            node = self._loaded[number].node
            if isinstance(node, PrimFunc):
                return node
        raise SavedKernelError("func: expected the number of a PrimFunc")

    def _node(self, line: object) -> _Loaded:
        if not isinstance(line, list) or len(line) != 2 or not isinstance(line[1], dict):
            raise Unexpected(": expected the name of a class and its fields")
        cls = CLASSES.get(line[0]) if isinstance(line[0], str) else None
        if cls is None:
            raise Unexpected(f": {line[0]!r} is not a class of the IR"[:200])
        checks = {**GRAMMAR[cls], **({"span": optional(a(Span))} if "span" in field_names(cls) else {})}
        given, depths = {}, [0]
        for name, raw in line[1].items():
            if name not in checks:
                raise Unexpected(f": {cls.__name__} has no field {name!r}"[:200])
            try:
                given[name] = checks[name](self._value(raw, depths, 0))
            except Unexpected as error:
                raise Unexpected(f".{name}: expected {error}") from None
        return _Loaded(self._made(cls, given), _depth(cls, depths))

    def _made(self, cls: type, given: dict[str, Any]) -> object:
        required = {name for name in GRAMMAR[cls] if defaults(cls).get(name, MISSING) is MISSING}
        if missing := sorted(required - given.keys()):
            raise Unexpected(f": {cls.__name__} needs {', '.join(missing)}")
        if cls is SwizzleMode:
            return SwizzleMode[given["name"]]
        try:
            if cls is Span:
                need(0 <= given["file"] < len(self._files), "the number of a file")
                given["file"] = self._files[given["file"]]
            # ComposeLayout has TVM's parameters, which are not its fields
            node = cls(*given.values()) if cls is ComposeLayout else cls(**given)
            RULES.get(cls, lambda node: None)(node)
        except (Unexpected, ValueError) as error:
            raise Unexpected(f": expected {error}" if isinstance(error, Unexpected) else f": {error}") from None
        return node

    def _value(self, raw: object, depths: list[int], nested: int) -> Any:
        """Return a JSON value, with references resolved to nodes whose depths are recorded."""
        if isinstance(raw, list):
            need(len(raw) <= MOST_ITEMS and nested < 8, f"at most {MOST_ITEMS} items, eight lists deep")
            return tuple(self._value(item, depths, nested + 1) for item in raw)
        if isinstance(raw, dict):
            if raw.keys() == {"float"} and isinstance(raw["float"], str):
                return _float(raw["float"])
            number = raw["ref"] if raw.keys() == {"ref"} else None
            if type(number) is not int or not 0 <= number < len(self._loaded):
                raise Unexpected("a reference to an earlier line")
            loaded = self._loaded[number]
            if not isinstance(loaded.node, Span):
                depths.append(loaded.depth)
            return loaded.node
        return raw


def _float(text: str) -> float:
    try:
        return float.fromhex(text)
    except (ValueError, OverflowError):
        raise Unexpected("a floating-point number in hexadecimal") from None


def _depth(kind: type, depths: list[int]) -> int:
    """Return the nesting depth of a node of this kind, given the depths of its fields."""
    depth, most = max(depths) + 1, MOST_INLINED if kind is Span else MOST_DEPTH
    if depth > most:
        raise Unexpected(f": expected at most {most} nodes within one another")
    return depth
