"""The sandbox that this machine supports, and the restrictions that it does not enforce."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection
from functools import cache
from pathlib import Path

from tirx_mini.records import dataclass

from .limits import Limits
from .lock import LOCKS
from .process import LockedProcess, SandboxError, namespaces
from .view import the_view


@dataclass(frozen=True)
class Sandbox:
    """The options of the sandbox.

    name: for reports. bubblewrap: the program that makes namespaces; None for none. locks: those that a process puts on
    itself. missing: what is not enforced on this machine, a sentence each.
    """

    name: str
    bubblewrap: str | None
    locks: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        """Return whether the hand-in has no access to files: the references, the rules, other hand-ins."""
        return self.bubblewrap is not None or "seccomp" in self.locks  # Landlock lets it change modes and owners

    def start(self, limits: Limits, file: Path, warm: bool = False) -> LockedProcess:
        """Start a process for the hand-in with source `file`, alone in its folder. Raises `SandboxError`.

        warm: whether it first builds a kernel of its own, so that the hand-in's takes half the time.
        """
        return self._start(limits, file, warm=warm)

    def held(self) -> tuple[str, ...]:
        """Return the locks that are effective on this machine. Raises `SandboxError` if no process starts."""
        with tempfile.TemporaryDirectory() as folder:
            process = self._start(Limits(), Path(folder).resolve() / "nothing.py", probe=True)
            process.close()
            return process.held

    def _start(self, limits: Limits, file: Path, probe: bool = False, warm: bool = False) -> LockedProcess:
        file = Path(os.path.realpath(file))
        view = the_view()
        prefix = namespaces(self.bubblewrap, view, file.parent) if self.bubblewrap else ()
        return LockedProcess(prefix, self.locks, view, limits, file, probe, warm)


@cache
def find_sandbox(bubblewrap: bool = True, locks: tuple[str, ...] = LOCKS) -> Sandbox:
    """Return the strongest sandbox of this machine, determined by starting a process in it.

    bubblewrap: whether to use it if it is installed and works. locks: which of `LOCKS` to try.
    """
    program = shutil.which("bwrap") if bubblewrap else None
    if program is not None and Path(program).is_absolute():  # else it is of the working directory, and may be a hand-in
        try:
            return _described(program, Sandbox("bubblewrap", program, locks).held())
        except SandboxError:  # no namespaces in this container, as in Docker's default
            pass
    return _described(None, Sandbox("locks", None, locks).held())


def _described(program: str | None, held: Collection[str]) -> Sandbox:
    names = [*(["bubblewrap"] if program else []), *(name for name in LOCKS if name in held)]
    return Sandbox(" + ".join(names) or "none", program, tuple(held), tuple(_missing(program is not None, held)))


def _missing(namespaces: bool, held: Collection[str]) -> list[str]:
    """Return the actions that remain possible for a hand-in under only these locks."""
    landlock, seccomp = "landlock" in held, "seccomp" in held
    found = []
    if not (namespaces or landlock or seccomp):
        found.append("a hand-in can read every file that you can read: the references, rules and other hand-ins")
        found.append("a hand-in can change and delete your files")
    elif not (namespaces or seccomp):
        found.append("a hand-in can change the modes and owners of your files")
    if not (namespaces or seccomp):
        found.append("a hand-in can use the network")
        found.append("a hand-in can start processes that outlive it, and send signals to yours")
    elif not seccomp:
        found.append("a hand-in can start processes, which end with it")
    if "rlimits" not in held:
        found.append("only the time limits bound how much memory, CPU time and disk a hand-in uses")
    elif os.uname().sysname != "Linux":
        found.append("only the time limits bound how much memory a hand-in uses")
    return found
