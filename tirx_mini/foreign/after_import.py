"""Contexts that begin when a program imports a module, so that programs without the module do not import it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.abc import Loader  # takes 6 ms


@contextmanager
def once_imported(module: str, context: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
    """Enter a context as soon as a module is imported, and leave it at the end of the block."""
    with ExitStack() as entered:
        if sys.modules.get(module) is not None:
            entered.enter_context(context())
            yield
            return
        finder = _AfterImport(module, lambda: entered.enter_context(context()))
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)


class _AfterImport:
    """Calls a function after a module is imported."""

    def __init__(self, module: str, then: Callable[[], object]) -> None:
        self._module, self._then = module, then
        self._loader: Any = None

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None:
            self._loader, spec.loader = spec.loader, cast("Loader", self)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then()
