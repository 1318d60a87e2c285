"""Dispatch: the lowering of a tile primitive to instructions.

A `Rule` is one implementation of an operation. It emits statements, or raises `Refusal` with the reason why it does not
support the call. `dispatch` uses the first rule that does not refuse; if all refuse, the error lists each rule with its
reason.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from tirx_mini.ir import Stmt, TileCall, TirxError

from .context import Context


class Refusal(Exception):
    """The refusal of a rule to support a call.

    reason: why, as a sentence without a full stop.
    hint: what to write instead.
    """

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.hint = reason, hint


class NotMeant(Refusal):
    """The refusal of a rule intended for other memories, which is not reported to the user."""


class Rule(ABC):
    """An implementation of the operations `ops`.

    name: the value of ``dispatch="…"`` that selects it, also used in error pages.
    aliases: other values that select it, TVM's for rules that choose more freely.
    doc: a short description for error pages.
    """

    name: ClassVar[str]
    ops: ClassVar[tuple[str, ...]]
    doc: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        """Return the statements that implement `call`. Raises Refusal if the rule does not support it."""


def dispatch(call: TileCall, ctx: Context, rules: Sequence[Rule]) -> Stmt:
    """Lower `call` by the first of `rules` that supports it.

    Raises TirxError with the reason of each rule if none does.
    """
    candidates = [rule for rule in rules if call.op in rule.ops]
    wanted = call.option("dispatch")
    if wanted is not None:
        candidates = _named(call, wanted, candidates)
    refusals: list[tuple[Rule, Refusal]] = []
    for rule in candidates:
        try:
            return rule.emit(call, ctx)
        except Refusal as refusal:
            refusals.append((rule, refusal.with_traceback(None)))  # whose frames refer to this list
    raise _refused(call, ctx, refusals)


def _refused(call: TileCall, ctx: Context, refusals: list[tuple[Rule, Refusal]]) -> TirxError:
    """Return the error with each rule's reason; if only one rule is relevant, its reason is the headline."""
    meant = [(rule, refusal) for rule, refusal in refusals if not isinstance(refusal, NotMeant)]
    listed = f"docs/reference/tile.md lists what each dispatch of {call.op} supports"
    hint = next((refusal.hint for _, refusal in meant or refusals if refusal.hint), listed)
    if len(meant) == 1:
        ((rule, refusal),) = meant
        message = f"this {call.op} cannot use {rule.name}: {refusal.reason}"
        refusals = [(rule, refusal) for rule, refusal in refusals if isinstance(refusal, NotMeant)]
    else:
        message = f"no dispatch supports this {call.op} in {ctx.scope} scope"
    notes = tuple((f"{rule.name} ({rule.doc}): {refusal.reason}", None) for rule, refusal in refusals)
    return TirxError(message, call.span, hint, notes, kind="no-dispatch")


def _named(call: TileCall, wanted: object, candidates: list[Rule]) -> list[Rule]:
    named = [rule for rule in candidates if wanted == rule.name or wanted in rule.aliases]
    if named:
        return named
    names = [rule.name for rule in candidates]
    listed = ", ".join(f'"{name}"' for name in names)
    close = difflib.get_close_matches(str(wanted), names, 1)
    raise TirxError(
        f'{call.op} has no dispatch "{wanted}"; it has {listed}',
        call.span,
        f'did you mean dispatch="{close[0]}"?' if close else f"use one of {listed}, or omit dispatch",
    )
