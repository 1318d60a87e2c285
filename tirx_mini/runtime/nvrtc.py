"""A ctypes interface to NVIDIA's run-time compiler (the NVRTC guide): its library, and programs.

It is called with ctypes: `cuda.bindings.nvrtc` also imports the driver's bindings, which takes longer than to compile a
small kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path

SUCCESS, COMPILATION_FAILED = 0, 6
"""The statuses of NVRTC calls (nvrtcResult)."""


class Nvrtc:
    """The library at `path`. Raises `OSError` if it does not load.

    version: as in "13.0.88"; by default the interface version, as in "13.0".
    """

    def __init__(self, path: Path, version: str = "") -> None:
        self._builtins = _builtins(path)
        self._library = ctypes.CDLL(str(path))
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = version or f"{major.value}.{minor.value}"

    def __call__(self, function: str, *args: object, detail: str = "") -> None:
        """Call a function; raises `RuntimeError` with the status and `detail` if it fails."""
        self.succeeded(self.status(function, *args), detail)

    def status(self, function: str, *args: object) -> int:
        """Call a function that may fail, and return its status."""
        return getattr(self._library, function)(*args)

    def succeeded(self, status: int, detail: str = "") -> None:
        """Raise `RuntimeError` unless the status is success."""
        if status != SUCCESS:
            raise RuntimeError(f"NVRTC failed: {self._library.nvrtcGetErrorString(status).decode()}{detail}")

    @property
    def supported(self) -> tuple[int, ...]:
        """The architectures that the library compiles for, by number."""
        count = ctypes.c_int()
        self("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self("nvrtcGetSupportedArchs", numbers)
        return tuple(numbers)


def _builtins(path: Path) -> ctypes.CDLL | None:
    """Load the library that NVRTC opens by its bare name during compilation.

    It lies beside NVRTC, outside the loader's search path: on Linux the wheels have no RUNPATH, but a library that is
    loaded already is found by its name.
    """
    stem, dot, suffix = path.name.partition(".so")
    beside = sorted(path.parent.glob(f"{stem}-builtins{dot}{suffix}*")) if dot else []
    return ctypes.CDLL(str(beside[0])) if beside else None


class Program:
    """A program text for NVRTC; raises `RuntimeError` if NVRTC fails for a reason other than the text.

    headers: texts by the names that the text includes; they take precedence over files.
    """

    def __init__(self, nvrtc: Nvrtc, text: str, name: str, headers: Mapping[str, str] | None = None) -> None:
        self.nvrtc, handle = nvrtc, ctypes.c_void_p()
        files = headers or {}
        strings = ctypes.c_char_p * len(files)
        texts, names = strings(*map(str.encode, files.values())), strings(*map(str.encode, files))
        nvrtc("nvrtcCreateProgram", ctypes.byref(handle), text.encode(), name.encode(), len(files), texts, names)
        self.handle = handle

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self.nvrtc.status("nvrtcDestroyProgram", ctypes.byref(self.handle))

    def compile(self, flags: Sequence[str]) -> bool:
        """Compile the text, and return whether it compiles; `log` has the messages."""
        options = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        status = self.nvrtc.status("nvrtcCompileProgram", self.handle, len(flags), options)
        if status not in (SUCCESS, COMPILATION_FAILED):
            self.nvrtc.succeeded(status, f" ({' '.join(flags)})\n{self.log}")
        return status == SUCCESS

    def ask(self, name: str) -> None:
        """Request a kernel by its C++ name, such as a template instance, before the compilation."""
        self.nvrtc("nvrtcAddNameExpression", self.handle, name.encode())

    def lowered(self, name: str) -> str:
        """Return the PTX name of a kernel requested with `ask`."""
        found = ctypes.c_char_p()
        self.nvrtc("nvrtcGetLoweredName", self.handle, name.encode(), ctypes.byref(found))
        return (found.value or b"").decode()

    @property
    def log(self) -> str:
        """The messages of the compiler and of ptxas."""
        return self._read("ProgramLog").rstrip(b"\0").decode(errors="replace").strip()

    def ptx(self) -> str:
        return self._read("PTX").rstrip(b"\0").decode()

    def cubin(self) -> bytes:
        return self._read("CUBIN")

    def _read(self, what: str) -> bytes:
        size = ctypes.c_size_t()
        self.nvrtc(f"nvrtcGet{what}Size", self.handle, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        self.nvrtc(f"nvrtcGet{what}", self.handle, data)
        return data.raw
