"""A kernel: its parameters, its body and, once lowered, its launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any

from .buffer import Buffer
from .expr import Var
from .span import Span
from .stmt import Stmt, TensorMap
from .text import node_text


@dataclass(frozen=True)
class Launch:
    """The launch configuration of a lowered kernel.

    grid: CTAs along x, y and z.
    threads: threads per CTA.
    cluster: CTAs of a cluster along x, y and z.
    smem_bytes: dynamic shared memory per CTA, in bytes.
    programmatic: whether the kernel may start before the previous kernel has finished, because it waits for that
        kernel itself (CUDA: programmatic dependent launch).
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


DIALECT = "tirx_mini.dialect"
"""The attribute of a function that names the dialect whose defaults apply; without it, they are the course's."""
TVM = "tvm"
"""Its value for Apache TVM 0.26."""
COPY_FENCES = "tirx_mini.copy_fences"
"""The attribute that is False for a function whose copies into shared memory end without a fence, as TVM's do."""


COURSE, NATIVE, TIR = "course", "native", "tir"
"""How kernels are spelt: ``with Tx.kernel():`` and ``Tx.cta_id([4], parent="kernel")``; ``T.device_entry()`` and
``T.cta_id([4])``; or, for what schedules are applied to, ``for i in T.parallel(8):`` and ``with T.block("C"):``.
"""


@singledispatch
def specialise(func: Any, values: Mapping[Var, int]) -> Any:
    """`symbols.specialised`, which stands on this module."""
    raise TypeError(f"{func!r} is not a kernel")


@dataclass(frozen=True, eq=False, repr=False)
class PrimFunc:
    """A kernel, as built by the front end or returned by a pass.

    params: global buffers and scalar variables, in call order.
    launch: the launch configuration; None until the function is lowered.
    tensor_maps: the tensor maps of its TMA copies; empty until the function is lowered.
    spelling: the dialect that its text is in: COURSE, NATIVE or TIR.
    """

    name: str
    params: tuple[Buffer | Var, ...]
    body: Stmt
    attrs: tuple[tuple[str, Any], ...] = ()
    launch: Launch | None = None
    tensor_maps: tuple[TensorMap, ...] = ()
    spelling: str = COURSE
    span: Span | None = field(default=None, kw_only=True)

    def script(self) -> str:
        """The function as source text that parses back to a structurally equal function."""
        return node_text(self)

    def show(self) -> None:
        """Print `script()`."""
        print(self.script())

    @property
    def dialect(self) -> str | None:
        """The dialect whose defaults apply: `TVM`, or None for the course's."""
        return dict(self.attrs).get(DIALECT)

    def with_body(self, body: Stmt) -> PrimFunc:
        return replace(self, body=body)

    def specialize(self, param_map: Mapping[Any, Any]) -> PrimFunc:
        """The kernel for certain values of its symbolic extents and scalar parameters.

        param_map: numbers by variables or their names, and buffers (or shapes) by parameters or their names. A scalar
            parameter that is given is no parameter of the result.

        Raises `ValueError` for what is neither.
        """
        values: dict[Var, int] = {}
        for key, value in param_map.items():
            found = self._named(key)
            if isinstance(found, Buffer):
                shape = value.shape if isinstance(value, Buffer) else tuple(value)
                pairs = zip(found.shape, shape, strict=True)
                values |= {var: int(extent) for var, extent in pairs if isinstance(var, Var)}
            else:
                values[found] = int(value)
        made = specialise(self, values)
        return replace(made, params=tuple(param for param in made.params if param not in values))

    def _named(self, key: Any) -> Buffer | Var:
        """The parameter or the symbolic extent that `key` is, or that it names."""
        extents = [extent for param in self.params if isinstance(param, Buffer) for extent in param.shape]
        known = [*self.params, *(extent for extent in extents if isinstance(extent, Var))]
        for item in known:
            if item is key or item.name == getattr(key, "name", key):
                return item
        raise ValueError(f"{self.name} has no parameter and no extent {getattr(key, 'name', key)!r}")

    def __repr__(self) -> str:
        return self.script()


@dataclass(frozen=True)
class IRModule:
    """Functions by name. `tvm.compile` takes the function named "main", or the only one."""

    functions: Mapping[str, PrimFunc]

    @property
    def main(self) -> PrimFunc:
        if "main" in self.functions:
            return self.functions["main"]
        if len(self.functions) == 1:
            return next(iter(self.functions.values()))
        raise ValueError(f"the module has {len(self.functions)} functions, but none is named 'main'")

    def __getitem__(self, name: str) -> PrimFunc:
        return self.functions[name]

    def __str__(self) -> str:
        return self.script()

    def script(self) -> str:
        return "\n\n".join(func.script() for func in self.functions.values())

    def show(self) -> None:
        print(self.script())
