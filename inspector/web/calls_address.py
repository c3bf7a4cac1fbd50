"""The address of the Call form as filled in: a copied address, a reload and going back show it. Request threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from flask import Blueprint, Response, request, url_for

from inspector.web.calls_kinds import TOOLS, what_of
from inspector.web.calls_known import definition as definition_of_item
from inspector.web.calls_post import Options, Wrong, schema_of, typed
from inspector.web.calls_view import has_utf8

blueprint = Blueprint("call_address", __name__)
LONGEST: Final = 4_000
"""Characters of arguments that an address carries; longer ones are in the form alone."""


@blueprint.post("/call/<key>/address")
def made(key: str) -> Response:
    """The address as text; 204 while there is none: the form cannot be read, is too long, or holds a password."""
    tool, what = request.form.get("tool", ""), what_of(request.form.get("what", ""))
    definition = definition_of_item(key, tool, what)
    as_json = request.form.get("mode") == "json"
    try:
        text = request.form.get("json", "") if as_json else typed(definition)
    except Wrong:
        return Response(status=204)
    if (
        len(text) > LONGEST
        or len(tool) > LONGEST
        or not has_utf8(text + tool)
        or secret(schema_of(definition))
    ):
        return Response(status=204)
    href = url_for(
        "calls.show", key=key, what=what if what != TOOLS else None, tool=tool,
        mode="json" if as_json else None, arguments=text if text != "{}" or as_json else None,
        runs=_unusual("runs", "1"), timeout=_unusual("timeout", ""), unchecked=_unusual("unchecked", ""),
    )  # fmt: skip
    return Response(href, mimetype="text/plain")


def options_of(args: Mapping[str, str]) -> Options:
    """How often, how long and whether unchecked, as an address says."""
    return Options(args.get("runs", "1")[:20], args.get("timeout", "")[:20], args.get("unchecked") == "1")


def secret(schema: Mapping[str, Any]) -> bool:
    """Whether a field is a password by its schema: what is typed there stays out of the browser's history."""
    fields = schema.get("properties")
    return isinstance(fields, Mapping) and any(
        isinstance(field, Mapping) and (field.get("format") == "password" or field.get("writeOnly") is True)
        for field in fields.values()
    )


def _unusual(name: str, usual: str) -> str | None:
    value = request.form.get(name, usual).strip()
    return value if value != usual else None
