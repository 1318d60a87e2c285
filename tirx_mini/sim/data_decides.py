"""Kernels that may write nothing, depending on their data, such as for an empty batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tirx_mini.ir import (
    Address,
    AddressOf,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Continue,
    Evaluate,
    Expr,
    For,
    If,
    PrimFunc,
    Stmt,
    Var,
    While,
    walk,
)
from tirx_mini.isa import written_params
from tirx_mini.records import dataclass, replace

Node = Expr | Stmt


def data_decides(func: PrimFunc) -> bool:
    """Return whether a lowered kernel writes an argument only under conditions on its data."""
    if not any(isinstance(node, (If, For, While)) for node in func.nodes):
        return False
    data = _Data.of(func)
    return any(data.decides(node) and written_params(replace(func, body=node)) for node in _structured(func.nodes))


def _structured(nodes: Iterable[Node]) -> Iterable[Stmt]:
    return (node for node in nodes if isinstance(node, (If, For, While)))


@dataclass
class _Data:
    """The variables, and the buffers in registers and shared memory, that depend on data.

    params: the arguments.
    """

    params: frozenset[Buffer]
    vars: set[Var] = field(default_factory=set[Var])
    buffers: set[Buffer] = field(default_factory=set[Buffer])

    @classmethod
    def of(cls, func: PrimFunc) -> _Data:
        """Propagate data dependences from the arguments to a fixed point."""
        maps = {tensor_map.var for tensor_map in func.tensor_maps}
        found = cls(frozenset(param for param in func.params if isinstance(param, Buffer)))
        found.vars |= {param for param in func.params if isinstance(param, Var)} | maps
        while True:
            size = len(found.vars) + len(found.buffers)
            for node in func.nodes:
                found._follow(node)
            if len(found.vars) + len(found.buffers) == size:
                return found

    def _follow(self, node: Node) -> None:
        if isinstance(node, (Bind, For)):
            values = (node.value,) if isinstance(node, Bind) else (node.start, node.stop)
            if self.reaches(*values):
                self.vars.add(node.var)
        elif isinstance(node, BufferStore) and self.reaches(node.value, *node.indices):
            self.buffers.add(node.buffer.root)
        elif isinstance(node, Evaluate) and self.reaches(*node.call.args):
            pointers = [arg.buffer.root for arg in walk(node.call) if isinstance(arg, AddressOf)]
            for arg in node.call.args:
                pointers += [buffer.root for buffer in (arg.buffers or ())] if isinstance(arg, Address) else []
            self.buffers.update(b for b in pointers if b not in self.params and b.dtype.bits < 64)  # no mbarriers

    def reaches(self, *values: Expr | None) -> bool:
        """Return whether any of the values depends on data."""
        return any(self._is_data(node) for value in values if value is not None for node in walk(value))

    def _is_data(self, node: Node) -> bool:
        if isinstance(node, (BufferLoad, AddressOf)):
            return node.buffer.root in self.buffers or node.buffer.root in self.params
        return isinstance(node, Var) and node in self.vars

    def decides(self, stmt: Stmt) -> bool:
        """Return whether the execution or the trip count of a statement's body depends on data."""
        if isinstance(stmt, If):
            return self.reaches(stmt.cond)
        if isinstance(stmt, For) and self.reaches(stmt.start, stmt.stop):
            return True
        if isinstance(stmt, While) and self.reaches(stmt.cond):
            return True
        leaving = (node for node in walk(stmt) if isinstance(node, If) and self.reaches(node.cond))
        return any(isinstance(inner, (Break, Continue)) for node in leaving for inner in walk(node))
