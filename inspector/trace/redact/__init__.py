"""Hides secrets in trace events before they are written. Any thread; docs/trace-format.md, "Redaction"."""

from inspector.trace.redact.preview import Preview, RulePreview, preview
from inspector.trace.redact.redactor import Redactor
from inspector.trace.redact.rules import Rules

__all__ = ["Preview", "Redactor", "RulePreview", "Rules", "preview"]
