"""A drill: a step's reference with one mistake, under other names and constants."""

from __future__ import annotations

import io
import random
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from textwrap import dedent

from tirx_mini.hardware import GPUS, GpuSpec, architecture_of
from tirx_mini.records import dataclass

from ..hints import reference_file
from ..steps import STEPS, Shape
from .names import NAMES

MARK = "  #<"
"""The suffix of an edited line that is accepted as an answer."""


class Symptom(Enum):
    """The symptom of a broken kernel on a GPU."""

    HANGS = "hangs"
    WRONG = "wrong"
    SLOW = "slow"


@dataclass(frozen=True)
class Drill:
    """A mistake in the reference of a step.

    step, arch: which reference, as in 7 and "sm90". name: of the drill, unique in the step of an architecture.
    edits: old and new lines, whatever their indentation. The reference without its comments has the old lines once.
        The new lines that an answer may name end in `MARK`.
    symptom: on a GPU. first: the code of the first finding of `check`; of a slow kernel, the kind of its first bound.
    causes: four sentences, of which the first is right. reason: why it has this symptom.
    shape, sms: the problem, and the multiprocessors of the modelled GPU.
    constants: the values of constants among which a seed chooses.
    """

    step: int
    arch: str
    name: str
    edits: tuple[tuple[str, str], ...]
    symptom: Symptom
    first: str
    causes: tuple[str, str, str, str]
    reason: str
    shape: Shape
    sms: int | None = None
    constants: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def factory(self) -> str:
        """The name of the function that builds the kernel."""
        return f"hgemm_v{self.step}"

    @property
    def gpu(self) -> GpuSpec:
        """The modelled GPU: the first of the architecture, with the drill's multiprocessor count."""
        return modelled(self.arch, self.sms)


@dataclass(frozen=True)
class Dealt:
    """A drill under the names and constants of a seed.

    text: of the file to repair. repaired: the same without the mistake.
    lines: those that an answer may name.
    causes: in the order in which they are shown. right: the number of the right one, from 1 on.
    reason: as in the drill, under these names.
    """

    drill: Drill
    seed: int
    text: str
    repaired: str
    lines: tuple[int, ...]
    causes: tuple[str, ...]
    right: int
    reason: str


def modelled(arch: str, sms: int | None) -> GpuSpec:
    """Return the first GPU of an architecture, with that many multiprocessors; None for all."""
    return next(gpu for gpu in GPUS.values() if architecture_of(gpu.arch).kernels == arch).with_sms(sms)


def deal(drill: Drill, seed: int) -> Dealt:
    """Return the file of a drill; equal seeds give equal files. Raises `ValueError` for an inapplicable edit."""
    choice = random.Random(f"{drill.arch} {drill.step} {drill.name} {seed}")
    whole = _reference(drill)
    names = {name: choice.choice((name, *others)) for name, others in NAMES.items()}
    constants = {name: choice.choice(values) for name, values in drill.constants.items()}
    causes = choice.sample(drill.causes, len(drill.causes))

    def varied(text: str) -> str:
        return _named(_with_constants(text, constants), names)

    broken = whole
    for old, new in drill.edits:
        broken = edited(broken, old, new)
    lines = broken.splitlines()
    marked = tuple(number for number, line in enumerate(lines, 1) if line.endswith(MARK))
    broken = "\n".join(line.removesuffix(MARK) for line in lines) + "\n"
    return Dealt(
        drill, seed, varied(broken), varied(whole), marked, tuple(_said(cause, names) for cause in causes),
        causes.index(drill.causes[0]) + 1, _said(drill.reason, names),
    )  # fmt: skip


def edited(text: str, old: str, new: str) -> str:
    """Return `text` with the lines `old` replaced by `new`, keeping indentation. Raises `ValueError`."""
    lines, sought = text.splitlines(), [line.strip() for line in dedent(old).strip("\n").splitlines()]
    bare = [line.strip() for line in lines]
    count = len(sought)
    found = [start for start in range(len(bare) - count + 1) if bare[start : start + count] == sought]
    if len(found) != 1:
        raise ValueError(f"the reference has these lines {len(found)} times: {old!r}")
    start = found[0]
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    lines[start : start + count] = [f"{indent}{line}".rstrip() for line in dedent(new).strip("\n").splitlines()]
    return "\n".join(lines) + "\n"


def _reference(drill: Drill) -> str:
    """Return the reference without its comments, which describe the correct code."""
    text = _without_comments(reference_file(drill.step, drill.arch).read_text(encoding="utf-8"))
    title = STEPS[drill.step].title
    docstring = f'"""A drill of step {drill.step}, {title}: this kernel has one mistake."""'
    return re.sub(r'\A""".*?"""', docstring, text, count=1, flags=re.DOTALL)


def _without_comments(text: str) -> str:
    lines: Sequence[str] = text.splitlines()
    starts = {
        token.start[0]: token.start[1]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    kept = [(line[: starts[number]].rstrip() if number in starts else line) for number, line in enumerate(lines, 1)]
    return "\n".join(line for number, line in enumerate(kept, 1) if line or number not in starts) + "\n"


def _named(text: str, names: Mapping[str, str]) -> str:
    """Return the text with renamed variables of the reference, if no attribute or keyword shares the name."""
    return re.sub(r"(?<![.\w])\w+", lambda word: names.get(word[0], word[0]), text)


def _said(text: str, names: Mapping[str, str]) -> str:
    """Return a sentence with renamed variables in its `code`."""
    return re.sub(r"`[^`]*`", lambda code: _named(code[0], names), text)


def _with_constants(text: str, constants: Mapping[str, int]) -> str:
    for name, value in constants.items():
        text, count = re.subn(rf"(?m)^{name} = \d+$", f"{name} = {value}", text)
        if count != 1:
            raise ValueError(f"the file gives {name} a number {count} times")
    return text
