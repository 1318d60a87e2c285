"""One entry of a module as a `Kernel`: calls inlined, control flow structured."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from tirx_mini.ir import TirxError

from .blocks import blocks
from .inline import inlined
from .structure import structured
from .syntax import Function, Kernel, Module


def entries(module: Module) -> Iterator[Function]:
    """The kernels of a module."""
    return (each for each in module.functions if each.kind == "entry" and each.body is not None)


def kernel(module: Module, name: str = "") -> Kernel:
    """The kernel of a name; without one that of the only entry. Raises `TirxError` where there is no such."""
    names = [each.name for each in entries(module)]
    wanted = [each for each in entries(module) if name in ("", each.name)]
    if len(wanted) != 1:
        have = f"the module has {', '.join(names)}" if names else "the module has no kernel"
        raise TirxError(f"there is no kernel {name}: {have}" if name else f"a kernel must be named: {have}")
    entry = wanted[0]
    flat = inlined(module, entry)
    body, flags = structured(blocks(flat))
    return Kernel(
        entry.name,
        entry.parameters,
        entry.directives,
        MappingProxyType(dict(flat.registers)),
        (*module.variables, *flat.variables),
        flags,
        body,
        module,
        entry.span,
    )
