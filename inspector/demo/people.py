"""The demo category `people`: staff, leave, on-call, rooms; handlers run on the server's event loop."""

from __future__ import annotations

from datetime import date
from typing import Any

from inspector.demo.company import Company, Row, ToolFailed
from inspector.demo.schema import array, choice, integer, params, record, text
from inspector.demo.tool import ADDS, DESTROYS, READS, Arguments, Category, Tool


def find_person(company: Company, args: Arguments) -> dict[str, Any]:
    asked = args["query"].casefold()
    found = [row for row in company.rows("people") if asked in f"{row['name']} {row['title']}".casefold()]
    return {"people": [_card(row) for row in found]}


def _card(row: Row) -> Row:
    return {field: row[field] for field in ("personId", "name", "team", "title")}


def get_person(company: Company, args: Arguments) -> dict[str, Any]:
    person = company.row("people", "personId", args["personId"], "person")
    return {**_card(person), "managerId": person["managerId"]}


def list_team(company: Company, args: Arguments) -> dict[str, Any]:
    return {"people": [_card(row) for row in company.rows("people", team=args["team"])]}


def get_manager_chain(company: Company, args: Arguments) -> dict[str, Any]:
    chain, above = [], get_person(company, args)["managerId"]
    while above:
        manager = get_person(company, {"personId": above})
        chain.append(manager["name"])
        above = manager["managerId"]
    return {"managers": chain}


def who_is_on_call(company: Company, args: Arguments) -> dict[str, Any]:
    person = get_person(company, {"personId": company.named("onCall")[args["service"]]})
    return {"service": args["service"], "personId": person["personId"], "name": person["name"]}


def get_leave_balance(company: Company, args: Arguments) -> dict[str, Any]:
    person = company.row("people", "personId", args["personId"], "person")
    planned = sum(_days(row) for row in company.rows("leave", personId=args["personId"]))
    return {"daysLeft": person["leaveDays"], "daysPlanned": planned}


def _days(leave: Row) -> int:
    return (date.fromisoformat(leave["to"]) - date.fromisoformat(leave["from"])).days + 1


def request_leave(company: Company, args: Arguments) -> dict[str, Any]:
    person = company.row("people", "personId", args["personId"], "person")
    leave: Row = {
        "leaveId": company.next_id("leave", "leaveId", "LV-", 1),
        **{field: args[field] for field in ("personId", "from", "to", "kind")},
    }
    try:
        days = _days(leave)
    except ValueError:
        raise ToolFailed(f"`from` and `to` must be dates like {company.today}.") from None
    if days < 1:
        raise ToolFailed("`to` is before `from`.")
    if args["kind"] == "holiday":
        if days > person["leaveDays"]:
            raise ToolFailed(f"{person['name']} has {person['leaveDays']} days left, not {days}.")
        person["leaveDays"] -= days
    company.add("leave", leave)
    return {"leaveId": leave["leaveId"], "days": days}


def cancel_leave(company: Company, args: Arguments) -> dict[str, Any]:
    leave = company.row("leave", "leaveId", args["leaveId"], "leave")
    if leave["kind"] == "holiday":
        company.row("people", "personId", leave["personId"], "person")["leaveDays"] += _days(leave)
    company.remove("leave", leave)
    return {"leaveId": leave["leaveId"], "cancelled": True}


def book_meeting_room(company: Company, args: Arguments) -> dict[str, Any]:
    for personId in args["attendees"]:
        company.row("people", "personId", personId, "person")
    if company.rows("bookings", room=args["room"], start=args["start"]):
        raise ToolFailed(f"The room {args['room']} is taken at {args['start']}; choose another time or room.")
    booking: Row = {
        "bookingId": company.next_id("bookings", "bookingId", "BK-", 1),
        **{field: args[field] for field in ("room", "start", "minutes", "attendees")},
    }
    return company.add("bookings", booking)


def list_holidays(company: Company, args: Arguments) -> dict[str, Any]:
    found = company.rows("holidays", country=args["country"])
    year = args.get("year")
    return {
        "holidays": [
            {"day": row["day"], "name": row["name"]}
            for row in found
            if year is None or row["day"].startswith(f"{year}-")
        ]
    }


PERSON_ID = text("E.g. p-bo.")

CATEGORY = Category(
    "people",
    "Staff directory, on-call, leave, rooms and public holidays.",
    (
        Tool(
            "find_person",
            "Find colleagues by a part of their name or job title.",
            params("query", query=text("E.g. support.", minLength=1)),
            READS,
            find_person,
            {"query": "engineer"},
        ),
        Tool(
            "get_person",
            "Get one colleague: team, title, manager.",
            params("personId", personId=PERSON_ID),
            READS,
            get_person,
            {"personId": "p-bo"},
        ),
        Tool(
            "list_team",
            "List the members of a team.",
            params("team", team=choice("", "billing", "platform", "support")),
            READS,
            list_team,
            {"team": "platform"},
        ),
        Tool(
            "get_manager_chain",
            "Name everyone above a colleague, nearest first.",
            params("personId", personId=PERSON_ID),
            READS,
            get_manager_chain,
            {"personId": "p-chiara"},
            record(managers=array(text())),
        ),
        Tool(
            "who_is_on_call",
            "Say who answers for a service right now.",
            params("service", service=choice("", "api", "payments", "search", "sync")),
            READS,
            who_is_on_call,
            {"service": "sync"},
            record(service=text(), personId=text(), name=text()),
        ),
        Tool(
            "get_leave_balance",
            "Days of leave a colleague has left this year, and days planned.",
            params("personId", personId=PERSON_ID),
            READS,
            get_leave_balance,
            {"personId": "p-finn"},
            record(daysLeft=integer(), daysPlanned=integer()),
        ),
        Tool(
            "request_leave",
            "Enter leave for a colleague; holidays are taken off the balance.",
            params(
                "personId",
                "from",
                "to",
                personId=PERSON_ID,
                **{"from": text("First day, ISO date."), "to": text("Last day, included.")},
                kind=choice("", "holiday", "sick", "parental", default="holiday"),
            ),
            ADDS,
            request_leave,
            {"personId": "p-emi", "from": "2026-12-28", "to": "2026-12-30"},
        ),
        Tool(
            "cancel_leave",
            "Delete an entry of leave and give the days back.",
            params("leaveId", leaveId=text("E.g. LV-21.")),
            DESTROYS,
            cancel_leave,
            {"leaveId": "LV-21"},
        ),
        Tool(
            "book_meeting_room",
            "Book a room for a meeting.",
            params(
                "room",
                "start",
                room=choice("", "atlantic", "garden", "library"),
                start=text("Date and time, e.g. 2026-12-02T10:00."),
                minutes=integer(default=30, minimum=15, maximum=240),
                attendees=array(PERSON_ID, "Who is invited.", default=[]),
            ),
            ADDS,
            book_meeting_room,
            {"room": "garden", "start": "2026-12-02T10:00", "attendees": ["p-ada", "p-bo"]},
        ),
        Tool(
            "list_holidays",
            "List the public holidays of an office country.",
            params("country", country=choice("", "IE", "PT"), year=integer("Default: all we know.")),
            READS,
            list_holidays,
            {"country": "IE", "year": 2026},
        ),
    ),
)
