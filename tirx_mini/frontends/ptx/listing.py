"""The kernels that a text of CUDA C++ or PTX defines, found without a compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tirx_mini.course import LaunchedKernel

_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_CUDA = re.compile(r"\b__global__\b")
_WORD = re.compile(r"[\s*&]*(\w+(?:\s*::\s*\w+)*)\s*(\(?)")
_TEMPLATE = re.compile(r"\btemplate\s*<[^;{}]*>[^;{}()]*\Z")
_PTX = re.compile(r"\.entry\s+([\w$%]+)")


def kernels_in(text: str, suffix: str) -> list[LaunchedKernel]:
    """Return the kernels of a text, each once and where it is defined. suffix: of its file, ".cu" or ".ptx"."""
    code = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found = _in_ptx(code) if suffix == ".ptx" else _in_cuda(code)
    return list({each.name: each for each in found}.values())


def _in_ptx(code: str) -> Iterator[LaunchedKernel]:
    for match in _PTX.finditer(code):
        yield LaunchedKernel(match[1], _line(code, match.start()))


def _in_cuda(code: str) -> Iterator[LaunchedKernel]:
    """Yield a kernel for each ``__global__``; a declaration, and the definition that follows it, have one name."""
    for match in _CUDA.finditer(code):
        head = _head(code, match.end())
        if head is None:
            continue
        parameters = " ".join(code[head.end() : _closing(code, head.end())].split())
        before = re.split(r"[;{}]", code[: match.start()])[-1]
        template = _TEMPLATE.search(before) is not None
        yield LaunchedKernel(head[1].rpartition(":")[2].strip(), _line(code, match.start()), parameters, template)


def _head(code: str, at: int) -> re.Match[str] | None:
    """Return the name of a function and the parenthesis after it, behind its type and its attributes."""
    while (word := _WORD.match(code, at)) is not None:
        attribute = word[1].startswith("__")
        if word[2] and not attribute:
            return word
        at = _closing(code, word.end()) + 1 if word[2] else word.end()
    return None


def _closing(code: str, at: int) -> int:
    """Return the place of the parenthesis that closes the one before `at`."""
    depth = 1
    for place in range(at, len(code)):
        depth += (code[place] == "(") - (code[place] == ")")
        if not depth:
            return place
    return len(code)


def _line(code: str, at: int) -> int:
    return code.count("\n", 0, at) + 1
