"""Compilation targets: `Target("sim")`, `Target("sim:h100")`, `Target("cuda")`, `Target("cuda:sm_90a")`, "llvm"."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import field

from tirx_mini.records import dataclass

_CURRENT: ContextVar[Target | None] = ContextVar("target", default=None)


@dataclass(frozen=True)
class Target:
    """A compilation target. As a context manager, it is the default target of the `compile` calls in its block.

    spec: "sim" or "sim:GPU" (the simulator, by default of `hardware.DEFAULT_GPU`), "cuda" (the GPU of this machine, or
        `hardware.DEFAULT_ARCH` if it has none), "cuda:ARCH", or "llvm" (this CPU, for functions whose loops a schedule
        arranged). Raises `ValueError` for anything else.
    """

    spec: str
    _tokens: list[Token[Target | None]] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kind, _, detail = self.spec.partition(":")
        if kind not in ("sim", "cuda", "llvm") or (":" in self.spec and not detail):
            raise ValueError(
                f"unknown target {self.spec!r}; use 'sim', 'sim:h100', 'cuda', an architecture as in 'cuda:sm_90a', or "
                "'llvm'"
            )

    @property
    def kind(self) -> str:
        """ "sim", "cuda" or "llvm"."""
        return self.spec.partition(":")[0]

    @property
    def detail(self) -> str | None:
        """The GPU of a simulator target, or the architecture of a CUDA target; None if it is not specified."""
        return self.spec.partition(":")[2] or None

    @staticmethod
    def current() -> Target | None:
        """Return the target of the innermost ``with target:`` block."""
        return _CURRENT.get()

    def __enter__(self) -> Target:
        self._tokens.append(_CURRENT.set(self))
        return self

    def __exit__(self, *exc: object) -> None:
        _CURRENT.reset(self._tokens.pop())

    def __str__(self) -> str:
        return self.spec
