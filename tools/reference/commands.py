"""The page of the commands, from their argument parsers."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any, NoReturn
from unittest.mock import patch

from tirx_mini.commands import commands, run_command

from ._markdown import document, fenced, table, wrapped

_HEAD = """# Commands

This page lists the commands `python -m tirx_mini COMMAND` with their arguments and options. `python -m tirx_mini
COMMAND --help` prints the same. The exit status is 0 for success, 1 for a kernel that is wrong, 2 for bad input,
and 3 where nothing is wrong as far as the simulator models the kernel.

Ctrl-C, `kill` and a terminal that is closed end a command at once, with its processes and temporary files. The exit
status is then 130, 143 or 129, and it is 141 where the reader of the output closes it, as `| head` does. A file is
written whole or not at all. Where it cannot be written, the exit status is 2, and a sentence on standard error says
why."""


class _Parsed(Exception):
    """A command has made its parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def parser_of(command: str) -> argparse.ArgumentParser:
    """The parser with which a command reads its arguments."""

    def stop(self: argparse.ArgumentParser, *args: Any, **options: Any) -> NoReturn:
        raise _Parsed(self)

    with patch.object(argparse.ArgumentParser, "parse_known_args", stop):
        try:
            run_command(command, [])
        except _Parsed as made:
            return made.parser
    raise ValueError(f"{command} has no argument parser")


def page() -> str:
    """The page."""
    names = [(f"[`{name}`](#{name})", summary) for name, summary in commands().items()]
    parts = [_HEAD, table(("command", "what it does"), names)]
    for name in commands():
        parts += _command(name)
    return document(*parts)


def _command(name: str) -> Iterator[str]:
    parser = parser_of(name)
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS and action.dest != "help"]
    positional = [action for action in actions if not action.option_strings]
    optional = [action for action in actions if action.option_strings]
    yield f"## {name}"
    yield fenced(f"python -m tirx_mini {' '.join([name, *map(_usage, positional)])} [options]")
    yield from _prose(parser.description or commands()[name])
    rows = [(f"`{_usage(action).strip('[]')}`", _help(parser, action)) for action in positional]
    rows += [(f"`{_spelling(action)}`", _help(parser, action)) for action in optional]
    yield table(("argument", "meaning"), rows)
    yield from _prose(parser.epilog or "")


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; an indented one is a block of commands."""
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith(" "):
            yield fenced(textwrap.dedent(part).strip("\n"))
        elif part:
            yield wrapped(_code(" ".join(part.split())))


def _usage(action: argparse.Action) -> str:
    """A positional argument in the usage of a command."""
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}.get(str(action.nargs), name)


def _spelling(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    if action.metavar is not None:
        value = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    else:
        value = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    return f"{names} [{value}]" if action.nargs == "?" else f"{names} {value}"


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = action.help or ""
    if isinstance(action, argparse.BooleanOptionalAction):  # up to Python 3.12 it adds this by itself
        text = text.removesuffix(" (default: %(default)s)")
    return _code(" ".join((text % {**vars(action), "prog": parser.prog}).split()))


def _code(text: str) -> str:
    """Text in which <, > and * are not markup."""
    return text.replace("<", "&lt;").replace("*", r"\*")
