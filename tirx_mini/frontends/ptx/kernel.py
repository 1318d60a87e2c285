"""Construction of a `Kernel` from a module's entry: inline the calls and structure the control flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from tirx_mini.ir import TirxError

from .accumulators import before_fences, in_place, one_by_one
from .blocks import blocks
from .function_addresses import FunctionAddresses
from .grid_workspace import with_grid_workspace
from .guesses import with_relaxed_guesses
from .inline import inlined
from .names import readable
from .parameters import in_registers
from .structure import structured
from .syntax import Function, Kernel, Module
from .used_variables import referenced
from .wide_registers import in_halves


def entries(module: Module) -> Iterator[Function]:
    """The kernels of a module."""
    return (each for each in module.functions if each.kind == "entry" and each.body is not None)


def entry_of(module: Module, name: str = "") -> Function:
    """Return the entry with the given name, or the only entry. Raises `TirxError` if there is not exactly one match."""
    names = [each.name for each in entries(module)]
    wanted = [each for each in entries(module) if name in ("", each.name)]
    if len(wanted) != 1:
        have = f"the module has {', '.join(names)}" if names else "the module has no kernel"
        raise TirxError(f"there is no kernel {name}: {have}" if name else f"a kernel must be named: {have}")
    return wanted[0]


def kernel(module: Module, name: str = "", parameters: Sequence[str] = ()) -> Kernel:
    """Return the kernel of the given name, as in `entry_of`. parameters: their names in the source.

    Raises `TirxError`, too, where its calls or jumps cannot be followed.
    """
    entry = entry_of(module, name)
    functions = FunctionAddresses(module)
    whole = in_registers(in_halves(inlined(module, entry, functions)))
    flat, workspace = with_grid_workspace(with_relaxed_guesses(whole))
    if "debug" in module.target:
        flat = one_by_one(flat)
    declared = functions.in_initial(referenced(module.variables, flat))
    entry, flat, variables = readable(entry, flat, (*declared, *workspace), parameters)
    body, flags = structured(in_place(before_fences(blocks(flat)), flat.registers))
    return Kernel(
        entry.name,
        entry.parameters,
        entry.directives,
        MappingProxyType(dict(flat.registers)),
        variables,
        flags,
        body,
        module,
        entry.span,
    )
