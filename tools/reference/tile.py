"""The page of tile primitives."""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.tile import OPS, OPTIONS, RULES, SPELLINGS, TileOp

from ._markdown import document, fenced, parsed, table, wrapped

_HEAD = """# Tile primitives

This page lists the operations on tiles, their options, and the rules that turn a call into instructions. A tile is
a slice of a buffer, such as `A[m_st : m_st + 128, 0:64]`, or a whole buffer.

A primitive is executed by the threads of the innermost `with` scope. `Tx.cta.copy(…)`, `Tx.wg.copy_async(…)` and
the like name the scope in the call. [The language](../language.md#tile-primitives) has examples, and says which
copies end with a proxy fence."""


def page() -> str:
    """The page."""
    return document(_HEAD, "## Operations", _operations(), "## Options", _options(), "## Dispatches", *_dispatches())


def _operations() -> str:
    calls = table(("call", "what it does"), [(f"`{_call(op)}`", parsed(op.doc).summary) for op in OPS.values()])
    others = ", ".join(f"`{name}` is `{meant}`" for name, meant in SPELLINGS.items())
    return f"{calls}\n\n{wrapped(f'TVM 0.26 has other names for some of them: {others}.')}"


def _call(op: TileOp) -> str:
    options = sorted(op.options.items(), key=lambda option: option[0] == "dispatch")  # the last one
    return f"{op.name}({', '.join([*op.operands, *(f'{name}={default!r}' for name, default in options)])})"


def _options() -> str:
    rows = []
    for name, option in OPTIONS.items():
        takers = ", ".join(f"`{op.name}`" for op in OPS.values() if name in op.options)
        others = {other for op in OPS.values() for other, meant in op.aliases.items() if meant == name}
        also = f" (also `{', '.join(sorted(others))}`)" if others else ""
        rows.append((f"`{name}`{also}", option.meaning, takers))
    return table(("option", "meaning", "of"), rows)


def _dispatches() -> Iterator[str]:
    yield wrapped(
        "A dispatch is a rule that implements a primitive for certain scopes and memories. Without `dispatch=`, the "
        "rules of a primitive are tried in this order, and the first that supports the call is used. If none does, "
        "the error lists each rule with its reason."
    )
    rows = []
    for rule in RULES:
        names = ", ".join(f'`"{name}"`' for name in (rule.name, *rule.aliases))
        rows.append((names, ", ".join(f"`{op}`" for op in rule.ops), rule.doc))
    yield table(("dispatch", "primitives", "what it emits"), rows)
    yield fenced('Tx.copy_async(Asmem[0, :, :], A[0:128, 0:64], dispatch="tma", mbar=bar.ptr_to([0]))', "python")
