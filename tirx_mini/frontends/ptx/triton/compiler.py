"""Triton's compiler for NVIDIA GPUs, without its last stage: the binary of a kernel is its PTX."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

_VENDOR = "nvidia"
_REGISTERS = re.compile(r"Used (\d+) registers")
TYPICAL_REGISTERS = 64
"""The registers of a thread that are reported for a kernel that Triton's assembler does not accept."""


@contextmanager
def with_ptx() -> Iterator[None]:
    """Make Triton's compiler stop at PTX within the block. Its cache keeps such kernels apart."""
    backends = import_module("triton.backends").backends
    known = backends[_VENDOR]
    backends[_VENDOR] = type(known)(_without_assembler(known.compiler), known.driver)
    try:
        yield
    finally:
        backends[_VENDOR] = known


def _without_assembler(compiler: Any) -> Any:
    class PtxCompiler(compiler):
        """A compiler whose stage `cubin` returns the bytes of the PTX."""

        def add_stages(self, stages: Any, options: Any, language: Any) -> None:
            super().add_stages(stages, options, language)
            stages["cubin"] = lambda text, metadata: text.encode()

        def hash(self) -> str:
            return f"{super().hash()}-ptx"

    return PtxCompiler


def registers_of(ptx: bytes, arch: str) -> int:
    """Return the registers of a thread, as Triton's assembler reports them."""
    found = import_module("triton.backends.nvidia.compiler")
    capability = int("".join(filter(str.isdigit, arch)))
    with tempfile.TemporaryDirectory(prefix="tirx_mini_") as folder:
        path = Path(folder, "kernel.ptx")
        path.write_bytes(ptx)
        command = ["-v", f"--gpu-name={arch}", str(path), "-o", str(path.with_suffix(".cubin"))]
        try:
            done = subprocess.run(
                [found.get_ptxas(capability).path, *command], capture_output=True, text=True, check=True
            )
        except (OSError, RuntimeError, subprocess.CalledProcessError):
            return TYPICAL_REGISTERS
    match = _REGISTERS.search(done.stderr + done.stdout)
    return int(match[1]) if match else TYPICAL_REGISTERS
