"""The bodies of requests: each field is checked, and a bad one gets a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tirx_mini.course import Constant, LaunchText, Shape
from tirx_mini.hardware import DEFAULT_GPU, GPUS
from tirx_mini.records import dataclass, replace

from .simulating import RUNS, STAGES

MOST_SIZE = 16_384
_MOST_CONSTANTS = 100
_CPP_NAME = re.compile(r"[\w:<>,*&()$. -]{0,300}")
"""The name of a launched kernel, as in "reduce" or "scale<float, 4>"."""
_MOST_SMEM = 1 << 20
_LAUNCH = ("args", "grid", "block", "cluster")


class BadRequest(ValueError):
    """The error for a body that is not what a route takes; the message is a sentence."""


@dataclass(frozen=True)
class RunRequest:
    """A run that the page asks for.

    shape: None for a kernel that takes none. course: whether findings are told step by step. drill: the one that the
    text repairs, or "". asked: whether the user has asked for this run, and not only typed. modules: those beside the
    file that the page has opened, by place. launch: of a kernel that a launch describes, else None.
    """

    text: str
    kernel: str
    shape: Shape | None
    constants: Mapping[str, Constant]
    gpu: str
    sms: int | None
    want: frozenset[str]
    course: bool
    drill: str
    asked: bool
    modules: tuple[str, ...] = ()
    launch: LaunchText | None = None

    def at(self, kernel: str, shape: Shape, gpu: str, sms: int | None) -> RunRequest:
        """Return the run of another problem in course mode, with the kernel's own constants."""
        return replace(self, kernel=kernel, shape=shape, gpu=gpu, sms=sms, constants={}, course=True)


def run_request(data: Mapping[str, Any]) -> RunRequest:
    """Return the body of ``/run``. Raises `BadRequest`."""
    kernel, launch = text_of(data, "kernel"), _launch(data.get("launch"))
    if not (kernel.isidentifier() if launch is None else _CPP_NAME.fullmatch(kernel)):
        raise BadRequest(f"{kernel!r} is not the name of a kernel")
    gpu = data.get("gpu", DEFAULT_GPU)
    if not isinstance(gpu, str) or gpu not in GPUS:
        raise BadRequest(f"{gpu!r} is not a modelled GPU; they are {', '.join(GPUS)}")
    want = data.get("want", sorted(RUNS))
    if not isinstance(want, list) or not set(map(str, want)) <= {*RUNS, *STAGES}:
        raise BadRequest(f"want is a list of {', '.join([*sorted(RUNS), *STAGES])}")
    sms = data.get("sms")
    return RunRequest(
        text_of(data, "text"), kernel, _shape(data.get("sizes")), _constants(data.get("constants") or {}), gpu,
        None if sms is None else _whole("sms", sms, GPUS[gpu].sms), frozenset(want), data.get("course") is True,
        text_of(data, "drill", ""), data.get("asked") is True, _names(data.get("modules")), launch,
    )  # fmt: skip


def text_of(data: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return a field that is text. Raises `BadRequest`."""
    value = data.get(name, default)
    if not isinstance(value, str) or not _is_unicode(value):
        raise BadRequest(f"the field {name} is not text")
    return value


def _is_unicode(text: str) -> bool:
    """Return whether a text has no half of a surrogate pair, which JSON allows and UTF-8 does not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole_of(data: Mapping[str, Any], name: str, most: int, least: int = 1) -> int:
    """Return a field that is a whole number from `least` to `most`. Raises `BadRequest`."""
    return _whole(name, data.get(name), most, least)


def _whole(name: str, value: object, most: int, least: int = 1) -> int:
    if type(value) is not int or not least <= value <= most:
        raise BadRequest(f"{name} is not a number from {least} to {most}")
    return value


def _shape(sizes: object) -> Shape | None:
    if sizes is None:
        return None
    if not isinstance(sizes, dict):
        raise BadRequest("sizes is not an object with m, n and k")
    m, n, k = (_whole(f"the size {name}", sizes.get(name), MOST_SIZE) for name in "mnk")
    return m, n, k


def _launch(given: object) -> LaunchText | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise BadRequest(f"launch is not an object with {', '.join(_LAUNCH)} and smem")
    args, *extents = (" ".join(text_of(given, name, "").split()) for name in _LAUNCH)
    grid, block, cluster = (text.replace(" ", "") for text in extents)
    return LaunchText(args, grid, block, cluster, whole_of({"smem": 0, **given}, "smem", _MOST_SMEM, 0))


def _names(given: object) -> tuple[str, ...]:
    given = given or []
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise BadRequest("modules is not a list of names")
    return tuple(given)


def _constants(given: object) -> dict[str, Constant]:
    if not isinstance(given, dict) or len(given) > _MOST_CONSTANTS:
        raise BadRequest("constants is not an object of names and values")
    for name, value in given.items():
        if not name.isidentifier() or type(value) not in (int, float, str):
            raise BadRequest(f"the constant {name} is not a number or text")
    return dict(given)
