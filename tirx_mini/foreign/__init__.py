"""Other projects' languages as seen by the core: a table of front ends, scripts, and an absent GPU.

The core never imports a front end statically. It looks up the table, and imports a front-end function by name on
demand. An installation without the folder `frontends` has an empty table.
"""

from typing import TYPE_CHECKING

from tirx_mini.guests import (
    PACKAGE,
    Frontend,
    frontend,
    frontends,
    kernel_imports,
    language_of,
    public_function,
    resolve,
)

from .absent import Absent, AbsentModule, in_import
from .after_import import once_imported
from .modules import install_public_names

if TYPE_CHECKING:  # imported where they are needed
    from . import scripts, simulated_device

__all__ = [
    "PACKAGE",
    "Absent",
    "AbsentModule",
    "Frontend",
    "simulated_device",
    "frontend",
    "frontends",
    "in_import",
    "install_public_names",
    "kernel_imports",
    "language_of",
    "once_imported",
    "public_function",
    "resolve",
    "scripts",
]
