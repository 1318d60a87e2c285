"""Output of the tools on kernels with a mistake in them, for the debugging guide: made by running them."""

from __future__ import annotations

import difflib
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tirx_mini import simulate
from tirx_mini.commands import run_command
from tirx_mini.course import Traced, View, load_kernel, make_arguments, timeline_form
from tirx_mini.hardware import B200
from tools.figures._references import patched, reference
from tools.figures._runs import extents

WIDTH = "80"
REST = 1000


@dataclass(frozen=True)
class Case:
    """A command on a reference with a mistake in it.

    edits: what is replaced in the reference of the step. command, options: of `python -m tirx_mini`. shown: (part of a
    line, how many lines from there on): what the page quotes; the rest is left out. diff: whether the
    page shows the fix.
    """

    name: str
    step: int
    edits: Mapping[str, str]
    options: tuple[str, ...] = ()
    command: str = "check"
    shown: tuple[tuple[str, int], ...] = (("", REST),)
    diff: bool = True

    def passage(self) -> str:
        """The fix of the mistake as a diff, the command, and what it prints."""
        parts = [self._diff()] if self.edits and self.diff else []
        file = f"step{self.step:02}.py:hgemm_v{self.step}" if self.edits else self._reference
        command = " ".join(["python -m tirx_mini", self.command, file, *self.options])
        note = f"<!-- not run: step{self.step:02}.py is the reference with this mistake -->\n\n" if self.edits else ""
        parts.append(f"{note}```sh\n{command}\n```")
        parts.append(f"```text\n{excerpt(self.output(), self.shown)}\n```")
        return "\n\n".join(parts)

    @property
    def _reference(self) -> str:
        return f"kernels_ref/sm100/{reference(self.step).name}"

    def _diff(self) -> str:
        right = reference(self.step).read_text(encoding="utf-8")
        wrong = right
        for old, new in self.edits.items():
            wrong = wrong.replace(old, new)
        around = int(len(wrong.splitlines()) < len(right.splitlines()))  # lines that show the place of what is missing
        changed = list(difflib.unified_diff(wrong.splitlines(), right.splitlines(), n=around, lineterm=""))[3:]
        lines = [line for line in changed if not line.startswith("@@")]
        indent = min(len(line) - 1 - len(line[1:].lstrip()) for line in lines)
        return "\n".join(["```diff", *(line[0] + line[1 + indent :] for line in lines), "```"])

    def output(self) -> str:
        """What the command prints, eighty columns wide, with the file's name for its path."""
        with TemporaryDirectory() as folder:
            ref = patched(self.step, self.edits, Path(folder))
            printed = captured([self.command, str(ref), *self.options])
            return printed.replace(f"{folder}{os.sep}", "")


def captured(arguments: list[str]) -> str:
    """The standard output of a command of `python -m tirx_mini`."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with redirect_stdout(io.StringIO()) as out:
            run_command(arguments[0], arguments[1:])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip()


def excerpt(text: str, shown: tuple[tuple[str, int], ...]) -> str:
    """Parts of a text, with a line of dots for what is left out; all of it where no part is found."""
    lines, out, at = text.splitlines(), list[str](), 0
    for start, count in shown:
        found = next((number for number in range(at, len(lines)) if start in lines[number]), None)
        if found is None:
            continue
        if found > at:
            out.append("…")
        out += lines[found : found + count]
        at = found + count
    if at < len(lines):
        out = [*out, "…"] if at else lines
    return "\n".join(out)


HANG_SHAPE = (512, 512, 256)
HANG = {
    "                    ld2mma.arrive(0)\n": (
        "                    if lane_id == 0:\n                        ld2mma.arrive(0)\n"
    )
}
FENCE = '                        Tx.ptx.fence.proxy_async("shared::cta")\n                    Tx.cuda.warpgroup_sync(1)'
CASES = (
    Case(
        "debug-hang", 7, HANG, ("--shape", ",".join(map(str, HANG_SHAPE)), "--sms", "4"),
        shown=(("hgemm_v7: deadlock", 11), ("note: under the guard", 15)),
    ),
    Case(
        "debug-barriers", 7, HANG, ("--shape", "256,128,128", "--sms", "1", "--trace-barriers", "ld2mma"),
        shown=(("cycle", 6),), diff=False,
    ),
    Case("debug-accumulate", 2, {"accum=(k != 0)": "accum=False"}, shown=(("hgemm_v2: ok", 5), ("no findings", 1))),
    Case(
        "debug-accumulate-shape", 2, {"accum=(k != 0)": "accum=False"}, ("--shape", "128,128,256"),
        shown=(("error[TX210]", 10),), diff=False,
    ),
    Case(
        "debug-tile", 3,
        {"B[n_st : n_st + BLK_N, k * BLK_K : (k + 1) * BLK_K]": "B[m_st : m_st + BLK_N, k * BLK_K : (k + 1) * BLK_K]"},
        ("--shape", "256,256,128"), shown=(("error[TX501]", 2), ("help", 4)),
    ),
    Case(
        "debug-row", 3, {"+ warp_id * 32 + lane_id)": "+ warp_id * 32 + lane_id % 31)"}, ("--shape", "256,256,128"),
        shown=(("error[TX201]", 7), ("error[TX501]", 2), ("note: all 4 tiles", 3)),
    ),
    Case(
        "debug-possible", 7, {FENCE: "                    Tx.cuda.warpgroup_sync(1)"}, ("--shape", "256,256,256"),
        shown=(("right here", 3), ("error[TX202]", 8), ("help", 3)),
    ),
    Case(
        "debug-exhaustive", 7, {}, ("--shape", "128,128,128", "--sms", "1", "--exhaustive", "200"),
        shown=(("no order", 3),),
    ),
    Case(
        "debug-fault", 3, {"m_st = Tx.meta_var(bx * BLK_M)": "m_st = Tx.meta_var(bx * BLK_M + 64)"},
        ("--shape", "256,256,128"), shown=(("error[TX301]", 6), ("help", 1), ("CTA", 1)),
    ),
    Case(
        "debug-compile", 3, {'dispatch="tcgen05", cta_group=1': 'dispatch="tcgen5", cta_group=1'},
        ("--shape", "256,256,128"), shown=(("error[TX401]", 7), ("help", 1)),
    ),
    Case(
        "debug-slow", 7, {}, ("--size", "1024", "--what-if", "PIPE_DEPTH=3,4"),
        shown=(("bound by", 3), ("what if PIPE_DEPTH = 4", 3)),
    ),
    Case("debug-trace", 7, {}, ("--size", "512"), command="trace", shown=(("cycles", 9), ("The longest", 7))),
)  # fmt: skip


def hang_picture() -> str:
    """The timeline of the hang, from its beginning to where nothing can advance."""
    spec = B200.with_sms(4)
    with TemporaryDirectory() as folder:
        kernel = load_kernel(patched(7, HANG, Path(folder)), shape=HANG_SHAPE, sms=spec.sms)
        report = simulate(kernel, *make_arguments(kernel), gpu=spec, trace=True)
    traced = Traced(replace(report, kernel="hgemm_v7"), spec, extents(HANG_SHAPE))
    return timeline_form(traced, ".svg", View(cta="first", start=0, end=traced.timeline.cycles))


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/hang.svg", hang_picture()


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    for case in CASES:
        yield case.name, case.passage()
