"""The dialect nv_tileaa and its shared verifier rules."""

from __future__ import annotations

from collections.abc import Iterator

from ..cuda_tile import parse_ptr
from ..ssa import Dialect, Op, Type, Verify
from .memory_types import MEM_TOKEN, element_of, is_pointer, parse_block_tile, parse_memref
from .standard import each_is
from .types import Tensor, parse_tensor

NV_TILEAA = Dialect("nv_tileaa", types={
    "tensor": parse_tensor, "ptr": parse_ptr, "memref": parse_memref, "btile": parse_block_tile,
    "mem_token": lambda _: MEM_TOKEN,
})  # fmt: skip


def token(op: Op) -> Type:
    return MEM_TOKEN


def pointers(names: str) -> Verify:
    return each_is(is_pointer, "a pointer, or a tensor of pointers", names)


def tensors(names: str) -> Verify:
    return each_is(lambda t: isinstance(t, Tensor), "a tensor", names)


def same_elements(names: str) -> Verify:
    def verify(op: Op) -> Iterator[str]:
        if len({str(element_of(getattr(op, n).type)) for n in names.split()}) > 1:
            yield f"the elements of {' and '.join(names.split())} differ"

    return verify


CONVERTED = "$source : type($source) -> type($result)"
"""The format of operations from one type to another."""
