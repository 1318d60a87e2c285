"""A plain interpreter of lowered kernels: all threads of one CTA run in lockstep, a value is an array over the threads.

It executes loads, stores, loops and conditions, and records all accesses and instructions. The tests implement the
instructions. It checks the emitted addresses independently of the simulator.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

from tirx_mini.ir import (
    AddressOf,
    AllocBuffer,
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    DataType,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    If,
    PrimFunc,
    Ramp,
    Select,
    Seq,
    Special,
    Stmt,
    Unary,
    Var,
)
from tirx_mini.layout import m
from tirx_mini.tile import layout_of

_OPS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide, "%": np.mod,
    "<<": np.left_shift, ">>": np.right_shift, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def numpy_dtype(dtype: DataType) -> np.dtype:
    name = str(dtype.scalar)
    if name.startswith(("bfloat", "float8")):
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype({"handle": "uint64"}.get(name, name))


@dataclass
class Access:
    """One load or store: for each thread, the byte addresses of its vector, relative to the buffer's root."""

    kind: str
    buffer: Buffer
    addresses: np.ndarray  # int64[participating threads, lanes]
    threads: np.ndarray  # the indices of these threads


@dataclass
class Issued:
    """One executed instruction, with the values of its operands in each executing thread."""

    op: str
    args: list[np.ndarray | str]
    attrs: dict[str, object]
    threads: np.ndarray


@dataclass
class Machine:
    """The memories of one CTA.

    env: the values of special registers and parameters.
    """

    func: PrimFunc
    arrays: dict[str, np.ndarray]
    env: dict[str, int] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    issued: list[Issued] = field(default_factory=list)

    def __post_init__(self) -> None:
        launch = self.func.launch
        assert launch is not None
        self.threads = launch.threads
        self.shared = np.full(launch.smem_bytes + 1024, 0xAB, np.uint8)
        self.local: dict[Buffer, np.ndarray] = {}
        self.values: dict[Var, np.ndarray] = {}
        self.mask = np.ones(self.threads, bool)

    def run(self) -> Machine:
        self.stmt(self.func.body)
        return self

    # -- statements --------------------------------------------------------------------------------------------

    def stmt(self, node: Stmt) -> None:
        if isinstance(node, Seq):
            for child in node.stmts:
                self.stmt(child)
        elif isinstance(node, AllocBuffer):
            if node.buffer.scope == "local":
                self.local[node.buffer] = np.zeros((self.threads, node.buffer.size), numpy_dtype(node.buffer.dtype))
        elif isinstance(node, DeclBuffer):
            pass
        elif isinstance(node, Bind):
            self.values[node.var] = self.value(node.value)
        elif isinstance(node, BufferStore):
            self.store(node)
        elif isinstance(node, If):
            self.branch(node)
        elif isinstance(node, For):
            for i in range(int(self.value(node.start).flat[0]), int(self.value(node.stop).flat[0]), node.step):
                self.values[node.var] = np.full(self.threads, i)
                self.stmt(node.body)
        elif isinstance(node, Evaluate):
            args = [arg.name if isinstance(arg, Var) and arg.dtype == "tensormap" else self.value(arg)
                    for arg in node.call.args]  # fmt: skip
            if node.call.op != "prefetch.tensormap":  # a prefetch has no effect
                self.issued.append(Issued(node.call.op, args, dict(node.call.attrs), np.flatnonzero(self.mask)))
        else:
            raise NotImplementedError(type(node).__name__)

    def branch(self, node: If) -> None:
        outer, taken = self.mask, self.value(node.cond).astype(bool)
        for branch, mask in ((node.then, outer & taken), (node.orelse, outer & ~taken)):
            if branch is not None and mask.any():
                self.mask = mask
                self.stmt(branch)
        self.mask = outer

    def store(self, node: BufferStore) -> None:
        value = self.value(node.value)
        place = self.place(node.buffer, node.indices[0])
        value = np.broadcast_to(value.reshape(self.threads, -1), place.shape)[self.mask]
        self.log("store", node.buffer, place)
        memory, at = self.memory(node.buffer, place[self.mask])
        memory[at] = value.astype(numpy_dtype(node.buffer.dtype))
        if node.buffer.scope == "shared":
            start, size = self.start(node.buffer), node.buffer.dtype.itemsize
            raw = value.astype(numpy_dtype(node.buffer.dtype)).view(np.uint8).reshape(*value.shape, size)
            self.shared[start + place[self.mask][..., None] * size + np.arange(size)] = raw

    # -- places ------------------------------------------------------------------------------------------------

    def start(self, buffer: Buffer) -> int:
        return buffer.byte_offset if buffer.source is not None else 0

    def place(self, buffer: Buffer, index: Expr) -> np.ndarray:
        """The flat element indices, as [threads, lanes]."""
        if isinstance(index, Ramp):
            return self.value(index.base)[:, None] + np.arange(index.lanes)
        return self.value(index)[:, None]

    def log(self, kind: str, buffer: Buffer, place: np.ndarray) -> None:
        addresses = self.start(buffer) + place[self.mask] * buffer.dtype.itemsize
        self.accesses.append(Access(kind, buffer, addresses, np.flatnonzero(self.mask)))

    def memory(self, buffer: Buffer, place: np.ndarray) -> tuple[np.ndarray, object]:
        if buffer.scope == "global":
            array = self.arrays[buffer.name].reshape(-1)
            assert place.min() >= 0 and place.max() < array.size, f"{buffer.name} is accessed out of bounds"
            return array, place
        if buffer.scope == "local":
            rows = np.flatnonzero(self.mask)[:, None]
            return self.local[buffer], (rows, place)
        size = buffer.dtype.itemsize
        window = self.shared[self.start(buffer) :]
        whole = window[: len(window) // size * size].view(numpy_dtype(buffer.dtype)).copy()
        return whole, place

    # -- expressions -------------------------------------------------------------------------------------------

    def value(self, node: Expr) -> np.ndarray:
        if isinstance(node, Const):
            return np.full(self.threads, node.value, numpy_dtype(node.dtype))
        if isinstance(node, Var):
            return self.values[node] if node in self.values else np.full(self.threads, self.env[node.name])
        if isinstance(node, Special):
            tid = np.arange(self.threads)
            own = {"threadIdx.x": tid, "warp_id_in_cta": tid >> 5}.get(node.name)
            return own if own is not None else np.full(self.threads, self.env.get(node.name, 0))
        if isinstance(node, Binary):
            return _OPS[node.op](self.value(node.a), self.value(node.b))
        if isinstance(node, Unary):
            return {"-": np.negative, "not": np.logical_not, "~": np.invert}[node.op](self.value(node.value))
        if isinstance(node, Cast):
            return self.value(node.value).astype(numpy_dtype(node.dtype))
        if isinstance(node, Select):
            return np.where(self.value(node.cond), self.value(node.a), self.value(node.b))
        if isinstance(node, BufferLoad):
            return self.load(node)
        if isinstance(node, AddressOf):
            return self.start(node.buffer) + self.place(node.buffer, node.indices[0])[:, 0] * node.buffer.dtype.itemsize
        if isinstance(node, Call) and node.op == "elect.sync":
            first = np.zeros(self.threads, bool)
            for warp in range(0, self.threads, 32):
                first[warp + np.flatnonzero(self.mask[warp : warp + 32])[:1]] = True
            return first
        raise NotImplementedError(type(node).__name__)

    def load(self, node: BufferLoad) -> np.ndarray:
        place = self.place(node.buffer, node.indices[0])
        self.log("load", node.buffer, place)
        memory, at = self.memory(node.buffer, place[self.mask])
        out = np.zeros(place.shape, numpy_dtype(node.buffer.dtype))
        out[self.mask] = memory[at]
        return out if isinstance(node.indices[0], Ramp) else out[:, 0]

    def tile(self, buffer: Buffer) -> np.ndarray:
        """The contents of a shared buffer in logical order, read through its layout."""
        place = layout_of(buffer).to_table()[m]
        size = buffer.dtype.itemsize
        raw = self.shared[self.start(buffer) + place[..., None] * size + np.arange(size)]
        return np.ascontiguousarray(raw).view(numpy_dtype(buffer.dtype))[..., 0]
