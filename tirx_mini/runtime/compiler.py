"""Compilation of CUDA C++ to PTX and cubin with NVRTC, with errors at the kernel's own lines."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tirx_mini.codegen import GENERATED, CudaSource
from tirx_mini.ir import Span, TirxError
from tirx_mini.records import dataclass

from .nvrtc import Program
from .toolchain import assembler, compiler_of, toolchain

OPTIONS = (
    "--std=c++17",
    "--ptxas-options=--verbose",
    "--ptxas-options=--warn-on-spills",
    "--ptxas-options=--warn-on-local-memory-usage",
)
FILE_NAME = "kernel.cu"


@dataclass(frozen=True)
class Resources:
    """The resources of a kernel, as ptxas reports them: registers, stack bytes and spill bytes per thread."""

    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int


@dataclass(frozen=True)
class Compiled:
    """The result of one compilation. log: the messages of NVRTC and ptxas."""

    arch: str
    ptx: str
    cubin: bytes
    log: str

    @property
    def resources(self) -> Resources:
        """The resources in ptxas' verbose output."""

        def number(pattern: str) -> int:
            match = re.search(pattern, self.log)
            return int(match.group(1)) if match else 0

        return Resources(
            registers=number(r"Used (\d+) registers"),
            stack_bytes=number(r"(\d+) bytes stack frame"),
            spill_store_bytes=number(r"(\d+) bytes spill stores"),
            spill_load_bytes=number(r"(\d+) bytes spill loads"),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the C++ compiler and of ptxas."""
        return tuple(line.strip() for line in self.log.splitlines() if re.search(r"\bwarning\b", line, re.IGNORECASE))


def options(arch: str, line_info: bool) -> tuple[str, ...]:
    """Return the compiler's command line options."""
    extra = ("--generate-line-info",) if line_info else ()
    return (f"--gpu-architecture={arch}", *OPTIONS, *extra)


def compile_cuda(source: CudaSource, arch: str, *, line_info: bool = False) -> Compiled:
    """Compile for `arch`, as in "sm_100a", without a GPU.

    Raises `TirxError` at the kernel's line that NVRTC or ptxas rejects, `ToolchainError` if there is no compiler.
    """
    program = _program(source.text, arch)
    flags = (*options(arch, line_info), f"--include-path={toolchain().include}")
    if not program.compile(flags):
        raise _translated(source, program.log, flags, arch)
    return Compiled(arch, program.ptx(), program.cubin(), program.log)


def compile_ptx(
    text: str,
    file: str,
    arch: str,
    flags: Sequence[str] = (),
    names: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> tuple[str, dict[str, str]]:
    """Compile any CUDA C++ to PTX with line information; also return the PTX name of each kernel in `names`.

    file: the name of the text in line information. names: C++ names of kernels, also of instances of templates.
    headers: texts in place of files, by the names of these. No GPU is needed.

    Raises `TirxError` at the line that NVRTC rejects, `ToolchainError` if there is no compiler.
    """
    program = _compiled(text, file, (arch, arch.replace("sm_", "compute_")), flags, names, headers)
    return program.ptx(), {name: program.lowered(name) for name in names}


def compile_cubin(
    text: str,
    file: str,
    arch: str,
    flags: Sequence[str] = (),
    names: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Compile any CUDA C++ to the binary that holds its machine code. The arguments are those of `compile_ptx`."""
    return _compiled(text, file, (arch, arch), flags, names, headers).cubin()


def assemble(ptx: str, arch: str) -> bytes:
    """Return the binary that ptxas makes of a PTX text, without a GPU.

    Raises `TirxError` for a text that ptxas rejects, `ToolchainError` if ptxas is not installed.
    """
    tool = assembler()
    with tempfile.TemporaryDirectory(prefix="tirx_mini_") as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = [tool, f"--gpu-name={arch}", source, "-o", target]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            match = _PTXAS.search(run.stderr)
            said = f"line {match[1]}: {match[2]}" if match else run.stderr.strip()
            raise TirxError(f"the assembler (ptxas) rejects this: {said}")
        return target.read_bytes()


def _compiled(
    text: str, file: str, target: tuple[str, str], flags: Sequence[str], names: Sequence[str],
    headers: Mapping[str, str] | None,
) -> Program:  # fmt: skip
    """Compile any CUDA C++. target: the architecture, and what NVRTC makes code for. Raises as `compile_ptx`."""
    program = Program(compiler_of(target[0]), text, file, headers)
    for name in names:
        program.ask(name)
    include = toolchain().include
    folders = [f"--include-path={folder}" for folder in (include, include / "cccl") if folder.is_dir()]
    architecture = f"--gpu-architecture={target[1]}"
    if not program.compile((architecture, "--std=c++17", "--generate-line-info", *flags, *folders)):
        match = _CXX.search(program.log)
        where, line, what = match.groups() if match else ("", "0", program.log)
        place = Span(where, int(line)) if match else None
        raise TirxError(f"the CUDA compiler rejects this: {what}", place, _advice(what))
    return program


_WHEELS = {"nv/": "nvidia-cuda-cccl", "cuda/": "nvidia-cuda-cccl", "crt/": "nvidia-cuda-crt"}
"""The wheels of the CUDA headers that NVRTC's own wheel lacks, by the header's first folder."""


def _advice(message: str) -> str | None:
    """Return advice for a header that NVRTC does not find, and for a launch in a kernel; None for any other message."""
    if re.search(r"device-side kernel launch|kernel launch from __device__", message):
        return "a kernel cannot launch another one here: launch both from the host, one after the other"
    match = re.search(r'cannot open source file\s+"([^"]+)"', message)
    if match is None:
        return None
    wheel = next((wheel for folder, wheel in _WHEELS.items() if match[1].startswith(folder)), None)
    return f"name its folder with -I, or run pip install {wheel}" if wheel else "name its folder with -I"


def _program(text: str, arch: str) -> Program:
    return Program(compiler_of(arch), text, FILE_NAME)


_CXX = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (.*)$", re.MULTILINE)
_PTXAS = re.compile(r"line (\d+); error\s*: (.*)$", re.MULTILINE)
_FILE = re.compile(r"^\s*\.file\s+(\d+) \"(.*)\"", re.MULTILINE)
_LOC = re.compile(r"^\s*\.loc\s+(\d+) (\d+) \d+(?:.*inlined_at (\d+) (\d+) \d+)?")


def _translated(source: CudaSource, log: str, flags: tuple[str, ...], arch: str) -> TirxError:
    """Return the first error of `log`, at the line of the kernel that caused it."""
    match = _CXX.search(log)
    if match:
        file, line, text = match.groups()
        return _error("the CUDA compiler", text, source, file, int(line))
    match = _PTXAS.search(log)
    if match:
        return _error("the assembler (ptxas)", match.group(2), source, *_place_of_ptxas_error(source, flags, arch))
    return _error("the CUDA compiler", log, source, "", 0)


def _error(who: str, what: str, source: CudaSource, file: str, line: int) -> TirxError:
    lines = source.text.splitlines()
    if Path(file).name not in (FILE_NAME, GENERATED):  # with `#line` directives, the kernel's source itself
        return TirxError(f"{who} rejects this: {what}", Span(file, line) if line else None)
    notes = ((f"it became the CUDA C++: {lines[line - 1].strip()}", None),) if 0 < line <= len(lines) else ()
    return TirxError(f"{who} rejects this: {what}", source.span_at(line), notes=notes)


def _place_of_ptxas_error(source: CudaSource, flags: tuple[str, ...], arch: str) -> tuple[str, int]:
    """Return the source file and line of a PTX line that ptxas rejects, from a compilation with line information."""
    program = _program(source.text, arch)
    program.compile((*flags, "--generate-line-info"))
    match = _PTXAS.search(program.log)
    ptx = program.ptx()
    if match is None:
        return "", 0
    files = dict(_FILE.findall(ptx))
    for text in reversed(ptx.splitlines()[: int(match.group(1))]):
        loc = _LOC.match(text)
        if loc:
            file, line, outer_file, outer_line = loc.groups()
            return files.get(outer_file or file, ""), int(outer_line or line)
    return "", 0
