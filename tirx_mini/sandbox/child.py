"""The child's side: it imports all permitted modules, locks itself, and then executes the hand-in.

Its responses are untrusted, because the hand-in controls them.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from .frames import read_frame, write_frame
from .imports import preload, remember_lines
from .limits import Limits
from .lock import lock
from .refusal import innermost_line, refusal_of
from .warming import warm_up

MOST_REQUEST = 16 << 20
MOST_PAGE = 16_000
"""The maximum length of the text for the student, in characters."""

Answer = tuple[str, str]
"""(kind, text): "built" and the kernel as JSON, or the reason for failure and the text for the student."""


def main() -> None:
    """Serve requests until the parent closes its end."""
    requests, answers = _descriptors()
    config = json.loads(read_frame(requests, MOST_REQUEST))
    builder = None if config["probe"] else _Builder(Path(config["file"]), Path(config["utils"]), config["warm"])
    held = lock(config["locks"], Limits(**config["limits"]))
    write_frame(answers, json.dumps({"held": held}).encode())
    write_frame(answers, b"")
    if builder is None:  # the parent only wanted to know what holds here
        return
    while True:
        try:
            request = json.loads(read_frame(requests, MOST_REQUEST))
        except EOFError:
            os._exit(0)  # without what the hand-in may have registered for the end
        kind, text = builder.answer(request)
        data = text.encode("utf-8", "replace")
        write_frame(answers, json.dumps({"id": request["id"], "kind": kind}).encode())
        write_frame(answers, data)


def _descriptors() -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes that the parent passed as standard input and output; output of the hand-in goes to the log."""
    sys.stdout = open(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


class _Builder:
    """Loads the file and builds its kernels as the commands do, with the same error pages.

    The file is read before the process is locked, and executed after that.
    """

    def __init__(self, file: Path, utils: Path, warm: bool = False) -> None:
        self._source = file.read_bytes()
        gate = preload(self._source, utils)
        from tirx_mini.arguments import ArgumentError
        from tirx_mini.course import KernelFileError, KernelRef, load_factories, load_kernel
        from tirx_mini.ir import IRModule, PrimFunc, TirxError
        from tirx_mini.saved import save_json
        from tirx_mini.script import StandIn

        if warm:
            warm_up()
        remember_lines(str(file), self._source.decode("utf-8-sig", "replace"))
        gate.close(str(file))
        self._gate = gate
        self._load, self._save = load_factories, save_json
        self._load_one, self._reference, self._stand_in = load_kernel, KernelRef, StandIn
        self._kernel, self._explained = (PrimFunc, IRModule), TirxError
        self._unusable = KernelFileError, ArgumentError
        self._file = file
        self._loaded: dict[int | None, Mapping[str, Callable[..., Any]]] = {}

    def answer(self, request: Mapping[str, Any]) -> Answer:
        """Respond to {"load": true}, or to a step (or a task's letter), a shape and a dtype; both have "sms".

        A request with "text" has another text of the file, and names any kernel or factory in it.
        """
        if "text" in request:
            return self._made_of_text(request)
        try:
            kernels = self._kernels(request["sms"])
            if request.get("load"):
                return "loaded", ""
            name = f"task_{request['task']}" if request.get("task") else f"hgemm_v{request['step']}"
            if name not in kernels:
                return "missing", f"{self._file.name} defines no {name}"
            kernel = kernels[name](*request["shape"], dtype=request["dtype"])
            return self._saved(name, kernel)
        except BaseException as error:  # SystemExit, too: only the parent ends this process
            return self._refusal(error)

    def _made_of_text(self, request: Mapping[str, Any]) -> Answer:
        """Respond to "text", "name", "shape", "constants" and "sms", with "codes" and "modules" if any.

        codes: statements for open TODOs, by the line of the `...`. modules: texts beside the file, as for `Gate.admit`.
        The text of a refusal is that of `refusal_of`.
        """
        modules = request.get("modules", {})
        files = {str(self._file.parent / f"{place}.py"): text for place, text in modules.items()}
        try:
            remember_lines(str(self._file), request["text"])
            self._gate.admit(modules, self._file.parent)
            kernel = self._load_one(
                self._reference(self._file, request["name"]), shape=request["shape"] and tuple(request["shape"]),
                sms=request["sms"], constants=request["constants"], source=request["text"].encode(),
                stand_ins={
                    int(line): self._stand_in("", ast.parse(code).body)
                    for line, code in request.get("codes", {}).items()
                },
            )  # fmt: skip
            return self._saved(request["name"], kernel)
        except BaseException as error:
            kind, text = self._refusal(error)
            return kind, json.dumps(refusal_of(error, text, str(self._file), files))

    def _kernels(self, sms: int | None) -> Mapping[str, Callable[..., Any]]:
        if sms not in self._loaded:
            self._loaded[sms] = self._load(self._file, sms=sms, source=self._source)
        return self._loaded[sms]

    def _saved(self, name: str, kernel: Any) -> Answer:
        if type(kernel) not in self._kernel:
            return "not IR", f"{name} does not make a kernel: it returned {type(kernel).__name__}"
        return "built", self._save(kernel)

    def _refusal(self, error: BaseException) -> Answer:
        if isinstance(error, MemoryError) or isinstance(error.__context__, MemoryError):
            kind = "memory"
        elif isinstance(error, self._explained):
            kind = "todo" if getattr(error, "kind", "") == "todo" else "error"
        elif isinstance(error, self._unusable):
            kind = "python"
        else:
            kind = "refused" if type(error) is ValueError else "python"
        try:
            text = str(error)[:MOST_PAGE]
        except BaseException:  # `__str__` is the hand-in's
            text = ""
        if kind == "python" and not isinstance(error, self._unusable):
            text = self._with_place(error, text)
        return kind, text.replace(f"{self._file.parent}{os.sep}", "")

    def _with_place(self, error: BaseException, text: str) -> str:
        """Return the last line of an exception's traceback, with the innermost line of the hand-in."""
        line = innermost_line(error, str(self._file))
        said = f"{type(error).__name__}: {text}" if text else type(error).__name__
        return said if not line else f"{self._file.name}:{line}: {said}"
