"""The kernels of a hand-in as data: a sandbox executes its Python, and responds to requests with IR as JSON.

No response of the process is trusted: a kernel is a text for `load_json`, and the rest a text for its author.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from tirx_mini.course import Shape
from tirx_mini.records import dataclass
from tirx_mini.sandbox import Answered, Failed, Limits, LockedProcess, Sandbox

from .handin import HandIn
from .lost import Lost
from .text import plain_text

_MOST_LINE = 500
"""The maximum line length of text for a student, in characters."""
KINDS = ("todo", "error", "refused", "missing", "python", "ended", "time", "memory", "output", "not IR")


@dataclass(frozen=True)
class Built:
    """A kernel. text: the kernel as the process states it, for `load_json`."""

    text: str


@dataclass(frozen=True)
class Refused:
    """The reason that no kernel was built.

    kind: "todo" for a part that is not filled in, "error" for a mistake that the language explains, "refused" where the
    factory does not take the shape, "missing" where there is none, "python" for another exception, "ended", "time",
    "memory" and "output" for a process that was ended or ended itself, "not IR" for what is no kernel.
    text: for the student; may have several lines.
    """

    kind: str
    text: str


class Builder:
    """Executes one hand-in in its own process, which is restarted if it ends; as a context, it ends the process.

    scratch: a folder for the file.
    """

    def __init__(self, handin: HandIn, limits: Limits, sandbox: Sandbox, scratch: Path) -> None:
        self._handin, self._limits, self._sandbox = handin, limits, sandbox
        self._folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="handin-", dir=scratch)))
        self._process: LockedProcess | None = None
        self._left_s = limits.total_s
        self._loaded: dict[int | None, Refused | None] = {}
        self._lost: dict[int, Refused] = {}
        self._logs: list[str] = []
        self.file = self._folder / handin.file
        """The source, at the path named in the spans of kernels."""
        self.file.write_text(handin.source, encoding="utf-8", newline="")

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the process, and remove the file."""
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def log(self) -> str:
        """The beginning of the hand-in's output."""
        current = [self._process.log] if self._process is not None else []
        text = "".join([*self._logs, *current]).replace(str(self.file), self.file.name)
        return plain_text(text, self._limits.output_kb << 10)

    @property
    def problem(self) -> str:
        """The reason that the file builds no kernels, for its author; "" if it does, or before the first request."""
        refused = self._loaded.get(None)
        return refused.text if refused is not None else ""

    def build(
        self, step: int, shape: Shape, dtype: str = "float16", sms: int | None = None, task: str = ""
    ) -> Built | Refused:
        """Build the kernel of a step, or of a task, for a shape (M, N, K).

        sms: as in `load_kernels`. task: its letter; the step is then 0.

        Raises `SandboxError` if the process cannot be started at all, and `Lost` if the machine ends it.
        """
        if step in self._lost:
            return self._lost[step]
        for problem in (self._load(None), self._load(sms)):
            if problem is not None:
                return problem
        name = f"task_{task}" if task else f"hgemm_v{step}"
        found = self._ask({"step": step, "task": task, "shape": list(shape), "dtype": dtype, "sms": sms}, name)
        if isinstance(found, Refused) and found.kind in ("ended", "time", "memory", "output"):
            self._lost[step] = found  # its other shapes would cost as much again
        return found

    def _load(self, sms: int | None) -> Refused | None:
        """Return the reason that the file cannot be executed; a new process repeats it, but reports only once."""
        if sms not in self._loaded:
            found = self._ask({"load": True, "sms": sms}, self._handin.file)
            self._loaded[sms] = found if isinstance(found, Refused) else None
        return self._loaded[sms]

    def _ask(self, request: dict[str, Any], what: str) -> Built | Refused:
        """Send a request and return the response; retry once if the machine may have caused a failure."""
        answer = self._once(request, what)
        if isinstance(answer, Failed) and answer.again:
            answer = self._once(request, what)
        if isinstance(answer, Failed):
            if answer.kind == "killed":
                raise Lost(answer.text)
            return Refused(answer.kind, self._plain(answer.text))
        if answer.kind in ("built", "loaded"):
            return Built(answer.text)
        if answer.kind not in KINDS:
            return Refused("not IR", "the process of the hand-in answered what nobody had asked")
        text = self._plain(answer.text)
        if answer.kind == "memory":
            text = f"{what} used more than {self._limits.memory_mb} MiB of memory\n{text}".strip()
        return Refused(answer.kind, text)

    def _once(self, request: dict[str, Any], what: str) -> Answered | Failed:
        if self._left_s <= 0:
            return Failed("time", f"all of {self._handin.file} together took longer than {self._limits.total_s:g} s")
        if self._process is None:
            self._process = self._sandbox.start(self._limits, self.file)
        begun = time.monotonic()
        try:
            return self._process.ask(request, min(self._limits.seconds, self._left_s), what)
        except Failed as failed:
            self._end()
            return failed
        finally:
            self._left_s -= time.monotonic() - begun

    def _plain(self, text: str) -> str:
        """Return the text with the file's name in place of its path, and with shortened lines."""
        lines = plain_text(text.replace(str(self.file), self.file.name)).strip().splitlines()
        return "\n".join(f"{line[:_MOST_LINE]}…" if len(line) > _MOST_LINE else line for line in lines)

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
            self._logs.append(self._process.log)
            self._process = None
