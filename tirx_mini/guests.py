"""The table of front ends, with the data that each registers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tirx_mini.records import dataclass

PACKAGE = "tirx_mini.frontends"
"""The package of the front ends, whose `FRONTENDS` is the table; no other core module names it."""


@dataclass(frozen=True)
class Frontend:
    """Another project's language. Functions and modules are named, as "module:function", and imported when needed.

    name: of its folder. language: its name in sentences.
    modules: public names of its modules, each with the module that has it.
    functions: public functions of the package `tirx_mini`, each with the function that it is.
    suffixes: of files with programs that a command line launches, with the arguments that it gives.
    launches: a pattern that occurs in the text of Python programs whose launches are simulated, as they are.
    mentions: a pattern that occurs in the text of files with programs in the language.
    dialect, lower: the attribute of its functions, and what makes IR of one for an architecture.
    targets: what compiles for a kind of target that the core has none for.
    imports: by the package that its programs import, a context in which they find ours.
    hosts: by a package that its programs import, a context in which that package launches kernels here.
    kernel_package, kernel_imports, kernel_modules: a package from which kernel files import the course's own dialect,
        a context in which it is found, and the modules that stand for it.
    commands: its commands, each with a summary and its module, which has `main(argv)`.
    lessons: what `inspect` calls for a lesson by its number, with the arguments and the command as the user calls it.
    programs: what the commands for kernels do with a program in the language (`course.Programs`).
    examine: what notes on the programs of a file are made by.
    instructions: how it spells the instructions of the table (`isa.Spellings`).
    """

    name: str
    language: str
    modules: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    suffixes: tuple[str, ...] = ()
    launches: str = ""
    mentions: str = ""
    dialect: str = ""
    lower: str = ""
    targets: Mapping[str, str] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    kernel_package: str = ""
    kernel_imports: str = ""
    kernel_modules: tuple[str, ...] = ()
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lessons: Mapping[str, str] = field(default_factory=dict)
    programs: str = ""
    examine: str = ""
    instructions: str = ""

    def launched(self, path: Path) -> bool:
        """Return whether a file has a suffix of the language, or is a Python program that launches its kernels."""
        if path.suffix in self.suffixes:
            return True
        if not self.launches or path.suffix != ".py" or not path.is_file():
            return False
        return re.search(self.launches, path.read_text(encoding="utf-8", errors="replace")) is not None

    def mentioned(self, text: str) -> bool:
        """Return whether a file with this text may contain programs in the language."""
        return bool(self.mentions) and re.search(self.mentions, text) is not None


def resolve(name: str) -> Any:
    """Import the object that "module:attribute" names in the package of front ends."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"{PACKAGE}.{module}"), attribute)


def public_function(name: str) -> Any:
    """Return the function that a front end adds to the package `tirx_mini` by this name, or None."""
    home = next((each.functions[name] for each in frontends() if name in each.functions), None)
    return None if home is None else resolve(home)


@cache
def frontends() -> tuple[Frontend, ...]:
    """Return the front ends of this installation."""
    return import_module(PACKAGE).FRONTENDS if find_spec(PACKAGE) is not None else ()


def frontend(found: Callable[[Frontend], object]) -> Frontend | None:
    """Return the first front end that satisfies a condition, or None."""
    return next((each for each in frontends() if found(each)), None)


def language_of(attrs: Iterable[tuple[str, object]]) -> Frontend | None:
    """Return the front end for a function with these attributes, or None for the course's dialects."""
    known = {name for name, value in attrs if value}
    return frontend(lambda each: each.dialect in known)


@contextmanager
def kernel_imports() -> Iterator[None]:
    """Make the course's dialect importable within the block under other projects' module names."""
    stand_in = frontend(lambda each: each.kernel_imports)
    if stand_in is None:
        yield
        return
    with resolve(stand_in.kernel_imports)():
        yield
