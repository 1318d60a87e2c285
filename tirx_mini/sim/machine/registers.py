"""Register arrays: the local buffers of a kernel, with 32 lanes per element, and a mask of the written elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fault
from .arriving import Arriving, Load, Ranges
from .dtypes import Index, Number
from .lazy import LazySum, LazySums
from .masks import LANES
from .register_facts import (
    BorrowedRegister,
    Owner,
    PendingRegister,
    WideRegisters,
    outside,
    uninitialised,
)

LANE = np.arange(LANES)


@dataclass(eq=False)
class Flight:
    """A range of registers [start, stop) that the tensor core owns since the MMA at `span` was issued."""

    start: int
    stop: int
    span: Span | None


class UniformArray:
    """A local buffer whose elements are uniform across the lanes, stored as Python numbers."""

    __slots__ = ("name", "span", "values")

    def __init__(self, name: str, size: int, span: Span | None) -> None:
        self.name = name
        self.span = span
        self.values: list[Number | None] = [None] * size

    def load(self, w: Owner, index: int) -> Number:
        """Return element `index`.
        Finding: uninitialised-register. Fault: out-of-bounds."""
        if not 0 <= index < len(self.values):
            raise outside(w, self.name, self.span, index, len(self.values))
        value = self.values[index]
        if value is None:
            uninitialised(w, self.name, self.span)
            return 0
        return value

    def store(self, w: Owner, index: int, value: Number) -> None:
        """Write element `index`. Fault: out-of-bounds."""
        if not 0 <= index < len(self.values):
            raise outside(w, self.name, self.span, index, len(self.values))
        self.values[index] = value


class RegisterArray:
    """A local buffer of one warp.

    data: [size, 32] of the element's dtype; element i of lane l is data[i, l].
    defined: bool[size, 32], the mask of written elements; `complete` once it holds everywhere.
    pending: the undelivered asynchronous loads (tcgen05.ld).
    flights: the ranges lent to MMAs (wgmma). lazy: the pending sums of completed ones. touched: the number of
        wgmma.fence executed by the warp before the last use by an ordinary instruction.

    Loaded and stored values have the lanes as their last axis; vectors of several elements come after it. In a parallel
    loop the iterations come first.
    """

    __slots__ = (
        "_dtype", "_size", "complete", "data", "defined", "flights", "itemsize", "lazy", "name", "pending", "span",
        "touched",
    )  # fmt: skip

    data: np.ndarray
    defined: np.ndarray

    def __init__(self, name: str, size: int, dtype: npt.DTypeLike, span: Span | None = None) -> None:
        self.name = name
        self.span = span
        self._size = size
        self._dtype = dtype
        self.itemsize = np.dtype(dtype).itemsize
        self.complete = False
        self.pending = Arriving()
        self.flights: list[Flight] = []
        self.lazy = LazySums()
        self.touched = -1

    def __getattr__(self, name: str) -> Any:
        """Create `data` and `defined` at their first use; a warp without a tile never allocates them."""
        if name == "data":
            self.data = np.zeros((self._size, LANES), self._dtype)
        elif name == "defined":
            self.defined = np.zeros((self._size, LANES), bool)
        else:
            raise AttributeError(name)
        return getattr(self, name)

    def __len__(self) -> int:
        return self._size

    # -- one index for all lanes -----------------------------------------------------------------------------------

    def block(self, w: Owner, start: int, steps: int, lanes: int) -> np.ndarray:
        """Return a view of `steps` vectors of `lanes` elements from `start` on: [steps, 32, lanes] without axes of
        length one.

        steps = 0 denotes one vector outside a parallel loop, without an axis of steps.
        Finding: uninitialised-register. Fault: out-of-bounds.
        """
        stop = start + max(steps, 1) * lanes
        self._check_inside(w, start, stop)
        self._touch(w, slice(start, stop), False)
        if not self.complete:
            self._check_defined(w, slice(start, stop), self.defined[start:stop])
        return self._shaped(self.data, start, steps, lanes)

    def store_block(self, w: Owner, start: int, steps: int, lanes: int, value: Number) -> None:
        """Write the elements that `block` would return, in the active lanes.
        Fault: out-of-bounds."""
        stop = start + max(steps, 1) * lanes
        self._check_inside(w, start, stop)
        self._touch(w, slice(start, stop), True)
        target = self._shaped(self.data, start, steps, lanes)
        if w.mask.full:
            target[...] = value
            if not self.complete:
                self.defined[start:stop] = True
        else:
            bits = w.mask.bits
            np.copyto(target, np.asarray(value).astype(self.data.dtype), where=bits[:, None] if lanes > 1 else bits)
            if not self.complete:
                self.defined[start:stop] |= bits
        self._settle(slice(start, stop))

    @staticmethod
    def _shaped(data: np.ndarray, start: int, steps: int, lanes: int) -> np.ndarray:
        if lanes == 1:
            return data[start : start + steps] if steps else data[start]
        if not steps:
            return data[start : start + lanes].T
        return data[start : start + steps * lanes].reshape(steps, lanes, -1).transpose(0, 2, 1)

    # -- an index for each lane ------------------------------------------------------------------------------------

    def load(self, w: Owner, index: Index, lanes: int = 1) -> np.ndarray:
        """Return copies of `lanes` elements from `index` on: an int, or integers of shape (32,) or (n, 32).

        Never a view. Finding: uninitialised-register. Fault: out-of-bounds.
        """
        rows = self._rows(w, index, lanes)
        self._touch(w, rows[0], False)
        if not self.complete:
            self._check_defined(w, rows[0], self.defined[rows], vector=lanes > 1)
        return self.data[rows]

    def store(self, w: Owner, index: Index, value: Number, lanes: int = 1) -> None:
        """Write a scalar, or an array in the shape of `load`, in the active lanes.
        Fault: out-of-bounds."""
        rows = self._rows(w, index, lanes)
        self._touch(w, rows[0], True)
        data, defined = self.data, self.defined
        if w.mask.full:
            data[rows] = value
            defined[rows] = True
        else:
            bits = w.mask.bits[:, None] if lanes > 1 else w.mask.bits
            data[rows] = np.where(bits, np.asarray(value).astype(data.dtype), data[rows])
            defined[rows] |= bits
        self._settle(rows[0])

    def _rows(self, w: Owner, index: Index, lanes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the NumPy index of the elements in `data`; indices of inactive lanes are arbitrary."""
        size = len(self.data)
        at = np.broadcast_to(index, (*np.shape(index)[:-1], LANES))
        active = at if w.mask.full else at[..., w.mask.lanes]
        if active.size and (active.min() < 0 or active.max() > size - lanes):
            worst = active.min() if active.min() < 0 else active.max() + lanes - 1
            raise outside(w, self.name, self.span, int(worst), size)
        inside = at if w.mask.full else np.clip(at, 0, size - lanes)
        if lanes == 1:
            return inside, LANE
        return inside[..., None] + np.arange(lanes), LANE[:, None]

    # -- instructions that read and write registers ------------------------------------------------------------------

    def define(self, start: int, count: int, lanes: np.ndarray | None = None) -> None:
        """Mark the elements [start, start + count) as defined in these lanes, or in all."""
        self.defined[start : start + count, slice(None) if lanes is None else lanes] = True
        self._settle(slice(start, start + count))

    def expect(self, w: Owner, start: int, count: int, load: Load) -> None:
        """Mark the elements [start, start + count) as pending on an asynchronous load."""
        if self.pending:
            self._settle_loads(w, slice(start, start + count), True)
        self.defined[start : start + count] = False
        self.complete = False
        self.pending.expect(start, start + count, load)

    def check_defined(self, w: Owner, start: int, stop: int) -> None:
        """Record a read of the elements [start, stop) if they are undefined."""
        self._check_defined(w, slice(start, stop), self.defined[start:stop])

    def _touch(self, w: Owner, rows: Any, writes: bool) -> None:
        """Prepare these elements for an access by an ordinary instruction."""
        self.touched = w.register_fences
        if self.lazy:
            self.lazy.collect(*self._range(rows))
        if self.pending:
            self._settle_loads(w, rows, writes)
        for flight in self.flights:
            elements = np.arange(len(self.data))[rows]
            if np.any((elements >= flight.start) & (elements < flight.stop)):
                w.gpu.facts.record(BorrowedRegister(w.origin, self.name, self.span, writes, flight.span))
                return

    def _range(self, rows: object) -> tuple[int, int]:
        """Return the bounds of the elements that a NumPy index of the first axis selects."""
        chosen: Any = rows
        if isinstance(rows, slice):
            return chosen.start, chosen.stop
        return (int(np.min(chosen)), int(np.max(chosen)) + 1) if np.size(chosen) else (0, 0)

    def _settle_loads(self, w: Owner, rows: object, writes: bool) -> None:
        """Resolve loads in flight to the accessed elements: reads wait for them, writes are recorded.

        By the PTX ISA, "Register dependencies, same thread", only true dependences are tracked.
        """
        if not writes:
            for load in self.pending.loads(self._ranges(rows)):
                load.deliver()
            return
        found = self.pending.first(self._ranges(rows))
        if found is not None:
            element, load = found
            name = f"{self.name}[{element}]" if len(self.data) > 1 else self.name
            w.gpu.facts.record(PendingRegister(w.origin, self.name, self.span, name, load.span))

    # -- details -----------------------------------------------------------------------------------------------------

    def _settle(self, rows: object) -> None:
        """Update the state after a write: remove pending loads, and note if the array is complete."""
        if self.pending:
            self.pending.forget(self._ranges(rows))
        if not self.complete and not self.pending:  # pending elements are undefined
            self.complete = bool(self.defined.all())

    @staticmethod
    def _ranges(rows: object) -> Ranges:
        """Return the elements that a NumPy index of the first axis selects."""
        chosen: Any = rows
        if isinstance(rows, slice):
            return ((chosen.start, chosen.stop),)
        return [(element, element + 1) for element in np.unique(chosen).tolist()]

    def _check_inside(self, w: Owner, start: int, stop: int) -> None:
        if start < 0 or stop > len(self.data):
            raise outside(w, self.name, self.span, start if start < 0 else stop - 1, len(self.data))

    def _check_defined(self, w: Owner, rows: Any, known: np.ndarray, vector: bool = False) -> None:
        """Record a read of undefined elements by an active lane."""
        if known.all():
            return
        missing = ~known & (w.mask.bits[:, None] if vector else w.mask.bits)
        if not missing.any():
            return
        elements = np.arange(len(self.data))[rows]
        if elements.ndim < missing.ndim:
            elements = elements.reshape(elements.shape + (1,) * (missing.ndim - elements.ndim))
        first = int(np.broadcast_to(elements, missing.shape)[missing][0])
        uninitialised(w, f"{self.name}[{first}]" if len(self.data) > 1 else self.name, self.span)


class Registers:
    """An instruction operand: the elements of a register array from `index` on, in all lanes of a warp.

    Instructions treat them as 32-bit registers, with two 16-bit elements in each, uint32[words, 32].
    """

    __slots__ = ("array", "index", "warp")

    def __init__(self, w: Owner, array: RegisterArray, index: int) -> None:
        self.warp = w
        self.array = array
        self.index = index

    def read(self, words: int) -> np.ndarray:
        """Return the values of the next `words` registers.
        Finding: uninitialised-register. Fault: out-of-bounds."""
        count = self._elements(words)
        values = self.array.block(self.warp, self.index, count, 1)
        packed = np.ascontiguousarray(values.reshape(words, count // words, -1).transpose(0, 2, 1))
        return packed.view(np.uint32)[..., 0]

    def values(self, words: int) -> np.ndarray:
        """Return the values of the next `words` registers for an MMA, without the checks of an ordinary access.
        Fault: out-of-bounds."""
        count = self._elements(words)
        if self.array.lazy:
            self.array.lazy.collect(self.index, self.index + count)
        packed = self.array.data[self.index : self.index + count].reshape(words, count // words, LANES)
        return np.ascontiguousarray(packed.transpose(0, 2, 1)).view(np.uint32)[..., 0]

    def write(self, values: np.ndarray, lanes: np.ndarray | None = None) -> None:
        """Write the next registers. lanes: bool[32], those that are written; None for all.
        Fault: out-of-bounds."""
        count = self._elements(len(values))
        if lanes is not None:
            values = np.where(lanes, values, self.values(len(values)))
        array = self.array
        if array.lazy:
            array.lazy.collect(self.index, self.index + count)
        if array.data.itemsize == 4:
            array.data.view(np.uint32)[self.index : self.index + count] = values
        else:
            packed = np.ascontiguousarray(values)[..., None].view(array.data.dtype)
            array.data[self.index : self.index + count] = packed.transpose(0, 2, 1).reshape(count, LANES)
        array.define(self.index, count, lanes)

    def check_defined(self, words: int) -> None:
        """Record a read of the next registers if they are undefined and no MMA in flight defines them."""
        array, stop = self.array, self.index + self._elements(words)
        if array.complete or any(flight.start <= self.index and stop <= flight.stop for flight in array.flights):
            return
        array.check_defined(self.warp, self.index, stop)

    def check_inside(self, words: int) -> None:
        """Raise a fault if the next `words` registers exceed the array."""
        self._elements(words)

    def lend(self, words: int, span: Span | None) -> Flight:
        """Lend the next registers to the tensor core, for an MMA issued at `span`, until the flight is removed."""
        flight = Flight(self.index, self.index + self._elements(words), span)
        self.array.flights.append(flight)
        return flight

    def accumulate(self, values: np.ndarray, add: bool) -> None:
        """Add `values`, float32[words, 32], to the next registers, or overwrite them."""
        array, stop = self.array, self.index + len(values)
        if array.lazy:
            array.lazy.collect(self.index, stop)
        target = array.data[self.index : stop]
        if add:
            target += values
        else:
            target[...] = values
        if array.pending or not array.complete:
            array.define(self.index, len(values))

    def accumulate_halves(self, values: np.ndarray, add: bool) -> None:
        """Add `values`, float32[2 words, 32], to float16 sums in the next registers, or overwrite them."""
        words = len(values) // 2
        sums = values.reshape(words, 2, LANES).transpose(0, 2, 1)
        if add:
            sums = sums + self.values(words)[..., None].view(np.float16)
        self.write(np.ascontiguousarray(sums.astype(np.float16)).view(np.uint32)[..., 0])

    def lazy(self, words: int) -> LazySum | None:
        """Return the pending sum of exactly the next `words` registers, of 32 bits each; None if there is none."""
        return self.array.lazy.get((self.index, self.index + words))

    def owe(self, words: int, debt: LazySum) -> None:
        """Register a pending sum for the next `words` registers."""
        array = self.array
        array.lazy.owe(self.index, self.index + words, debt)
        if array.pending or not array.complete:
            array.define(self.index, words)

    def collect(self, words: int) -> None:
        """Compute the pending sums of the next `words` registers."""
        self.array.lazy.collect(self.index, self.index + words)

    def invalidate(self, words: int, load: Load) -> None:
        """Mark the next `words` registers as pending on an asynchronous load."""
        self.array.expect(self.warp, self.index, self._elements(words), load)

    def _elements(self, words: int) -> int:
        """Return the number of array elements in `words` registers; raise a fault if they exceed the array."""
        array = self.array
        if array.itemsize > 4:
            raise Fault(WideRegisters(self.warp.origin, array.name, array.span, str(array.data.dtype)))
        count = words * (4 // array.itemsize)
        if self.index < 0 or self.index + count > len(array):
            raise outside(self.warp, array.name, array.span, self.index + count - 1, len(array))
        return count


class ScatteredRegisters:
    """An instruction operand of 32-bit registers at arbitrary locations: `parts` has one each."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Registers, ...]) -> None:
        self.parts = parts

    def read(self, words: int) -> np.ndarray:
        """Return the values; see `Registers.read`."""
        return np.concatenate([part.read(1) for part in self.parts])

    def write(self, values: np.ndarray, lanes: np.ndarray | None = None) -> None:
        """Write the values; see `Registers.write`."""
        for part, value in zip(self.parts, values, strict=True):
            part.write(value[None], lanes)
