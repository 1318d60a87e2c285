"""A kernel: its parameters, its body and, once lowered, its launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from tirx_mini.records import dataclass, replace

from .buffer import Buffer
from .expr import Var
from .span import Span
from .stmt import AllocBuffer, Stmt, TensorMap, TileWrite
from .text import node_text
from .walk import Node, walk

if TYPE_CHECKING:
    from _typeshed import SupportsItems

_T = TypeVar("_T")


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
EARLY_ACCESSES = "tirx_mini.early_accesses"
"""The attribute with two sets of names: of the parameters that a launch may read before griddepcontrol.wait, because no
kernel before it writes them, and of those that it may write, because none uses them."""
COPY_FENCES = "tirx_mini.copy_fences"
"""The attribute that is False for a function whose copies into shared memory end without a fence, as TVM's do."""


COURSE, NATIVE, TIR = "course", "native", "tir"
"""How kernels are spelt: ``with Tx.kernel():`` and ``Tx.cta_id([4], parent="kernel")``; ``T.device_entry()`` and
``T.cta_id([4])``; or, for what schedules are applied to, ``for i in T.parallel(8):`` and ``with T.block("C"):``.
"""


class Attributes(tuple[tuple[str, Any], ...]):
    """The attributes of a function, as pairs of names and values and as a read-only mapping.

    symbol: the name of the function, which TVM has as the attribute "global_symbol".
    """

    symbol: str = ""

    @overload
    def __getitem__(self, name: str | SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, name: slice) -> tuple[tuple[str, Any], ...]: ...
    def __getitem__(self, name: str | SupportsIndex | slice) -> Any:
        if not isinstance(name, str):
            return super().__getitem__(name)
        return self.symbol if name == "global_symbol" else dict(self)[name]

    def __contains__(self, name: object) -> bool:
        return name == "global_symbol" or any(key == name for key, _ in self) or super().__contains__(name)

    def get(self, name: str, default: object = None) -> object:
        """Return an attribute, or `default`."""
        return {**dict(self), "global_symbol": self.symbol}.get(name, default)


@singledispatch
def specialise(func: PrimFunc, values: Mapping[Var, int]) -> PrimFunc:
    """Specialise a function; `symbols.specialised`, which imports this module, registers the implementation."""
    raise TypeError(f"{func!r} is not a kernel")


@dataclass(frozen=True, eq=False, repr=False)
class PrimFunc:
    """A kernel, as built by the front end or returned by a pass.

    params: global buffers and scalar variables, in call order.
    launch: the launch configuration; None until the function is lowered.
    tensor_maps: the tensor maps of its TMA copies; empty until the function is lowered.
    spelling: the dialect that its text is in: COURSE, NATIVE or TIR.
    tile_writes: of a lowered function, where its tile calls were and what they write; no part of its text.
    """

    name: str
    params: tuple[Buffer | Var, ...]
    body: Stmt
    attrs: tuple[tuple[str, Any], ...] = Attributes()
    launch: Launch | None = None
    tensor_maps: tuple[TensorMap, ...] = ()
    spelling: str = COURSE
    tile_writes: tuple[TileWrite, ...] = ()
    span: Span | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        attrs = Attributes(self.attrs)
        attrs.symbol = self.name
        object.__setattr__(self, "attrs", attrs)

    def script(self, **options: object) -> str:
        """Return source text that parses back to a structurally equal function.

        options: those of TVM's printer, which have no effect.
        """
        return node_text(self)

    def show(self, *_: object, **options: object) -> None:
        """Print `script()`. The arguments are those of TVM's printer, which have no effect."""
        print(self.script())

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the body, parents before children, in program order."""
        return tuple(walk(self.body))

    @cached_property
    def _by_class(self) -> Mapping[type, list[Any]]:
        found: dict[type, list[Any]] = {}
        for node in self.nodes:
            found.setdefault(type(node), []).append(node)
        return found

    def of(self, kind: type[_T]) -> list[_T]:
        """Return the nodes of one class, in program order."""
        return self._by_class.get(kind, [])

    @property
    def workspaces(self) -> tuple[Buffer, ...]:
        """The buffers in global memory that the kernel owns, apart from its parameters."""
        found = (node.buffer for node in self.of(AllocBuffer) if node.buffer.scope == "global")
        return tuple(buffer for buffer in dict.fromkeys(found) if buffer not in self.params)

    @property
    def buffer_map(self) -> Mapping[Buffer | Var, Buffer]:
        """The buffers of the parameters as in TVM; here each buffer parameter maps to itself."""
        return {param: param for param in self.params if isinstance(param, Buffer)}

    @property
    def dialect(self) -> str | None:
        """The dialect whose defaults apply: `TVM`, or None for the course's dialect."""
        return dict(self.attrs).get(DIALECT)

    def with_body(self, body: Stmt) -> PrimFunc:
        return replace(self, body=body)

    def with_attr(self, attr_key_or_dict: str | Mapping[str, object], attr_value: object = None) -> PrimFunc:
        """Return the function with one or several attributes added. "global_symbol" is its name."""
        more = attr_key_or_dict if isinstance(attr_key_or_dict, Mapping) else {attr_key_or_dict: attr_value}
        attrs = {**dict(self.attrs), **more}
        name = attrs.pop("global_symbol", self.name)
        return replace(self, name=str(name), attrs=Attributes(attrs.items()))

    def with_attrs(self, attr_map: Mapping[str, object]) -> PrimFunc:
        """Return the function with several attributes added."""
        return self.with_attr(attr_map)

    def without_attr(self, attr_key: str) -> PrimFunc:
        """Return the function without an attribute."""
        return replace(self, attrs=Attributes(pair for pair in self.attrs if pair[0] != attr_key))

    def specialize(self, param_map: SupportsItems[object, object]) -> PrimFunc:
        """Specialise the kernel for given values of symbolic extents and scalar parameters.

        param_map: numbers by variables or their names, and buffers (or shapes) by parameters or their names. A scalar
            parameter that is given is not a parameter of the result.

        Raises `ValueError` for any other key.
        """
        values: dict[Var, int] = {}
        for key, value in param_map.items():
            found = self._named(key)
            given: Any = value
            if isinstance(found, Buffer):
                shape = value.shape if isinstance(value, Buffer) else tuple(given)
                pairs = zip(found.shape, shape, strict=True)
                values |= {var: int(extent) for var, extent in pairs if isinstance(var, Var)}
            else:
                values[found] = int(given)
        made = specialise(self, values)
        return replace(made, params=tuple(param for param in made.params if param not in values))

    def _named(self, key: object) -> Buffer | Var:
        """Return the parameter or symbolic extent that `key` is or names."""
        extents = [extent for param in self.params if isinstance(param, Buffer) for extent in param.shape]
        known = [*self.params, *(extent for extent in extents if isinstance(extent, Var))]
        for item in known:
            if item is key or item.name == getattr(key, "name", key):
                return item
        raise ValueError(f"{self.name} has no parameter and no extent {getattr(key, 'name', key)!r}")

    def __repr__(self) -> str:
        return self.script()
