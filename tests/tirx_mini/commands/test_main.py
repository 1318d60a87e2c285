"""``python -m tirx_mini``: the table of commands, and what it prints without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tirx_mini
from tirx_mini.__main__ import main
from tirx_mini.commands import commands
from tirx_mini.foreign import frontends

ROOM = Path(tirx_mini.__file__).parent / "commands"
SHARED = {
    "__init__", "arguments", "as_gpu", "grade_all", "inspect_file", "ladder_table", "output", "prose", "rows",
    "stage_output", "waiting",
}  # fmt: skip


def test_every_module_of_the_room_is_a_command_in_the_table() -> None:
    guests = {name for each in frontends() for name in each.commands}
    assert {path.stem for path in ROOM.glob("*.py")} - SHARED == set(commands()) - guests


@pytest.mark.parametrize("command", commands())
def test_every_command_describes_its_arguments(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: python -m tirx_mini {command} ")


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    help_text = capsys.readouterr().err
    for command, summary in commands().items():
        assert f"  {command:<10}{summary}\n" in help_text
    assert max(map(len, help_text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("command", "hint"), [("lader", "did you mean ladder?"), ("xyz", f"the commands are {', '.join(commands())}")]
)
def test_an_unknown_command_is_refused_with_a_hint(command: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--steps", "1"]) == 2
    assert capsys.readouterr().err == f"error: {command!r} is not a command; {hint}\n"


def test_the_version_is_that_of_the_package() -> None:
    command = [sys.executable, "-m", "tirx_mini", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOM.parents[1], check=False)
    assert (result.returncode, result.stdout) == (0, f"tirx_mini {tirx_mini.__version__}\n")
