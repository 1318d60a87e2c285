"""The results of a launch: copies of its arguments, and the first element in which two runs differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tirx_mini.arguments import TensorMap
from tirx_mini.ir import Address as Pointer
from tirx_mini.ir import AddressOf, BufferStore, Call, Span, Var
from tirx_mini.isa import Memory, instruction_of
from tirx_mini.records import dataclass, replace
from tirx_mini.sim import from_torch

from .arguments import is_array, shown_name
from .lowering import Lowered
from .registers import examine, instructions, name_of, registers_in
from .syntax import Instruction, Kernel, Operand, Special

Arrays: TypeAlias = Mapping[str, np.ndarray]

_OF_THE_RUN = ("clock", "globaltimer", "smid", "nsmid", "warpid", "nwarpid", "gridid")
"""The beginnings of special registers with a value of the run: the time, and where the thread runs."""
_SEEN_BY_OTHERS = ("volatile", "relaxed", "acquire", "mmio")
_FLOATS = ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2")
_PRODUCTS = ("mma", "wgmma", "tcgen05", "wmma")


def copied(args: Sequence[object]) -> list[object]:
    """Return the arguments of a launch with copies of their arrays; an array that occurs twice is copied once."""
    copies: dict[int, object] = {}

    def copy(arg: object) -> object:
        if isinstance(arg, TensorMap):
            return replace(arg, tensor=copy(arg.tensor))
        if isinstance(arg, (list, tuple)):
            return type(arg)(map(copy, arg))
        if not is_array(arg):
            return arg
        if id(arg) not in copies:
            copies[id(arg)] = _array(arg).copy(order="K")
        return copies[id(arg)]

    return [copy(arg) for arg in args]


def _array(arg: object) -> np.ndarray:
    return arg if isinstance(arg, np.ndarray) else from_torch(arg)


def arrays_in(args: Sequence[object], names: Sequence[str] = ()) -> Arrays:
    """Return the arrays of a launch by their names in reports. names: of the parameters."""
    found: dict[str, np.ndarray] = {}

    def collect(name: str, arg: object) -> None:
        if isinstance(arg, TensorMap):
            collect(name, arg.tensor)
        elif isinstance(arg, (list, tuple)):
            for place, each in enumerate(arg):
                collect(f"{name}_{place}", each)
        elif is_array(arg):
            found[name] = _array(arg)

    for number, arg in enumerate(args):
        collect(shown_name(number, names[number]) if names else f"{number}", arg)
    return found


@dataclass(frozen=True)
class Difference:
    """An element in which two runs differ. index: its indices. one, other: its values."""

    name: str
    index: tuple[int, ...]
    one: object
    other: object

    @property
    def element(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.index))}]" if self.index else self.name


def difference(one: Arrays, other: Arrays, rounded: bool) -> Difference | None:
    """Return the first element that differs.

    rounded: whether floating-point values are compared up to rounding, relative to the largest value of the array.
    """
    for name in one:
        differs = _differs(one[name], other[name], rounded)
        if differs.any():
            index = tuple(map(int, np.unravel_index(int(np.argmax(differs)), differs.shape)))
            return Difference(name, index, one[name][index].item(), other[name][index].item())
    return None


def _differs(one: np.ndarray, other: np.ndarray, rounded: bool) -> np.ndarray:
    if one.dtype.kind in "iub":
        return one != other
    with np.errstate(invalid="ignore"):
        differs = (one != other) & ~((one != one) & (other != other))
        if rounded and differs.any():
            wide, others = one.astype(np.float64), other.astype(np.float64)
            most = np.max(np.abs(wide), where=np.isfinite(wide), initial=0.0)
            differs &= ~(np.abs(wide - others) <= 8 * most * 2.0 ** -_bits(one.dtype))
    return differs


def _bits(dtype: np.dtype) -> int:
    """Return the bits of a significand."""
    import ml_dtypes

    return int(ml_dtypes.finfo(dtype).nmant)


def rounds(kernel: Kernel) -> bool:
    """Return whether a kernel sums products on tensor cores: the simulator rounds where somebody looks at the sum."""
    return any(each.opcode[0] in _PRODUCTS for each in instructions(kernel.body))


def decided_by_order(kernel: Kernel) -> bool:
    """Return whether the order of threads may decide the results of a kernel, as that of atomic operations does."""
    flat = tuple(instructions(kernel.body))
    uses = examine(kernel, flat).uses
    read = {name for name, use in uses.items() if use.reads}
    return any(_depends_on_order(each, read) for each in flat)


def _depends_on_order(each: Instruction, read: set[str]) -> bool:
    first, *words = each.opcode
    if any(isinstance(one, Special) and one.name.startswith(_OF_THE_RUN) for one in _parts(each.operands)):
        return True
    if first == "ld":
        return any(word in words for word in _SEEN_BY_OTHERS)
    if first == "atom" and any(name_of(register) in read for register in registers_in(each.operands[:1])):
        return True
    reduces = first in ("atom", "red") or "red" in words or "reduce" in words
    return reduces and "add" in words and any(word in _FLOATS for word in words)


def _parts(operands: Sequence[Operand]) -> Iterator[Operand]:
    for operand in operands:
        yield operand
        yield from getattr(operand, "items", ())


def stores_to(lowered: Lowered, name: str) -> list[Span]:
    """Return where a lowered kernel may write an array, one place for each line."""
    found: dict[tuple[str, int], Span] = {}
    for node in lowered.func.nodes:
        span = getattr(node, "span", None)
        if span is not None and _may_write(node, name):
            found.setdefault((span.user.file, span.user.line), span)
    return list(found.values())


def _may_write(node: object, name: str) -> bool:
    """Return whether a node may write an array in global memory."""
    if isinstance(node, BufferStore):
        return node.buffer.name == name
    entry = instruction_of(node) if isinstance(node, Call) else None
    if not isinstance(node, Call) or entry is None or Memory.GLOBAL not in entry.writes:
        return False
    if any(isinstance(arg, (AddressOf, Var)) and _named(arg) == name for arg in node.args):
        return True
    pointers = [arg.buffers for arg in node.args if isinstance(arg, Pointer)]
    return any(buffers is None or any(buffer.name == name for buffer in buffers) for buffers in pointers)


def _named(arg: AddressOf | Var) -> str:
    """Return the name of the array that a pointer or a tensor map is of."""
    return arg.buffer.name if isinstance(arg, AddressOf) else arg.name if arg.dtype == "tensormap" else ""
