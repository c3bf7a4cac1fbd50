"""Large answers people look into: their texts and where their nodes stand, the last few of them. Any thread."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from inspector.catalog.jsontree import Document

MOST_CHARS: Final = 64 << 20


class Documents:
    """The last ones looked into, of MOST_CHARS in all but always the newest."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Document] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, text: Callable[[], str]) -> Document:
        """The document known as `key`; made of what `text` gives when it is not at hand."""
        with self._lock:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return found
        made = Document(text())
        with self._lock:
            kept = self._kept.setdefault(key, made)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and sum(len(one.text) for one in self._kept.values()) > MOST_CHARS:
                self._kept.popitem(last=False)
        return kept
