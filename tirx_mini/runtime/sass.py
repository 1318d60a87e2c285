"""SASS, the machine code: disassembly and instruction counts by group."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tirx_mini.records import dataclass

from .compiler import Compiled
from .toolchain import ToolchainError, disassembler

GROUPS: Mapping[str, Mapping[str, str]] = {
    "tensor core": {
        r"UTC\w*MMA": "tcgen05.mma", r"HGMMA|QGMMA|IGMMA": "wgmma", r"HMMA|IMMA|QMMA": "mma",
        r"UTCBAR": "tcgen05.commit", r"LDTM": "tcgen05.ld", r"STTM": "tcgen05.st", r"UTCCP": "tcgen05.cp",
        r"UTCATOMSWS": "tcgen05.alloc, dealloc",
    },
    "TMA": {
        r"UTMALDG": "cp.async.bulk.tensor load", r"UTMASTG": "cp.async.bulk.tensor store",
        r"UTMAREDG": "cp.reduce.async.bulk.tensor", r"UTMAPF": "cp.async.bulk.prefetch.tensor",
        r"UBLKCP": "cp.async.bulk", r"UTMACMDFLUSH": "cp.async.bulk.commit_group", r"UTMACCTL": "prefetch.tensormap",
    },
    "barriers": {
        r"SYNCS": "mbarrier", r"BAR": "bar.sync", r"UCGABAR_ARV|UCGABAR_WAIT": "barrier.cluster",
        r"WARPSYNC": "bar.warp.sync", r"FENCE": "fence", r"MEMBAR": "fence.acq_rel",
        r"DEPBAR": "wait for a group", r"ELECT": "elect.sync",
    },
    "memory": {
        r"LDG": "ld.global", r"STG": "st.global", r"LDS": "ld.shared", r"STS": "st.shared", r"LDGSTS": "cp.async",
        r"LDSM": "ldmatrix", r"STSM": "stmatrix", r"SHFL": "shfl",
    },
    "local memory": {r"LDL": "ld.local", r"STL": "st.local"},
}  # fmt: skip
"""The opcode patterns of each group, with the PTX instruction that each pattern implements."""

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", re.MULTILINE)


@dataclass(frozen=True)
class SassSummary:
    """The instruction counts of a kernel.

    opcodes: the count of each full opcode.
    groups: the count of each PTX name of each group of `GROUPS`, without zeros.
    """

    opcodes: Mapping[str, int]
    groups: Mapping[str, Mapping[str, int]]

    def count(self, ptx: str) -> int:
        """Return the number of instructions that implement `ptx`, a name of `GROUPS`."""
        return sum(names.get(ptx, 0) for names in self.groups.values())

    def matching(self, pattern: str) -> int:
        """Return the number of instructions whose opcode, including modifiers, matches `pattern`."""
        return sum(n for opcode, n in self.opcodes.items() if re.search(pattern, opcode))

    @property
    def local_accesses(self) -> int:
        """The number of local memory accesses: spilled registers, and arrays outside registers."""
        return sum(self.groups["local memory"].values())


def disassemble(cubin: bytes, line_info: bool = False) -> str:
    """Return the machine code as nvdisasm prints it. Raises `ToolchainError` if nvdisasm is not installed.

    line_info: with a comment where the source line changes, if the binary says so.
    """
    options = ["--print-code", *(["--print-line-info-inline"] if line_info else [])]
    tool = disassembler()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        run = subprocess.run([tool, *options, path], capture_output=True, text=True, check=False)
    if run.returncode:
        raise ToolchainError(f"nvdisasm failed: {run.stderr.strip()}")
    return run.stdout


def section_of(sass: str, kernel: str) -> str:
    """Return the part of a disassembly that is the machine code of a kernel, given its name in PTX."""
    parts = re.split(r"^(?=//-+\s+\S+\s+-+$)", sass, flags=re.MULTILINE)
    return next((part for part in parts if part.partition("\n")[0].split()[1:2] == [f".text.{kernel}"]), sass)


def summarise(sass: str) -> SassSummary:
    """Count the instructions in a disassembly."""
    opcodes = Counter(_INSTRUCTION.findall(sass))
    groups: dict[str, dict[str, int]] = {}
    for group, patterns in GROUPS.items():
        counts = {ptx: _count(opcodes, pattern) for pattern, ptx in patterns.items()}
        groups[group] = {ptx: n for ptx, n in counts.items() if n}
    return SassSummary(dict(opcodes), groups)


def _count(opcodes: Mapping[str, int], pattern: str) -> int:
    base = re.compile(pattern)
    return sum(n for opcode, n in opcodes.items() if base.fullmatch(opcode.split(".", 1)[0]))


def counts_text(summary: SassSummary, arch: str) -> str:
    """Return the counts of instructions as text, one line for each group."""
    lines = [f"// {arch}: {sum(summary.opcodes.values())} instructions"]
    for group, counts in summary.groups.items():
        listed = ", ".join(f"{ptx} {n}" for ptx, n in counts.items()) or "none"
        lines.append(f"//   {group:<13} {listed}")
    return "\n".join(lines)


def summary_text(summary: SassSummary, compiled: Compiled, smem_bytes: int) -> str:
    """Return the summary as text, one line for each group."""
    resources = compiled.resources
    lines = [counts_text(summary, compiled.arch)]
    spilled = resources.spill_store_bytes + resources.spill_load_bytes
    stack = f"{spilled} bytes spilled, {resources.stack_bytes} bytes of stack"
    lines.append(f"//   {'registers':<13} {resources.registers} a thread, {stack}")
    lines.append(f"//   {'shared memory':<13} {smem_bytes:,} bytes a CTA")
    return "\n".join(lines)
