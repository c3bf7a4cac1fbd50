"""A comparison as the document of `compare --json`, and what it did not measure. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from inspector.catalog.difference.change import SEVERITIES, Change
from inspector.catalog.difference.comparing import Difference, Row
from inspector.catalog.difference.side import Side, Totals
from inspector.catalog.snapshot import ABSENT

SCHEMA: Final = "mcp-loupe/compare/1"
_ALWAYS_UNMEASURED: Final = (
    "Only tools were compared, not prompts, resources or templates.",
    "No tool was called: a change of behaviour behind an unchanged definition is not seen.",
    "What each provider would be sent was not rendered; mcp-loupe list shows it.",
    "Whether another pattern, condition or negation allows less cannot be told; such changes are cautions.",
)


def document(differences: Sequence[Difference]) -> dict[str, Any]:
    """The whole comparison as one JSON value.

    `tools[]` and `listing[]` carry `side`, the position in `sides[]` of the catalog compared with the first one.
    `totals_delta` is from the first side to the last; each side has its own `delta`. Unknown numbers are null,
    values that are not there are absent.
    """
    sides = [differences[0].before, *[each.after for each in differences]]
    return {
        "schema": SCHEMA,
        "sides": [_side(sides[0], None), *[_side(each.after, each) for each in differences]],
        "tools": [_row(row, at) for at, each in enumerate(differences, 1) for row in each.rows],
        "listing": [
            {"side": at, **_change(one)} for at, each in enumerate(differences, 1) for one in each.listing
        ],
        "totals_delta": totals_delta(differences[-1]),
        "summary": {name: sum([each.summary[name] for each in differences]) for name in SEVERITIES},
        "not_measured": unmeasured(differences),
    }


def _side(side: Side, against: Difference | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "label": side.label,
        "source": side.source,
        "server": side.server_info,
        "era": side.era,
    }
    entry["declared"] = None if side.declared is None else list(side.declared)
    entry["totals"] = totals_entry(side.totals, side.tokenizer)
    entry["pages"] = [_present({"ttl_ms": one.ttl_ms, "cache_scope": one.cache_scope}) for one in side.hints]
    if against is not None:
        entry["delta"] = totals_delta(against)
        entry["summary"] = against.summary
    if side.notes:
        entry["notes"] = list(side.notes)
    return entry


def totals_entry(totals: Totals, tokenizer: str) -> dict[str, Any]:
    """A side's totals, tokens by tokenizer; `estimate` when any token count is one."""
    entry: dict[str, Any] = {name: getattr(totals, name) for name in _SIZES}
    counted: dict[str, Any] = {"wire": totals.wire_tokens, "definitions": totals.definition_tokens}
    if not totals.exact:
        counted["estimate"] = True
    entry["tokens"] = {tokenizer: counted}
    return entry


_SIZES: Final = tuple(
    each.name for each in fields(Totals) if each.name == "tools" or each.name.endswith("_bytes")
)


def totals_delta(found: Difference) -> dict[str, Any]:
    """After minus before; null where either is unknown. Tokens are null when the tokenizers differ."""
    before, after = found.before.totals, found.after.totals
    entry: dict[str, Any] = {name: _minus(getattr(after, name), getattr(before, name)) for name in _SIZES}
    if found.before.tokenizer == found.after.tokenizer:
        counted = {
            "wire": _minus(after.wire_tokens, before.wire_tokens),
            "definitions": _minus(after.definition_tokens, before.definition_tokens),
        }
        entry["tokens"] = {found.before.tokenizer: counted}
    else:
        entry["tokens"] = None
    return entry


def _minus(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before


def _row(row: Row, side: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"side": side, "name": row.name, "status": row.status}
    if row.copy > 1:
        entry["copy"] = row.copy
    if row.likeness is not None:
        entry["renamed_to"], entry["likeness"] = row.renamed_to, row.likeness
    entry["changes"] = [_change(each) for each in row.changes]
    entry["delta"] = {"definition_bytes": row.definition_bytes, "tokens": row.tokens}
    return entry


def _change(one: Change) -> dict[str, Any]:
    entry = {"path": one.path, "kind": one.kind, "severity": one.severity}
    return entry | _present({"before": one.before, "after": one.after})


def _present(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not ABSENT}


def unmeasured(differences: Sequence[Difference]) -> list[str]:
    """What the comparison does not say, a sentence each: its reader must not take silence for sameness."""
    sides = [differences[0].before, *[each.after for each in differences]]
    found = [f"{side.label}: {note}." for side in sides for note in side.notes]
    for side in sides:
        found += _unknown(side)
    for each in differences:
        found += _incomparable(each)
    if any(side.totals.definition_tokens is not None for side in sides):
        found.append("Tokens are exact for OpenAI's o200k_base models and a proxy for Anthropic and Gemini.")
    return [*found, *_ALWAYS_UNMEASURED]


def _unknown(side: Side) -> list[str]:
    found = []
    if side.totals.wire_bytes is None:
        found.append(f"{side.label}: the bytes on the wire are unknown.")
    if side.totals.definition_tokens is None:
        found.append(f"{side.label}: tokens were not counted.")
    if not side.totals.exact:
        found.append(f"{side.label}: some token counts are estimates.")
    if side.instructions is ABSENT:
        found.append(f"{side.label}: the server's instructions are unknown.")
    if side.declared is None:
        found.append(f"{side.label}: which client capabilities it was listed with is unknown.")
    return found


def _incomparable(found: Difference) -> list[str]:
    before, after = found.before, found.after
    sentences = []
    if before.declared is not None and after.declared is not None and before.declared != after.declared:
        sentences.append(f"{before.label} and {after.label} were listed with different client capabilities.")
    if before.era and after.era and before.era != after.era:
        sentences.append(f"{before.label} spoke the {before.era} era, {after.label} the {after.era} era.")
    if found.unproposed:
        sentences.append(
            f"{found.unproposed:,} tools without a partner of the same name in {after.label} were too many to look "
            "for renames by likeness; only equal definitions were paired."
        )
    return sentences
