"""Construction of operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tirx_mini.ir import Span

from .core import Arg, Op, OpKind, Region, Type, Value


def make(
    kind: OpKind,
    args: Sequence[Arg] = (),
    attrs: dict[str, Any] | None = None,
    regions: Sequence[Region] = (),
    types: Sequence[Type] | None = None,
    hints: Sequence[str] = (),
    span: Span | None = None,
) -> Op:
    """Create an operation with new results, inferring types that are not given.

    Raises `ValueError` for a wrong number of operands, an unknown attribute, or types that cannot be inferred.
    """
    filled = list(args) + [() if f.variadic else None for f in kind.operands[len(args) :]]
    if len(filled) != len(kind.operands):
        raise ValueError(f"{kind.name} takes {len(kind.operands)} operands, not {len(args)}")
    unknown = set(attrs or ()) - set(kind.attrs)
    if unknown:
        raise ValueError(f"{kind.name} has no attribute {', '.join(sorted(unknown))}")
    groups = tuple(tuple(a) if isinstance(a, list) else a for a in filled)
    draft = Op(kind, groups, (), attrs or {}, tuple(regions), span)
    if types is None:
        types = _inferred(draft)
    names = list(hints) + [""] * len(types)
    results = tuple(Value(t, names[i]) for i, t in enumerate(types))
    return Op(kind, draft.args, results, draft.attrs, draft.regions, span)


def _inferred(draft: Op) -> Sequence[Type]:
    if not draft.kind.results:
        return ()
    if draft.kind.infer is None:
        raise ValueError(f"the types of the results of {draft.kind.name} must be given")
    types = draft.kind.infer(draft)
    return types if isinstance(types, tuple) else (types,)


class Builder:
    """A builder that appends operations to a block.

    span: the source text of operations that are emitted without one.
    """

    def __init__(self, span: Span | None = None) -> None:
        self.span = span
        self.ops: list[Op] = []

    def emit(
        self,
        kind: OpKind,
        *args: Arg | list[Value],
        types: Sequence[Type] | None = None,
        regions: Sequence[Region] = (),
        hint: str | Sequence[str] = (),
        span: Span | None = None,
        **attrs: object,
    ) -> Any:
        """Append a new operation. Returns its result, or a tuple unless there is exactly one."""
        hints = (hint,) if isinstance(hint, str) else hint
        op = self.add(make(kind, args, attrs, regions, types, hints, span or self.span))  # type: ignore[arg-type]
        return op.results[0] if len(op.results) == 1 else op.results

    def add(self, op: Op) -> Op:
        """Append an existing operation."""
        self.ops.append(op)
        return op

    def body(self, types: Sequence[Type], write: Callable[..., None], hints: Sequence[str] = ()) -> Region:
        """Build a region with parameters of `types`, whose operations ``write(builder, *params)`` emits."""
        names = list(hints) + [""] * len(types)
        params = tuple(Value(t, names[i]) for i, t in enumerate(types))
        inner = Builder(self.span)
        write(inner, *params)
        return Region(params, tuple(inner.ops))
