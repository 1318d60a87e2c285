"""The proof that the clusters of a launch are equal up to addresses in global memory.

Threads at the same position in two clusters have the same effects on shared and tensor memory, on barriers and on the
engines if control flow takes the same course, and if only control flow, the coordinates of copies and the addresses of
global memory depend on blockIdx. So clusters with equal decisions at the branches on blockIdx are equal, and have the
same happens-before relation.

The checks of a few clusters on behalf of all rest on this proof, and so do batches of clusters, sampled times, and the
clusters that a grader draws from a large launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tirx_mini.ir import (
    Address,
    AddressOf,
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    If,
    PrimFunc,
    Select,
    Special,
    Stmt,
    TirxError,
    Var,
    While,
    walk,
)
from tirx_mini.isa import (
    BarrierEffect,
    Instruction,
    Memory,
    OperandKind,
    grid_wide,
    instruction_of,
    prints,
    written_params,
)
from tirx_mini.records import dataclass

from ..translate import extent, needed

ANYWHERE = frozenset({OperandKind.GLOBAL, OperandKind.TENSOR_MAP, OperandKind.REGISTERS})
"""The kinds of operands that may depend on blockIdx, as may the coordinates of a tensor map."""


@dataclass(frozen=True)
class Equality:
    """The equality of the clusters of a lowered function.

    decided: the branches and loops whose course depends on blockIdx. None if clusters may differ in any other relevant
    way, or if something depends on data or on the order of events: in a kernel whose control flow needs data, that
    tests barriers, reads its own writes to global memory, or synchronises clusters.
    """

    decided: frozenset[Stmt] | None

    @classmethod
    def of(cls, func: PrimFunc, *, timed: bool = False) -> Equality:
        """Return the equality that can be proved from the program.

        timed: for a run without data, in which no value that is read matters.
        """
        if func.launch is None or grid_wide(func) or prints(func):
            return cls(None)
        try:
            needed(func)
        except TirxError:
            return cls(None)
        return cls(_Differences(func, timed).found())

    def among(self, statements: Iterable[Stmt]) -> bool:
        """Return whether clusters are equal if they take the same branches at the given statements."""
        return self.decided is not None and self.decided <= set(statements)


class _Targets:
    """A set of variables and buffers, in which a buffer also stands for every buffer that overlaps it."""

    def __init__(self) -> None:
        self._vars: set[Var] = set()
        self._places: dict[Buffer, set[tuple[int, int]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, target: Var | Buffer) -> None:
        if self.has(target):
            return
        self._count += 1
        if isinstance(target, Var):
            self._vars.add(target)
        else:
            root, first, end = extent(target)
            self._places.setdefault(root, set()).add((first, end))

    def has(self, target: Var | Buffer) -> bool:
        if isinstance(target, Var):
            return target in self._vars
        root, first, end = extent(target)
        return any(low < end and first < high for low, high in self._places.get(root, ()))


class _Differences:
    def __init__(self, func: PrimFunc, timed: bool) -> None:
        self._nodes = func.nodes
        self._timed = timed
        self._written = written_params(func)
        self._read_maps = {m.var for m in func.tensor_maps if m.buffer in self._written}
        self._by_block = _Targets()
        self._by_memory = _Targets()
        while self._spread():
            pass

    def _spread(self) -> bool:
        """Propagate dependences through all assignments once; return whether the sets have grown."""
        before = len(self._by_block) + len(self._by_memory)
        for node in self._nodes:
            if isinstance(node, Bind):
                self._assign(node.var, (node.value,))
            elif isinstance(node, BufferStore) and node.buffer.scope != "global":
                self._assign(node.buffer, (node.value, *node.indices))
            elif isinstance(node, For):
                self._assign(node.var, (node.start, node.stop))
        return len(self._by_block) + len(self._by_memory) > before

    def _assign(self, target: Var | Buffer, values: tuple[Expr, ...]) -> None:
        if any(self._differs(value) for value in values):
            self._by_block.add(target)
        if any(self._loaded(value) for value in values):
            self._by_memory.add(target)

    def _differs(self, expr: Expr) -> bool:
        """Return whether a value depends on blockIdx."""
        return any(
            (isinstance(node, Special) and node.name.startswith("blockIdx."))
            or (isinstance(node, Var) and self._by_block.has(node))
            or (isinstance(node, BufferLoad) and self._by_block.has(node.buffer))
            for node in walk(expr)
        )

    def _loaded(self, expr: Expr) -> bool:
        """Return whether a value was read from shared memory, where a tensor-memory address depends on the SM's other
        CTAs.
        """
        return any(
            (isinstance(node, BufferLoad) and (node.buffer.scope == "shared" or self._by_memory.has(node.buffer)))
            or (isinstance(node, Var) and self._by_memory.has(node))
            for node in walk(expr)
        )

    def found(self) -> frozenset[Stmt] | None:
        """Return `Equality.decided`."""
        decided: set[Stmt] = set()
        for node in self._nodes:
            if isinstance(node, (If, While, For)):
                conditions = (node.start, node.stop) if isinstance(node, For) else (node.cond,)
                if any(self._loaded(cond) for cond in conditions):
                    return None
                if any(self._differs(cond) for cond in conditions) and not (self._timed and _only_accesses(node)):
                    decided.add(node)
            elif any(self._matters(expr) for expr in self._fixed(node)) or not self._is_plain(node):
                return None
        return frozenset(decided)

    def _matters(self, expr: Expr) -> bool:
        return self._differs(expr) or self._loaded(expr)

    def _fixed(self, node: object) -> Iterator[Expr]:
        """Yield the expressions of a node that must have the same value in all clusters."""
        if isinstance(node, (BufferLoad, BufferStore, AddressOf)) and node.buffer.scope == "shared":
            yield from node.indices
        elif isinstance(node, Select) and self._touches_shared(node.a, node.b):
            yield node.cond
        elif isinstance(node, Binary) and node.op in ("and", "or") and self._touches_shared(node.b):
            yield node.a

    @staticmethod
    def _touches_shared(*sides: Expr) -> bool:
        return any(
            isinstance(node, Call) or (isinstance(node, BufferLoad) and node.buffer.scope == "shared")
            for side in sides
            for node in walk(side)
        )

    def _is_plain(self, node: object) -> bool:
        """Return whether a node reads only unwritten global memory and passes cluster-independent operands to
        instructions.
        """
        if isinstance(node, BufferLoad):
            return self._timed or node.buffer.scope != "global" or node.buffer not in self._written
        if not isinstance(node, Call):
            return True
        entry = instruction_of(node)
        if entry is None or entry.opaque or entry.reads_clock or entry.cancels_launches:
            return False
        if entry.barrier is BarrierEffect.TEST:
            return False
        if not self._timed and self._reads_a_result(entry, node):
            return False
        if entry.pure or (self._timed and _accesses_memory(entry, node)):
            return True
        return all(self._same(entry, kind, argument) for kind, argument in _operands(entry, node))

    def _reads_a_result(self, entry: Instruction, node: Call) -> bool:
        """Return whether an instruction may read what the launch has written."""
        if entry.result is not None and entry.reads:
            return True
        return Memory.GLOBAL in entry.reads and any(self._is_written(argument) for argument in node.args)

    def _is_written(self, argument: Expr) -> bool:
        if isinstance(argument, AddressOf):
            return argument.buffer in self._written
        if isinstance(argument, Address):
            return argument.buffers is None or any(buffer in self._written for buffer in argument.buffers)
        return argument in self._read_maps

    def _same(self, entry: Instruction, kind: OperandKind, argument: Expr) -> bool:
        """Return whether an operand of an instruction is the same in all clusters, or may differ."""
        if kind is OperandKind.TENSOR_MAP and isinstance(argument, Address):
            return False
        if kind in ANYWHERE or (isinstance(argument, AddressOf) and argument.buffer.scope in ("global", "local")):
            return True
        mapped = any(operand.type.kind is OperandKind.TENSOR_MAP for operand in entry.operands)
        if self._differs(argument):
            return kind is OperandKind.S32 and mapped
        return kind is OperandKind.TMEM or not self._loaded(argument)


def _accesses_memory(entry: Instruction, call: Call) -> bool:
    """Return whether an instruction is a load, store, atomic or cp.async of threads, which no barrier counts."""
    if entry.barrier is not None:
        return False
    threads = Memory.GLOBAL in entry.reads and OperandKind.TENSOR_MAP not in {each.type.kind for each in entry.operands}
    return threads or "space" in dict(call.attrs)


def _only_accesses(branch: Stmt) -> bool:
    """Return whether a branch has at most accesses of memory, as at the edge of an array, and no loop."""
    for node in walk(branch):
        entry = instruction_of(node) if isinstance(node, Call) else None
        if isinstance(node, (For, While)):
            return False
        if isinstance(node, Call) and not (entry is not None and (entry.pure or _accesses_memory(entry, node))):
            return False
    return True


def _operands(entry: Instruction, call: Call) -> Iterator[tuple[OperandKind, Expr]]:
    """Yield the arguments of a call with the kinds of their operands."""
    for operand, arguments in entry.matched(call.args, dict(call.attrs)):
        for argument in arguments:
            yield operand.type.kind, argument
