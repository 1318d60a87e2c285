"""Execution of ``import`` statements in kernels at parse time."""

from __future__ import annotations

import ast
import importlib
from typing import Any

from tirx_mini.ir import TirxError

from .diagnostics import did_you_mean, with_type


def imported(node: ast.Import | ast.ImportFrom) -> dict[str, Any]:
    """Return the names that an import statement binds, with values. Raises `TirxError` if it fails."""
    found: dict[str, Any] = {}
    if isinstance(node, ast.Import):
        for alias in node.names:
            module, top = _module(alias.name), alias.name.split(".")[0]
            found[alias.asname or top] = module if alias.asname else _module(top)
        return found
    if node.level:
        raise TirxError("a kernel cannot import relative to its module", hint="import it outside the kernel")
    module = _module(node.module or "")
    for alias in node.names:
        if not hasattr(module, alias.name):
            hint = did_you_mean(alias.name, dir(module)) or f"import a name that `{node.module}` has"
            raise TirxError(f"cannot import `{alias.name}` from `{node.module}`", hint=hint)
        found[alias.asname or alias.name] = getattr(module, alias.name)
    return found


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"the module `{name}` cannot be imported: {error}"
    except Exception as error:
        message = f"the module `{name}` fails when it is imported: {with_type(error)}"
    raise TirxError(message, hint="import it outside the kernel, where Python shows why")
