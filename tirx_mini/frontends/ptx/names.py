"""Demangling of names to their source form: `s` for ``_ZZ6reducePKfPfiE1s``, and C++ names for kernel parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tirx_mini.records import replace

from .flat import Flat, with_names
from .syntax import Declaration, Function, Instruction

_LOCAL = re.compile(r"_ZZ.*?E(\d+)(\w+?)(?:_\d+|__\d+_)?(?:_\$_\d+)?\Z")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def plain_name(name: str) -> str:
    """Strip scopes and types from a mangled C++ name: "reduce" for "_Z6reducePKfPfi".

    Any other name is itself (Itanium C++ ABI: "Mangling").
    """
    local = _LOCAL.match(name)
    if local is not None and len(local[2]) == int(local[1]):
        return local[2]
    if not name.startswith("_Z"):
        return name
    rest = name[2:]
    nested = rest.startswith("N")
    rest = rest.lstrip("NKVL") if nested else rest.removeprefix("L")
    found = ""
    while match := re.match(r"(\d+)", rest):
        length = int(match[1])
        found = rest[match.end() : match.end() + length]
        rest = rest[match.end() + length :]
        if not nested:
            break
    return found or name


def readable(
    entry: Function, flat: Flat, shared: Sequence[Declaration], parameters: Sequence[str]
) -> tuple[Function, Flat, tuple[Declaration, ...]]:
    """Rename a kernel, its body and its variables to plain source names, except names that would collide.

    shared: the variables of the module. parameters: the names that the source gives the parameters, () for unknown.
    """
    variables = (*shared, *flat.variables)
    plain = {each.name: plain_name(each.name) for each in variables}
    given = tuple(parameters) if len(parameters) == len(entry.parameters) else ()
    plain.update(zip((each.name for each in entry.parameters), given, strict=False))
    names = _unique(plain, flat.names | {each.name for each in (*variables, *entry.parameters)})
    if names:
        code = tuple(with_names(each, names) if isinstance(each, Instruction) else each for each in flat.code)
        flat = replace(flat, code=code)
    return (
        replace(entry, name=plain_name(entry.name), parameters=_renamed(entry.parameters, names)),
        flat,
        _renamed(variables, names),
    )


def _unique(plain: Mapping[str, str], taken: set[str]) -> dict[str, str]:
    """Return the renamings that change a name without creating a collision."""
    wanted = list(plain.values())
    return {old: new for old, new in plain.items() if new != old and new not in taken and wanted.count(new) == 1}


def _renamed(declarations: Iterable[Declaration], names: Mapping[str, str]) -> tuple[Declaration, ...]:
    return tuple(replace(each, name=names.get(each.name, each.name)) for each in declarations)


def parameters_in(source: str, name: str) -> tuple[str, ...]:
    """Return the parameter names of a kernel in C++ source, or () if they cannot be found."""
    text = _COMMENT.sub(" ", source)
    for match in re.finditer(rf"__global__[^;{{}}]*?\b{re.escape(plain_name(name))}\s*\(", text):
        names = [_last_name(part) for part in _parts(text, match.end())]
        if all(names):
            return tuple(names)
    return ()


def _parts(text: str, at: int) -> list[str]:
    """Split a parameter list at its commas, starting after the opening parenthesis."""
    found, depth = [""], 0
    while at < len(text):
        char = text[at]
        if char == ")" and not depth:
            break
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
        at += 1
    return [part for part in found if part.strip() not in ("", "void")]


def _last_name(parameter: str) -> str:
    """Return the declared name of a parameter: "x" in ``const float* __restrict__ x = nullptr``."""
    names = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]", "", parameter.partition("=")[0]))
    return names[-1] if len(names) > 1 else ""
