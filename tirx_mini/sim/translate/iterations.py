"""Loop iterations, counted against the budget of a run, once per loop if their number is known."""

from __future__ import annotations

from tirx_mini.ir import BufferLoad, BufferStore, Call, Expr, For, Hint, Seq, Stmt, int_value, leaves, trips, walk
from tirx_mini.isa import instruction_of

from .values import Value
from .writer import Writer

SLOW = 75
"""The cost of an instruction or a memory access in a loop of unknown length; a bare iteration costs 1."""
ATOMIC = 200
"""The additional cost of an atomic operation, whose order with all others is kept."""
PARTED = 10
"""The cost of a statement or the condition in a loop that lanes leave at different times; it operates on arrays."""
POLLED = 150
"""The cost of one poll of memory, after which other warps run for a while."""


class Iterations:
    """The emitter of iteration counts.

    A loop counts all its iterations at its start, including those of inner loops of known length; a loop that may end
    early counts them one by one.
    """

    def __init__(self, writer: Writer) -> None:
        self.out = writer
        self._counted: set[For] = set()

    def begin(self, loop: For, start: Value, stop: Value, *, early: bool) -> bool:
        """Emit the count of a loop from `start` to `stop`; return whether iterations must be counted one by one.

        early: whether the loop may end early.
        """
        if early or loop in self._counted:
            return early
        each = 1 + self._inner(loop.body)
        if start.known is not None and stop.known is not None:
            total = trips(start.known, stop.known, loop.step) * each
            self.out.line(f"w.gpu.spend(w, {total})")
            return False
        step = f" // {loop.step}" if loop.step != 1 else ""
        factor = f" * {each}" if each > 1 else ""
        self.out.line(f"w.gpu.spend(w, ({stop.code} - {start.code}){step}{factor})")
        return False

    def one(self, body: Stmt, *, cond: Expr | None = None, parted: bool = False, polls: bool = False) -> None:
        """Emit the count of one iteration, inside the loop, by its cost.

        cond: the condition of the loop, if it has one. parted: whether lanes leave the loop at different times. polls:
        whether it polls memory until that changes.
        """
        nodes = [*walk(body), *(walk(cond) if cond is not None else ())]
        cost = 1 + SLOW * sum(map(_is_slow, nodes)) + ATOMIC * sum(map(_is_atomic, nodes)) + POLLED * polls
        if parted:
            cost += PARTED * (1 + sum(isinstance(node, Stmt) and not isinstance(node, Seq) for node in nodes))
        self.out.line(f"steps += {cost}")
        self.out.line("if steps > 255: steps = w.gpu.spend(w, steps, False)")

    def _inner(self, body: Stmt) -> int:
        """Return the number of inner iterations that each iteration of the enclosing loop makes."""
        if isinstance(body, Seq):
            return sum(self._inner(stmt) for stmt in body.stmts)
        if isinstance(body, Hint) and body.body is not None:
            return self._inner(body.body)
        if not isinstance(body, For):
            return 0
        start, stop = int_value(body.start), int_value(body.stop)
        if body.parallel or start is None or stop is None or body.step == 0 or any(leaves(body.body)):
            return 0
        self._counted.add(body)
        return trips(start, stop, body.step) * (1 + self._inner(body.body))


def _is_slow(node: object) -> bool:
    access = isinstance(node, (BufferLoad, BufferStore)) and node.buffer.scope != "local"
    return access or isinstance(node, Call)


def _is_atomic(node: object) -> bool:
    entry = instruction_of(node) if isinstance(node, Call) else None
    return entry is not None and entry.is_atomic
