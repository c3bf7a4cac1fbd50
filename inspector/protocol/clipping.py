"""A text that may have megabytes, where a sentence or a cell has room for some of it. Pure, any thread."""

from __future__ import annotations


def clipped(text: str, most: int) -> str:
    """At most so many characters, and how many more there are."""
    return text if len(text) <= most else f"{text[:most]}… and {len(text) - most:,} more characters"
