"""Data structures for PTX: a module as written, and a kernel with structured control flow.

The reader (`reader.py`) makes a `Module`; `kernel.py` makes a `Kernel` of one of its entries, which the lowering reads.
Grammar of a module; ``*`` marks a tuple, ``?`` a field that may be None:

    module    ::= Module(version, target*, address_size, files, variables*, functions*)
    function  ::= Function(kind, name, parameters*, results*, directives*, body?)      -- None: declared only
    statement ::= Instruction | Label | Scope(body*) | Declaration | Directive | Targets | Prototype
    operand   ::= Register | Special | Immediate | Float | Symbol | Address | Vector | Sink | Pair | Group

A `Kernel` has no labels, scopes, branches or calls of functions of the module: names are unique in it, and its body is

    node      ::= Instruction | If(test, then*, orelse*) | Loop(body*) | Break | Continue | Exit
                | Switch(index, cases*) | SetFlag(name, value)
    test      ::= Register | Flag

Types are written without their dot: "u32", "f16x2", "pred".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

NO_SPAN = Span("", 0)


@dataclass(frozen=True, slots=True)
class Register:
    """A register of the program: ``%r1``, ``!%p1`` (negated), ``%v.x`` (component)."""

    name: str
    negated: bool = False
    component: str = ""


@dataclass(frozen=True, slots=True)
class Special:
    """A special register: ``%tid.x`` is Special("tid", "x"), ``%clock64`` is Special("clock64")."""

    name: str
    component: str = ""


@dataclass(frozen=True, slots=True)
class Immediate:
    """An integer constant, with its sign. PTX computes constants in 64 bits."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A floating-point constant by its bits: ``0f3F800000`` has width 32; ``0d…`` and decimal text have width 64."""

    bits: int
    width: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A reference by name to a variable, function, label, table or prototype, with an optional byte offset.

    generic: whether it is the generic address of the variable: ``generic(name)`` in an initialiser.
    """

    name: str
    offset: int = 0
    generic: bool = False


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector operand ``{a, b, c, d}``."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``; the base of an absolute address is an Immediate.

    more: the operands after a comma, such as the coordinates in ``[map, {x, y}]``.
    """

    base: Operand
    offset: int = 0
    more: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Sink:
    """The operand ``_``: a discarded result or an omitted operand."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair of results, ``p|q``."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Group:
    """A parenthesised list ``(a, b)``: the results or arguments of a call."""

    items: tuple[Operand, ...]


Operand: TypeAlias = Register | Special | Immediate | Float | Symbol | Vector | Address | Sink | Pair | Group


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    opcode: its parts between dots: ("mbarrier", "init", "shared::cta", "b64").
    guard: the predicate in front of it, maybe negated; None where it has none.
    text: the instruction as it is written, without its guard's blanks and its semicolon.
    line: its line in the PTX text.
    span: the place in the source that ``.loc`` gives, with the calls that inlined it; without ``.loc`` its line of PTX.
    """

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...] = ()
    guard: Register | None = None
    text: str = ""
    line: int = 0
    span: Span = NO_SPAN

    @property
    def name(self) -> str:
        """The dotted opcode."""
        return ".".join(self.opcode)

    @property
    def is_generic(self) -> bool:
        """Return whether the opcode lacks a shared state space, so that shared-memory addresses are generic."""
        return not any(part.startswith("shared") for part in self.opcode)


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Declaration:
    """A register or a variable.

    space: "reg", "shared", "global", "const", "local", "param", "tex", ….
    count: for ``.reg .b32 %r<100>`` the number of registers, named %r0 … %r99; 0 for a single name.
    vector: 1, 2, 4 or 8 elements of `type`.
    shape: extents of an array, outermost first; None for one that the initialiser or the launch sizes. () for a scalar.
    align: in bytes; 0 for that of its type.
    initial: values in row-major order, nested as they are written; None without an initialiser.
    linkage: "", "extern", "visible", "weak" or "common".
    pointer: for a parameter ``.ptr``, the space that it points to ("" for generic); None for any other parameter.
    pointer_align: for such a parameter, the alignment of what it points to.
    """

    space: str
    type: str
    name: str
    count: int = 0
    vector: int = 1
    shape: tuple[int | None, ...] = ()
    align: int = 0
    initial: Initial | None = None
    linkage: str = ""
    pointer: str | None = None
    pointer_align: int = 0
    line: int = 0
    span: Span = NO_SPAN

    @property
    def names(self) -> Iterator[str]:
        """The declared names."""
        return (f"{self.name}{i}" for i in range(self.count)) if self.count else iter((self.name,))


Initial: TypeAlias = "Operand | tuple[Initial, ...]"


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive and its values: ``.maxntid 128, 1, 1``, ``.pragma "nounroll"``."""

    name: str
    values: tuple[int | str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Targets:
    """A list of branch or call targets: ``name: .branchtargets a, b;``. kind: "branchtargets" or "calltargets"."""

    kind: str
    name: str
    names: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Prototype:
    """A call prototype: ``name: .callprototype (results) _ (parameters);``."""

    name: str
    results: tuple[Declaration, ...]
    parameters: tuple[Declaration, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """A nested scope ``{ … }`` with its own labels, registers and variables."""

    body: tuple[Statement, ...]


Statement: TypeAlias = Instruction | Label | Scope | Declaration | Directive | Targets | Prototype


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel (kind "entry") or a function (kind "func"). body: None for an external function."""

    kind: str
    name: str
    parameters: tuple[Declaration, ...] = ()
    results: tuple[Declaration, ...] = ()
    directives: tuple[Directive, ...] = ()
    body: tuple[Statement, ...] | None = None
    linkage: str = ""
    line: int = 0
    span: Span = NO_SPAN

    def directive(self, name: str) -> tuple[int | str, ...] | None:
        """Return the values of a directive of the function, or None if it is absent."""
        return next((each.values for each in self.directives if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Module:
    """A PTX module.

    file: the file name in messages; files: the ``.file`` names, by number. of_cuda: whether nvcc or NVRTC made it.
    """

    version: tuple[int, int]
    target: tuple[str, ...]
    address_size: int
    file: str
    files: Mapping[int, str]
    variables: tuple[Declaration, ...]
    functions: tuple[Function, ...]
    of_cuda: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
    """A per-thread Boolean introduced by structuring, initially false."""

    name: str
    negated: bool = False


Test: TypeAlias = Register | Flag


@dataclass(frozen=True, slots=True)
class SetFlag:
    name: str
    value: bool


@dataclass(frozen=True, slots=True)
class If:
    """A conditional statement. line, span: the location of the branch."""

    test: Test
    then: tuple[Node, ...]
    orelse: tuple[Node, ...] = ()
    line: int = 0
    span: Span = NO_SPAN


@dataclass(frozen=True, slots=True)
class Loop:
    """An infinite loop, left by `Break`. `Break` and `Continue` refer to the innermost enclosing loop."""

    body: tuple[Node, ...]
    line: int = 0
    span: Span = NO_SPAN


@dataclass(frozen=True, slots=True)
class Break:
    pass


@dataclass(frozen=True, slots=True)
class Continue:
    pass


@dataclass(frozen=True, slots=True)
class Exit:
    """Thread exit."""

    line: int = 0
    span: Span = NO_SPAN


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch over ``cases[index]``; an index out of range is undefined behaviour. It has no `Break` of its own."""

    index: Operand
    cases: tuple[tuple[Node, ...], ...]
    line: int = 0
    span: Span = NO_SPAN


Node: TypeAlias = Instruction | If | Loop | Break | Continue | Exit | Switch | SetFlag


@dataclass(frozen=True, slots=True)
class Kernel:
    """One entry, inlined and structured.

    registers: the type of every register, with its vector length: {"%r1": ("b32", 1)}.
    variables: shared, local, global and constant variables that its instructions name; parameters of inlined calls too
        (space "param"), which are variables of the thread.
    flags: the names of all `Flag`s.
    """

    name: str
    parameters: tuple[Declaration, ...]
    directives: tuple[Directive, ...]
    registers: Mapping[str, tuple[str, int]]
    variables: tuple[Declaration, ...]
    flags: tuple[str, ...]
    body: tuple[Node, ...]
    module: Module
    span: Span = NO_SPAN

    def directive(self, name: str) -> tuple[int | str, ...] | None:
        """Return the values of a directive of the entry, or None if it is absent."""
        return next((each.values for each in self.directives if each.name == name), None)
