"""Individually launched indices, as in TVM's scheduled functions: ``bx = T.launch_thread("blockIdx.x", 4)``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tirx_mini.ir import DataType, Expr, Scope, ScopeIds, Stmt, TirxError, Var, int_value, seq
from tirx_mini.records import dataclass, replace
from tirx_mini.wording import described

from .builder import Builder, current

_UNITS = {"blockIdx": ("cta", "kernel"), "threadIdx": ("thread", "cta"), "clusterCtaIdx": ("cta", "cluster")}
"""What the indices of a name count, and within what."""
TAGS = tuple(f"{name}.{axis}" for name in _UNITS for axis in "xyz")


@dataclass(frozen=True, eq=False)
class Index:
    """An index of the launch; `extent` is None until it is launched."""

    tag: str
    var: Var
    extent: Any = None


def _index(builder: Builder, tag: str, dtype: object = "int32") -> Index:
    if tag not in TAGS:
        raise TirxError(
            f"{described(tag)} is not an index of the launch",
            hint=f"the indices are {', '.join(TAGS[:6])} and clusterCtaIdx",
        )
    if tag not in builder.threads:
        name = builder.take_name(tag.replace(".", "_"))
        builder.threads[tag] = Index(tag, Var(DataType(str(dtype)), name, span=builder.span))
    return builder.threads[tag]


def env_thread(thread_tag: str, dtype: object = "int32") -> Any:
    """Declare a launch index, whose extent `launch_thread` sets."""
    return _index(current("T.env_thread"), thread_tag, dtype).var


def launch_thread(thread: object, extent: object) -> Any:
    """Launch an index with an extent, as a value or as ``with T.launch_thread("threadIdx.x", 128) as tx:``.

    thread: its name, "blockIdx.x" to "threadIdx.z", or the variable of `env_thread`.
    """
    builder = current("T.launch_thread")
    index = (
        _index(builder, thread)
        if isinstance(thread, str)
        else next((one for one in builder.threads.values() if one.var is thread), None)
    )
    if index is None:
        raise TirxError("T.launch_thread expects the name of an index, or the variable of T.env_thread")
    known = int_value(extent)
    if (known is None and not (isinstance(extent, Expr) and builder.is_symbolic(extent))) or known == 0:
        raise TirxError(f"the extent of {index.tag} must be known when the kernel is called, not {described(extent)}")
    count = extent if known is None else known
    if index.extent is not None and index.extent is not extent and int_value(index.extent) != known:
        raise TirxError(f"{index.tag} has the extent {index.extent} before, and {extent} here")
    builder.threads[index.tag] = replace(index, extent=count)
    return index.var


def with_indices(body: Stmt) -> Stmt:
    """Wrap a kernel's body in the kernel scope, after the declarations of its indices."""
    builder = current("T.launch_thread")
    ids = list(_declarations(builder))
    if isinstance(body, Scope) and body.kind == "kernel":
        return replace(body, body=seq(*ids, body.body))
    return Scope("kernel", seq(*ids, body, span=builder.span), span=builder.span)


def _declarations(builder: Builder) -> Iterator[Stmt]:
    for name, (kind, parent) in _UNITS.items():
        found = [builder.threads.get(f"{name}.{axis}") for axis in "xyz"]
        while found and found[-1] is None:
            found.pop()
        if not found:
            continue
        for index in found:
            if index is not None and index.extent is None:
                raise TirxError(
                    f"{index.tag} has no extent", index.var.span, f"write T.launch_thread({index.var.name}, 128)"
                )
        pairs = [(Var(DataType("int32"), f"{name}_{a}"), 1) if one is None else (one.var, one.extent)
                 for a, one in zip("xyz", found, strict=False)]  # fmt: skip
        yield ScopeIds(tuple(var for var, _ in pairs), tuple(n for _, n in pairs), kind, parent, span=builder.span)
