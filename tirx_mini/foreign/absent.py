"""Placeholder names that may be imported and annotated with, and that raise an error on use."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

Refusal = Callable[[str], Exception]
"""The function that makes the error for the use of a name, given its path."""


class Absent:
    """A placeholder object of a missing module."""

    def __init__(self, path: str, refusal: Refusal) -> None:
        self.__path, self.__refusal = path, refusal

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__path}.{name}", self.__refusal)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise self.__refusal(self.__path)

    def __mro_entries__(self, bases: tuple[object, ...]) -> Any:
        raise self.__refusal(self.__path)

    def __instancecheck__(self, instance: object) -> bool:
        raise self.__refusal(self.__path)

    def __iter__(self) -> Iterator[Any]:
        raise self.__refusal(self.__path)

    def __getitem__(self, index: object) -> Absent:
        return self

    def __or__(self, other: object) -> Absent:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return self.__path


class AbsentModule(ModuleType):
    """A module in which every name exists, as an `Absent`."""

    def __init__(self, name: str, refusal: Refusal) -> None:
        super().__init__(name)
        self.__dict__["_refusal"] = refusal

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}", self.__dict__["_refusal"])


_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def in_import(depth: int = 1) -> bool:
    """Return whether the caller's caller is at ``from module import name``, which looks up the name in the module.

    depth: the number of frames between this function and the importing one.
    """
    frame = inspect.currentframe()
    for _ in range(depth + 1):
        frame = frame and frame.f_back
    if frame is None:
        return False
    if frame.f_code.co_name == "_handle_fromlist":  # of Python's own import, which looks for submodules
        return True
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM
