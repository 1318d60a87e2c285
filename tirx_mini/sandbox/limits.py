"""The limits of a hand-in."""

from __future__ import annotations

from tirx_mini.records import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of one hand-in.

    seconds: wall time for one request, which executes the file or builds one kernel.
    total_s: wall time for all of its requests together.
    cpu_s: CPU time of one process, which takes requests until it ends; its imports of tirx_mini are not counted.
    memory_mb: address space of that process, in MiB. Code that is only mapped counts, too.
    output_kb: the limit of kept output, in KiB. The rest is dropped.
    start_s: wall time until the process has imported tirx_mini and takes requests, which is no time of the hand-in.
    """

    seconds: float = 20.0
    total_s: float = 180.0
    cpu_s: int = 120
    memory_mb: int = 4096
    output_kb: int = 64
    start_s: float = 120.0
