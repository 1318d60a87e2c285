"""The disk cache of compiled kernels, keyed by all inputs of the compilation."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from tirx_mini.codegen import CudaSource
from tirx_mini.records import dataclass

from .compiler import Compiled, compile_cuda, options
from .toolchain import compiler_of, load, toolchain

DIRECTORY_VARIABLE = "TIRX_MINI_CACHE_DIR"
SIZE_VARIABLE = "TIRX_MINI_CACHE_BYTES"
DEFAULT_BYTES = 512 * 2**20
_SCHEMA = "1"


@dataclass(frozen=True)
class CompileCache:
    """A directory of compiled kernels; beyond `max_bytes` the least recently used ones are deleted.

    Entries are keyed by source, architecture, options and the versions of compiler and headers. Writers replace whole
    files, so processes may share the directory. If it cannot be written, each kernel is compiled anew.
    """

    directory: Path
    max_bytes: int = DEFAULT_BYTES

    @staticmethod
    def default() -> CompileCache:
        """Return the cache in the user's directory or $TIRX_MINI_CACHE_DIR, of $TIRX_MINI_CACHE_BYTES (0: no cache)."""
        place = os.environ.get(DIRECTORY_VARIABLE)
        size = os.environ.get(SIZE_VARIABLE)
        if size and not size.isdigit():
            raise ValueError(f"{SIZE_VARIABLE} is {size!r}; it must be a number of bytes, or 0 for no cache")
        return CompileCache(Path(place) if place else _user_cache() / "tirx_mini", int(size) if size else DEFAULT_BYTES)

    def compile(self, source: CudaSource, arch: str, *, line_info: bool = False) -> Compiled:
        """Return the cached result of `compile_cuda`, or compile and store it."""
        store = self._store()
        if store is None:
            return compile_cuda(source, arch, line_info=line_info)
        key = self.key(source, arch, line_info)
        with suppress(KeyError, ValueError, OSError):  # missing, damaged or unreadable: compile again
            return _unpacked(store[key])
        compiled = compile_cuda(source, arch, line_info=line_info)
        with suppress(OSError):
            store[key] = _packed(compiled)
        return compiled

    def key(self, source: CudaSource, arch: str, line_info: bool) -> str:
        """Return the name of an entry."""
        parts = (_SCHEMA, *toolchain().versions, compiler_of(arch).version, *options(arch, line_info), source.text)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _store(self) -> Any:
        """Return cuda.core's store, which writes atomically and evicts the least recently read entries, or None."""
        if self.max_bytes <= 0:
            return None
        try:
            return _opened(self.directory, self.max_bytes)
        except OSError:
            return None


@lru_cache(maxsize=4)
def _opened(directory: Path, max_bytes: int) -> object:
    """Open cuda.core's store in a directory; opening reads the metadata of every file in it."""
    return load("cuda.core.utils").FileStreamProgramCache(directory, max_size_bytes=max_bytes)


def _packed(compiled: Compiled) -> bytes:
    head = {"arch": compiled.arch, "ptx": compiled.ptx, "log": compiled.log}
    return json.dumps(head).encode() + b"\n" + compiled.cubin


def _unpacked(entry: bytes) -> Compiled:
    head, _, cubin = entry.partition(b"\n")
    fields = json.loads(head)
    return Compiled(fields["arch"], fields["ptx"], cubin, fields["log"])


def _user_cache() -> Path:
    """Return the platform's cache directory."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
