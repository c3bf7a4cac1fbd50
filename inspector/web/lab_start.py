"""What the Lab's empty form offers: catalog and task chosen already, and example tasks of the demos. Request threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from inspector.console.console import Server
from inspector.settings.targets import demo_spec
from inspector.web.compare_sides import Choice
from inspector.web.lab_query import Query

EXAMPLES: Final = (
    "a billing question",
    "give the customer their money back",
    "roll back the last deployment",
    "who is on call tonight?",
    "void the invoice and tell the customer",
)


def demo_keys(servers: Sequence[Server]) -> Mapping[str, str]:
    """The console's keys of the two demos that list the same tools, by the demo's name."""
    known = {demo_spec(name).argv: name for name in ("progressive", "flat")}
    found = {known[server.spec.argv]: server.key for server in servers if server.spec.argv in known}
    return {name: found[name] for name in ("flat", "progressive") if name in found}


def started(query: Query, choices: Sequence[Choice], servers: Sequence[Server]) -> Query:
    """The form's query: what is empty gets a value that can be simulated as it stands. A task is only filled in for
    a demo: what other servers are for is the person's to say."""
    if query.named():
        return query
    offered, demos = [each.token for each in choices], demo_keys(servers)
    ready = [key for key in demos.values() if key in offered]
    catalog = query.catalog or tuple([*ready, *offered][:1])
    known = bool(catalog) and catalog[0] in demos.values()
    return replace(
        query, catalog=catalog, task=query.task or (EXAMPLES[0] if known and not query.query else "")
    )


def examples(query: Query, servers: Sequence[Server]) -> list[tuple[str, str]]:
    """(task, address of its run) for the demo in the form; empty for other catalogs."""
    if not query.catalog or query.catalog[0] not in demo_keys(servers).values():
        return []
    return [(text, query.href(task=text, do=(), at=None, live="", edit=False)) for text in EXAMPLES]
