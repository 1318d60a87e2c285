"""Passes tested by texts: a file has a program, the passes that it goes through, and the program after them.

    python -m tools.texts                   # writes the program after the passes into each file of tests/
    python -m tools.texts FILE…             # into these files, or those below these folders

    # One sentence that says what the file shows.
    # passes: VectorizeLoops
    # -- before
    @T.prim_func
    …
    # -- after
    …

The last section is `-- error` where the passes refuse the program. `passes` is one name or several, or `..NAME` for the
pipeline up to that pass. `language: tir` makes `T` TVM's, as in schedules. Tile programs begin comments with `//`;
`gpu: b200` and `options: num_stages=2` are further lines of their headers. pytest collects the files
(`tests/texts.py`).
"""

from __future__ import annotations

import argparse
import ast
import difflib
import linecache
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COMMENTS = {".tir": "#", ".tilelang": "#", ".layout": "#", ".nv_tileas": "//", ".tileir": "//"}
"""The suffixes of the files, with what begins a comment in them."""
_SECTION = re.compile(r"(?m)^(?:#|//) -- (before|after|error)\n")
_OPTION = re.compile(r"(passes|language|gpu|options): (.+)")


class TextError(ValueError):
    """A file that is no test. The message says why."""


@dataclass(frozen=True)
class PassText:
    """A file. header: its lines before the program. outcome: "after" or "error". result: what follows that line."""

    suffix: str
    header: str
    before: str
    outcome: str
    result: str

    @property
    def options(self) -> dict[str, str]:
        """The lines of the header that have a name."""
        lines = (line.removeprefix(COMMENTS[self.suffix]).strip() for line in self.header.splitlines())
        return {match[1]: match[2] for line in lines if (match := _OPTION.fullmatch(line))}

    @property
    def title(self) -> str:
        """The first line of the header."""
        return self.header.partition("\n")[0].removeprefix(COMMENTS[self.suffix]).strip()

    def text(self) -> str:
        """The text of the file."""
        mark = COMMENTS[self.suffix]
        return f"{self.header}{mark} -- before\n{self.before}{mark} -- {self.outcome}\n{self.result}"


def read(path: Path) -> PassText:
    """Return the test that a file is. Raises `TextError`."""
    header, *sections = _SECTION.split(path.read_text(encoding="utf-8"))
    if len(sections) == 2:
        sections += ["after", ""]
    if len(sections) != 4 or sections[0] != "before" or sections[2] == "before":
        raise TextError("a text has a section `-- before`, then one `-- after` or `-- error`")
    text = PassText(path.suffix, header, sections[1], sections[2], sections[3])
    if not text.title or _OPTION.fullmatch(text.title) or "passes" not in text.options:
        raise TextError("a text begins with a sentence that says what it shows, then `passes: NAME`")
    return text


def run(text: PassText) -> PassText:
    """Return the test with what its passes do now. Raises `TextError` where the result does not survive its text."""
    from tirx_mini.ir import TirxError
    from tirx_mini.passes import LoweringError

    language = _LANGUAGES[text.suffix](text.options)
    program = _read(language.read, text.before, "program")
    try:
        for step in _chosen(text.options["passes"], language.passes):
            program = step(program)
    except LoweringError as error:
        return replace(text, outcome="error", result=f"error: {error}\n")
    except TirxError as error:
        return replace(text, outcome="error", result=_error_lines(error))
    result = language.show(program)
    if language.goes_round and language.show(_read(language.results, result, "result")) != result:
        raise TextError("the program after the passes is another one when it is read from its text")
    return replace(text, outcome="after", result=result + language.notes())


def _read(read: Callable[[str], Any], text: str, name: str) -> Any:
    from tirx_mini.ir import TirxError

    try:
        return read(text)
    except TirxError as error:
        raise TextError(f"the {name} cannot be read: {error}") from None


def _error_lines(error: Any) -> str:
    """The message, the line of the program that it is about, and the hint."""
    message, span, hint = error.diagnostic.message, error.span, error.diagnostic.hint
    line = linecache.getline(span.user.file, span.user.line).strip() if span is not None else ""
    lines = (f"error: {message}", f"at: {line}" if line else "", f"help: {hint}" if hint else "")
    return "".join(f"{each}\n" for each in lines if each)


def _chosen(names: str, passes: Mapping[str, Callable[[Any], Any]]) -> list[Callable[[Any], Any]]:
    last = names.removeprefix("..")
    order = list(passes)
    wanted = names.split() if last == names else order[: order.index(last) + 1] if last in passes else [last]
    unknown = [name for name in wanted if name not in passes]
    if unknown:
        raise TextError(f"there is no pass {unknown[0]}; the passes are {', '.join(passes)}")
    return [passes[name] for name in wanted]


# -- the languages -------------------------------------------------------------------------------------------------


class Kernels:
    """Kernels of the core, as `PrimFunc.script` prints them. goes_round: whether results are read from their text."""

    goes_round = True

    def __init__(self, options: Mapping[str, str]) -> None:
        from tirx_mini import passes

        steps = {step.name: step.run for step in passes.PIPELINE}
        self.passes: Mapping[str, Callable[[Any], Any]] = {
            **steps, "vectorize": passes.vectorize, "insert_barriers": _with_barriers
        }  # fmt: skip
        self.schedule = options.get("language") == "tir"

    def read(self, text: str) -> Any:
        from tirx_mini.script import from_source, tir

        return from_source(text, {"T": tir} if self.schedule else None)

    def results(self, text: str) -> Any:
        return self.read(text)

    def show(self, program: Any) -> str:
        return "\n".join(line for line in program.script().strip().splitlines() if not line.startswith("#")) + "\n"

    def notes(self) -> str:
        return ""


def _with_barriers(func: Any) -> Any:
    from tirx_mini.passes import insert_barriers

    return func.with_body(insert_barriers(func.body, func.launch.threads))


class Programs:
    """Tile programs of nv_tileaa and nv_tileas."""

    goes_round = True

    def __init__(self, options: Mapping[str, str]) -> None:
        from tirx_mini.frontends.tile_ir.context import Options, context_for
        from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD
        from tirx_mini.frontends.tile_ir.nv_tileas import IN_ORDER, NV_TILEAS, PRINTING

        call = ast.parse(f"f({options.get('options', '')})", mode="eval").body
        assert isinstance(call, ast.Call)
        chosen = {item.arg or "": ast.literal_eval(item.value) for item in call.keywords}
        grid = chosen.pop("grid", None)
        self.dialects = (NV_TILEAA, NV_TILEAS, *STANDARD)
        self.context = replace(context_for(options.get("gpu", "h100"), Options(**chosen)), grid=grid)
        steps = (*IN_ORDER, *PRINTING)
        self.passes: Mapping[str, Callable[[Any], Any]] = {step.name: self._bound(step.run) for step in steps}

    def _bound(self, step: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda module: step(module, self.context)

    def read(self, text: str) -> Any:
        from tirx_mini.frontends.tile_ir.ssa import parse_module, verify

        return verify(parse_module(text, list(self.dialects)))

    def results(self, text: str) -> Any:
        return Programs({}).read(text)

    def show(self, program: Any) -> str:
        from tirx_mini.frontends.tile_ir.ssa import print_module, verify

        return print_module(verify(program)).strip() + "\n"

    def notes(self) -> str:
        return "".join(f"// note: {note.message}\n" for note in self.context.notes)


class CudaTilePrograms(Programs):
    """Tile programs of cuda_tile, which become those of nv_tileaa."""

    def __init__(self, options: Mapping[str, str]) -> None:
        from tirx_mini.frontends.tile_ir.cuda_tile import CUDA_TILE
        from tirx_mini.frontends.tile_ir.nv_tileaa import convert_cudatile_to_tileaa

        super().__init__(options)
        self.dialects = (CUDA_TILE,)
        self.passes = {"convert-cudatile-to-tileaa": self._bound(convert_cudatile_to_tileaa), **self.passes}


class TileLangPrograms(Kernels):
    """Programs in TileLang, as their authors write them: their passes print what is no program in TileLang."""

    goes_round = False

    def __init__(self, options: Mapping[str, str]) -> None:
        from tirx_mini.frontends.tilelang.pipeline import PASSES
        from tirx_mini.hardware import gpu_spec

        super().__init__(options)
        arch = gpu_spec(options.get("gpu", "h100")).arch
        self.passes = {step.name: lambda func, run=step.run: run(func, arch) for step in PASSES}

    def read(self, text: str) -> Any:
        from tirx_mini.script import from_source

        return from_source("import tirx_mini.tilelang.language as T\n" + text)


class Layouts:
    """Lines of Python over the names of `tirx_mini.layout`: their pass evaluates them, each with its value below it."""

    goes_round = False

    def __init__(self, options: Mapping[str, str]) -> None:
        self.passes: Mapping[str, Callable[[Any], Any]] = {"evaluate": self._evaluated}

    def read(self, text: str) -> str:
        return text

    def _evaluated(self, text: str) -> str:
        from tirx_mini import layout

        names: dict[str, Any] = {name: getattr(layout, name) for name in layout.__all__}
        lines: list[str] = []
        for statement in ast.parse(text).body:
            source = ast.get_source_segment(text, statement) or ""
            lines.append(source)
            if not isinstance(statement, ast.Expr):
                exec(source, names)
                continue
            try:
                lines.append(f"    {eval(source, names)!r}")
            except layout.LayoutError as error:
                lines.append(f"    LayoutError: {error}")
        return "\n".join(lines) + "\n"

    def show(self, program: str) -> str:
        return program

    def notes(self) -> str:
        return ""


_LANGUAGES: Mapping[str, Callable[[Mapping[str, str]], Any]] = {
    ".tir": Kernels, ".tilelang": TileLangPrograms, ".layout": Layouts, ".nv_tileas": Programs,
    ".tileir": CudaTilePrograms,
}  # fmt: skip


# -- the command ---------------------------------------------------------------------------------------------------


def difference(old: PassText, new: PassText) -> str:
    """Return how two tests differ, as a unified diff."""
    before, after = old.text().splitlines(), new.text().splitlines()
    return "\n".join(difflib.unified_diff(before, after, "the file", "what the passes do", lineterm=""))


def files(places: Sequence[Path]) -> list[Path]:
    """Return the files at or below some places."""
    found = {path for place in places for path in ([place] if place.is_file() else place.rglob("*"))}
    return sorted(path for path in found if path.suffix in COMMENTS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what the passes do now into the files; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.texts", description="Update the texts that test passes.")
    parser.add_argument("places", nargs="*", type=Path, default=[ROOT / "tests"], metavar="PATH", help="default: tests")
    failed = False
    for path in files(parser.parse_args(arguments).places):
        try:
            old = read(path)
            new = run(old)
        except ValueError as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = True
            continue
        if new != old:
            path.write_text(new.text(), encoding="utf-8")
            print(f"{path}\n{difference(old, new)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
