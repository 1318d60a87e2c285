"""Ordering of a block's memory operations by tokens, one chain per array.

The operations of a block on one array take effect in program order, as if it had one thread. Loads that lie between two
stores may be in any order. Arrays that a kernel never writes need no tokens, and different arrays do not overlap: which
arrays are written, and which ones each loop touches, a first trace of the kernel finds out (`Trace`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field, replace

from tirx_mini.records import dataclass

from ..ssa import Value
from .emitter import Emitter
from .values import ArrayValue


@dataclass
class Accesses:
    """The memory operations found by a trace of a kernel.

    written: the arrays (numbers of parameters) that the kernel stores to.
    touched: the arrays that each loop, and each function that it calls, reads or writes.
    fenced: whether an operation orders all arrays: an atomic operation that acquires or releases.
    """

    written: set[int] = field(default_factory=set)
    touched: dict[ast.AST, set[int]] = field(default_factory=dict)
    fenced: bool = False


@dataclass(frozen=True)
class Tokens:
    """The tokens of one array. None imposes no order.

    stored: of the last store; a load comes after it.
    all: of that store and all loads since; a store comes after them.
    """

    stored: Value | None = None
    all: Value | None = None


class Ordering:
    """The memory tokens at the current program point.

    known: the accesses found by the first trace; None while it runs, which needs no tokens.
    """

    def __init__(self, emit: Emitter, known: Accesses | None) -> None:
        self.emit = emit
        self.known = known
        self.found = Accesses()
        self.loops: list[ast.AST] = []
        self.state: dict[int, Tokens] = {}
        self.printed: Value | None = None

    def ordered(self, array: ArrayValue) -> bool:
        """Return whether operations on `array` need tokens."""
        return self.known is not None and array.root in self.known.written

    def touch(self, array: ArrayValue, written: bool = False) -> None:
        """Record an access."""
        if written:
            self.found.written.add(array.root)
        for loop in self.loops:
            self.found.touched.setdefault(loop, set()).add(array.root)

    def before_load(self, array: ArrayValue) -> Value | None:
        """Return the token that a load takes."""
        self.touch(array)
        return self.state.get(array.root, Tokens()).stored if self.ordered(array) else None

    def after_load(self, array: ArrayValue, token: Value) -> None:
        if self.ordered(array):
            before = self.state.get(array.root, Tokens())
            self.state[array.root] = replace(before, all=self.emit.join(before.all, token))

    def before_store(self, array: ArrayValue) -> Value | None:
        """Return the token that a store or atomic takes."""
        self.touch(array, written=True)
        return self.state.get(array.root, Tokens()).all if self.ordered(array) else None

    def after_store(self, array: ArrayValue, token: Value) -> None:
        if self.ordered(array):
            self.state[array.root] = Tokens(token, token)

    def before_fence(self) -> Value | None:
        """Return the token of all preceding operations, for an operation that releases."""
        self.found.fenced = True
        return self.emit.join(*(tokens.all for tokens in self.state.values()))

    def after_fence(self, token: Value) -> None:
        """Order all following operations after `token`, the result of an operation that acquires."""
        if self.known is not None:
            self.state = dict.fromkeys(sorted(self.known.written), Tokens(token, token))

    def carried(self, loop: ast.AST) -> list[int]:
        """Return the arrays whose tokens a loop carries: those written anywhere and accessed in the loop."""
        if self.known is None:
            return []
        if self.known.fenced:
            return sorted(self.known.written)
        return sorted(self.known.written & self.known.touched.get(loop, set()))

    def start(self, roots: list[int]) -> list[Value]:
        """Return the initial tokens of a loop: `stored` and `all` of each array."""
        values: list[Value] = []
        for root in roots:
            tokens = self.state.get(root, Tokens())
            stored = tokens.stored or self.emit.make_token()
            values += [stored, tokens.all or stored]
        return values

    def put(self, roots: list[int], values: list[Value]) -> None:
        """Set the current tokens, in the order of `start`."""
        for i, root in enumerate(roots):
            self.state[root] = Tokens(values[2 * i], values[2 * i + 1])

    def changed(self, before: Mapping[int, Tokens], *after: Mapping[int, Tokens]) -> list[int]:
        """Return the arrays whose tokens a branch has changed."""
        roots = {root for state in (before, *after) for root in state}
        return sorted(r for r in roots if any(state.get(r) != before.get(r) for state in after))
