"""What the server and the export share: the file, the processes, and the runs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from tirx_mini.hardware import GPUS
from tirx_mini.records import replace
from tirx_mini.runtime import missing_compiler
from tirx_mini.sandbox import Sandbox, SandboxError, find_sandbox

from .assets import Asset, assets
from .building import Builders, missing_locks
from .exporting import exported
from .filling import course_missing
from .findings import Data
from .kernels import NO_PYTHON, kernels_in
from .modules import Modules
from .problems import PlayError
from .runs import Run, Runs, Texts
from .simulating import STAGES, Simulators
from .source import Source
from .teaching import Teaching


def sandbox_here() -> Sandbox:
    """Return the sandbox of this machine. Raises `PlayError` if no process can be started."""
    try:
        return find_sandbox()
    except SandboxError as error:
        raise PlayError(f"no process for texts can be started: {error}") from None


class Studio:
    """A file with the processes that build and simulate its kernels.

    folder: for temporary files. static: the assets. fill: whether the reference's code stands for open TODOs.
    missing: a sentence for each lock that texts need to run unasked.
    """

    def __init__(
        self, source: Source, sandbox: Sandbox, folder: Path, static: Mapping[str, Asset] | None = None,
        fill: bool = True,
    ) -> None:  # fmt: skip
        self.source = source
        self.static = assets() if static is None else static
        self.missing = missing_locks(sandbox)
        self._builders = Builders(sandbox, folder, source.name)
        self._simulators = Simulators()
        self.modules = Modules(source.path.absolute().parent)
        self.runs = Runs(self._builders, self._simulators, Texts(source.name, self.modules, fill))
        self.teaching = Teaching(source, self.runs, self._simulators)

    @property
    def automatic(self) -> bool:
        """Return whether a text may run unasked: all locks hold."""
        return not self.missing

    def start(self) -> None:
        """Start the spare processes."""
        self._builders.start()
        self._simulators.start()

    def close(self) -> None:
        """End all processes."""
        self.runs.close()
        self._builders.close()
        self._simulators.close()

    def session(self) -> Data:
        """Return what the page begins with. Raises `SourceError`."""
        version = self.source.read()
        try:
            kernels = kernels_in(version.text)
        except NO_PYTHON:
            kernels = []
        lacking = course_missing()
        return {
            "file": self.source.name, "text": version.text, "digest": version.digest,
            "writable": self.source.writable, "automatic": self.automatic, "missing": self.missing,
            "ladder": self.source.ladder(version.text),
            "gpus": [{"name": name, "title": gpu.name, "sms": gpu.sms} for name, gpu in GPUS.items()],
            "kernels": kernels, "kernel": self.source.kernel, "course": {"missing": lacking} if lacking else True,
            "nvrtc": missing_compiler() or True, "version": importlib.import_module("tirx_mini").__version__,
            "modules": self.modules.found(version.text),
        }  # fmt: skip

    def page_of(self, run: Run) -> str:
        """Return a run as a page of its own, with all stages of a kernel that was built. Raises `PlayError`."""
        stages: list[Data] = []
        if run.event("built") is not None:
            stages = self.runs.finished(replace(run.request, want=frozenset(STAGES))).stages()
        return exported(self.session(), run.request.text, run.whole(stages), self.static)
