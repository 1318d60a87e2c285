"""A kernel: parameters, body, and once lowered how it is launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .buffer import Buffer
from .expr import Var
from .span import Span
from .stmt import Stmt, TensorMap


@dataclass(frozen=True)
class Launch:
    """How a lowered kernel is launched: grid and cluster in CTAs, threads a CTA, dynamic shared memory in bytes.

    programmatic: whether it may begin while the kernel before it ends, because it waits for that one itself
    (CUDA: programmatic dependent launch).
    """

    grid: tuple[int, int, int]
    threads: int
    cluster: tuple[int, int, int] = (1, 1, 1)
    smem_bytes: int = 0
    programmatic: bool = False

    @property
    def num_ctas(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def cluster_size(self) -> int:
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @property
    def warps(self) -> int:
        return -(-self.threads // 32)


@dataclass(frozen=True, eq=False, repr=False)
class PrimFunc:
    """A kernel as the front end built it, or as a pass left it.

    params: global buffers and scalar variables, in the order of the call.
    launch, tensor_maps: filled by the lowering pipeline; `launch` is None before.
    """

    name: str
    params: tuple[Buffer | Var, ...]
    body: Stmt
    attrs: tuple[tuple[str, Any], ...] = ()
    launch: Launch | None = None
    tensor_maps: tuple[TensorMap, ...] = ()
    span: Span | None = field(default=None, kw_only=True)

    def script(self) -> str:
        """The function as source text; it parses back to a structurally equal function."""
        from .printer import script

        return script(self)

    def show(self) -> None:
        """Print `script()`."""
        print(self.script())

    def with_body(self, body: Stmt) -> PrimFunc:
        return replace(self, body=body)

    def __repr__(self) -> str:
        return self.script()


@dataclass(frozen=True)
class IRModule:
    """Functions by name; `tvm.compile` takes the one named "main", or the only one."""

    functions: Mapping[str, PrimFunc]

    @property
    def main(self) -> PrimFunc:
        if "main" in self.functions:
            return self.functions["main"]
        if len(self.functions) == 1:
            return next(iter(self.functions.values()))
        raise ValueError(f"the module has {len(self.functions)} functions, but none is named 'main'")

    def script(self) -> str:
        return "\n\n".join(func.script() for func in self.functions.values())

    def show(self) -> None:
        print(self.script())
