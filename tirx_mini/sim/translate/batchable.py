"""Analysis of kernels whose clusters can be executed as a batch (`machine.batched`)."""

from __future__ import annotations

from tirx_mini.ir import Address, AddressOf, Bind, Buffer, BufferLoad, BufferStore, Call, Expr, PrimFunc, Var, walk
from tirx_mini.isa import instruction_of

from .needed import has_effect


def batchable(func: PrimFunc) -> bool:
    """Return whether threads leave global memory to engines and exchange no register values between lanes.

    No operand of an instruction then depends on register values of other lanes, so that no value is shuffled. Registers
    themselves may be operands.
    """
    values = _Values(func)
    for node in func.nodes:
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.scope == "global":
            return False
        if isinstance(node, Call) and (entry := instruction_of(node)) is not None:
            if entry.typed and any(isinstance(argument, Address) for argument in node.args):
                return False
            operands = (argument for argument in node.args if not isinstance(argument, AddressOf))
            if any(values.has(operand) for operand in operands):
                return False
    return True


class _Values:
    """The variables and local buffers that depend on registers written by instructions."""

    def __init__(self, func: PrimFunc) -> None:
        self._found: set[Var | Buffer] = set()
        for node in func.nodes:
            if isinstance(node, Call) and instruction_of(node) is not None and has_effect(node):
                registers = (argument.buffer for argument in node.args if isinstance(argument, AddressOf))
                self._found.update(buffer.root for buffer in registers if buffer.scope == "local")
        before = -1
        while len(self._found) > before:
            before = len(self._found)
            for node in func.nodes:
                if isinstance(node, Bind) and self.has(node.value):
                    self._found.add(node.var)
                elif isinstance(node, BufferStore) and node.buffer.scope == "local" and self.has(node.value):
                    self._found.add(node.buffer.root)

    def has(self, expr: Expr) -> bool:
        """Return whether a value depends on such registers."""
        return any(
            (isinstance(node, Var) and node in self._found)
            or (isinstance(node, BufferLoad) and node.buffer.root in self._found)
            for node in walk(expr)
        )
