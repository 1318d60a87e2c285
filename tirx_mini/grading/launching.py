"""Kernels on this machine's GPU in a process that can be terminated: the tasks of the judge's second worker.

A kernel that behaves differently when it is measured is detected by the memory that it may access: it
reads A and B and writes D, and nothing else lasts from one launch to the next. What is compared is computed after the
kernel has run, from data that are made again; and D is compared once more after the launches that were timed.
"""

from __future__ import annotations

import statistics
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from tirx_mini.course import wrong_finding
from tirx_mini.pytorch import PyTorchMissing, pytorch
from tirx_mini.report import finding_page, plain
from tirx_mini.runtime import Executable, LaunchGraph, build, device_arch

from .facts import contract_broken
from .judging import PAGE_WIDTH, Inquiry, Judged, Timed, loaded

REPEAT, REPLAYS = 30, 5
"""The launches in a CUDA graph, and its replays; the time is the median of the replays."""
_MOST_EXPLAINED = 2048 * 2048
"""The elements of the largest D whose mismatch is explained."""


_OF_THE_MACHINE = ("out of memory", "no cuda-capable device", "ecc error", "busy", "driver", "nvlink", "unavailable")
"""The words of CUDA errors that no kernel causes."""


class NoGpu(RuntimeError):
    """The error if this machine has no GPU for the kernels."""


class KernelEnded(RuntimeError):
    """The error for a kernel that the GPU ended; the message is CUDA's."""


def gpu_here(_: None) -> Generator[None, None, tuple[str, str]]:
    """Return (architecture, name) of the GPU. Raises `NoGpu`."""
    yield
    try:
        torch = pytorch("grading on a GPU")
    except PyTorchMissing as error:
        raise NoGpu(str(error)) from None
    arch = device_arch()
    if arch is None:
        raise NoGpu("this machine has no GPU that PyTorch can use")
    return arch, torch.cuda.get_device_name()


def compiling(asked: tuple[Inquiry, str]) -> Generator[None, None, None]:
    """Compile the kernel into the disk cache. asked: also the architecture."""
    question, arch = asked
    func, lowered = loaded(question)
    yield
    build(lowered, arch, original=func)


def launching(asked: tuple[Inquiry, int, tuple[float, float]]) -> Generator[None, None, Judged]:
    """Return `Judged` of one launch. asked: also the seed of the data, and the tolerance."""
    question, seed, tolerance = asked
    func, lowered = loaded(question)
    broken = contract_broken(lowered)
    exe = _executable(question)
    a, b, d = _data(question, seed)
    yield
    if broken:
        return Judged(False, broken)
    with _told():
        exe(a, b, d)
        _synchronize()
    a, b, _ = _data(question, seed)
    if _right(a, b, d, tolerance):
        return Judged(True, clean=True)
    if d.numel() > _MOST_EXPLAINED:
        return Judged(False, "D is not A @ B.T")
    wrong = wrong_finding(a, b, d, func, None, tolerance)
    return Judged(False, wrong.message, plain(finding_page(wrong), PAGE_WIDTH))


def measuring(asked: tuple[Inquiry, int, tuple[float, float]]) -> Generator[None, None, Timed]:
    """Return `Timed`: microseconds per launch of repeated launches, after which D is right."""
    question, seed, tolerance = asked
    exe = _executable(question)
    a, b, d = _data(question, seed)
    yield
    with _told():
        graph = LaunchGraph(lambda: exe(a, b, d), REPEAT)
        ms = statistics.median(graph.ms() for _ in range(REPLAYS))
        d.fill_(float("nan"))
        graph.replay()
        _synchronize()
    a, b, _ = _data(question, seed)
    if not _right(a, b, d, tolerance):
        return Timed(None, f"after {REPEAT} launches in a row, D is not A @ B.T")
    return Timed(ms * 1000)


@lru_cache(maxsize=2)
def _executable(question: Inquiry) -> Executable:
    func, lowered = loaded(question)
    return build(lowered, device_arch(), original=func)


def _data(question: Inquiry, seed: int) -> tuple[Any, Any, Any]:
    """Return A and B with random normal numbers of a seed, and D full of NaN, on the GPU."""
    import torch

    m, n, k = question.shape
    kind = getattr(torch, question.dtype)
    generator = torch.Generator("cuda").manual_seed(seed)
    a, b = (torch.randn(shape, generator=generator, device="cuda").to(kind) for shape in ((m, k), (n, k)))
    d = torch.full((m, n), float("nan"), dtype=kind, device="cuda")
    _synchronize()
    return a, b, d


def _right(a: Any, b: Any, d: Any, tolerance: tuple[float, float]) -> bool:
    """Return whether D equals A @ B.T of cuBLAS within (rtol, atol). As `course.matches`, but on the GPU, since D may
    be large.
    """
    import torch

    rtol, atol = tolerance
    return torch.allclose(d.float(), torch.matmul(a, b.T).float(), rtol=rtol, atol=atol)


@contextmanager
def _told() -> Iterator[None]:
    """Convert CUDA's errors to `KernelEnded`, or to `RuntimeError` for machine errors, without PyTorch classes."""
    try:
        yield
    except RuntimeError as error:
        said = str(error).partition("\n")[0]
        theirs = any(words in said.lower() for words in _OF_THE_MACHINE)
        raise (RuntimeError if theirs else KernelEnded)(said) from None


def _synchronize() -> None:
    import torch

    torch.cuda.synchronize()
