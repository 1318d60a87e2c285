"""The names of the front end, which are imported when they are asked for."""

from __future__ import annotations

from types import ModuleType

import pytest

from tirx_mini import script


@pytest.mark.parametrize("name", sorted({*script.__all__} - {"ir", "tirx"}))
def test_no_name_is_that_of_a_module(name: str) -> None:
    assert not isinstance(getattr(script, name), ModuleType)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'inlin'"):
        script.inlin  # type: ignore[attr-defined]
