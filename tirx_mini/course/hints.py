"""The hints of a step, `docs/hints/`: for each TODO a fact, the calls, and the reference's code.

A section of `docs/hints/sm100/step05.md` is about one TODO. Its heading is the beginning of the TODO's comment, and a
comment names the statements of the reference that replace the TODO's `...`:

    ## load K tile k into this stage

    <!-- code: `k_st = Tx.meta_var` -->

or from one statement on, until another of the same block: ``<!-- code: `with Tx.cta():` until `if warp_id` -->``. Each
is given by the beginning of its line, and is the next such statement after the code of the last TODO, or after a
further one: ``<!-- code: after `def write_back`: `if warp_id == 0:` -->``. Two folded blocks follow, hints 1 and 2.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tirx_mini.records import dataclass
from tirx_mini.resources import resource

from .kernels import KernelFileError, step_of
from .todos import Todo

LEVELS = 3
"""The number of hints for a TODO; the last one is the code."""

_SECTION = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^<!-- code: (?:after `([^`\n]*)`: )?`([^`\n]*)`(?: until `([^`\n]*)`)? -->$", re.MULTILINE)
_DETAILS = re.compile(
    r"^<details markdown=\"1\"><summary>[^\n]*</summary>\n(.*?)^</details>$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_BLOCKS = ("body", "orelse")


@dataclass(frozen=True)
class Hints:
    """The hints for one TODO.

    number: of the TODO in its step, from 1 on.
    title: the beginning of its comment.
    texts: hints 1 and 2, as Markdown.
    first: the beginning of the first line of its code in the reference.
    until: that of the first line after it in the same block; "" where the code goes on to the block's end.
    after: that of a statement before it, where another one between the TODOs begins as its first line does.
    """

    number: int
    title: str
    texts: tuple[str, ...]
    first: str
    until: str = ""
    after: str = ""


@dataclass(frozen=True)
class Place:
    """The location of a TODO's code in a reference: `block[first:end]`."""

    block: list[ast.stmt]
    first: int
    end: int

    @property
    def statements(self) -> list[ast.stmt]:
        return self.block[self.first : self.end]


def hints_of(step: int, arch: str, folder: Path | None = None) -> tuple[Hints, ...]:
    """Return the hints for the TODOs of a step in order. arch: the folder of its reference, as in "sm90".

    folder: an alternative folder of the files. The result is empty for a step without hints.
    """
    folder = folder or resource("docs/hints")
    path = folder / arch / f"step{step:02}.md"
    if not path.is_file():
        return ()
    return tuple(_sections(path.read_text(encoding="utf-8"), path.name))


def _sections(text: str, name: str) -> Iterator[Hints]:
    for number, (title, body) in enumerate(_SECTION.findall(text), 1):
        code, texts = _CODE.search(body), tuple(part.strip() for part in _DETAILS.findall(body))
        if code is None or len(texts) != LEVELS - 1:
            raise ValueError(f"{name}: {title!r} has no comment about its code, or not {LEVELS - 1} hints")
        yield Hints(number, title.strip(), texts, code[2], code[3] or "", code[1] or "")


def plain_links(text: str, base: str = "docs") -> str:
    """Return Markdown with links as text: "[barriers](../../concepts/a.md)" is "barriers (docs/concepts/a.md)".

    Links to the glossary become their plain words.
    """

    def written(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if "glossary.md" in target:
            return words
        return f"{words} ({target})" if "://" in target else f"{words} ({base}/{target.replace('../', '')})"

    return _LINK.sub(written, text)


def matched(hints: Sequence[Hints], todos: Sequence[Todo]) -> Mapping[int, Todo]:
    """Return the TODO of a file for each hint number.

    A TODO belongs to the hints with whose title its comment begins. An open one whose comment is gone or changed
    belongs to the next that has none. Hints without a TODO are about one that is filled in, and whose comment is gone.
    """
    found: dict[int, Todo] = {}
    left: list[Todo] = []
    for todo in todos:
        mine = (hint for hint in hints if hint.number not in found and _begins(todo.text, hint.title))
        if (hint := next(mine, None)) is not None:
            found[hint.number] = todo
        elif todo.open:
            left.append(todo)
    for todo in left:
        after = max((number for number, other in found.items() if other.line < todo.line), default=0)
        free = [hint.number for hint in hints if hint.number not in found]
        number = next((number for number in free if number > after), free[0] if free else None)
        if number is not None:
            found[number] = todo
    return MappingProxyType(dict(sorted(found.items())))


def _begins(text: str, title: str) -> bool:
    return text.casefold().startswith(title.casefold())


def reference_file(step: int, arch: str) -> Path:
    """Return the file of a step's reference. arch: its folder, as in "sm90"."""
    found = sorted((resource("kernels_ref") / arch).glob(f"step{step:02}_*.py"))
    if not found:
        raise KernelFileError(f"there is no reference of step {step}")
    return found[0]


def kernel_of(module: ast.Module, step: int) -> ast.FunctionDef:
    """Return the definition of the kernel in ``hgemm_v{step}``."""
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    factory = next(function for function in functions if step_of(function.name) == step)
    return next(node for node in factory.body if isinstance(node, ast.FunctionDef))


def places(hints: Sequence[Hints], kernel: ast.FunctionDef, lines: Sequence[str]) -> list[Place]:
    """Return the location of each TODO's code in a reference's kernel. lines: the lines of its file.

    Raises `ValueError` if the statements that the hints name do not occur in that order.
    """
    found: list[Place] = []
    line = 0
    for hint in hints:
        if hint.after:
            line = _line(_next(kernel, hint.after, line, lines))
        place = _next(kernel, hint.first, line, lines)
        block, end = place.block, len(place.block)
        if hint.until:
            ends = (n for n in range(place.first + 1, end) if _starts(Place(block, n, n + 1), hint.until, lines))
            end = next(ends, -1)
            if end < 0:
                raise ValueError(f"no statement after {hint.first!r} in its block begins with {hint.until!r}")
        found.append(Place(block, place.first, end))
        line = block[end - 1].end_lineno or line
    return found


def _next(kernel: ast.FunctionDef, words: str, line: int, lines: Sequence[str]) -> Place:
    """Return the first statement below a line that begins with these words."""
    for place in _statements(kernel.body):
        if _line(place) > line and _starts(place, words, lines):
            return place
    raise ValueError(f"below line {line} of the reference, no statement begins with {words!r}")


def code_of(hint: Hints, hints: Sequence[Hints], step: int, arch: str) -> str:
    """Return hint 3: the reference's lines for the TODO, with their indentation and comments."""
    text = reference_file(step, arch).read_text(encoding="utf-8")
    lines = text.splitlines()
    place = places(hints, kernel_of(ast.parse(text), step), lines)[hint.number - 1]
    first, last = _top(place.block[place.first]), place.block[place.end - 1].end_lineno
    while lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return "\n".join(lines[first - 1 : last])


def _statements(block: list[ast.stmt]) -> Iterator[Place]:
    """Yield every statement of a block and its nested blocks, from top to bottom."""
    for index, statement in enumerate(block):
        yield Place(block, index, index + 1)
        for name in _BLOCKS:
            yield from _statements(getattr(statement, name, []))


def _line(place: Place) -> int:
    return place.block[place.first].lineno


def _starts(place: Place, words: str, lines: Sequence[str]) -> bool:
    """Return whether a statement, or the first of its decorators, begins with these words."""
    numbers = {_line(place), _top(place.block[place.first])}
    return any(lines[number - 1].lstrip().startswith(words) for number in numbers)


def _top(statement: ast.stmt) -> int:
    """Return the line at which a statement begins, including its decorators."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
