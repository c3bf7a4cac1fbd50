"""The demo servers `logs` and `tracker`: 10,000 log entries with seven messages, and a tracker whose fourth issue fails.

The task code mode is known by, on a pair anybody can run; each serves on its process's event loop.
"""

from __future__ import annotations

import random
from typing import Any

from mcp.server.lowlevel import Server

from inspector.demo.catalog import Catalog
from inspector.demo.company import Company, ToolFailed
from inspector.demo.flat import in_one_list
from inspector.demo.schema import array, choice, integer, params, record, text
from inspector.demo.tool import ADDS, READS, Arguments, Category, Tool

ENTRIES = 10_000
REFUSED = 4
"""Which attempt to create an issue fails, counted from 1; the next one of the same title works."""
MESSAGES = (
    ("checkout", "error", "payment provider timed out after 30 s"),
    ("checkout", "error", "card declined: insufficient funds"),
    ("inventory", "error", "stock count below zero for a reserved item"),
    ("inventory", "warning", "replica lag above 10 s"),
    ("mailer", "error", "SMTP connection refused by the relay"),
    ("search", "warning", "query took longer than 2 s"),
    ("search", "error", "index segment is corrupt and was skipped"),
)
_SHARES = (31, 23, 14, 12, 9, 7, 4)


def entries() -> list[dict[str, Any]]:
    """The same 10,000 entries every time: one every few seconds of one day."""
    chance = random.Random(7)
    picked = chance.choices(MESSAGES, _SHARES, k=ENTRIES)
    found = []
    for number, (service, level, message) in enumerate(picked):
        second = number * 86_400 // ENTRIES
        time = f"2026-11-02T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
        host = f"{service}-{chance.randrange(1, 9)}"
        found.append({"id": f"L{number + 1:05}", "time": time, "level": level, "service": service, "host": host,
                      "message": message})  # fmt: skip
    return found


def _logs() -> Category:
    every = entries()

    def search_logs(_: Company, args: Arguments) -> dict[str, Any]:
        asked = {key: args[key] for key in ("service", "level") if key in args}
        matching = [each for each in every if all(each[key] == value for key, value in asked.items())]
        start = args["offset"]
        return {"total": len(matching), "entries": matching[start : start + args["limit"]]}

    entry = record(
        id=text(), time=text("UTC", format="date-time"), level=choice("", "error", "warning"), service=text(),
        host=text(), message=text(),
    )  # fmt: skip
    tool = Tool(
        "search_logs", "Search yesterday's log entries, oldest first. Without a filter that is all of them.",
        params(
            service=text("Only entries of this service."), level=choice("Only this level.", "error", "warning"),
            limit=integer("How many at most.", minimum=1, maximum=ENTRIES, default=ENTRIES),
            offset=integer("How many to skip.", minimum=0, default=0),
        ),
        READS, search_logs, {"service": "mailer", "limit": 5},
        record(total=integer("Entries that match."), entries=array(entry)),
    )  # fmt: skip
    return Category("logs", "Log entries of the shop", (tool,))


def _tracker() -> Category:
    issues: list[dict[str, Any]] = []
    attempts = 0

    def create_issue(_: Company, args: Arguments) -> dict[str, Any]:
        nonlocal attempts
        attempts += 1
        if attempts == REFUSED:
            raise ToolFailed(
                "The tracker could not create the issue: its database was locked. Nothing was saved."
            )
        issue = {"number": len(issues) + 1, "title": args["title"], "body": args["body"], "state": "open"}
        issues.append(issue)
        return {"number": issue["number"], "state": "open"}

    def list_issues(_: Company, args: Arguments) -> dict[str, Any]:
        return {"issues": issues[-args["limit"] :]}

    issue = record(number=integer(), title=text(), body=text(), state=choice("", "open", "closed"))
    return Category("tracker", "Issues of the shop's developers", (
        Tool("create_issue", "Open an issue.", params("title", title=text("One line.", minLength=1),
             body=text("What happened.", default="")), ADDS, create_issue, {"title": "It is slow"},
             record(number=integer("The new issue's number."), state=choice("", "open", "closed"))),
        Tool("list_issues", "Issues, the newest last.", params(limit=integer("How many at most.", minimum=1, default=20)),
             READS, list_issues, {}, record(issues=array(issue))),
    ))  # fmt: skip


def build(name: str) -> Server[Any]:
    """The server `logs` or `tracker`."""
    return in_one_list(f"marlow-{name}", Catalog((_logs() if name == "logs" else _tracker(),)))
