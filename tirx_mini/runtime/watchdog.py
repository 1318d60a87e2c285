"""Runs kernels that may hang or fault in a child process, which can be terminated.

A hanging kernel cannot be stopped, and a faulting kernel destroys the process's CUDA context: every later CUDA call
fails. In a child process both end with the child, and the caller can launch again.
"""

from __future__ import annotations

import atexit
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.arguments import ArgumentError, is_tensor_map
from tirx_mini.pytorch import pytorch_on_gpu
from tirx_mini.records import dataclass
from tirx_mini.worker import Task, Worker

from .arguments import check_call
from .cuda_driver import DriverError
from .launch import Kernel, Launcher
from .timing import LaunchGraph

if TYPE_CHECKING:
    import numpy.typing as npt

REPLAYS = 5
"""The number of timed replays of a graph, odd so that the median is one of them."""


class KernelFailure(RuntimeError):
    """A kernel that hung or faulted on the GPU. advice: a sentence on the next step, "" if there is none."""

    advice: str = ""

    def __str__(self) -> str:
        return f"{self.args[-1]}{f'. {self.advice}' if self.advice else ''}"


class KernelTimeout(KernelFailure):
    """The error for a kernel that exceeded its time limit and was terminated."""


class KernelFault(KernelFailure):
    """A kernel that faulted. name: the driver's status, as CUDA_ERROR_ILLEGAL_ADDRESS."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, text)
        self.name = name


def run_guarded(kernel: Kernel, args: Sequence[object], limit_s: float = 10.0) -> None:
    """Run ``kernel(*args)`` in a child process, and copy the results into the tensors or arrays of `args`.

    The next run reuses the child process. Raises `KernelTimeout` if the kernel runs longer than `limit_s` seconds,
    `KernelFault` if it faults, and `ArgumentError` for arguments that do not fit. This process's CUDA context stays
    usable in every case.
    """
    written = _guarded(
        _launch, kernel, args, (), limit_s,
        f"{kernel.func.name} did not finish within {limit_s:g} s and was ended: most likely its threads wait for each "
        'other; run it with target="sim" to see which barrier each of them waits for',
    )  # fmt: skip
    for index, data in written.items():
        _restore(args[index], data)


def time_guarded(kernel: Kernel, args: Sequence[object], repeat: int = 30, limit_s: float = 20.0) -> float:
    """Time `repeat` launches in a CUDA graph in a child process; return milliseconds per launch, a median of `REPLAYS`.

    The tensors or arrays of `args` are not written. Raises as `run_guarded` does.
    """
    return _guarded(
        _time, kernel, args, (repeat,), limit_s,
        f"{kernel.func.name} did not finish within {limit_s:g} s when it was launched {repeat} times in a row, and was "
        "ended: a launch may still hold a resource that the next one waits for, such as tensor memory, or the kernel "
        "hangs only in some orders of events: try more of them with --target sim --schedules 20",
    )  # fmt: skip


def _guarded(
    task: Task, kernel: Kernel, args: Sequence[object], options: tuple[object, ...], limit_s: float, late: str
) -> Any:
    """Return the result of `task` in the child for ``(kernel, args, *options)``. late: the `KernelTimeout` message."""
    check_call(kernel.func, args, kernel.written)
    if any(map(is_tensor_map, kernel.func.params)):
        raise ArgumentError(
            f"{kernel.func.name} takes a tensor map, which has no meaning in a child process: call the compiled kernel"
        )
    packed = [_Bytes.of(arg) if isinstance(arg, np.ndarray) or hasattr(arg, "data_ptr") else arg for arg in args]
    try:
        return _runner().call(task, (kernel, packed, *options), limit_s)
    except TimeoutError:
        raise KernelTimeout(late) from None
    except DriverError as error:
        raise KernelFault(error.name, f"the GPU ended {kernel.func.name}: {error}") from None


@cache
def _runner() -> Worker:
    """Return the child process for all kernels of this process, because creating a CUDA context takes seconds.

    Raises `PyTorchMissing` or `GpuMissing` if it cannot launch kernels.
    """
    pytorch_on_gpu('target="cuda"')
    worker = Worker()
    atexit.register(worker.close)
    return worker


# -- the tasks ---------------------------------------------------------------------------------------------------------


def _launch(payload: tuple[Kernel, list[Any]]) -> Generator[None, None, dict[int, Any]]:
    """Launch on the child's GPU, wait, and return the bytes of each argument that the kernel writes."""
    import torch

    kernel, packed = payload
    launcher, args = Launcher(kernel), _on_device(packed)
    yield
    launcher(args)
    with _cuda_errors():
        torch.cuda.synchronize()
        return {index: _Bytes.of(args[index]).data for index in kernel.written}


def _time(payload: tuple[Kernel, list[Any], int]) -> Generator[None, None, float]:
    """Return the milliseconds per launch of repeated launches."""
    kernel, packed, repeat = payload
    launcher, args = Launcher(kernel), _on_device(packed)
    yield
    with _cuda_errors():
        graph = LaunchGraph(lambda: launcher(args), repeat)
        return sorted(graph.ms() for _ in range(REPLAYS))[REPLAYS // 2]


def _on_device(packed: list[Any]) -> list[object]:
    """Return the arguments on the child's GPU, after all copies have finished."""
    import torch

    args = [item.on_device() if isinstance(item, _Bytes) else item for item in packed]
    torch.cuda.synchronize()
    return args


@contextmanager
def _cuda_errors() -> Iterator[None]:
    """Convert PyTorch's CUDA errors to `DriverError`s."""
    try:
        yield
    except DriverError:
        raise
    except RuntimeError as error:
        raise DriverError(_status(str(error)), str(error).splitlines()[0]) from None


def _status(text: str) -> str:
    """Return the driver status that PyTorch's message of a CUDA error denotes."""
    known = {"illegal memory access": "ILLEGAL_ADDRESS", "misaligned address": "MISALIGNED_ADDRESS"}
    return "CUDA_ERROR_" + next((name for words, name in known.items() if words in text), "LAUNCH_FAILED")


@dataclass(frozen=True)
class _Bytes:
    """The serialised form of a tensor or array for another process."""

    data: npt.NDArray[np.uint8]
    dtype: str
    shape: tuple[int, ...]

    @staticmethod
    def of(value: Any) -> _Bytes:
        if isinstance(value, np.ndarray):
            return _Bytes(np.ascontiguousarray(value).reshape(-1).view(np.uint8), value.dtype.name, value.shape)
        import torch

        data = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        return _Bytes(data, str(value.dtype).removeprefix("torch."), tuple(value.shape))

    def on_device(self) -> object:
        import torch

        return torch.from_numpy(self.data).to("cuda").view(getattr(torch, self.dtype)).reshape(self.shape)


def _restore(target: Any, data: npt.NDArray[np.uint8]) -> None:
    """Copy the bytes of a result into the caller's tensor or array."""
    if isinstance(target, np.ndarray):
        target[...] = data.view(target.dtype).reshape(target.shape)
        return
    import torch

    target.copy_(torch.from_numpy(data).view(target.dtype).reshape(target.shape))
