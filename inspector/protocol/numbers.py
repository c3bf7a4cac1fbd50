"""Numbers of a peer that Python cannot hold as such. Pure, any thread."""

from __future__ import annotations

from typing import Any


class LongInteger(float):
    """An integer of more digits than Python converts (4,300): infinite as a number, exact as `text`.

    Making an int of it would take time by the square of its length, and writing that int again is refused.
    """

    def __new__(cls, text: str) -> LongInteger:
        made = super().__new__(cls, "-inf" if text.startswith("-") else "inf")
        made.text = text
        return made

    text: str

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.text,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LongInteger) and self.text == other.text

    def __ne__(self, other: object) -> bool:
        return not self == other

    def is_integer(self) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


def integer(text: str) -> int | float:
    """An integer literal of any length, for `parse_int`."""
    try:
        return int(text)
    except ValueError:
        return LongInteger(text)
