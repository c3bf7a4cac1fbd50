"""The demo category `billing`: invoices, payments, the ledger; handlers run on the server's event loop."""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from typing import Any

from inspector.demo.company import Company, Row, ToolFailed
from inspector.demo.schema import array, choice, integer, nullable, params, record, text
from inspector.demo.tool import ADDS, DESTROYS, READS, Arguments, Category, Tool


def list_invoices(company: Company, args: Arguments) -> dict[str, Any]:
    if (customer := args.get("customerId")) is not None:
        company.row("customers", "customerId", customer, "customer")
    found = company.rows("invoices", customerId=customer, status=args.get("status"))
    return {"invoices": found[: args["limit"]]}


def get_invoice(company: Company, args: Arguments) -> dict[str, Any]:
    return company.row("invoices", "invoiceId", args["invoiceId"], "invoice")


def create_invoice(company: Company, args: Arguments) -> dict[str, Any]:
    company.row("customers", "customerId", args["customerId"], "customer")
    invoice: Row = {
        "invoiceId": company.next_id("invoices", "invoiceId", "INV-", 1001),
        "customerId": args["customerId"],
        "status": "open",
        "amountCents": args["amountCents"],
        "currency": args["currency"],
        "issued": company.today,
        "due": args.get("due"),
    }
    return company.add("invoices", invoice)


def void_invoice(company: Company, args: Arguments) -> dict[str, Any]:
    invoice = get_invoice(company, args)
    if invoice["status"] in ("paid", "void"):
        raise ToolFailed(f"{invoice['invoiceId']} is {invoice['status']} and cannot be voided.")
    invoice["status"] = "void"
    return {"invoiceId": invoice["invoiceId"], "status": "void", "reason": args["reason"]}


def list_payments(company: Company, args: Arguments) -> dict[str, Any]:
    company.row("customers", "customerId", args["customerId"], "customer")
    found = company.rows("payments", customerId=args["customerId"])
    return {"payments": [row for row in found if row["received"] >= args.get("since", "")]}


def record_payment(company: Company, args: Arguments) -> dict[str, Any]:
    invoice = get_invoice(company, args)
    if invoice["status"] not in ("open", "overdue"):
        raise ToolFailed(
            f"{invoice['invoiceId']} is {invoice['status']}; only open or overdue ones are paid."
        )
    if args["amountCents"] != invoice["amountCents"]:
        raise ToolFailed(f"The whole {invoice['amountCents']} cents must be paid at once.")
    invoice["status"] = "paid"
    payment: Row = {
        "paymentId": company.next_id("payments", "paymentId", "PAY-", 301),
        "invoiceId": invoice["invoiceId"],
        "customerId": invoice["customerId"],
        "amountCents": args["amountCents"],
        "method": args["method"],
        "received": company.today,
        "refundedCents": 0,
    }
    return company.add("payments", payment)


def refund_payment(company: Company, args: Arguments) -> dict[str, Any]:
    payment = company.row("payments", "paymentId", args["paymentId"], "payment")
    left = payment["amountCents"] - payment["refundedCents"]
    asked = args.get("amountCents")
    amount = left if asked is None else asked
    if not 0 < amount <= left:
        raise ToolFailed(f"{payment['paymentId']} has {left} cents left to refund, not {amount}.")
    payment["refundedCents"] += amount
    return {"paymentId": payment["paymentId"], "refundedCents": amount, "leftCents": left - amount}


def get_ledger_entry(company: Company, args: Arguments) -> dict[str, Any]:
    return company.row("ledger", "entryId", args["entryId"], "ledger entry")


def get_balance(company: Company, args: Arguments) -> dict[str, Any]:
    company.row("customers", "customerId", args["customerId"], "customer")
    unpaid = [
        row
        for row in company.rows("invoices", customerId=args["customerId"])
        if row["status"] in ("open", "overdue")
    ]
    overdue = [row["amountCents"] for row in unpaid if row["status"] == "overdue"]
    due = [row["due"] for row in unpaid if row["due"]]
    return {
        "owedCents": sum(row["amountCents"] for row in unpaid),
        "overdueCents": sum(overdue),
        "nextDue": min(due, default=None),
    }


def preview_proration(company: Company, args: Arguments) -> dict[str, Any]:
    try:
        day = date.fromisoformat(args["onDate"])
    except ValueError:
        raise ToolFailed(f"{args['onDate']} is no date; write it like {company.today}.") from None
    days = monthrange(day.year, day.month)[1]
    days_left = days - day.day + 1
    month = company.named("plans")[args["plan"]] * args["seats"]
    return {"chargeCents": month * days_left // days, "daysLeft": days_left, "daysInMonth": days}


INVOICE = params(
    invoiceId=text(),
    customerId=integer(),
    status=text(),
    amountCents=integer(),
    due=nullable(text()),
)
CUSTOMER = integer("Customer number, e.g. 42.")
INVOICE_ID = text("E.g. INV-1004.")

CATEGORY = Category(
    "billing",
    "Invoices, payments, refunds and the ledger.",
    (
        Tool(
            "list_invoices",
            "List invoices, oldest first, of one customer or of all.",
            params(
                customerId=CUSTOMER,
                status=choice("Only these.", "open", "paid", "overdue", "void"),
                limit=integer("Rows at most.", default=20, minimum=1, maximum=100),
            ),
            READS,
            list_invoices,
            {"customerId": 42},
            record(invoices=array(INVOICE)),
        ),
        Tool(
            "get_invoice",
            "Get one invoice by its id.",
            params("invoiceId", invoiceId=INVOICE_ID),
            READS,
            get_invoice,
            {"invoiceId": "INV-1004"},
        ),
        Tool(
            "create_invoice",
            "Issue an open invoice to a customer. It is not sent by e-mail.",
            params(
                "customerId",
                "amountCents",
                customerId=CUSTOMER,
                amountCents=integer("Total with tax, in cents.", minimum=1),
                currency=choice("", "EUR", "USD", default="EUR"),
                due=nullable(text("ISO date; null when paid on receipt.", default=None)),
            ),
            ADDS,
            create_invoice,
            {"customerId": 42, "amountCents": 14400, "due": None},
        ),
        Tool(
            "void_invoice",
            "Void an unpaid invoice. This cannot be undone.",
            params("invoiceId", "reason", invoiceId=INVOICE_ID, reason=text("Kept for the auditors.")),
            DESTROYS,
            void_invoice,
            {"invoiceId": "INV-1005", "reason": "issued twice"},
        ),
        Tool(
            "list_payments",
            "List the payments of a customer, with what was refunded of each.",
            params("customerId", customerId=CUSTOMER, since=text("ISO date of the earliest payment.")),
            READS,
            list_payments,
            {"customerId": 42, "since": "2026-09-01"},
        ),
        Tool(
            "record_payment",
            "Record that an invoice was paid in full and close it.",
            params(
                "invoiceId",
                "amountCents",
                "method",
                invoiceId=INVOICE_ID,
                amountCents=integer("Must equal the invoice's amount.", minimum=1),
                method=choice("", "card", "transfer", "cash"),
            ),
            ADDS,
            record_payment,
            {"invoiceId": "INV-1004", "amountCents": 14400, "method": "transfer"},
        ),
        Tool(
            "refund_payment",
            "Pay money back to the customer, in whole or in part. Check the refund policy first.",
            params(
                "paymentId",
                paymentId=text("E.g. PAY-302."),
                amountCents=nullable(integer("Null refunds all that is left.", default=None, minimum=1)),
            ),
            DESTROYS,
            refund_payment,
            {"paymentId": "PAY-302", "amountCents": 1200},
            record(paymentId=text(), refundedCents=integer(), leftCents=integer()),
        ),
        Tool(
            "get_ledger_entry",
            "Get one entry of the general ledger.",
            params("entryId", entryId=integer("64-bit entry id, above 2^53: keep every digit.")),
            READS,
            get_ledger_entry,
            {"entryId": 9007199254740993},
            record(entryId=integer(), account=text(), amountCents=integer(), posted=text()),
        ),
        Tool(
            "get_balance",
            "What a customer owes now, and how much of it is overdue.",
            params("customerId", customerId=CUSTOMER),
            READS,
            get_balance,
            {"customerId": 42},
            record(owedCents=integer(), overdueCents=integer(), nextDue=nullable(text())),
        ),
        Tool(
            "preview_proration",
            "Work out the charge for seats added in the middle of a month. Changes nothing.",
            params(
                "plan",
                "seats",
                "onDate",
                plan=choice("", "solo", "team", "school"),
                seats=integer("Seats to add.", minimum=1),
                onDate=text("ISO date on which they start."),
            ),
            READS,
            preview_proration,
            {"plan": "team", "seats": 3, "onDate": "2026-12-10"},
        ),
    ),
)
