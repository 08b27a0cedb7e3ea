"""Audits what an AI agent did from the recording of its tool calls. It never runs a tool."""

from ._audit import audit, check_scope, replay
from ._native import (
    Chain,
    Coverage,
    Finding,
    FindingsTable,
    ScopeError,
    ToolreplayError,
    TranscriptError,
    canonical,
    import_recording,
    seal,
    verify,
)
from ._native import __VERSION__ as __version__
from ._report import Report, ReportFile

__all__ = [
    "Chain",
    "Coverage",
    "Finding",
    "FindingsTable",
    "Report",
    "ReportFile",
    "ScopeError",
    "ToolreplayError",
    "TranscriptError",
    "__version__",
    "audit",
    "canonical",
    "check_scope",
    "import_recording",
    "replay",
    "seal",
    "verify",
]
