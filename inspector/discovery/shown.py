"""What a host gives the model of a result. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspector.catalog.jsontext import compact_value


def shown_text(result: Mapping[str, Any]) -> str:
    """What a host gives the model of a result: its text blocks, else the structured content as JSON."""
    content = result.get("content")
    blocks = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    texts = [each["text"] for each in blocks if isinstance(each.get("text"), str)]
    if texts or "structuredContent" not in result:
        return "\n".join(texts)
    return compact_value(result["structuredContent"])
