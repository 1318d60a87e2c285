"""NVIDIA's assembler of Tile IR, where it is installed: a second opinion on our modules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tirx_mini.ir import TirxError

ENVIRONMENT = "TILEIRAS"
"""The variable that names the program."""


def find_tileiras() -> Path | None:
    """`tileiras`: from $TILEIRAS, the path, or the wheel nvidia-cuda-tileiras of this Python; else None."""
    named = os.environ.get(ENVIRONMENT) or shutil.which("tileiras")
    if named:
        return Path(named)
    wheels = (Path(folder) / "nvidia" for folder in sys.path)
    return next((path for wheel in wheels for path in wheel.glob("cu*/bin/tileiras")), None)


def assemble(bytecode: bytes, gpu: str, tileiras: Path) -> bytes:
    """The cubin for an architecture, such as "sm_90". Raises `TirxError` with what the assembler says."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "module.tileirbc", Path(folder) / "module.cubin"
        source.write_bytes(bytecode)
        command = [str(tileiras), f"--gpu-name={gpu}", str(source), "-o", str(cubin)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TirxError(f"tileiras: {(done.stderr or done.stdout).strip()}")
        return cubin.read_bytes()
