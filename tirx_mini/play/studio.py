"""What the server and the export share: the file, the processes, and the runs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from tirx_mini.course import LaunchText
from tirx_mini.hardware import DEFAULT_GPU, GPUS
from tirx_mini.records import replace
from tirx_mini.runtime import missing_compiler
from tirx_mini.sandbox import Sandbox, SandboxError, find_sandbox

from .asked import BadRequest, RunRequest
from .assets import Asset, assets
from .building import Builders, missing_locks
from .exporting import exported
from .filling import course_missing
from .findings import Data
from .kernels import NO_PYTHON, kernels_in
from .languages import kernels_of, language_at, programs_at
from .modules import Modules
from .problems import PlayError
from .runs import Run, Runs, Texts
from .simulating import STAGES, Simulators
from .source import Source, Version
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
    missing: a sentence for each lock that texts need to run unasked. launch, gpu: of a file whose kernels a launch
    describes, as its page shows them first; the folders and macros of the launch are those of all runs.
    """

    def __init__(
        self, source: Source, sandbox: Sandbox, folder: Path, static: Mapping[str, Asset] | None = None,
        fill: bool = True, launch: LaunchText | None = None, gpu: str | None = None,
    ) -> None:  # fmt: skip
        self.source = source
        self.static = assets() if static is None else static
        self.language = language_at(source.path)
        unlocked = f"the compiler of {self.language} runs outside of the sandbox"
        self.missing = [unlocked] if self.language else missing_locks(sandbox)
        self._launch, self._gpu = launch, gpu
        self._builders = Builders(sandbox, folder, source.name)
        self._simulators = Simulators()
        self.modules = Modules(source.path.absolute().parent)
        texts = Texts(source.path.absolute(), self.modules, fill)
        self.runs = Runs(self._builders, self._simulators, texts)
        self.teaching = Teaching(source, self.runs, self._simulators)

    @property
    def automatic(self) -> bool:
        """Return whether a text may run unasked: all locks hold."""
        return not self.missing

    @property
    def stages(self) -> tuple[str, ...]:
        """Return the stages that a kernel of the file has."""
        if not self.language:
            return STAGES
        return tuple(stage for stage in STAGES if stage in programs_at(self.source.path).stages)

    def start(self) -> None:
        """Start the spare processes."""
        if not self.language:
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
        if self.language:
            return self._launched_session(version)
        try:
            kernels = kernels_in(version.text)
        except NO_PYTHON:
            kernels = []
        lacking = course_missing()
        return {
            **self._base(version), "ladder": self.source.ladder(version.text), "kernels": kernels,
            "course": {"missing": lacking} if lacking else True, "modules": self.modules.found(version.text),
        }

    def kernels(self, text: str) -> Data:
        """Return the kernels of a text, and the modules that it imports. Raises the errors of `NO_PYTHON`."""
        if self.language:
            return {"kernels": kernels_of(self.source.path, text), "modules": []}
        return {"kernels": kernels_in(text), "modules": self.modules.found(text)}

    def at_launch(self, asked: RunRequest) -> RunRequest:
        """Return a run with the folders and macros of the command line. Raises `BadRequest` for another language's."""
        if (asked.launch is not None) != bool(self.language):
            raise BadRequest("a launch describes the kernels of CUDA C++ and PTX, and of no other language")
        if asked.launch is None:
            return asked
        return replace(asked, launch=self._whole(asked.launch))

    def launch_request(self, text: str, want: frozenset[str]) -> RunRequest:
        """Return the run that the command line describes."""
        launch = self._whole(self._launch or LaunchText())
        name, gpu = self.source.kernel, self._gpu or DEFAULT_GPU
        return RunRequest(text, name, None, {}, gpu, None, want, False, "", True, launch=launch)

    def _whole(self, launch: LaunchText) -> LaunchText:
        base = self._launch or LaunchText()
        return replace(launch, include=base.include, define=base.define, optimize=base.optimize)

    def _launched_session(self, version: Version) -> Data:
        path, launch = self.source.path, self._launch or LaunchText()
        return {
            **self._base(version), "ladder": self._gpu or DEFAULT_GPU, "kernels": kernels_of(path, version.text),
            "course": False, "modules": [], "language": "cpp" if path.suffix == ".cu" else "ptx",
            "stages": list(self.stages),
            "launch": {
                "args": launch.args, "grid": launch.grid, "block": launch.block, "cluster": launch.cluster,
                "smem": launch.smem,
            },
        }  # fmt: skip

    def _base(self, version: Version) -> Data:
        return {
            "file": self.source.name, "text": version.text, "digest": version.digest,
            "writable": self.source.writable, "automatic": self.automatic, "missing": self.missing,
            "gpus": [{"name": name, "title": gpu.name, "sms": gpu.sms} for name, gpu in GPUS.items()],
            "kernel": self.source.kernel, "nvrtc": missing_compiler() or True,
            "version": importlib.import_module("tirx_mini").__version__,
        }  # fmt: skip

    def page_of(self, run: Run) -> str:
        """Return a run as a page of its own, with all stages of a kernel that was built. Raises `PlayError`."""
        stages: list[Data] = []
        if run.event("built") is not None:
            stages = self.runs.finished(replace(run.request, want=frozenset(self.stages))).stages()
        return exported(self.session(), run.request.text, run.whole(stages), self.static)
