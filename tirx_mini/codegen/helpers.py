"""Device functions of a kernel, each defined once and only if used."""

from __future__ import annotations

from tirx_mini.ir import FLOAT32, HANDLE, Call, Str, TirxError, Var
from tirx_mini.isa import TABLE
from tirx_mini.records import replace

from .builtins import DEFINITIONS, NEEDS, PREFIX, PROLOGUE
from .exprs import ExprRenderer
from .instructions import device_function


class Helpers:
    """Renders instructions as calls of device functions, and collects their definitions."""

    def __init__(self) -> None:
        self._definitions: dict[str, None] = {}

    def require(self, name: str) -> str:
        """Define the builtin `name`, and return its name in the emitted text."""
        self._definitions[DEFINITIONS[name]] = None
        return PREFIX + name

    def call(self, call: Call, render: ExprRenderer) -> str:
        """Render an instruction as a call of its device function."""
        entry = TABLE.get(call.op)
        if entry is None:
            raise TirxError(f"there is no instruction {call.op!r}", call.span)
        if entry.opaque:
            if source := str(call.attr("source_code", "")).strip():
                self._definitions[source] = None
            return f"{call.attr('function')}({', '.join(map(render.argument, call.args))})"
        if not entry.ptx:
            assert entry.cuda is not None
            name = self.require(entry.cuda.name) if entry.cuda.name in DEFINITIONS else entry.cuda.name
            strings = (render(Str(HANDLE, str(value))) for _, value in call.attrs)
            return f"{name}({', '.join([*strings, *map(render, call.args)])})"
        function = device_function(entry, call)
        self._definitions[function.definition] = None
        return f"{function.name}({', '.join(render.argument(arg) for arg in function.arguments)})"

    def of_halves(self, call: Call, render: ExprRenderer) -> str:
        """An instruction on pairs of numbers that is executed for each half."""
        entry, args = TABLE[call.op], [Var(FLOAT32, "half") for _ in call.args]
        single = device_function(entry, replace(call, dtype=FLOAT32, args=tuple(args)))
        names = "abc"[: len(args)]
        halves = (f"{single.name}({', '.join(f'{name}.{half}' for name in names)})" for half in "xy")
        head = f"float2 {single.name}_of_halves({', '.join(f'float2 {name}' for name in names)})"
        definition = f"__device__ __forceinline__ {head} {{\n  return make_float2({', '.join(halves)});\n}}"
        for each in (single.definition, definition):
            self._definitions[each] = None
        return f"{single.name}_of_halves({', '.join(map(render, call.args))})"

    def prologue(self, specials: set[str]) -> list[str]:
        """Return the lines that read the special registers in `specials` at the start of the kernel."""
        used = [name for name in PROLOGUE if name in specials]
        for name in used:
            if name in NEEDS:
                self.require(NEEDS[name])
        return [f"  {PROLOGUE[name]}" for name in used]

    def definitions(self) -> list[str]:
        """Return the definitions, in order of first use."""
        return list(self._definitions)
