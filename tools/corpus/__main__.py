"""The command line of the corpus."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tirx_mini.ending import command

from . import __doc__ as ABOUT
from .store import ROOT, Entry, entries, said, store, stored


def moved(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """The names of what differs."""
    return [name for name in {**before, **now} if now.get(name) != before.get(name)]


def show(names: Sequence[str], now: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Print for each name which texts differ, and what its run reported before and reports now."""
    for name in names:
        old, new = before.get(name), now.get(name)
        if not isinstance(old, dict) or not isinstance(new, dict):
            print(f"{name}: {old} → {new}")
            continue
        for part in {**old, **new}:
            if old.get(part) != new.get(part):
                differs = part in ("lowered", "cuda") and part in old and part in new
                print(f"{name}: {part}" + ("" if differs else f": {old.get(part)} → {new.get(part)}"))


def write_texts(names: Sequence[str], folder: Path) -> None:
    """Write the texts of these programs, a file each."""
    wanted = set(names)
    for entry in entries():
        if entry.name in wanted:
            for stage, text in entry.texts().items():
                (folder / f"{_file(entry)}.{stage}").write_text(text, encoding="utf-8")


def _file(entry: Entry) -> str:
    return "".join(char if char.isalnum() else "_" for char in entry.name)


def show_texts(names: Sequence[str], revision: str) -> None:
    """Print how the texts of these programs differ from those that a commit makes of them."""
    with tempfile.TemporaryDirectory() as made:
        then, now, tree = (Path(made) / part for part in ("then", "now", "tree"))
        for folder in (then, now):
            folder.mkdir()
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
        try:
            (Path(made) / "names.json").write_text(json.dumps(list(names)), encoding="utf-8")
            command = [sys.executable, "-m", "tools.corpus", "--texts", then, "--names", Path(made) / "names.json"]
            subprocess.run(command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
        write_texts(names, now)
        for file in sorted({path.name for folder in (then, now) for path in folder.iterdir()}):
            old, new = (_lines(folder / file) for folder in (then, now))
            for line in difflib.unified_diff(old, new, f"{revision}/{file}", f"now/{file}", lineterm="", n=2):
                print(line)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.corpus", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--diff", nargs="?", const="HEAD", metavar="REV")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--texts", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--names", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.texts:
        write_texts(json.loads(options.names.read_text(encoding="utf-8")), options.texts)
        return 0
    before = {name: each for name, each in stored().items() if options.only in name}
    now = said(options.only)
    names = moved(now, before)
    show(names, now, before)
    if options.diff:
        show_texts(names, options.diff)
    if options.write:
        store({**({} if not options.only else stored()), **now})
    return 0 if options.write or not names else 1


if __name__ == "__main__":
    sys.exit(command(main))
