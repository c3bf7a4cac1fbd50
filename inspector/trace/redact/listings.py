"""The list results of a trace as they were written, for the checksums of `catalog` events. One thread at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Digests = Callable[[str, list[bytes]], tuple[str, str]]
_LISTS: Final = frozenset(("tools/list", "prompts/list", "resources/list", "resources/templates/list"))
_MOST: Final = 32 << 20
"""Characters of list results kept; beyond that, checksums of touched lists are left out."""


class Listings:
    """Keeps list results between a walk and the `catalog` event that sums it up."""

    def __init__(self, digests: Digests | None) -> None:
        self._digests = digests
        self._kept: dict[int, dict[int, str]] = {}
        self._touched: set[int] = set()
        self._size = 0

    def watch(self, fields: dict[str, Any], touched: bool) -> dict[str, str | None] | None:
        """See an event as it will be written; for a `catalog` event whose pages were touched, its true checksums.

        They are None when they cannot be known; the whole answer is None when nothing has to change.
        """
        if fields.get("t") == "rpc":
            if (
                fields.get("kind") == "result"
                and fields.get("method") in _LISTS
                and isinstance(fields.get("raw"), str)
            ):
                self._keep(fields, touched)
            return None
        if fields.get("t") != "catalog":
            return None
        pages = [page.get("seq") for page in fields.get("pages") or [] if isinstance(page, dict)]
        pages_touched = not self._touched.isdisjoint(pages) or (bool(self._touched) and None in pages)
        kept = self._kept.pop(fields.get("c", 0), {})
        self._size -= sum(map(len, kept.values()))
        self._touched.difference_update(kept)
        if not pages_touched:
            return None
        raws = [kept[seq].encode("utf-8", "surrogatepass") for seq in pages if seq in kept]
        if self._digests is None or len(raws) != len(pages):
            return {"sha256": None, "order_sha256": None}
        sha256, order_sha256 = self._digests(str(fields.get("what")), raws)
        return {"sha256": sha256, "order_sha256": order_sha256}

    def _keep(self, fields: dict[str, Any], touched: bool) -> None:
        seq, raw = fields.get("seq", 0), fields["raw"]
        if touched:
            self._touched.add(seq)
        if self._size + len(raw) <= _MOST and fields.get("enc") != "base64":
            self._kept.setdefault(fields.get("c", 0), {})[seq] = raw
            self._size += len(raw)
