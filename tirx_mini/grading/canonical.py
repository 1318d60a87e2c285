"""The canonical form of a kernel, judged on behalf of all kernels that differ only in names.

The judge executes this form, and caches the result by a digest of the whole form. A cached result thus contains
nothing of the original file, and depends only on the digested data.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from functools import cache
from typing import Any

from tirx_mini.ir import Buffer, Expr, Hint, If, PrimFunc, Range, Seq, Stmt, TensorMap, Var
from tirx_mini.saved import save_json

PARAMS = ("A", "B", "D")
"""The parameter names of a GEMM, by position."""


def canonical(func: PrimFunc) -> PrimFunc:
    """Return the kernel with names by first use, and without source lines, hints and spellings.

    The parameters of a GEMM are named A, B and D by their places, and no other buffer has one of these names.
    """
    return _Canonical().func(func)


def canonical_text(func: PrimFunc) -> str:
    """Return the canonical form as JSON for `load_json`; different forms have different texts."""
    return save_json(canonical(func))


def kernel_key(func: PrimFunc) -> str:
    """Return a digest of the canonical form; kernels with equal keys behave equally on every GPU."""
    return hashlib.sha256(canonical_text(func).encode()).hexdigest()


class _Canonical:
    """Copies the nodes of one kernel, once for each node, even if it occurs twice."""

    def __init__(self) -> None:
        self._made: dict[int, object] = {}
        self._names = {"v": 0, "b": 0}

    def func(self, func: PrimFunc) -> PrimFunc:
        names = PARAMS if len(func.params) == len(PARAMS) else tuple(f"p{n}" for n in range(len(func.params)))
        params = tuple(self._named(param, name) for param, name in zip(func.params, names, strict=True))
        return PrimFunc(
            "kernel", params, self._of(func.body), self._of(tuple(func.attrs)), func.launch, self._of(func.tensor_maps)
        )

    def _of(self, value: object) -> Any:
        """Return the copy of a field's value."""
        if isinstance(value, tuple):
            return tuple(map(self._of, value))
        if not isinstance(value, (Expr, Stmt, Buffer, TensorMap, Range)):
            return value
        found = self._made.get(id(value))
        if found is None:
            found = self._made[id(value)] = self._copy(value)
        return found

    def _copy(self, node: object) -> object:
        if isinstance(node, Hint):
            return Seq(()) if node.body is None else self._of(node.body)
        if isinstance(node, Seq):
            return Seq(tuple(self._of(each) for each in node.stmts if not _silent(each)))
        if isinstance(node, If) and node.orelse is not None and _silent(node.orelse):
            return If(self._of(node.cond), self._of(node.then))
        if isinstance(node, (Var, Buffer)):
            return self._named(node, self._next("v" if isinstance(node, Var) else "b"))
        kept = {name: self._of(getattr(node, name)) for name in _kept(type(node))}
        return type(node)(**kept)

    def _named(self, target: Var | Buffer, name: str) -> Any:
        """Return the copy of a variable or buffer under a name."""
        kept = {each: self._of(getattr(target, each)) for each in _kept(type(target)) if each != "name"}
        made = self._made[id(target)] = type(target)(name=name, **kept)
        return made

    def _next(self, letter: str) -> str:
        self._names[letter] += 1
        return f"{letter}{self._names[letter]}"


def _silent(stmt: Stmt) -> bool:
    """Return whether a statement is a remark, without effect."""
    return isinstance(stmt, Hint) and (stmt.body is None or _silent(stmt.body))


@cache
def _kept(cls: type) -> tuple[str, ...]:
    """Return the fields of a node class that determine a kernel's behaviour."""
    return tuple(field.name for field in fields(cls) if field.name not in ("span", "written"))
