"""TVM's target notations: a dictionary, a tag, a JSON string or a device."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tirx_mini.foreign import simulated_device
from tirx_mini.hardware import GPUS, MAX_THREADS_PER_CTA, THREADS_OF, arch_name
from tirx_mini.records import dataclass
from tirx_mini.runtime import device_arch
from tirx_mini.target import Target as OwnTarget


class Kind(str):
    """The kind of a target, an object in TVM: ``target.kind.name``."""

    @property
    def name(self) -> str:
        return str(self)


@dataclass(frozen=True, init=False)
class Target(OwnTarget):
    """``tvm.target.Target("cuda")``, ``Target({"kind": "cuda", "arch": "sm_100a"})``, ``Target("nvidia/nvidia-b100")``.

    host: accepted and not used, because kernels have no host part.
    Raises `ValueError` for a machine that tirx_mini does not compile for.
    """

    def __init__(self, target: object, host: object = None) -> None:
        object.__setattr__(self, "spec", _spec(target))
        object.__setattr__(self, "_tokens", [])
        self.__post_init__()

    @property
    def kind(self) -> Kind:
        return Kind(super().kind)

    @property
    def arch(self) -> str | None:
        """The architecture, such as "sm_100a": the given one, else the local or simulated GPU's."""
        if self.kind != "cuda" or self.detail is not None:
            return self.detail if self.kind == "cuda" else None
        gpu = simulated_device.simulated_gpu()
        return device_arch() if gpu is None else gpu.arch

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The target attributes that a kernel may query."""
        limits = {"max_num_threads": MAX_THREADS_PER_CTA, "thread_warp_size": THREADS_OF["warp"]}
        return {"arch": self.detail, **limits} if self.kind == "cuda" and self.detail else limits

    @property
    def keys(self) -> tuple[str, ...]:
        """The target families to which it belongs."""
        return ("cuda", "gpu") if self.kind == "cuda" else (str(self.kind),)

    @property
    def host(self) -> None:
        """The host target, always None because kernels have no host part."""

    @property
    def max_num_threads(self) -> int:
        """The maximum number of threads in a CTA."""
        return MAX_THREADS_PER_CTA

    @property
    def thread_warp_size(self) -> int:
        """The number of threads in a warp."""
        return THREADS_OF["warp"]

    def with_host(self, host: object) -> Target:
        """Return the target unchanged."""
        return self

    def export(self) -> dict[str, Any]:
        """Return the target as a dictionary."""
        return {"kind": str(self.kind), "keys": list(self.keys), **self.attrs}

    @staticmethod
    def current(allow_none: bool = True) -> OwnTarget | None:
        """Return the target of the innermost ``with target:`` block. Raises `ValueError` if there must be one."""
        found = OwnTarget.current()
        if found is None and not allow_none:
            raise ValueError("no target is set: write `with tvm.target.Target(\"cuda\"):` around this")
        return found

    @staticmethod
    def from_device(device: Any) -> Target:
        """Return the target of the local or simulated GPU."""
        return Target({"kind": "cuda", "arch": arch_name(int(device.compute_version.replace(".", "")))})


def _spec(given: object) -> str:
    """Return the native spec of a target."""
    if isinstance(given, OwnTarget):
        return given.spec
    if isinstance(given, str) and given.lstrip().startswith("{"):
        given = json.loads(given)
    if isinstance(given, Mapping):
        kind = given.get("kind", "cuda")
        if kind == "llvm":
            return "llvm"
        if kind != "cuda":
            raise ValueError(f'the kind of a target must be "cuda" or "llvm", not {kind!r}')
        return f"cuda:{_arch(given['arch'])}" if "arch" in given else "cuda"
    text = str(given)
    if text.split(" ")[0] == "llvm":  # its options describe the CPU, which is that of this machine
        return "llvm"
    if text.startswith("nvidia/"):
        known = [spec for key, spec in GPUS.items() if key in text]
        if not known and "b100" not in text:
            raise ValueError(f"tirx_mini does not model the GPU of the tag {text!r}; it has {', '.join(sorted(GPUS))}")
        return f"cuda:{known[0].arch if known else 'sm_100a'}"
    return text


def _arch(name: str) -> str:
    """Return the architecture variant with TMA and tensor cores: "sm_100a" for "sm_100"."""
    return arch_name(int(name[3:])) if name.startswith("sm_") and name[3:].isdigit() else name
