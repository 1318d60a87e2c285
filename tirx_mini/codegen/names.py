"""C++ identifiers: source names, made legal and unique."""

from __future__ import annotations

import re
from collections.abc import Generator, Hashable
from contextlib import contextmanager

RESERVED = frozenset(
    # keywords and names of C++ and CUDA, and the names that the emitted prologue defines
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl const
    constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false
    float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq half uchar ushort uint ulong min max printf threadIdx blockIdx blockDim gridDim warpSize
    int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t size_t CUtensorMap
    warp_id_in_cta cluster_ctarank cluster_ctaid_x cluster_ctaid_y cluster_ctaid_z""".split()
)


def identifier(name: str) -> str:
    """Replace every character of `name` that is illegal in C++ by an underscore."""
    legal = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"v_{legal}" if not legal or legal[0].isdigit() or legal.startswith("__") else legal


class Names:
    """Unique names of variables and buffers. Sibling blocks may reuse a name; nested blocks never shadow one."""

    def __init__(self) -> None:
        self._taken: set[str] = set(RESERVED)
        self._names: dict[Hashable, str] = {}

    def define(self, node: Hashable, wanted: str) -> str:
        """Return a name for `node`, valid until the end of the current block."""
        base = name = identifier(wanted)
        suffix = 0
        while name in self._taken:
            suffix += 1
            name = f"{base}_{suffix}"
        self._taken.add(name)
        self._names[node] = name
        return name

    def __getitem__(self, node: Hashable) -> str:
        return self._names[node]

    def __contains__(self, node: Hashable) -> bool:
        return node in self._names

    @contextmanager
    def block(self) -> Generator[None]:
        """Open a C++ block, whose names can be reused after it."""
        taken, names = set(self._taken), dict(self._names)
        yield
        self._taken, self._names = taken, names
