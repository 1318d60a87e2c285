"""The constants of a kernel file, as ``PIPE_DEPTH = 2``, and the substitution of other values.

A constant is a name that is assigned a literal: in the module, in a factory before its kernel, or as the default of
a factory's parameter. Names that are computed from constants, as ``TMA_BYTES``, follow when the file is executed. The
items of a tuple are constants, too: ``TILES[0]`` of ``TILES = (128, 256)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tirx_mini.hardware import GPUS
from tirx_mini.records import dataclass

Constant = int | float | bool | str
"""The value of a constant."""

_KINDS = {bool: "True or False", int: "a whole number", float: "a number"}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class ConstantError(ValueError):
    """The error for a constant that a kernel lacks, or an invalid value; the message is one sentence."""


@dataclass(frozen=True)
class _Place:
    """The source location of a constant's value: `value` is `node.field`, or an item of it."""

    name: str
    value: ast.expr
    node: ast.AST
    field: str
    index: int | None = None

    @property
    def literal(self) -> Constant | None:
        """The value of a literal, or None for a computed value."""
        try:
            value = ast.literal_eval(self.value)
        except ValueError:
            return None
        return value if isinstance(value, (int, float, str)) else None

    def put(self, value: Constant) -> None:
        new = ast.copy_location(ast.Constant(value), self.value)
        if self.index is None:
            setattr(self.node, self.field, new)
        else:
            getattr(self.node, self.field)[self.index] = new


def parse_file(path: Path, source: bytes | None = None) -> ast.Module:
    """Return the syntax tree of a Python file; raises `SyntaxError`. source: its text, if it must not be opened."""
    return ast.parse(path.read_bytes() if source is None else source, str(path))


def set_sm_count(tree: ast.Module, sms: int) -> None:
    """Set the constants that hold a full GPU's multiprocessor count to `sms`.

    Such a constant has "SM" in its name, and its value is written as the number of a modelled GPU.
    """
    counts = {spec.sms for spec in GPUS.values()}
    for place in _places(tree):
        if "SM" in place.name.upper() and place.literal in counts:
            place.put(sms)


def set_constants(tree: ast.Module, values: Mapping[str, Constant]) -> set[str]:
    """Set the named constants wherever the tree defines them, and return the names found."""
    found: set[str] = set()
    for place in _places(tree):
        if place.name in values and place.literal is not None:
            place.put(values[place.name])
            found.add(place.name)
    return found


def constants_of(tree: ast.Module, function: str, items: bool = False) -> dict[str, Constant]:
    """Return the constants that a function of the module reads, directly or indirectly, by name.

    function: "" for those of the whole module. items: whether items of tuples are among them, as "TILES[0]".
    """
    found = {place.name: place.literal for place in _read_by(tree, function) if place.literal is not None}
    return {name: value for name, value in found.items() if items or name.isidentifier()}


def parameters_of(tree: ast.Module, function: str) -> list[str]:
    """Return the names of all parameters of a function of the module; none if there is no such function."""
    node = next((node for node in _functions(tree.body) if node.name == function), None)
    return [] if node is None else [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def lines_of_constants(tree: ast.Module, function: str, items: bool = False) -> dict[str, int]:
    """Return the line of the value of each constant of `constants_of`."""
    known = constants_of(tree, function, items)
    return {place.name: place.value.lineno for place in _read_by(tree, function) if place.name in known}


def converted(tree: ast.Module, function: str, name: str, text: str) -> Constant:
    """Convert `text` to a value of the constant `name` that a function reads. Raises `ConstantError`."""
    known = constants_of(tree, function, items=True)
    if name not in known:
        raise ConstantError(_unknown(tree, function, name, known))
    now = known[name]
    if isinstance(now, str):
        return text.strip("'\"")
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if type(value) is int and type(now) is float:
        return float(value)
    if value is None or type(value) is not type(now):
        raise ConstantError(f"{name} takes {_KINDS[type(now)]}, as in {name}={now}, not {text!r}")
    return value


def _unknown(tree: ast.Module, function: str, name: str, known: Mapping[str, Constant]) -> str:
    computed = next((place for place in _read_by(tree, function) if place.name == name), None)
    if computed is not None:
        parts = [part for part in sorted(_names(computed.value)) if part in known]
        parts += [part for part in known if part.startswith(f"{name}[")]
        if isinstance(computed.value, ast.Tuple):
            return f"{name} is a tuple: change " + (f"an item, as {parts[0]}" if parts else "what it is computed from")
        return f"{name} is computed" + (f" from {', '.join(parts)}: change one of these" if parts else "")
    listed = ", ".join(f"{name} = {value!r}" for name, value in sorted(known.items()))
    of = function or "the file"
    return f"{of} has no constant {name}; it has {listed}" if listed else f"{of} has no constants"


# -- the tree ----------------------------------------------------------------------------------------------------------


def _places(tree: ast.Module) -> Iterator[_Place]:
    """Yield all names assigned in the module and in its functions other than kernels."""
    yield from _assigned(tree.body)
    for function in _functions(tree.body):
        yield from _defaults(function)
        if not _is_kernel(function):
            yield from _assigned(function.body)


def _functions(body: Sequence[ast.stmt]) -> list[_Function]:
    return [node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _assigned(body: Sequence[ast.stmt]) -> Iterator[_Place]:
    """Yield the names that statements assign exactly once; a further assignment makes a name a variable."""
    places = [place for node in body for place in _targets(node)]
    names = [place.name for place in places]
    yield from (place for place in places if names.count(place.name) == 1)


def _targets(node: ast.stmt) -> Iterator[_Place]:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield from _with_items(_Place(node.target.id, node.value, node, "value"))
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield from _with_items(_Place(target.id, node.value, node, "value"))
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Tuple, ast.List)):
            pairs = zip(target.elts, node.value.elts, strict=False)
            for index, (name, value) in enumerate(pairs):
                if isinstance(name, ast.Name):
                    yield _Place(name.id, value, node.value, "elts", index)


def _with_items(place: _Place) -> Iterator[_Place]:
    """Yield a place, and those of the items if its value is a tuple."""
    yield place
    if isinstance(place.value, ast.Tuple):
        for index, value in enumerate(place.value.elts):
            yield from _with_items(_Place(f"{place.name}[{index}]", value, place.value, "elts", index))


def _defaults(function: _Function) -> Iterator[_Place]:
    """Yield the parameters of a function that have a default."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first = len(positional) - len(arguments.defaults)
    for index, value in enumerate(arguments.defaults):
        yield from _with_items(_Place(positional[first + index].arg, value, arguments, "defaults", index))
    for index, (argument, value) in enumerate(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        if value is not None:
            yield from _with_items(_Place(argument.arg, value, arguments, "kw_defaults", index))


def _is_kernel(function: _Function) -> bool:
    """Return whether a function is a kernel, whose source the front end reads from the file itself."""
    return any({"prim_func", "kernel"} & _names(decorator) for decorator in function.decorator_list)


def _names(node: ast.AST) -> set[str]:
    """Return the names and attributes in a subtree."""
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, (ast.Name, ast.Attribute))
    }


def _read_by(tree: ast.Module, function: str) -> list[_Place]:
    """Return the assignments of the names that a function of the module reads, directly or indirectly.

    function: "" for all assignments of the module.
    """
    if not function:
        return list(_places(tree))
    functions = {node.name: node for node in _functions(tree.body)}
    places: dict[str, list[_Place]] = {}
    for place in _assigned(tree.body):
        places.setdefault(place.name.partition("[")[0], []).append(place)
    found: list[_Place] = []
    queue, seen = [function], set[str]()
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in functions:
            node = functions[name]
            own = [*_defaults(node), *(() if _is_kernel(node) else _assigned(node.body))]
            found += own
            queue += sorted(_names(node) - {place.name for place in own})
        elif name in places:
            found += places[name]
            queue += sorted(_names(places[name][0].value))
    return found
