"""Rewording of findings into the kernel's source language: ``__syncthreads()`` for `cta_sync()`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tirx_mini.diagnose import Finding, Report
from tirx_mini.records import replace

from .syntax import Module

_CPP: Mapping[str, str] = MappingProxyType({
    "cta_sync": "__syncthreads", "warp_sync": "__syncwarp", "cluster_sync": "cluster.sync",
    "warpgroup_sync": "a bar.sync of 128 threads",
})  # fmt: skip
_PTX: Mapping[str, str] = MappingProxyType({
    "cta_sync": "bar.sync 0", "warp_sync": "bar.warp.sync -1", "cluster_sync": "barrier.cluster.arrive and .wait",
    "warpgroup_sync": "a bar.sync of 128 threads",
})  # fmt: skip
_TRITON: Mapping[str, str] = MappingProxyType({**_PTX, "cta_sync": "tl.debug_barrier"})
_SYNCHRONISES = re.compile(r"(?:Tx\.cuda\.|Tx\.)?\b(cta_sync|warp_sync|cluster_sync|warpgroup_sync)\b(\([^()]*\))?")
_INSTRUCTION = re.compile(r"(?:Tx\.ptx\.([a-z0-9_.]+)|\b(tcgen05\.(?:fence|wait)\.\w+))(\(\))?")
_SPELLED = (
    ("fence.after_thread_sync", "fence::after_thread_sync"), ("fence.before_thread_sync", "fence::before_thread_sync"),
    ("wait.ld", "wait::ld"), ("wait.st", "wait::st"), ("proxy_async", "proxy.async"),
)  # fmt: skip


def in_words_of(module: Module, report: Report) -> Report:
    """Reword the findings of a report in the module's source language.

    CUDA with the lines of a Python file is what tirx_mini made of a kernel: the words are right.
    """
    if module.of_cuda and _of_python(module):
        return report
    words = _words(module)
    return replace(report, findings=tuple(_reworded(each, words) for each in report.findings))


def made_by_triton(module: Module) -> bool:
    """Return whether Triton's compiler made a module: its lines are those of a Python file, and it is not of CUDA."""
    return not module.of_cuda and _of_python(module)


def _of_python(module: Module) -> bool:
    """Return whether lines of a module are those of a Python file."""
    return any(name.endswith(".py") for name in module.files.values())


def _words(module: Module) -> Mapping[str, str]:
    if made_by_triton(module):
        return _TRITON
    return _CPP if module.files else _PTX


def _reworded(finding: Finding, words: Mapping[str, str]) -> Finding:
    details: dict[str, Any] = dict(finding.details)
    if details.get("hint"):
        details["hint"] = reworded(details["hint"], words)
    if details.get("notes"):
        details["notes"] = tuple((reworded(text, words), span) for text, span in details["notes"])
    message, in_warps = reworded(finding.message, words), reworded(finding.in_warps, words)
    return replace(finding, message=message, details=details, in_warps=in_warps)


def reworded(text: str, words: Mapping[str, str]) -> str:
    """Replace the synchronisation primitives in a sentence, and spell instructions as in PTX."""

    def synchronises(match: re.Match[str]) -> str:
        word = words[match[1]]
        called = match[2] is not None and word.replace(".", "").replace("_", "").isalnum() and words is not _PTX
        return f"{word}()" if called else word

    def instruction(match: re.Match[str]) -> str:
        written = match[1] or match[2]
        name = written.rstrip(".")
        for ours, theirs in _SPELLED:
            name = name.replace(ours, theirs)
        return name + written[len(written.rstrip(".")) :]

    return _INSTRUCTION.sub(instruction, _SYNCHRONISES.sub(synchronises, text)).replace("elect_sync", "elect.sync")
