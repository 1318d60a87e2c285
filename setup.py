"""What pyproject.toml cannot say: the package carries files that lie beside it in a checkout.

A wheel has them in the folder `_data` of the package, at the paths that they have here; `tirx_mini/resources.py` finds
them in either place. An editable install copies nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from setuptools import Command, setup
from setuptools.command.build import build

HERE = Path(__file__).parent
PATTERNS = ("kernels_ref/**/*.py", "docs/findings.md", "docs/hints/**/*.md", "docs/*.csv", "utils.py")


class BuildData(Command):
    """A step of `build`, by setuptools' protocol for such steps: copies the files into the package that is built."""

    description = "copy the references, the book of findings, the hints and the measured tables into the package"
    user_options: ClassVar[list[tuple[str, str, str]] | list[tuple[str, str | None, str]]] = []

    def initialize_options(self) -> None:
        self.build_lib: str | None = None
        self.editable_mode = False

    def finalize_options(self) -> None:
        self.set_undefined_options("build", ("build_lib", "build_lib"))

    def get_source_files(self) -> list[str]:
        """The files by their paths in the checkout; a source distribution includes them."""
        found = {path.relative_to(HERE).as_posix() for pattern in PATTERNS for path in HERE.glob(pattern)}
        return sorted(found)

    def get_output_mapping(self) -> dict[str, str]:
        """The files of the built package, each with its source."""
        assert self.build_lib is not None
        data = Path(self.build_lib) / "tirx_mini" / "_data"
        return {str(data / source): source for source in self.get_source_files()}

    def get_outputs(self) -> list[str]:
        return list(self.get_output_mapping())

    def run(self) -> None:
        if self.editable_mode:  # setuptools links what it has to
            return
        for target, source in self.get_output_mapping().items():
            self.mkpath(str(Path(target).parent))
            self.copy_file(source, target)


class Build(build):
    sub_commands: ClassVar = [*build.sub_commands, ("build_data", None)]


setup(cmdclass={"build": Build, "build_data": BuildData})
