"""Audits what an AI agent did from the recording of its tool calls. It never runs a tool."""

from ._native import (
    Chain,
    Coverage,
    Finding,
    FindingsTable,
    Report,
    ScopeError,
    ToolreplayError,
    TranscriptError,
    audit,
    canonical,
    check_scope,
    import_recording,
    replay,
    seal,
    verify,
)
from ._native import __VERSION__ as __version__

__all__ = [
    "Chain",
    "Coverage",
    "Finding",
    "FindingsTable",
    "Report",
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
