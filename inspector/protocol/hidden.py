"""Characters that do not show, or change how others show. Pure, any thread."""

from __future__ import annotations

from typing import Final

# Control, format, BiDi, zero-width, filler and tag characters, variation selectors (but FE0F, which emoji
# need), lone surrogates.
HIDDEN: Final = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)
"""The inside of a character class of regular expressions."""
