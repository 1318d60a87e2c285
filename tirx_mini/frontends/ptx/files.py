"""PTX and CUDA C++ files as command-line programs: ``check kernel.cu:reduce --args … --grid … --block …``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tirx_mini.course import (
    Checked,
    KernelFileError,
    LaunchText,
    file_and_name,
    parse_arguments,
    parse_dims,
    random_arrays,
)
from tirx_mini.diagnose import failed
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec
from tirx_mini.ir import TirxError

from .cuda import read_cuda
from .programs import Entry, read_ptx
from .triton import check_program

HOW = 'give its launch, as in --args "float32[1024], float32[8], 1024" --grid 8 --block 128'


class PtxFiles:
    """PTX and CUDA programs launched from the command line (`course.LaunchedFiles`)."""

    def has(self, program: str) -> bool:
        """Return False, since only files with a PTX or CUDA suffix hold such programs (`course.Programs`)."""
        return False

    def source(self, program: str) -> None:
        """Return None, for the same reason (`course.Programs`)."""

    def launched(self, program: str, launch: LaunchText, gpu: str | None, **options: Any) -> Checked:
        """Run a kernel on random data. Raises `KernelFileError` if the file or its launch is missing."""
        path, name = file_and_name(program)
        if Path(path).suffix == ".py":
            if launch != LaunchText():
                raise KernelFileError(f"{path} launches its kernels itself: leave out the arguments and the launch")
            return check_program(Path(path), name, gpu, **options)
        if not (launch.grid and launch.block):
            raise KernelFileError(f"{program} does not say how it is launched: {HOW}")
        try:
            entry = read_file(Path(path), name, launch, gpu)
        except TirxError as error:
            return Checked(failed(name or path, error, gpu_spec(gpu or DEFAULT_GPU).name))
        sizes = {
            option: parse_dims(f"--{option}", text)
            for option, text in (("grid", launch.grid), ("block", launch.block), ("cluster", launch.cluster))
            if text
        }
        args = parse_arguments(launch.args, random_arrays())
        return Checked(entry.simulate(args, **sizes, smem=launch.smem, gpu=gpu, **options))


def read_file(path: Path, name: str, launch: LaunchText, gpu: str | None) -> Entry:
    """Read a kernel of a file by name. Raises `KernelFileError` for unreadable files, and `TirxError`."""
    if not path.is_file():
        raise KernelFileError(f"{path} does not exist")
    if path.suffix == ".ptx":
        return read_ptx(path.read_text(encoding="utf-8", errors="replace"), file=str(path)).entry(name)
    names = (name,) if "<" in name or "::" in name else ()
    arch = gpu_spec(gpu or DEFAULT_GPU).arch
    module = read_cuda(
        path, arch=arch, names=names, include=launch.include, define=launch.define, optimize=launch.optimize
    )
    return module.entry(name)
