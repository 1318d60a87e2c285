"""Public names of modules defined elsewhere: `tirx_mini.te` is the module `te` of a front end."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, cast

from tirx_mini.guests import frontends

if TYPE_CHECKING:
    from importlib.abc import Loader  # takes 6 ms

_PROGRAM = "import runpy; runpy.run_module({home!r}, run_name='__main__', alter_sys=True)"


class PublicNames:
    """Finds a module by its public name, as the same object as the original module.

    A package that contains only such modules, as `tirx_mini.compat`, is created here.

    names: public names, each with the module that has it.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._packages = {public.rpartition(".")[0] for public in names} - {"tirx_mini", *names}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in self._packages:
            return ModuleSpec(fullname, cast("Loader", self), is_package=True)
        home = self.home_of(fullname)
        spec = None if home is None else find_spec(home)
        if spec is None:
            return None
        found = ModuleSpec(fullname, cast("Loader", self), origin=spec.origin)
        found.submodule_search_locations = spec.submodule_search_locations
        return found

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        home = self.home_of(spec.name)
        if home is None:
            return None
        module = import_module(home)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which Python replaced by the public name's; the module is already executed."""
        if module.__spec__ is not None and module.__spec__.loader_state is not None:
            module.__spec__ = module.__spec__.loader_state

    def get_code(self, fullname: str) -> CodeType:
        """Return the code that ``python -m`` executes, which runs the module under its original name."""
        return compile(_PROGRAM.format(home=self.home_of(fullname)), "<tirx_mini>", "exec")

    def home_of(self, name: str) -> str | None:
        """Return the name of the module that a public name denotes, or None if it denotes none."""
        for public, home in self._names.items():
            if name == public or name.startswith(f"{public}."):
                return home + name[len(public) :]
        return None


def install_public_names() -> None:
    """Install the finder of public module names, with priority over the folders of their stubs."""
    names = {public: home for each in frontends() for public, home in each.modules.items()}
    if not any(isinstance(finder, PublicNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, PublicNames(names))
