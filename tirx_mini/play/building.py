"""The process that builds: a text becomes IR in a sandbox. A spare sandbox is started beforehand."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from tirx_mini.course import Constant
from tirx_mini.files import write_whole
from tirx_mini.records import dataclass
from tirx_mini.sandbox import LOCKS, Failed, Limits, LockedProcess, Sandbox, SandboxError, slow_packages

from .edits import with_edit
from .findings import Data, refusal_data
from .spares import Held, Spares

BUILD_S = 2.0
"""The maximum seconds of wall time for a text: its execution, and the factory."""
MEMORY_MB = 2048
_LIMITS = Limits(seconds=BUILD_S, total_s=BUILD_S, cpu_s=4, memory_mb=MEMORY_MB)
_SPARES = 2
_LOCKED = {
    "landlock": "Landlock does not hold on this machine: a text might reach your files",
    "rlimits": "this machine sets no limits of memory and CPU time for a process",
    "seccomp": "seccomp does not hold on this machine: a text might connect, start processes or change your files",
}
"""The sentence on each lock that is missing."""


@dataclass(frozen=True)
class Job:
    """A text to build.

    shape: None for a kernel without a factory.
    codes: statements for open TODOs, by the line of the `...`.
    modules: the texts of modules that it may import, by place, as in "helpers/tiles".
    """

    text: str
    kernel: str
    shape: tuple[int, int, int] | None
    constants: Mapping[str, Constant]
    sms: int | None = None
    codes: Mapping[int, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Built:
    """A kernel as `save_json` writes it, which nobody has checked yet.

    files: the names for pages of the text's file and its modules, by their names in the kernel.
    """

    ir: str
    files: Mapping[str, str]


class NotBuilt(Exception):
    """The reason that a text gives no kernel. kind: as `Failed.kind`, or the sandbox's. finding: for the page."""

    def __init__(self, kind: str, finding: Data) -> None:
        super().__init__(finding["title"])
        self.kind, self.finding = kind, finding


def missing_locks(sandbox: Sandbox) -> list[str]:
    """Return a sentence for each lock that is missing; a text is executed unasked only if none is."""
    return [_LOCKED[lock] for lock in LOCKS if lock not in sandbox.locks]


class Build:
    """The execution of one text, which another thread may cancel."""

    def __init__(self, builders: Builders) -> None:
        self._builders = builders
        self._held: Held[LockedProcess] = Held()

    def made(self, job: Job) -> Built:
        """Return the kernel. Raises `NotBuilt`."""
        try:
            process = self._builders.process("\n".join((job.text, *job.modules.values())))
        except SandboxError as error:
            raise NotBuilt("sandbox", refusal_data(None, f"the sandbox does not start: {error}")) from None
        try:
            if not self._held.hold(process):
                raise Failed("ended", "the run is over")
            return self._asked(process, job)
        except Failed as failed:
            raise NotBuilt(failed.kind, refusal_data(None, failed.text)) from None
        finally:
            self._held.release()
            process.close()

    def cancel(self) -> None:
        """End the process, even while it executes the text."""
        self._held.cancel()

    def _asked(self, process: LockedProcess, job: Job) -> Built:
        request = {
            "text": job.text, "name": job.kernel, "shape": job.shape, "constants": dict(job.constants), "sms": job.sms,
            "codes": dict(job.codes), "modules": dict(job.modules),
        }  # fmt: skip
        files = self._builders.files(job.modules)
        answer = process.ask(request, BUILD_S, job.kernel)
        if answer.kind == "built":
            return Built(answer.text, files)
        try:
            refusal = json.loads(answer.text)
        except ValueError:
            refusal = {"title": answer.text.strip().partition("\n")[0], "text": answer.text}
        modules = set(files.values()) - {self._builders.path.name}
        finding = with_edit(refusal_data(refusal, f"{job.kernel} cannot be built", modules), job.text)
        if answer.kind == "memory":
            finding["title"] = f"{job.kernel} used more than {MEMORY_MB} MiB of memory while it was built"
        raise NotBuilt(answer.kind if answer.kind.isascii() else "python", finding)


class Builders:
    """Sandboxed processes for texts of one file name, each for one text; as spares they have imported all they may.

    folder: for an empty folder. Texts reach a process as requests; its file only says which slow packages to import.
    """

    def __init__(self, sandbox: Sandbox, folder: Path, file: str) -> None:
        self._sandbox = sandbox
        self._packages: frozenset[str] = frozenset()
        self._spares: Spares[LockedProcess] = Spares(self._started, _SPARES)
        self.path = Path(os.path.realpath(tempfile.mkdtemp(prefix="text-", dir=folder))) / file
        self.path.touch()

    def start(self) -> None:
        """Start the spare processes that are missing."""
        self._spares.start()

    def files(self, modules: Iterable[str]) -> dict[str, str]:
        """Return the names for pages of the text's file and of modules, by their names in the sandbox."""
        names = (self.path.name, *(f"{place}.py" for place in modules))
        return {str(self.path.parent / name): name for name in names}

    def process(self, text: str) -> LockedProcess:
        """Return a process for a text. Raises `SandboxError` if none starts."""
        wanted = slow_packages(text.encode("utf-8", "replace"))
        if not wanted <= self._packages:
            self._packages |= wanted
            write_whole(self.path, "".join(f"import {name}\n" for name in sorted(self._packages)))
            self._spares.renew()
        while True:
            process = self._spares.take()
            if process.running:
                return process
            process.close()  # the machine has ended it

    def close(self) -> None:
        self._spares.close()

    def _started(self) -> LockedProcess:
        return self._sandbox.start(_LIMITS, self.path, warm=True)
