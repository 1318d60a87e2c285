"""What a kernel is, apart from how it is written: a key that two kernels share if no GPU could tell them apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

from ..ir import Buffer, Hint, PrimFunc, Var

_NAMED = (Buffer, Var, PrimFunc)
"""Classes whose names say nothing of what a kernel does."""


def kernel_key(lowered: PrimFunc) -> str:
    """A digest of a lowered kernel without its names, spans and hints.

    Variables and buffers are numbered by their first use. Kernels with equal keys are structurally equal, and the
    simulator and the compiler do the same with them.
    """
    digest = hashlib.sha256()
    for token in _Tokens().of(lowered):
        digest.update(token.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


class _Tokens:
    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []
        """What is numbered by its identity, which nothing else can have while it lives."""

    def of(self, root: Any) -> Iterator[str]:
        """The tokens of a tree, parents first. A stack instead of recursion: a kernel may be nested deeply."""
        stack = [root]
        while stack:
            value = stack.pop()
            if isinstance(value, Hint):
                if value.body is not None:
                    stack.append(value.body)
                continue
            if isinstance(value, (Var, Buffer)):
                known = self._numbers.get(id(value))
                if known is not None:
                    yield f"#{known}"
                    continue
                self._numbers[id(value)] = len(self._numbers)
                self._kept.append(value)
            if isinstance(value, tuple):
                items = [item for item in value if not _silent(item)]
                yield f"({len(items)}"
                stack += reversed(items)
            elif is_dataclass(value) and not isinstance(value, (type, Enum)):
                yield type(value).__name__
                stack += [getattr(value, name) for name in reversed(_names(type(value)))]
            else:
                yield f"{type(value).__name__}:{value!r}"


def _silent(value: Any) -> bool:
    """Whether a statement does nothing."""
    return isinstance(value, Hint) and value.body is None


@cache
def _names(cls: type) -> tuple[str, ...]:
    ignored = ("span", "name") if cls in _NAMED else ("span",)
    return tuple(field.name for field in fields(cls) if field.name not in ignored)
