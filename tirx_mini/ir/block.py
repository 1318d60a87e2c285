"""Blocks of TIR: a computation whose iterations a schedule may rearrange.

The text of a block is that of Apache TVM's TVMScript: ``with T.block("C"):`` and its ``T.axis`` lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tirx_mini.records import dataclass

from .buffer import Buffer, Range, Region
from .expr import Expr, Var
from .stmt import Stmt

SPATIAL, REDUCE = "spatial", "reduce"
"""The kinds of a block's variables: each value of a spatial one writes its own elements, and the values of a reduction
contribute to the same elements."""


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Block(Stmt):
    """One instance of a computation, executed at the current iteration of the enclosing loops.

    vars: the variables that `body`, `init`, `reads` and `writes` are written in.
    kinds: for each variable, SPATIAL or REDUCE.
    domains: for each variable, the values that it takes over all instances.
    values: for each variable, its value in the variables of the loops around.
    init: the initialisation that the first instance of a reduction executes before `body`: the one whose reduction
        variables are all at the start of their domains.
    reads, writes: the regions that an instance accesses; None where they are to be inferred from the body.
    predicate: instances for which it does not hold are left out; None if all are executed.
    allocs: buffers that live within the block.
    attrs: annotations, as (name, value) pairs.
    """

    name: str
    vars: tuple[Var, ...]
    kinds: tuple[str, ...]
    domains: tuple[Range, ...]
    values: tuple[Expr, ...]
    body: Stmt
    init: Stmt | None = None
    reads: tuple[Region, ...] | None = None
    writes: tuple[Region, ...] | None = None
    predicate: Expr | None = None
    allocs: tuple[Buffer, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()

    @property
    def name_hint(self) -> str:
        """The name of the block; an alias of `name`."""
        return self.name

    @property
    def iter_vars(self) -> tuple[BlockAxis, ...]:
        """The variables with their domains and kinds."""
        return tuple(map(BlockAxis, self.vars, self.domains, self.kinds))

    @property
    def annotations(self) -> dict[str, object]:
        """The attributes of the block, by name."""
        return dict(self.attrs)

    @property
    def alloc_buffers(self) -> tuple[Buffer, ...]:
        """The buffers allocated by the block; an alias of `allocs`."""
        return self.allocs


class BlockAxis(NamedTuple):
    """A variable of a block. iter_type: TVM's number, 0 for a spatial variable and 2 for a reduction."""

    var: Var
    dom: Range
    kind: str

    @property
    def iter_type(self) -> int:
        return 2 if self.kind == REDUCE else 0
