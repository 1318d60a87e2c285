"""PyTorch's "cuda" device in host memory, for GPU programs on a machine without a GPU.

Within `torch_on_host()`, every PyTorch call that names a CUDA device uses host memory instead, for the simulator.
Copies between host and device stay copies. `torch.cuda` describes the simulated GPU, and its events
read the clock of `simulated_device.CLOCK`.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from tirx_mini.hardware import GpuSpec, compute_capability
from tirx_mini.ir import TirxError
from tirx_mini.records import dataclass
from tirx_mini.script import caller_span

from .after_import import once_imported
from .simulated_device import CLOCK, Clock, simulated_gpu

MEMORY_BYTES = 180 << 30
"""The memory size that `torch.cuda.mem_get_info` reports for the simulated GPU; nothing is reserved."""


@contextmanager
def torch_on_host(gpu: GpuSpec) -> Iterator[None]:
    """Make PyTorch behave as on a machine with `gpu`, in host memory, within the block."""
    import torch
    from torch.overrides import TorchFunctionMode

    is_cuda = getattr(torch.Tensor.is_cuda, "__get__")  # noqa: B009 - pyright knows a property as its value

    functional = torch.nn.functional
    normalizations = (functional.layer_norm, torch.layer_norm, functional.group_norm, torch.group_norm)

    class HostMemory(TorchFunctionMode):
        """Redirects calls that name a CUDA device to host memory; copies to or from the GPU stay copies."""

        def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
            if func == is_cuda:
                return True
            options = {name: _host(value) for name, value in (kwargs or {}).items()}
            if func in normalizations:
                return _in_float(func, args, options)
            if func in (torch.Tensor.cuda, torch.Tensor.cpu):
                return args[0].clone()
            result = func(*(_host(value) for value in args), **options)
            if func is torch.Tensor.to and result is args[0]:
                return result.clone()
            return result

    def _host(value: object) -> object:
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
            return "cpu"
        return value

    with patch.multiple(torch.cuda, **_cuda_functions(gpu)), HostMemory():
        yield


def _in_float(func: Callable[..., object], args: Sequence[object], options: Mapping[str, object]) -> object:
    """Return the result of a normalization, computed in float32 as on a GPU.

    On a CPU, PyTorch adds up the gradients of weights in their own 16-bit type.
    """
    import torch

    def wide(value: object) -> object:
        if isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16):
            return value.float()
        return value

    result = func(*map(wide, args), **{name: wide(value) for name, value in options.items()})
    given = args[0] if args else options["input"]
    assert isinstance(result, torch.Tensor) and isinstance(given, torch.Tensor)
    return result.to(given.dtype)


@dataclass
class Event:
    """``torch.cuda.Event(enable_timing=True)``: a reading of the simulated device's clock."""

    enable_timing: bool = False
    blocking: bool = False
    interprocess: bool = False
    time_us: float = 0.0

    def record(self, stream: object = None) -> None:
        self.time_us = CLOCK.get().time_us

    def elapsed_time(self, end: Event) -> float:
        """Return the milliseconds from this event to a later one."""
        return (end.time_us - self.time_us) / 1e3

    def synchronize(self) -> None:
        """Do nothing, because launches are complete when their call returns."""

    wait = record

    def query(self) -> bool:
        return True


class CUDAGraph:
    """The replacement of ``torch.cuda.CUDAGraph()``, which is refused because launches are not recorded."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise TirxError(
            "CUDA graphs are not simulated", caller_span(), "make the launches of the graph where it would be replayed"
        )


@dataclass
class Stream:
    """The replacement of ``torch.cuda.Stream()``; launches are ordered, because each call waits for its launch."""

    device: Any = None
    priority: int = 0
    cuda_stream: int = 0

    def synchronize(self) -> None: ...

    def wait_stream(self, stream: object) -> None: ...

    def wait_event(self, event: object) -> None: ...

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record()
        return event

    def query(self) -> bool:
        return True


def _cuda_functions(gpu: GpuSpec) -> Mapping[str, Any]:
    """Return the attributes of `torch.cuda` for a simulated device."""
    import torch

    major, minor = divmod(compute_capability(gpu.arch), 10)
    properties = SimpleNamespace(
        name=gpu.cuda_name,
        major=major,
        minor=minor,
        multi_processor_count=gpu.sms,
        total_memory=MEMORY_BYTES,
        L2_cache_size=gpu.l2_bytes,
        shared_memory_per_block_optin=gpu.architecture.smem_per_cta,
        warp_size=32,
    )

    def returns(value: object = None) -> object:
        return lambda *_, **__: value

    return {
        "is_available": returns(True),
        "is_initialized": returns(True),
        "init": returns(),
        "device_count": returns(1),
        "current_device": returns(0),
        "set_device": returns(),
        "set_stream": returns(),
        "synchronize": returns(),
        "empty_cache": returns(),
        "get_device_name": returns(gpu.cuda_name),
        "get_device_capability": returns((major, minor)),
        "get_device_properties": returns(properties),
        "mem_get_info": returns((MEMORY_BYTES, MEMORY_BYTES)),
        "memory_allocated": returns(0),
        "max_memory_allocated": returns(0),
        "reset_peak_memory_stats": returns(),
        "manual_seed": torch.default_generator.manual_seed,
        "manual_seed_all": torch.default_generator.manual_seed,
        "Event": Event,
        "Stream": Stream,
        "CUDAGraph": CUDAGraph,
        "current_stream": returns(Stream()),
        "default_stream": returns(Stream()),
        "stream": returns(nullcontext()),
        "device": returns(nullcontext()),
    }


# -- What programs see -------------------------------------------------------------------------------------------------


@contextmanager
def gpu_or_simulator(children: Mapping[str, str] | None = None) -> Iterator[None]:
    """Enable GPU programs within the block, on this machine's GPU, or with "cuda" as host memory.

    children: the packages that child processes can import, each with its text.
    """
    gpu = simulated_gpu()
    with ExitStack() as stack:
        if children:
            stack.enter_context(for_children(children, gpu))
        if gpu is not None:
            token = CLOCK.set(Clock())
            stack.callback(CLOCK.reset, token)
            stack.enter_context(once_imported("torch", lambda: torch_on_host(gpu)))
        yield


# -- What child processes see ------------------------------------------------------------------------------------------

_SMI = '''#!{python} -SE
"""nvidia-smi of a machine whose GPU is simulated."""
import sys

VALUES = {values!r}
query = next((a.partition("=")[2] for a in sys.argv if a.startswith(("--query-gpu=", "--query-compute-apps="))), None)
form = next((a.partition("=")[2] for a in sys.argv if a.startswith("--format=")), "")
if any(a.startswith("--query-compute-apps=") for a in sys.argv):
    query = ""
if query is None:
    print("GPU 0: {name} (simulated by tirx_mini)")
else:
    fields = [field.strip() for field in query.split(",") if field.strip()]
    shown = [VALUES.get(field, ("[N/A]", "")) for field in fields]
    if fields and "noheader" not in form:
        print(", ".join(fields))
    if fields:
        print(", ".join(value + ("" if "nounits" in form or not unit else " " + unit) for value, unit in shown))
'''


@contextmanager
def for_children(packages: Mapping[str, str], gpu: GpuSpec | None) -> Iterator[None]:
    """Provide packages and, for a simulated GPU, an ``nvidia-smi`` to child processes within the block."""
    with tempfile.TemporaryDirectory(prefix="tirx_mini_") as made:
        folder = Path(made)
        for name, text in packages.items():
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(text, encoding="utf-8")
        package = Path(__file__).resolve().parents[2]
        added: dict[str, tuple[str, ...]] = {"PYTHONPATH": (str(folder), str(package))}
        if gpu is not None:
            added["PATH"] = (str(_smi(folder, gpu)),)
        before = {key: os.environ.get(key) for key in added}
        for key, entries in added.items():
            os.environ[key] = os.pathsep.join((*entries, *filter(None, [before[key]])))
        try:
            yield
        finally:
            for key, value in before.items():
                if value is None:
                    del os.environ[key]
                else:
                    os.environ[key] = value


def _smi(folder: Path, gpu: GpuSpec) -> Path:
    """Return the folder of an executable ``nvidia-smi`` that describes `gpu` as idle."""
    mib = str(MEMORY_BYTES >> 20)
    capability = compute_capability(gpu.arch)
    values = {
        "index": ("0", ""),
        "name": (gpu.cuda_name, ""),
        "gpu_name": (gpu.cuda_name, ""),
        "count": ("1", ""),
        "memory.used": ("0", "MiB"),
        "memory.free": (mib, "MiB"),
        "memory.total": (mib, "MiB"),
        "utilization.gpu": ("0", "%"),
        "utilization.memory": ("0", "%"),
        "compute_cap": (f"{capability // 10}.{capability % 10}", ""),
    }
    place = folder / "bin"
    place.mkdir()
    path = place / "nvidia-smi"
    path.write_text(_SMI.format(python=sys.executable, values=values, name=gpu.cuda_name), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return place
