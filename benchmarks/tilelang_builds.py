# pyright: reportMissingImports=false
"""A peer: the programs of tilelang_programs.py as TileLang itself builds them for a Hopper GPU. It needs nvcc, no GPU.

    python -m venv peers && peers/bin/pip install tilelang==0.1.15
    peers/bin/python benchmarks/tilelang_builds.py build/tilelang        # then carry the folder to the GPU
    peers/bin/python benchmarks/tilelang_builds.py build/swept --swept   # for h100_sweep.py

It writes a shared library for each case of tilelang_cases.py, with a function `call(arrays…, stream)`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tilelang
import tilelang_programs
from tilelang.backend.target import determine_target
from tilelang.jit.adapter.libgen import LibraryGenerator
from tilelang.jit.adapter.wrapper import TLWrapper
from tilelang_cases import SWEPT, cases, swept
from tvm import IRModule, transform

ARCH = "sm_90a"


def library(func: Any, path: Path, fast: bool) -> None:
    """The kernel and its launch, as TileLang's adapter for Python builds them."""
    target = determine_target({"kind": "cuda", "arch": ARCH}, return_object=True)
    options = {tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True} if fast else {}
    with target, transform.PassContext(opt_level=3, config=options):
        made = tilelang.lower(func, target=target, enable_host_codegen=False, enable_device_compile=False)
        wrapper, builder = TLWrapper(target), LibraryGenerator(target)
        wrapper.assign_optimized_module(IRModule({func.attrs["global_symbol"]: func}))
        wrapper.assign_pass_configs(options)
        wrapper.assign_host_module(made.host_mod)
        wrapper.assign_device_module(made.device_mod)
        builder.assign_pass_configs(options)
        builder.assign_compile_flags([])
        builder.update_lib_code(wrapper.wrap(made.kernel_source))
        builder.compile_lib(timeout=600)
    shutil.copy(builder.libpath, path)
    path.with_suffix(".cu").write_text(made.kernel_source)


def stand_in(folder: Path) -> None:
    """A library with the name of the driver's, which a machine without a GPU lacks and the linker asks for."""
    source = folder / "stub.c"
    source.write_text("void nothing(void) {}\n")
    command = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(folder / "libcuda.so"), str(source)]
    subprocess.run(command, check=True)
    os.environ["LIBRARY_PATH"] = str(folder)


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as stub:
        stand_in(Path(stub))
        for case in [case for shape in SWEPT for case in swept(*shape)] if "--swept" in sys.argv else cases():
            start, path = time.perf_counter(), folder / f"{case.file}.so"
            if path.exists():
                continue
            try:
                library(getattr(tilelang_programs, case.program)(**case.args), path, case.fast)
            except Exception as error:  # a plan that the peer cannot compile is left out, whatever the reason
                print(f"{case.file}: {type(error).__name__}: {str(error)[:500]}", flush=True)
                continue
            print(f"{case.file}: {time.perf_counter() - start:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
