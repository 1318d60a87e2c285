"""The stages of a kernel as texts whose lines name lines of the kernel's file, for pages that show both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from tirx_mini.ir import PrimFunc, Span, TirxError, printed_lines
from tirx_mini.passes import lower
from tirx_mini.records import dataclass
from tirx_mini.runtime import Executable, ToolchainError, build, disassemble, emit

from .stages import AS_WRITTEN

Item = dict[str, Any]
"""The name and the text of a stage or pass, and for each line of the text the line of the file, or 0."""

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:,\s*function_name\s+\S+,\s*inlined_at\s+(\d+)\s+(\d+))?")
_SASS_PLACE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')


@dataclass(frozen=True)
class _Request:
    """kernel: as written. arch: as in "sm_100a". file: the one whose lines are meant."""

    kernel: PrimFunc
    arch: str
    file: str

    def lines(self, spans: Iterable[Span | None]) -> list[int]:
        users = (None if span is None else span.user for span in spans)
        return [0 if user is None or user.file != self.file else user.line for user in users]

    def item(self, name: str, text: str, lines: list[int]) -> Item:
        return {"name": name, "text": text, "lines": lines}

    def printed(self, name: str, func: PrimFunc) -> Item:
        text, spans = printed_lines(func)
        return self.item(name, text, self.lines(spans))


def stage_items(kernel: PrimFunc, stage: str, arch: str, file: str) -> dict[str, Any]:
    """Return {"items": [Item, …]} for a stage of `STAGES`, or {"missing": a sentence} where it cannot be made."""
    try:
        return {"items": _STAGES[stage](_Request(kernel, arch, file))}
    except TirxError as error:
        return {"missing": error.diagnostic.message}
    except (ToolchainError, ValueError) as error:
        return {"missing": str(error)}


def _tir(asked: _Request) -> list[Item]:
    return [asked.printed("TIR", asked.kernel)]


def _passes(asked: _Request) -> list[Item]:
    """Return the IR as written, and after each pass that changes it."""
    found = [asked.printed(AS_WRITTEN, asked.kernel)]

    def after(name: str, func: PrimFunc) -> None:
        item = asked.printed(name, func)
        if item["text"] != found[-1]["text"]:
            found.append(item)

    lower(asked.kernel, after=after)
    return found


def _cuda(asked: _Request) -> list[Item]:
    source = emit(lower(asked.kernel), asked.arch, comments=True)
    return [asked.item("kernel.cu", source.text.rstrip("\n"), asked.lines(source.spans))]


def _ptx(asked: _Request) -> list[Item]:
    return [ptx_item(_executable(asked).compiled.ptx, asked.file)]


def _sass(asked: _Request) -> list[Item]:
    return [sass_item(disassemble(_executable(asked).compiled.cubin, line_info=True), asked.file)]


def ptx_item(text: str, file: str) -> Item:
    """Return PTX with the lines of a file that its line information names."""
    lines = text.rstrip("\n\0").split("\n")
    shown = "\n".join(map(_without_folder, lines))
    return {"name": "kernel.ptx", "text": shown, "lines": list(_ptx_lines(lines, file))}


def sass_item(text: str, file: str) -> Item:
    """Return machine code, disassembled with line information, with the lines of a file that this names."""
    pairs = list(_sass_lines(text.rstrip("\n").split("\n"), file))
    shown = "\n".join(line for line, _ in pairs)
    return {"name": "kernel.sass", "text": shown, "lines": [number for _, number in pairs]}


def printed_item(name: str, kernel: PrimFunc, file: str) -> Item:
    """Return a kernel of the IR with the lines of a file that it descends from."""
    return _Request(kernel, "", file).printed(name, kernel)


def _executable(asked: _Request) -> Executable:
    return build(lower(asked.kernel), asked.arch, original=asked.kernel, line_info=True)


def _ptx_lines(lines: list[str], file: str) -> Iterator[int]:
    """Yield the line of the file for each line of PTX: the last ``.loc``'s, or that of the call it was inlined at."""
    files = {match[1]: match[3] or match[2] for line in lines if (match := _FILE.match(line))}
    now = 0
    for line in lines:
        match = _LOC.match(line)
        if match is not None:
            places = ((match[1], match[2]), (match[3], match[4]))
            now = next((int(number) for name, number in places if name and _is(files.get(name, ""), file)), 0)
        elif line.startswith("}"):
            now = 0
        yield now


def _without_folder(line: str) -> str:
    """Return a line of PTX with the name of a file in the place of its path, which the compiler makes absolute."""
    match = _FILE.match(line)
    if match is None:
        return line
    return f'\t.file\t{match[1]} "{(match[3] or match[2]).rpartition("/")[2]}"'


def _sass_lines(lines: list[str], file: str) -> Iterator[tuple[str, int]]:
    """Yield each instruction with its line of the file; the comments that say so are left out."""
    now, fresh = 0, True
    for line in lines:
        match = _SASS_PLACE.match(line)
        if match is None:
            fresh = True
            yield line, now
        else:
            if fresh:
                now, fresh = 0, False  # a new place: the innermost one of the file counts
            if not now and _is(match[1], file):
                now = int(match[2])


def _is(path: str, file: str) -> bool:
    return path == file or path.endswith(f"/{file}")


_STAGES: Mapping[str, Callable[[_Request], list[Item]]] = MappingProxyType(
    {"tir": _tir, "passes": _passes, "cuda": _cuda, "ptx": _ptx, "sass": _sass}
)
