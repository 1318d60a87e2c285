"""`tvm.transform`: the compilation context, which has no effect because the passes are fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from typing import Any

from tirx_mini.records import dataclass

__all__ = ["PassContext"]


@dataclass
class PassContext:
    """TVM's pass context, accepted without effect: ``with tvm.transform.PassContext(opt_level=3, config={…}):``.

    opt_level, required_pass, disabled_pass, config: the options of TVM's passes.

    Raises `ValueError` for instruments, which would be called for each pass of TVM.
    """

    opt_level: int = 2
    required_pass: Sequence[str] = ()
    disabled_pass: Sequence[str] = ()
    instruments: Sequence[Any] = ()
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.instruments:
            raise ValueError(
                "instruments watch the passes of TVM; `python -m tirx_mini inspect --stage passes` shows those of a "
                "kernel here"
            )
        self._tokens: list[Any] = []

    def __enter__(self) -> PassContext:
        self._tokens.append(_CURRENT.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._tokens.pop())

    @staticmethod
    def current() -> PassContext:
        """Return the innermost context, or a default one."""
        return _CURRENT.get() or PassContext()


_CURRENT: ContextVar[PassContext | None] = ContextVar("pass context", default=None)
