"""PTX and CUDA C++ files as command-line programs: ``check kernel.cu:reduce --args … --grid … --block …``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tirx_mini.course import (
    Checked,
    Item,
    KernelFileError,
    LaunchedKernel,
    LaunchText,
    file_and_name,
    parse_arguments,
    parse_dims,
    printed_item,
    ptx_item,
    random_arrays,
    sass_item,
)
from tirx_mini.diagnose import failed
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec
from tirx_mini.ir import TirxError
from tirx_mini.records import replace
from tirx_mini.runtime import assemble, counts_text, disassemble, section_of, summarise

from .cuda import cubin_of, read_cuda
from .listing import kernels_in
from .programs import Entry, PtxModule, read_ptx, runs_on
from .triton import check_program

HOW = 'give its launch, as in --args "float32[1024], float32[8], 1024" --grid 8 --block 128'


class PtxFiles:
    """PTX and CUDA programs launched from the command line (`course.LaunchedFiles`)."""

    stages = ("ptx", "tir", "sass")

    def has(self, program: str) -> bool:
        """Return False, since only files with a PTX or CUDA suffix hold such programs (`course.Programs`)."""
        return False

    def source(self, program: str) -> None:
        """Return None, for the same reason (`course.Programs`)."""

    def launched(
        self, program: str, launch: LaunchText, gpu: str | None, source: str | None = None, **options: Any
    ) -> Checked:
        """Run a kernel on random data. Raises `KernelFileError` if the file or its launch is missing."""
        path, name = file_and_name(program)
        if Path(path).suffix == ".py":
            if launch != LaunchText():
                raise KernelFileError(f"{path} launches its kernels itself: leave out the arguments and the launch")
            return check_program(Path(path), name, gpu, **options)
        sizes = _sizes(program, launch)
        try:
            entry = read_module(Path(path), name, launch, gpu, source).entry(name)
        except TirxError as error:
            return Checked(failed(name or path, error, gpu_spec(gpu or DEFAULT_GPU).name))
        args = parse_arguments(launch.args, random_arrays())
        return Checked(entry.simulate(args, **sizes, smem=launch.smem, gpu=gpu, **options))

    def stage(self, program: str, stage: str, launch: LaunchText, gpu: str | None) -> str:
        """Return a kernel at one of `stages`. Only "tir" needs the launch. Raises as `launched`, and `TirxError`."""
        file, name = file_and_name(program)
        path = Path(file)
        if path.suffix == ".py":
            raise KernelFileError(f"{file} is a Python program: only kernels in .cu and .ptx files have stages")
        sizes = _sizes(program, launch) if stage == "tir" else {}
        module = read_module(path, name, replace(launch, optimize=True), gpu)  # no stage shows another text
        entry = module.entry(name) if name or stage != "ptx" else None
        if entry is None or stage == "ptx":
            return module.text.rstrip("\n") + "\n"
        if stage == "tir":
            return entry.lowered(parse_arguments(launch.args), **sizes, smem=launch.smem).func.script() + "\n"
        sass, arch = _machine_code(path, module, entry, launch, gpu)
        return f"{sass.rstrip()}\n\n{counts_text(summarise(sass), arch)}\n"

    def item(self, program: str, stage: str, launch: LaunchText, gpu: str | None, source: str) -> Item:
        """Return a stage with the lines of `source` that it descends from (`course.LaunchedFiles`)."""
        file, name = file_and_name(program)
        path = Path(file)
        sizes = _sizes(program, launch) if stage == "tir" else {}
        module = read_module(path, name, replace(launch, optimize=True), gpu, source)
        if stage == "ptx" and path.suffix == ".ptx":
            return {"name": path.name, "text": source, "lines": [*range(1, source.count("\n") + 2)]}
        if stage == "ptx":
            return ptx_item(module.text, path.name)
        entry = module.entry(name)
        if stage == "tir":
            lowered = entry.lowered(parse_arguments(launch.args), **sizes, smem=launch.smem)
            return printed_item("TIR", lowered.func, path.name)
        return sass_item(_machine_code(path, module, entry, launch, gpu, source)[0], path.name)

    def kernels(self, file: str, text: str) -> Sequence[LaunchedKernel]:
        """Return the kernels of a text (`course.LaunchedFiles`)."""
        return kernels_in(text, Path(file).suffix)


def read_module(
    path: Path, name: str, launch: LaunchText, gpu: str | None, source: str | None = None
) -> PtxModule:
    """Read a file for a kernel of it. Raises `KernelFileError` for unreadable files, and `TirxError`."""
    if source is None and not path.is_file():
        raise KernelFileError(f"{path} does not exist")
    if path.suffix == ".ptx" and source is not None:
        return read_ptx(source, file=path.name)
    if path.suffix == ".ptx":
        return read_ptx(path.read_text(encoding="utf-8", errors="replace"), file=str(path))
    arch = gpu_spec(gpu or DEFAULT_GPU).arch
    options = _compilation(path, name, launch, source)
    return read_cuda(path if source is None else source, arch=arch, optimize=launch.optimize, **options)


def _compilation(path: Path, name: str, launch: LaunchText, source: str | None) -> dict[str, Any]:
    """Return the options of `read_cuda` for a kernel. source: the text in the place of the file's."""
    names = (name,) if "<" in name or "::" in name else ()
    options = {"names": names, "include": launch.include, "define": launch.define}
    if source is None:
        return options
    return {**options, "include": (path.resolve().parent, *launch.include), "file": path.name}


def _sizes(program: str, launch: LaunchText) -> dict[str, tuple[int, ...]]:
    """Return the extents of a launch by name. Raises `KernelFileError` if they are missing."""
    if not (launch.grid and launch.block):
        raise KernelFileError(f"{program} does not say how it is launched: {HOW}")
    texts = {"grid": launch.grid, "block": launch.block, "cluster": launch.cluster}
    return {option: parse_dims(f"--{option}", text) for option, text in texts.items() if text}


def _machine_code(
    path: Path, module: PtxModule, entry: Entry, launch: LaunchText, gpu: str | None, source: str | None = None
) -> tuple[str, str]:
    """Return the machine code of a kernel, with lines for a `source`, and its architecture."""
    target = module.module.target[0]
    arch = target if gpu is None and path.suffix == ".ptx" else gpu_spec(gpu or DEFAULT_GPU).arch
    if not runs_on(target, arch):
        raise KernelFileError(f"{path.name} is compiled for {target}, which {arch} does not run: choose another GPU")
    if path.suffix == ".ptx":
        cubin = assemble(module.text, arch)
    else:
        options = _compilation(path, entry.name, launch, source)
        cubin = cubin_of(path if source is None else source, arch=arch, **options)
    text = disassemble(cubin, line_info=source is not None)
    return section_of(text, entry.function.name), arch
