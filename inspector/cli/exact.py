"""`list --exact PROVIDER`: the provider's own count of a catalog. Main thread; sends only because it was told to."""

from __future__ import annotations

from typing import Any

from inspector.catalog import providers
from inspector.catalog.counters import COUNTERS, request_of
from inspector.catalog.report import MeasuredListing
from inspector.cli.terminal import printable, say, warn
from inspector.console.counting import base_url, count_exactly, require_key


def ready(provider: str) -> None:
    """Refuse before a server is started for nothing. Raises UsageError."""
    require_key(provider)
    base_url(provider)


def exact(measured: MeasuredListing, provider: str, model: str | None) -> dict[str, Any]:
    """The `exact` object of `list --json`, once the provider has counted; what is sent is said on stderr first."""
    chosen = model or providers.default_model(provider)
    request = request_of(measured.measures, provider, chosen, base_url(provider))
    size = f"{len(request.body):,} B with {request.tools:,} tools, {len(request.bare):,} B without"
    warn(f"POST {request.url}, twice: {size}; key from {require_key(provider)}.")
    for sentence in request.left_out:
        warn(f"  left out: {printable(sentence)}")
    found = count_exactly(request)
    return {
        "provider": provider,
        "model": chosen,
        "tools": found.tools,
        "with_tools": found.with_tools,
        "without_tools": found.without_tools,
        "tools_sent": request.tools,
        "left_out": list(request.left_out),
        "request": {
            "url": request.url, "header_names": list(request.headers),
            "bytes": len(request.body), "bytes_without": len(request.bare),
        },
    }  # fmt: skip


def show(found: dict[str, Any]) -> None:
    """The same as a line for people."""
    host = COUNTERS[found["provider"]].url.split("/")[2]
    say(
        f"{found['tools']:,} tokens by {host} for {found['model']}, its hidden tool prompt included"
        f" ({found['with_tools']:,} with the tools, {found['without_tools']:,} without)"
    )
