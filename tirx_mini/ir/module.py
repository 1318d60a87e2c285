"""Modules, which map names to functions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from tirx_mini.records import dataclass, replace

from .func import TIR, Attributes, PrimFunc


class GlobalVar(str):
    """The name of a function in a module, an object in TVM: ``module.get_global_var("main").name_hint``."""

    @property
    def name_hint(self) -> str:
        return str(self)


@dataclass(frozen=True, init=False)
class IRModule:
    """A mapping from names to functions. `tvm.compile` takes the function "main", or the only one.

    functions: the functions; a name may also be a `GlobalVar`.
    attrs: attributes, which have no effect.
    """

    functions: Mapping[str, PrimFunc]
    attrs: Mapping[str, object]

    def __init__(
        self,
        functions: Mapping[str, PrimFunc] | None = None,
        attrs: Mapping[str, object] | None = None,
        global_infos: object = None,
    ) -> None:
        object.__setattr__(self, "functions", {_name(key): func for key, func in (functions or {}).items()})
        object.__setattr__(self, "attrs", dict(attrs or {}))

    @staticmethod
    def from_expr(expr: PrimFunc, functions: Mapping[str, PrimFunc] | None = None) -> IRModule:
        """Return a module of a function under its own name, and of other functions."""
        return IRModule({**(functions or {}), expr.name: expr})

    @property
    def main(self) -> PrimFunc:
        """The function "main", or the only one. Raises `ValueError` if there is neither."""
        if "main" in self:
            return self["main"]
        if len(self.functions) == 1:
            return next(iter(self.functions.values()))
        raise ValueError(f"the module has {len(self.functions)} functions, but none is named 'main'")

    def __getitem__(self, name: str) -> PrimFunc:
        if _name(name) not in self.functions:
            known = ", ".join(sorted(self.functions)) or "none"
            raise KeyError(f"the module has no function {_name(name)!r}; its functions are: {known}")
        return self.functions[_name(name)]

    def __setitem__(self, name: str, func: PrimFunc) -> None:
        self.functions[_name(name)] = func  # pyright: ignore[reportIndexIssue] - it is a dict

    def __contains__(self, name: object) -> bool:
        return _name(name) in self.functions

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.get_global_vars())

    def functions_items(self) -> list[tuple[GlobalVar, PrimFunc]]:
        """Return the functions with their names."""
        return [(GlobalVar(name), func) for name, func in self.functions.items()]

    def get_global_vars(self) -> tuple[GlobalVar, ...]:
        """Return the names of the functions."""
        return tuple(map(GlobalVar, self.functions))

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the name of a function. Raises `KeyError` if the module lacks it."""
        return GlobalVar(self[name] and name)

    def update_func(self, var: str, func: PrimFunc) -> None:
        """Replace a function."""
        self[var] = func

    def update(self, other: IRModule | Mapping[str, PrimFunc]) -> None:
        """Add the functions of another module, replacing those of equal names."""
        for name, func in (other.functions if isinstance(other, IRModule) else other).items():
            self[name] = func

    def clone(self) -> IRModule:
        """Return a module with the same functions."""
        return IRModule(self.functions, self.attrs)

    def get_attr(self, attr_key: str) -> object:
        """Return an attribute, or None."""
        return self.attrs.get(attr_key)

    def with_attr(self, attr_key: str, attr_value: object) -> IRModule:
        """Return the module with an attribute added."""
        return self.with_attrs({attr_key: attr_value})

    def with_attrs(self, attr_map: Mapping[str, object]) -> IRModule:
        """Return the module with several attributes added."""
        return IRModule(self.functions, {**self.attrs, **attr_map})

    def without_attr(self, attr_key: str) -> IRModule:
        """Return the module without an attribute."""
        return IRModule(self.functions, {key: value for key, value in self.attrs.items() if key != attr_key})

    def __str__(self) -> str:
        if all(func.spelling == TIR for func in self.functions.values()):  # what a schedule was lowered to
            return "\n\n".join(func.script() for func in self.functions.values())
        return self.script()

    def script(self, **options: object) -> str:
        """Return the module as a class of kernels, in text that parses back to an equal module.

        options: those of TVM's printer, which have no effect.
        """
        heads, bodies = dict.fromkeys(["# from tirx_mini.script import ir as I"]), list[str]()
        for name, func in self.functions.items():
            if name != func.name:
                func = replace(func, name=name, attrs=Attributes([("global_symbol", func.name), *func.attrs]))
            lines = func.script().splitlines()
            heads |= dict.fromkeys(line for line in lines if line.startswith("# from "))
            bodies.append("\n".join(line for line in lines if not line.startswith("# from ")))
        text = textwrap.indent("\n\n".join(bodies) or "pass", "    ")
        return "\n".join([*heads, "", "@I.ir_module", "class Module:", text.rstrip("\n")]) + "\n"

    def show(self, *_: object, **options: object) -> None:
        """Print `script()`. The arguments are those of TVM's printer, which have no effect."""
        print(self.script())


def _name(key: object) -> GlobalVar:
    return GlobalVar(getattr(key, "name_hint", key))
