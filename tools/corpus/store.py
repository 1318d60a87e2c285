"""The stored facts of each program: digests of its texts, and the report of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tirx_mini import compile, simulate
from tirx_mini.diagnose import Finding
from tirx_mini.ir import PrimFunc, TirxError

from .program import Program
from .programs import programs
from .runs import runs

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests" / "tools" / "corpus" / "stored.json"


@dataclass(frozen=True)
class Entry:
    """A program on a GPU, by what is stored of it."""

    program: Program
    gpu: str

    @property
    def name(self) -> str:
        return f"{self.program.name} on {self.gpu}"

    def texts(self) -> dict[str, str]:
        """The lowered TIR and the CUDA C++; the message of the error where it becomes none."""
        found: dict[str, str] = {}
        try:
            compiled = compile(self.program.kernel(self.gpu), target=f"sim:{self.gpu}")
            for stage in ("lowered", "cuda"):
                found[stage] = compiled.source(stage, comments=False)
        except TirxError as error:
            found["error"] = error.diagnostic.message
        return found

    def digests(self) -> dict[str, str]:
        """The texts by their digests; errors as they are."""
        return {
            stage: text if stage == "error" else hashlib.sha256(text.encode()).hexdigest()[:16]
            for stage, text in self.texts().items()
        }

    def reported(self) -> list[Any]:
        """Return the report of a run: verdict, codes with their lines, cycles."""
        assert self.program.args is not None
        try:
            kernel = self.program.kernel(self.gpu)
        except TirxError as error:
            return ["error", [error.kind], None]
        report = simulate(kernel, *self.program.args(kernel), gpu=self.gpu, jobs=1)
        codes = [f"{finding.code} {_place(finding, kernel)}".strip() for finding in report.findings]
        return [report.verdict, codes, report.cycles]

    def said(self) -> dict[str, Any]:
        """All that is stored."""
        return {**self.digests(), **({"run": self.reported()} if self.program.args is not None else {})}


def _place(finding: Finding, kernel: PrimFunc) -> str:
    """Return the line of a finding, relative to the line of the kernel."""
    if finding.span is None or kernel.span is None:
        return ""
    return f"{finding.span.user.line - kernel.span.user.line:+}"


def entries(only: str = "") -> Iterator[Entry]:
    """Each program on each of its GPUs. only: a part of the names."""
    for program in programs():
        for gpu in program.gpus:
            entry = Entry(program, gpu)
            if only in entry.name:
                yield entry


def said(only: str = "") -> dict[str, Any]:
    """All that is to be stored, by the names of entries and runs."""
    found: dict[str, Any] = {entry.name: entry.said() for entry in entries(only)}
    return {**found, **{run.name: run.said() for run in runs() if only in run.name}}


def stored() -> Mapping[str, Any]:
    """Return what is stored, by the names of entries and runs."""
    return json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}


def store(found: Mapping[str, Any]) -> None:
    """Store it: a line an entry, so that a difference shows which programs changed."""
    pairs = ((json.dumps(each, ensure_ascii=False) for each in pair) for pair in found.items())
    STORED.write_text("{\n" + ",\n".join(map(": ".join, pairs)) + "\n}\n", encoding="utf-8")
