"""The types of the language for editors: `make stubs`, or `python -m tools.stubs`, writes `tirx_mini/script/tirx.pyi`.

At run time most names of `Tx` are made when they are first asked for. The stub spells them out, from the same tables:
instructions from `tirx_mini.isa`, tile primitives from `tirx_mini.tile`, operators, dtypes and special registers from
the front end. The functions that modules define are imported, so that their own annotations and docstrings are used.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from tirx_mini.ir import SCOPE_KINDS, SPECIALS
from tirx_mini.isa import NAMES, Alias, Attribute, Instruction, Operand, OperandKind, manual, parameters
from tirx_mini.script import tirx
from tirx_mini.script.mathematics import MATH
from tirx_mini.script.operators import AXES, DTYPES, OPERATORS, SHORT_DTYPES
from tirx_mini.script.primitives import SCOPE_NAMES
from tirx_mini.tile import OPS, OPTIONS, RULES, SPELLINGS, TileOp

SOURCE = Path(inspect.getfile(tirx))
STUB = SOURCE.with_suffix(".pyi")

_HEAD = '''"""The language, as kernels import it: ``from tirx_mini.script import tirx as Tx``.

Written by `make stubs` from the tables of instructions and tile primitives. Do not edit it.
"""
'''

_ALIASES = {
    "Integer": "Expr | Buffer | int",
    "Number": "Expr | Buffer | int | float",
    "Condition": "Expr | int",
    "SharedPointer": "Expr | Buffer | int",
    "BarrierPointer": "Expr | Buffer | Barriers | int",
    "GlobalPointer": "Expr | Buffer",
    "RegisterPointer": "Expr | Buffer",
    "TmemAddress": "Expr | Buffer | int",
    "MapPointer": "Expr",
    "Tile": "Buffer | Region | Expr",
}
"""What a parameter takes, by the name that an editor shows."""

_OPERANDS: Mapping[OperandKind, str] = {
    OperandKind.F32: "Number",
    OperandKind.F64: "Number",
    OperandKind.ANY: "Number",
    OperandKind.PREDICATE: "Condition",
    OperandKind.SHARED: "SharedPointer",
    OperandKind.MBARRIER: "BarrierPointer",
    OperandKind.GLOBAL: "GlobalPointer",
    OperandKind.TMEM: "TmemAddress",
    OperandKind.REGISTERS: "RegisterPointer",
    OperandKind.TENSOR_MAP: "MapPointer",
}
"""The type of an operand; it is an integer where this has no line."""

_LANES = (2, 4, 8, 16)


def stub() -> str:
    """The text of the stub."""
    parts = [_HEAD, *_imports(), *_types(), *_values(), *_scopes(), *_instructions()]
    return "\n".join(parts).rstrip() + "\n"


# -- what is defined in modules ----------------------------------------------------------------------------------------


def _imports() -> Iterator[str]:
    yield "from builtins import bool as _bool\nfrom typing import Any, Literal, TypeAlias, overload\n"
    yield "from tirx_mini.ir import Buffer as _Buffer"
    yield "from tirx_mini.ir import Expr, ExprLike, Region"
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    imported: dict[str, str] = {}
    assigned: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            where = "." * node.level + (node.module or "")
            imported |= {alias.asname or alias.name: f"from {where} import {alias.name}" for alias in node.names}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            assigned |= {target.id: node.value.id for target in node.targets if isinstance(target, ast.Name)}
    public = [name for name in tirx.__all__ if name in imported]
    hidden = {name for name in assigned.values() if name not in public}
    lines = [f"{imported[name]} as {name}" for name in public] + [f"{imported[name]} as _{name}" for name in hidden]
    from_rooms = (line for line in lines if line.startswith("from tirx_mini"))
    yield from sorted([*from_rooms, "from tirx_mini.isa import Barriers"])
    yield ""
    local = [line for line in lines if not line.startswith("from tirx_mini")]
    yield from sorted([*local, "from .annotations import LanguageDType, ScopeName", "from .handles import OpenScope"])
    yield ""
    yield from (f"{name} = {'_' * (meant in hidden)}{meant}" for name, meant in sorted(assigned.items()))
    yield "__all__: list[str]"
    yield ""


def _types() -> Iterator[str]:
    for name, text in _ALIASES.items():
        yield f"{name}: TypeAlias = {text.replace('Buffer', '_Buffer')}"
    yield ""
    plain = [*DTYPES, *SHORT_DTYPES]
    vectors = [f"{name}x{lanes}" for name in DTYPES if name not in ("bool", "handle") for lanes in _LANES]
    yield from (f"{name}: LanguageDType" for name in (*plain, *vectors))
    yield ""


def _values() -> Iterator[str]:
    yield from (f"{name}: Expr" for name in SPECIALS if "." not in name)
    yield '\nclass _Axes:\n    """The components of a special register."""\n\n    x: Expr\n    y: Expr\n    z: Expr\n'
    yield from (f"{name}: _Axes" for name in AXES)
    yield ""
    for name in OPERATORS:
        if name in tirx.__all__:
            continue  # imported, with its own annotations
        parameters = {"Not": "value: ExprLike", "bitwise_not": "value: ExprLike"}.get(name, "a: ExprLike, b: ExprLike")
        yield f"def {name}({'*values: ExprLike' if name in ('And', 'Or') else parameters}) -> Expr: ..."
    yield ""


# -- scopes and tile primitives ----------------------------------------------------------------------------------------


def _scopes() -> Iterator[str]:
    yield "class _Primitives:"
    yield '    """Tile primitives: operations on tiles, which the threads of a scope execute together."""\n'
    for op in OPS.values():
        yield indent(_primitive(op, "self, "), "    ")
    for name, meant in SPELLINGS.items():
        yield indent(_primitive(OPS[meant], "self, ", name), "    ")
    yield "class _Scope(_Primitives):"
    yield '    """An execution scope. A call opens it; its attributes are tile primitives that it executes."""\n'
    yield "    def __call__(self, parent: ScopeName | None = None) -> OpenScope: ..."
    yield "\nclass _Tiles(_Primitives):"
    yield '    """The tile primitives, and the scopes to which they can be bound."""\n'
    yield from (f"    {name}: _Scope" for name in SCOPE_NAMES)
    yield ""
    for name in SCOPE_NAMES:
        yield f"{name}: _Scope"
        yield f'"""The execution scope of a {SCOPE_NAMES[name]}."""' if name in SCOPE_KINDS else ""
    yield "tile: _Tiles\n"
    yield from (_primitive(op) for op in OPS.values())
    yield from (_primitive(OPS[meant], name=name) for name, meant in SPELLINGS.items() if name not in tirx.__all__)
    yield from (_function(name) for name in MATH if name not in OPS)


def _function(name: str) -> str:
    """A function of values."""
    parameters = ", ".join(f"{parameter}: ExprLike" for parameter in inspect.signature(MATH[name]).parameters)
    return f"def {name}({parameters}) -> Expr:\n{_docstring(inspect.getdoc(MATH[name]) or '')}"


def _primitive(op: TileOp, first: str = "", name: str = "") -> str:
    """A primitive under its own or another name. first: the parameter before its own, with a comma."""
    name = name or op.name
    parameters = [f"{name}: {'Number' if name in op.values else 'Tile | Number' if name in op.either else 'Tile'}"
                  for name in op.operands]  # fmt: skip
    parameters = [f"{text} | None = None" if text.split(":")[0] in op.optional else text for text in parameters]
    parameters += [f"{name}: {_option_type(op, name)} = {default!r}" for name, default in op.options.items()]
    text = f"def {name}({first}{', '.join(parameters)}) -> None:\n{_docstring(op.help)}"
    if name in MATH and not first:
        return f"@overload\n{text}@overload\n{_function(name)}"
    if name != "cast":
        return text
    values = f"def cast({first}value: ExprLike, dtype: str | LanguageDType) -> Expr:\n"
    return f"@overload\n{text}@overload\n{values}{_docstring('`value` converted to `dtype`.')}"


def _option_type(op: TileOp, name: str) -> str:
    """The type of an option; that of `dispatch` has the names of the rules that implement the primitive."""
    if name != "dispatch":
        return OPTIONS[name].type
    rules = [rule for rule in RULES if op.name in rule.ops]
    names = dict.fromkeys(spelling for rule in rules for spelling in (rule.name, *rule.aliases))
    return f"Literal[{', '.join(map(repr, names))}] | None"


# -- instructions ------------------------------------------------------------------------------------------------------


class _Group:
    """A node of the namespace: the instructions below it, and those that it is itself."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.below: dict[str, _Group] = {}
        self.functions: list[str] = []

    def at(self, path: str) -> _Group:
        node = self
        for part in path.split("."):
            node = node.below.setdefault(part, _Group(f"{node.path}.{part}".lstrip(".")))
        return node

    @property
    def name(self) -> str:
        return "_" + "".join(part[0].upper() + part[1:] for part in self.path.split("."))


def _instructions() -> Iterator[str]:
    root = _Group("")
    collective = dict(_collectives())
    for path, overloads in NAMES.items():
        if path not in collective:
            root.at(path).functions = _signatures(path, overloads.entries)
    for path, functions in collective.items():
        root.at(path).functions = functions
    for name, group in root.below.items():
        if group.below:
            yield _class(group)
            yield f"{name}: {group.name}\n"
        else:
            yield _functions(group, name, "")


def _signatures(path: str, entries: list[tuple[Instruction, Alias]]) -> list[str]:
    """The signatures of a name. Those with the same parameters in an order of their own are one."""
    alike: dict[tuple[str, ...], list[tuple[Instruction, Alias]]] = {}
    for entry, alias in entries:
        if alias.order:
            alike.setdefault(tuple(alias.order), []).append((entry, alias))
    own = [_signature(path, *entry) for entry in entries if not entry[1].order]
    return own + [_signature(path, *group[0], _merged(group)) for group in alike.values()]


def _merged(group: list[tuple[Instruction, Alias]]) -> list[str]:
    """The parameters that several instructions have by one name: any, where their types or defaults differ."""
    each = [list(_ordered(*entry)) for entry in group]
    return [_any_of(texts) for texts in zip(*each, strict=True)]


def _any_of(texts: tuple[str, ...]) -> str:
    if len(set(texts)) == 1:
        return texts[0]
    return f"{texts[0].partition(':')[0]}: Any{' = ...' * any(' = ' in text for text in texts)}"


def _class(group: _Group) -> str:
    """The class of a group, after those of the groups below it."""
    inner = [below for below in group.below.values() if below.below]
    lines = [_class(below) for below in inner]
    lines.append(f'class {group.name}:\n    """Tx.{group.path}: instructions."""\n')
    if group.functions:
        lines.append(indent(_functions(group, "__call__", "self, "), "    "))
    for name, below in group.below.items():
        if below.below:
            lines.append(f"    {name}: {below.name}")
        else:
            lines.append(indent(_functions(below, name, "self, "), "    "))
    return "\n".join(lines) + "\n"


def _functions(group: _Group, name: str, first: str) -> str:
    mark = "@overload\n" if len(group.functions) > 1 else ""
    texts = (text.format(name=name, first=first) for text in map(_escaped, group.functions))
    return "".join(f"{mark}{text}" for text in texts)


def _escaped(text: str) -> str:
    """A function of which only `NAME` and `FIRST` are left open."""
    escaped = text.replace("{", "{{").replace("}", "}}")
    return escaped.replace("NAME(FIRST", "{name}({first}", 1)


def _signature(path: str, entry: Instruction, alias: Alias, ordered: Iterable[str] = ()) -> str:
    shown = ", ".join(ordered or _parameters(entry, alias))
    returned = "None" if entry.result is None else "Expr"
    summary, _, rest = manual(path, [(entry, alias)]).partition("\n\n")[2].partition("\n")
    return f"def NAME(FIRST{shown}) -> {returned}:\n{_docstring(summary, [rest])}"


def _parameters(entry: Instruction, alias: Alias) -> Iterator[str]:
    """The parameters in the order of the instruction's own signature, those that a call must give first."""
    defaults = {attribute.name: attribute.default for attribute in entry.attributes if not attribute.required}
    names = {"*" * operand.variadic + operand.name: _operand_type(operand) for operand in entry.operands}
    names |= {attribute.name: _modifier_type(entry, attribute) for attribute in entry.attributes}
    shown = {name: kind for name, kind in names.items() if name not in alias.preset}
    yield from (f"{name}: {kind}" for name, kind in shown.items() if name not in defaults)
    yield from (f"{name}: {kind} = {defaults[name]!r}" for name, kind in shown.items() if name in defaults)


def _ordered(entry: Instruction, alias: Alias) -> Iterator[str]:
    """The parameters in the order of a name that has one of its own."""
    types = {operand.name: _operand_type(operand) for operand in entry.operands}
    types |= {attribute.name: _modifier_type(entry, attribute) for attribute in entry.attributes}
    several = entry.register_counts() if entry.scattered else {}
    defaults = dict(parameters(entry, alias))
    for name, meant in alias.order.items():
        if isinstance(meant, tuple):
            kind = _TYPES.get(type(meant[0]), "Any")
        else:
            kind = types.get(meant, "Any")
            kind = f"list[Any] | {kind}" if meant in several and name[0] != "*" else kind
        yield f"{name}: {kind}" + (f" = {defaults[name]!r}" if defaults[name] is not ... else "")


_TYPES = {bool: "_bool", int: "int", str: "str"}


def _operand_type(operand: Operand) -> str:
    return _OPERANDS.get(operand.type.kind, "Integer")


def _modifier_type(entry: Instruction, attribute: Attribute) -> str:
    if attribute.choices is None:
        annotation = inspect.signature(entry.semantics).parameters[attribute.name].annotation
        return str(annotation).replace("bool", "_bool")  # Tx.bool is a dtype
    if all(isinstance(choice, int) for choice in attribute.choices):
        return "int"  # the factory of a kernel may have it as a parameter: for a type checker any int
    return f"Literal[{', '.join(map(repr, attribute.choices))}] | str"  # for completion; a parameter is a str


def _collectives() -> Iterator[tuple[str, list[str]]]:
    """The functions of several instructions, by their paths."""
    yield from ((path, [text]) for path, text in _COLLECTIVES.items())
    for unit in ("warp", "cta"):
        for op in ("sum", "max", "min"):
            primitive = OPS[f"{unit}_{op}"]
            options = "".join(f", {name}: {_option_type(primitive, name)} = {default!r}"
                              for name, default in primitive.options.items())  # fmt: skip
            yield f"cuda.{primitive.name}", [_plain(f"value: ExprLike{options}", "Expr", primitive.doc)]


def _plain(parameters: str, returned: str, doc: str) -> str:
    return f"def NAME(FIRST{parameters}) -> {returned}:\n{_docstring(doc)}"


def _shuffle(lane: str, doc: str) -> str:
    return _plain(
        f"mask: ExprLike, value: ExprLike, {lane}: ExprLike, width: int = 32, warp_size: int = 32", "Expr", doc
    )


def _docstring(summary: str, rest: Iterable[str] = ()) -> str:
    """A docstring as the body of a function."""
    text = "\n".join([summary, *rest]).strip().replace("\\", "\\\\")
    return indent(f'"""{text}\n"""' if "\n" in text else f'"""{text}"""', "    ") + "\n"


_CALL = "*args: ExprLike | _Buffer | str"
_COLLECTIVES: Mapping[str, str] = {
    "cuda.printf": _plain(
        "format: str, *values: ExprLike", "None", "Every thread that executes it writes its values to standard output."
    ),
    **{
        f"{room}.func_call": _plain(
            f'{_CALL}, function: str | None = None, source_code: str = "", return_type: Any = "void"',
            "Any",
            "Call a function of CUDA C++ that the kernel brings with it. The simulator does not know what it does.",
        )
        for room in ("cuda", "ptx")
    },
    **{
        name: _plain(
            f"dtype: str | LanguageDType, function: str, {_CALL}",
            "Any",
            "Call a function that CUDA C++ has. The simulator does not know what it does.",
        )
        for name in ("call_extern", "call_pure_extern")
    },
    "call_intrin": _plain(
        "dtype: str | LanguageDType, func_name: str, *args: Any", "Any", "A function of the language by TVM's name."
    ),
    **{
        f"cuda.{unit}_reduce": _plain(
            'value: ExprLike, op: Literal["sum", "max", "min"] | str, *args: Any, **options: Any',
            "Expr",
            f"The sum, max or min of one value per thread over its {unit}; every thread receives it.",
        )
        for unit in ("warp", "cta")
    },
    "cuda.thread_rank": _plain("", "Expr", "The index of the executing thread in its CTA."),
    "ptx.setmaxnreg": _plain(
        "increase: _bool, count: int",
        "None",
        "Raise or lower the registers of each thread of the warpgroup to `count`, a multiple of 8 from 24 to 256.",
    ),
    "tvm_warp_activemask": _plain("", "Expr", "The mask of active lanes: all 32."),
    "tvm_warp_shuffle": _shuffle("lane", "The value that lane `lane` holds."),
    "tvm_warp_shuffle_xor": _shuffle("lane", "The value that lane ``lane ^ own`` holds."),
    "tvm_warp_shuffle_down": _shuffle("lane", "The value that the lane `lane` above the own one holds."),
    "tvm_warp_shuffle_up": _shuffle("lane", "The value that the lane `lane` below the own one holds."),
}


def main(write: Callable[[str], Any] | None = None) -> int:
    """Write the stub."""
    (write or (lambda text: STUB.write_text(text, encoding="utf-8")))(stub())
    print(STUB)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
