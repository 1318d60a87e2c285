"""Counted loops: a loop that a counter ends after a known number of iterations becomes a `For`.

Compilers test the counter at the end of the body. The simulator counts the iterations of a `For` once, proves launches
equal over it, and leaves iterations out of a run for its time alone; of other loops it assumes none of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from tirx_mini.ir import (
    INT32,
    AddressOf,
    Binary,
    Bind,
    Bounds,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Cast,
    DataType,
    Evaluate,
    Expr,
    For,
    If,
    Mutator,
    PrimFunc,
    Return,
    Seq,
    Special,
    Stmt,
    Unary,
    Var,
    While,
    binary,
    cast,
    const,
    int_value,
    leaves,
    seq,
    statements,
    trips,
    walk,
)
from tirx_mini.records import dataclass, replace

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SWAPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_Assignment = TypeVar("_Assignment", Bind, BufferStore)
_NARROW = 32
"""The bits of the counters that are worked out from the iteration. Addresses stay sums, which are cheaper."""


def with_counted_loops(func: PrimFunc) -> PrimFunc:
    """Return the kernel with its counted loops as `For`."""
    grid = func.launch.grid if func.launch is not None else (1, 1, 1)
    return func.with_body(_Counted(grid).stmt(func.body)) if any(func.of(While)) else func


@dataclass(frozen=True)
class _Affine:
    """The value of a counter at the start of an iteration plus an offset; without a counter, a number."""

    counter: Buffer | None
    offset: int


@dataclass(frozen=True)
class _Test:
    """The loop is left where `counter + offset op bound`. dtype: of the comparison."""

    counter: Buffer
    offset: int
    op: str
    bound: int
    dtype: DataType


class _Counted(Mutator):
    """Replaces counted loops, with the bounds of the scalars and values before each statement.

    `ir.Analyzer` is for indices, which never wrap around. Registers do, so that a value has bounds only where they fit.
    """

    def __init__(self, grid: Sequence[int]) -> None:
        self._grid = {f"blockIdx.{axis}": (0, extent - 1) for axis, extent in zip("xyz", grid, strict=True)}
        self._ranges: dict[Buffer | Var, Bounds] = {}

    def visit_Bind(self, node: Bind) -> Stmt:
        return self._assigned(node, node.var)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        return self._assigned(node, node.buffer)

    def _assigned(self, node: _Assignment, target: Var | Buffer) -> _Assignment:
        value = self._decided(node.value)
        bounds = self._range(value)
        self._forget(node)
        if bounds is not None and _fits(bounds, target.dtype) and (isinstance(target, Var) or target.scalar):
            self._ranges[target] = bounds
        return node if value is node.value else replace(node, value=value)

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        self._forget(node)
        return node

    def visit_If(self, node: If) -> Stmt:
        cond = self._decided(node.cond)
        known = self._range(cond)
        if known == (1, 1):
            return self.stmt(node.then)
        if known == (0, 0):
            return self.stmt(node.orelse) if node.orelse is not None else Seq(())
        then = self._apart(node.then)
        return replace(node, cond=cond, then=then, orelse=None if node.orelse is None else self._apart(node.orelse))

    def visit_For(self, node: For) -> Stmt:
        self._forget(node)
        return replace(node, body=self._apart(node.body))

    def _apart(self, stmt: Stmt) -> Stmt:
        """Rewrite statements that may not be executed, or more than once."""
        before = dict(self._ranges)
        found = self.stmt(stmt)
        self._ranges = before
        self._forget(stmt)
        return found

    def visit_While(self, node: While) -> Stmt:
        before = dict(self._ranges)
        self._forget(node)
        loop = replace(node, body=self._apart(node.body))
        return _as_for(before, loop) or loop

    def _forget(self, stmt: Stmt) -> None:
        """Forget the scalars that a statement changes: an instruction with several results has their addresses."""
        for node in walk(stmt):
            if isinstance(node, (BufferStore, AddressOf)):
                self._ranges.pop(node.buffer, None)

    def _decided(self, expr: Expr) -> Expr:
        """Return a condition without the parts that are the same for all threads."""
        if not expr.dtype.is_bool:
            return expr
        known = self._range(expr)
        if known is not None and known[0] == known[1]:
            return const(bool(known[0]))
        if isinstance(expr, Unary) and expr.op == "not":
            value = self._decided(expr.value)
            return expr if value is expr.value else replace(expr, value=value)
        if isinstance(expr, Binary) and expr.op in ("and", "or"):
            neutral = int(expr.op == "and")
            a, b = self._decided(expr.a), self._decided(expr.b)
            if self._range(a) == (neutral, neutral):
                return b
            return a if self._range(b) == (neutral, neutral) else expr
        return expr

    def _compared(self, expr: Binary) -> Bounds | None:
        """Return the range of a comparison, if both sides have one."""
        a, b = self._range(expr.a), self._range(expr.b)
        if a is None or b is None or expr.op not in _NEGATED:
            return None
        op = expr.op
        if op in (">", ">="):
            a, b, op = b, a, _SWAPPED[op]
        if op in ("<", "<="):
            always = a[1] < b[0] + (op == "<=")
            never = a[0] >= b[1] + (op == "<=")
        else:
            apart = a[1] < b[0] or b[1] < a[0]
            same = a == b and a[0] == a[1]
            always, never = (same, apart) if op == "==" else (apart, same)
        return (int(always), int(not never))

    def _range(self, expr: Expr) -> Bounds | None:
        """Return the lowest and the highest value of an integer, or None if they are not known."""
        number = int_value(expr)
        if number is not None:
            return number, number
        if isinstance(expr, Special):
            return self._grid.get(expr.name)
        if isinstance(expr, Cast) and expr.dtype.is_integer:
            found = self._range(expr.value)
            return found if found is not None and _fits(found, expr.dtype) else None
        if isinstance(expr, Var):
            return self._ranges.get(expr)
        if isinstance(expr, BufferLoad) and expr.buffer.scalar:
            return self._ranges.get(expr.buffer)
        if isinstance(expr, Unary) and expr.op == "not":
            found = self._range(expr.value)
            return None if found is None else (1 - found[1], 1 - found[0])
        if isinstance(expr, Binary):
            return self._compared(expr)
        return None


def _fits(values: Bounds, dtype: DataType) -> bool:
    high = 1 << dtype.bits - dtype.is_signed
    return -high * dtype.is_signed <= values[0] and values[1] < high


def _as_for(before: Mapping[Buffer | Var, Bounds], loop: While) -> For | None:
    """Return a loop as a `For` if all threads make the same known number of iterations.

    before: the ranges of scalars in front of it.
    """
    body = loop.body.stmts if isinstance(loop.body, Seq) else (loop.body,)
    if int_value(loop.cond) != 1 or not body or any(map(_leaves_early, body[:-1])):
        return None
    last = body[-1]
    if not (isinstance(last, If) and last.orelse is None and isinstance(last.then, Break)):
        return None
    inside = _Body(body[:-1])
    test = inside.test(last.cond, len(body) - 1)
    if test is None or test.counter not in before or not inside.steps.get(test.counter):
        return None
    found = {_trips(first + test.offset, inside.steps[test.counter], test) for first in before[test.counter]}
    if len(found) > 1 or None in found or (test.op in ("==", "!=") and len(set(before[test.counter])) > 1):
        return None
    iteration = Var(INT32, f"{test.counter.name}_iteration")
    counted = inside.counted(iteration, before)
    return For(iteration, const(0), const(found.pop() or 0), seq(*counted), span=loop.span)


def _leaves_early(stmt: Stmt) -> bool:
    """Return whether a statement may leave or continue the loop around it, or end the kernel."""
    return any(leaves(stmt)) or any(isinstance(node, Return) for node in statements(stmt))


class _Body:
    """The body of a loop. steps: the counters, with what each iteration adds to them."""

    def __init__(self, stmts: Sequence[Stmt]) -> None:
        self._stmts = stmts
        self._places = {stmt: place for place, stmt in enumerate(stmts)}
        self._values = {stmt.var: stmt for stmt in stmts if isinstance(stmt, Bind)}
        self._stores: dict[Buffer, list[BufferStore | AddressOf]] = {}
        for stmt in stmts:
            for node in walk(stmt):
                if isinstance(node, (BufferStore, AddressOf)) and node.buffer.scalar:
                    self._stores.setdefault(node.buffer, []).append(node)
        self.steps = dict(self._steps())

    def _steps(self) -> Iterator[tuple[Buffer, int]]:
        for buffer, stores in self._stores.items():
            store = stores[0]
            if len(stores) == 1 and isinstance(store, BufferStore) and store in self._places:
                value = self._affine(store.value, self._places[store], {})
                if value is not None and value.counter is buffer:
                    yield buffer, value.offset

    def _affine(self, expr: Expr, place: int, steps: Mapping[Buffer, int]) -> _Affine | None:
        """Return the value of an expression that the statement at `place` evaluates."""
        number = int_value(expr)
        if number is not None:
            return _Affine(None, number)
        if isinstance(expr, Cast) and expr.dtype.is_integer and expr.dtype.bits >= _NARROW:
            return self._affine(expr.value, place, steps)
        if isinstance(expr, Var) and expr in self._values:
            return self._affine(self._values[expr].value, self._places[self._values[expr]], steps)
        if isinstance(expr, BufferLoad) and expr.buffer.scalar and len(self._stores.get(expr.buffer, ())) == 1:
            store = self._stores[expr.buffer][0]
            if not isinstance(store, BufferStore) or store not in self._places:
                return None
            passed = self._places[store] < place
            return _Affine(expr.buffer, steps.get(expr.buffer, 0) if passed else 0)
        if isinstance(expr, Binary) and expr.op in ("+", "-"):
            a, b = self._affine(expr.a, place, steps), self._affine(expr.b, place, steps)
            if a is not None and b is not None and b.counter is None:
                return _Affine(a.counter, a.offset + b.offset if expr.op == "+" else a.offset - b.offset)
            if a is not None and b is not None and a.counter is None and expr.op == "+":
                return _Affine(b.counter, a.offset + b.offset)
        return None

    def test(self, cond: Expr, place: int) -> _Test | None:
        """Return the test of the statement at `place`, or None if it is none of a counter."""
        negated = False
        while True:
            if isinstance(cond, Unary) and cond.op == "not":
                cond, negated = cond.value, not negated
            elif isinstance(cond, Var) and cond in self._values:
                place = self._places[self._values[cond]]
                cond = self._values[cond].value
            else:
                break
        if not isinstance(cond, Binary) or cond.op not in _NEGATED:
            return None
        a, b = self._affine(cond.a, place, self.steps), self._affine(cond.b, place, self.steps)
        op = _NEGATED[cond.op] if negated else cond.op
        if a is not None and b is not None and a.counter is None:
            a, b, op = b, a, _SWAPPED[op]
        if a is None or b is None or a.counter is None or b.counter is not None:
            return None
        return _Test(a.counter, a.offset, op, b.offset, cond.a.dtype)

    def counted(self, iteration: Var, before: Mapping[Buffer | Var, Bounds]) -> list[Stmt]:
        """Return the statements with the counters that are known from the iteration."""
        ones = [counter for counter, step in self.steps.items() if step == 1 and counter.dtype.bits == _NARROW]
        equal = {counter for counter in ones if before.get(counter) == (0, 0)}
        found: list[Stmt] = []
        for stmt in self._stmts:
            found.append(self._worked_out(_Iterations(frozenset(equal), iteration).stmt(stmt), iteration, before))
            equal -= {stmt.buffer} if isinstance(stmt, BufferStore) else set()
        return found

    def _worked_out(self, stmt: Stmt, iteration: Var, before: Mapping[Buffer | Var, Bounds]) -> Stmt:
        """Return the statement; if it advances a narrow counter from a known value, with its value of the iteration."""
        if not isinstance(stmt, BufferStore) or stmt.buffer not in self.steps or stmt.buffer.dtype.bits > _NARROW:
            return stmt
        first, last = before.get(stmt.buffer, (0, 1))
        if first != last:
            return stmt
        step = self.steps[stmt.buffer]
        value = binary("+", binary("*", iteration, const(step, INT32)), const(first + step, INT32))
        return replace(stmt, value=cast(stmt.buffer.dtype, value))


class _Iterations(Mutator):
    """Replaces the counters that are equal to the number of the iteration by this number."""

    def __init__(self, equal: frozenset[Buffer], iteration: Var) -> None:
        self.equal, self.iteration = equal, iteration

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return cast(node.dtype, self.iteration) if node.buffer in self.equal else self.rebuild(node)


def _trips(first: int, step: int, test: _Test) -> int | None:
    """Return the number of iterations of a body that the test follows, or None if the counter wraps around by then."""
    op, bound = test.op, test.bound
    if op == "==":
        count, rest = divmod(bound - first, step)
        if rest or count < 0:
            return None
    elif op == "!=":
        count = int(first == bound)
    else:
        found = _until(first, step, op, bound)
        if found is None:
            return None
        count = found
    high = 1 << min(test.counter.dtype.bits, test.dtype.bits) - 1
    low = -high if test.dtype.is_signed or op in ("==", "!=") else 0
    return count + 1 if all(low <= value < high for value in (first, first + count * step, bound)) else None


def _until(first: int, step: int, op: str, bound: int) -> int | None:
    """Return the first i at which `first + i * step op bound` holds, or None if it never does."""
    if op in ("<", "<="):
        first, step, bound, op = -first, -step, -bound, _SWAPPED[op]
    least = bound if op == ">=" else bound + 1
    if step <= 0:
        return 0 if first >= least else None
    return trips(first, least, step)
