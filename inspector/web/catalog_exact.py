"""The provider's own count of a catalog: the request first, then, when somebody presses the button, its answer.
Flask request threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Blueprint, abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from inspector.catalog import providers
from inspector.catalog.counters import COUNTERS, CountRequest, request_of
from inspector.catalog.snapshot import TOOLS
from inspector.console.catalogs import Catalog
from inspector.console.counting import Exact, base_url, key_name
from inspector.errors import LoupeError, UsageError
from inspector.web.catalog_context import indexes, listed, rules_off
from inspector.web.catalog_view import TITLES, Query
from inspector.web.frame import console, shell
from inspector.web.guard import spawns
from inspector.web.problems import problem_of

blueprint = Blueprint("exact", __name__)
SHOWN: Final = 20_000
"""Characters of the request that the page shows."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The request as the page shows it. key: the variable that is set, None when none is; wanted: those that count."""

    request: CountRequest
    host: str
    key: str | None
    wanted: str
    text: str
    left: int


@blueprint.get("/catalog/<key>/tools/exact")
def show(key: str) -> str:
    """What would be sent, and the last answer. Nothing is sent."""
    return page(key, listed(key, TOOLS, Query()), chosen())


@blueprint.post("/catalog/<key>/tools/exact")
@spawns
def count(key: str) -> Response | tuple[str, int]:
    """Send it: twice, with the tools and without."""
    catalog, (provider, model) = listed(key, TOOLS, Query()), chosen()
    try:
        wanted = request_of(catalog.measured.measures, provider, model, base_url(provider))
        console().counting.count(wanted, catalog.measured.sha256)
    except LoupeError as problem:
        return page(key, catalog, (provider, model), problem), 502
    return redirect(url_for("exact.show", key=key, provider=provider, model=model), 303)


def chosen() -> tuple[str, str]:
    """Provider and model of the address; any name of a model goes, for we cannot know them all."""
    provider = request.values.get("provider", providers.PROVIDERS[0])
    if provider not in providers.PROVIDERS:
        abort(404)
    model = request.values.get("model", "").strip()
    return provider, model if 0 < len(model) <= 200 and model.isprintable() else providers.default_model(
        provider
    )


def page(key: str, catalog: Catalog, which: tuple[str, str], problem: LoupeError | None = None) -> str:
    provider, model = which
    try:
        base = base_url(provider)
    except UsageError as wrong:
        base, problem = COUNTERS[provider].url, wrong
    wanted = request_of(catalog.measured.measures, provider, model, base)
    found: Exact | None = console().counting.known(wanted, catalog.measured.sha256)
    counted = indexes().of(catalog, rules_off()[0]).tokens(provider)
    text = wanted.body.decode("utf-8", "replace")
    shown = Shown(
        wanted, urlsplit(wanted.url).netloc, key_name(provider), " or ".join(COUNTERS[provider].keys),
        text[:SHOWN], max(0, len(text) - SHOWN),
    )  # fmt: skip
    context: dict[str, Any] = {
        "key": key, "server": console().shown(key), "shown": shown, "found": found, "provider": provider, "model": model,
        "TITLES": TITLES, "own": counted, "hidden": providers.hidden_prompt_tokens(provider),
        "failure": problem_of(problem) if problem else None, "counter": COUNTERS[provider],
        "listed_at": catalog.listed_at_us,
    }  # fmt: skip
    return render_template("catalog/exact.html", shell=shell("catalog", key), **context)
