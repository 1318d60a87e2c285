"""`tvm.error`: TVM's exception names, for tests that refer to them. Every mistake in a kernel is one of them."""

from __future__ import annotations

from tirx_mini.ir import TirxError

__all__ = ["DiagnosticError", "InternalError", "OpError", "TVMError"]

DiagnosticError = InternalError = OpError = TVMError = TirxError
