"""The texts that NVRTC makes of a CUDA source, each for another question.

An optimiser may drop the very accesses that race, and text without optimisation touches the results of asynchronous
instructions before they are waited for. So no text alone answers all questions.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import cached_property, partial
from types import MappingProxyType

from tirx_mini.ir import TirxError
from tirx_mini.records import dataclass
from tirx_mini.runtime import compile_ptx
from tirx_mini.worker import Worker

from .headers import HEADERS
from .programs import PtxModule
from .reader import read

_AS_WRITTEN = "--fmad=false"
"""Products and sums stay apart, so that texts compute the same to the bit."""
_MAY_HAVE_WGMMA = re.compile(r"wgmma|#\s*include")
"""A text whose compilation without optimisation may change all that NVRTC 13.0 compiles in a process afterwards."""
COMPILE_S = 300.0
"""The time limit of a compilation in another process, in seconds."""


class Role(Enum):
    """The question that a text is for."""

    TIME = "time"
    """The code that a GPU executes."""
    ASYNCHRONOUS = "asynchronous"
    """All about asynchronous instructions: their results stay where they are until they are waited for."""
    ORDINARY = "ordinary"
    """Ordinary accesses: each of the source is there, in its place."""
    VALUES = "values"
    """The values that optimised code computes."""

    @property
    def flags(self) -> tuple[str, ...]:
        """The options of its compilation."""
        return _FLAGS[self]


_FLAGS: Mapping[Role, tuple[str, ...]] = MappingProxyType({
    Role.TIME: (),
    Role.ASYNCHRONOUS: ("--Ofast-compile=min", _AS_WRITTEN),
    Role.ORDINARY: ("-G", _AS_WRITTEN),
    Role.VALUES: (_AS_WRITTEN,),
})


@dataclass(frozen=True)
class Source:
    """A CUDA source and its compilation, as in `compile_ptx`."""

    text: str
    file: str
    arch: str
    flags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def compiled(self, role: Role) -> Text:
        """Compile the text for a role. Raises `TirxError` and `ToolchainError`."""
        if role is Role.ORDINARY and self.arch == "sm_90a" and _MAY_HAVE_WGMMA.search(self.text):
            worker = Worker()
            try:
                return worker.call(_compiled, (self, role), COMPILE_S)
            finally:
                worker.close()
        return self.compiled_here(role)

    def compiled_here(self, role: Role) -> Text:
        """Compile the text in this process. Raises as `compiled`."""
        flags = (*role.flags, *self.flags)
        ptx, lowered = compile_ptx(self.text, self.file, self.arch, flags, self.names, HEADERS)
        ptx = re.sub(rf'"[^"\n]*{re.escape(self.file)}"', lambda _: f'"{self.file}"', ptx)  # NVRTC adds the folder
        return Text(role, ptx, tuple(lowered.items()), self.text)


@dataclass(frozen=True, eq=False)
class Text:
    """One of the texts of a source. names: as of `PtxModule`."""

    role: Role
    ptx: str
    names: tuple[tuple[str, str], ...]
    source: str

    @cached_property
    def module(self) -> PtxModule:
        """The text, read. Raises `TirxError`."""
        return PtxModule(read(self.ptx), self.ptx, self.names, self.source)


def texts_of(source: Source, roles: Sequence[Role]) -> Mapping[Role, Text | TirxError]:
    """Compile a source for each role, at the same time; a role may fail where `Role.TIME` does not.

    Raises `TirxError` where the optimised text does not compile, and `ToolchainError`. Values have no text of their own
    where it would be the optimised one.
    """
    with ThreadPoolExecutor(len(roles)) as pool:
        found = dict(zip(roles, pool.map(partial(_attempt, source), roles), strict=True))
    optimised, exact = found[Role.TIME], found.get(Role.VALUES)
    if isinstance(optimised, TirxError):
        raise optimised
    if isinstance(exact, Text) and exact.ptx == optimised.ptx:
        del found[Role.VALUES]
    return found


def _compiled(job: tuple[Source, Role]) -> Generator[None, None, Text]:
    """Compile a source in a process of its own."""
    source, role = job
    yield
    return source.compiled_here(role)


def _attempt(source: Source, role: Role) -> Text | TirxError:
    try:
        return source.compiled(role)
    except TirxError as error:
        return error
    except RuntimeError as error:
        if role is Role.TIME:
            raise
        return TirxError(f"NVRTC fails with {' '.join(role.flags)}: {error}", kind="not-modelled")
