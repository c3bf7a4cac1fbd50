"""The demo category `orders`: orders, stock, shipping; handlers run on the server's event loop."""

from __future__ import annotations

from typing import Any

from inspector.demo.company import Company, Row, ToolFailed
from inspector.demo.schema import array, choice, flag, integer, params, record, text
from inspector.demo.tool import ADDS, DESTROYS, READS, REPLACES, Arguments, Category, Tool


def search_orders(company: Company, args: Arguments) -> dict[str, Any]:
    found = company.rows("orders", customerId=args.get("customerId"), status=args.get("status"))
    fields = ("orderId", "customerId", "status", "placed")
    return {"orders": [{field: row[field] for field in fields} for row in found[: args["limit"]]]}


def get_order(company: Company, args: Arguments) -> dict[str, Any]:
    return company.row("orders", "orderId", args["orderId"], "order")


def create_order(company: Company, args: Arguments) -> dict[str, Any]:
    company.row("customers", "customerId", args["customerId"], "customer")
    total = sum(
        company.row("products", "sku", item["sku"], "product")["priceCents"] * item["quantity"]
        for item in args["items"]
    )
    order: Row = {
        "orderId": company.next_id("orders", "orderId", "ORD-", 501),
        "customerId": args["customerId"],
        "status": "placed",
        "placed": company.today,
        "items": args["items"],
        "address": None,
        "note": args.get("note"),
    }
    company.add("orders", order)
    return {"orderId": order["orderId"], "totalCents": total}


def cancel_order(company: Company, args: Arguments) -> dict[str, Any]:
    order = _before_shipping(company, args)
    order["status"] = "cancelled"
    return {"orderId": order["orderId"], "status": "cancelled"}


def update_shipping_address(company: Company, args: Arguments) -> dict[str, Any]:
    order = _before_shipping(company, args)
    order["address"] = args["address"]
    return {"orderId": order["orderId"], "address": order["address"]}


def _before_shipping(company: Company, args: Arguments) -> Row:
    order = get_order(company, args)
    if order["status"] != "placed":
        raise ToolFailed(f"{order['orderId']} is already {order['status']}; open a return instead.")
    return order


def track_shipment(company: Company, args: Arguments) -> dict[str, Any]:
    order = get_order(company, args)
    shipments = company.rows("shipments", orderId=order["orderId"])
    if not shipments:
        raise ToolFailed(f"{order['orderId']} has no parcel: it is {order['status']}.")
    return shipments[0]


def list_products(company: Company, args: Arguments) -> dict[str, Any]:
    return {"products": company.rows("products", kind=args.get("kind"))}


def check_stock(company: Company, args: Arguments) -> dict[str, Any]:
    company.row("products", "sku", args["sku"], "product")
    found = company.rows("stock", sku=args["sku"], warehouse=args.get("warehouse"))
    return {"sku": args["sku"], "available": sum(row["available"] for row in found)}


def quote_shipping(company: Company, args: Arguments) -> dict[str, Any]:
    european = args["country"] in ("IE", "PT", "CZ", "DE", "FR", "ES", "IT", "NL")
    cents = (490 if european else 1900) + args["weightGrams"] * (1 if european else 3)
    return {
        "priceCents": cents * 2 if args["express"] else cents,
        "days": (3 if european else 9) - (2 if args["express"] else 0),
    }


def open_return(company: Company, args: Arguments) -> dict[str, Any]:
    order = get_order(company, args)
    if order["status"] != "delivered":
        raise ToolFailed(f"{order['orderId']} is {order['status']}; only delivered orders are returned.")
    if args["sku"] not in [item["sku"] for item in order["items"]]:
        raise ToolFailed(f"{order['orderId']} holds no {args['sku']}.")
    row: Row = {
        "returnId": company.next_id("returns", "returnId", "RET-", 1),
        "orderId": order["orderId"],
        "sku": args["sku"],
        "reason": args["reason"],
    }
    return company.add("returns", row)


ORDER_ID = text("E.g. ORD-505.")
SKU = text("E.g. TAB-10.")
ADDRESS = record(street=text(), city=text(), country=text("ISO 3166 code, e.g. PT."))
ITEM = record(sku=SKU, quantity=integer(minimum=1))

CATEGORY = Category(
    "orders",
    "Orders, returns, stock and shipping of devices and software.",
    (
        Tool(
            "search_orders",
            "Find orders by customer or status, oldest first.",
            params(
                customerId=integer("Customer number."),
                status=choice("", "placed", "shipped", "delivered", "cancelled"),
                limit=integer("Rows at most.", default=20, minimum=1, maximum=100),
            ),
            READS,
            search_orders,
            {"status": "delivered"},
        ),
        Tool(
            "get_order",
            "Get one order with its items and address.",
            params("orderId", orderId=ORDER_ID),
            READS,
            get_order,
            {"orderId": "ORD-505"},
        ),
        Tool(
            "create_order",
            "Place an order for a customer at list prices. Stock is not reserved.",
            params(
                "customerId",
                "items",
                customerId=integer("Customer number."),
                items=array(ITEM, "What is ordered.", minItems=1),
                note=text("For the warehouse."),
            ),
            ADDS,
            create_order,
            {"customerId": 42, "items": [{"sku": "PEN-2", "quantity": 3}]},
            record(orderId=text(), totalCents=integer()),
        ),
        Tool(
            "cancel_order",
            "Cancel an order that has not been shipped.",
            params("orderId", orderId=ORDER_ID),
            DESTROYS,
            cancel_order,
            {"orderId": "ORD-506"},
        ),
        Tool(
            "update_shipping_address",
            "Replace the address of an order that has not been shipped.",
            params("orderId", "address", orderId=ORDER_ID, address=ADDRESS),
            REPLACES,
            update_shipping_address,
            {"orderId": "ORD-505", "address": {"street": "Rua Direita 5", "city": "Porto", "country": "PT"}},
        ),
        Tool(
            "track_shipment",
            "Follow the parcel of an order: carrier and scans so far.",
            params("orderId", orderId=ORDER_ID),
            READS,
            track_shipment,
            {"orderId": "ORD-504"},
            record(
                carrier=text(),
                tracking=text(),
                scans=array(params(day=text(), place=text(), event=text())),
            ),
        ),
        Tool(
            "list_products",
            "List what we sell, with prices in cents.",
            params(kind=choice("Only this kind.", "device", "accessory", "software")),
            READS,
            list_products,
            {"kind": "device"},
        ),
        Tool(
            "check_stock",
            "Count the pieces of a product ready to ship.",
            params("sku", sku=SKU, warehouse=choice("Default: all of them.", "cork", "porto")),
            READS,
            check_stock,
            {"sku": "TAB-10", "warehouse": "porto"},
            record(sku=text(), available=integer()),
        ),
        Tool(
            "quote_shipping",
            "Price and days of a parcel to a country.",
            params(
                "country",
                "weightGrams",
                country=text("ISO 3166 code, e.g. NZ.", minLength=2, maxLength=2),
                weightGrams=integer(minimum=1),
                express=flag("Faster, at twice the price.", default=False),
            ),
            READS,
            quote_shipping,
            {"country": "NZ", "weightGrams": 390},
            record(priceCents=integer(), days=integer()),
        ),
        Tool(
            "open_return",
            "Open a return for one product of a delivered order; see the return period first.",
            params(
                "orderId",
                "sku",
                "reason",
                orderId=ORDER_ID,
                sku=SKU,
                reason=choice("", "broken", "wrong_item", "not_wanted"),
            ),
            ADDS,
            open_return,
            {"orderId": "ORD-501", "sku": "PEN-2", "reason": "broken"},
        ),
    ),
)
