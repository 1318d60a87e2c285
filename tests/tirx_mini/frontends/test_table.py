"""The table of front ends: everything that it names is there."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from tirx_mini.foreign import PACKAGE, Frontend, frontends, resolve


def functions(each: Frontend) -> Iterator[str]:
    named = (each.lower, each.kernel_imports, each.programs, each.examine)
    yield from filter(None, (*named, *each.targets.values(), *each.imports.values(), *each.lessons.values()))


def modules(each: Frontend) -> Iterator[str]:
    yield from (*each.modules.values(), *each.kernel_modules)
    yield from (f"{PACKAGE}.{module}" for _, module in each.commands.values())


@pytest.mark.parametrize("name", sorted({name for each in frontends() for name in functions(each)}))
def test_each_function_is_there(name: str) -> None:
    assert callable(resolve(name))


@pytest.mark.parametrize("name", sorted({name for each in frontends() for name in modules(each)}))
def test_each_module_is_there(name: str) -> None:
    assert import_module(name).__name__ == name


@pytest.mark.parametrize("each", frontends(), ids=lambda each: each.name)
def test_a_front_end_has_a_folder_and_a_language(each: Frontend) -> None:
    assert import_module(f"{PACKAGE}.{each.name}").__path__ and each.language
