"""Packages whose names are imported when they are asked for: every name is there, and none is hidden by a module."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pytest

from tirx_mini import course, driver, report, runtime
from tirx_mini.frontends import tile_ir
from tirx_mini.on_demand import named

PACKAGES = (course, driver, report, runtime, tile_ir)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_is_there_and_is_that_of_its_module(package: ModuleType) -> None:
    names = vars(package)["_NAMES"]
    modules = {module.name for module in iter_modules(package.__path__)}
    for module, several in names.items():
        for name in several:
            assert getattr(package, name) is getattr(import_module(f"{package.__name__}.{module}"), name)
            assert name in package.__all__ and name not in modules
    assert all(hasattr(package, name) for name in package.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'pge'"):
        named("tirx_mini.report", {"pages": ("page",)})("pge")
