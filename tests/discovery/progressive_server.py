"""A progressive server nobody here wrote: FastMCP's own transforms over ten small tools. `python … bm25|regex|code`."""

from __future__ import annotations

import sys

from fastmcp import FastMCP


def build(kind: str) -> FastMCP:
    server: FastMCP = FastMCP("fastmcp-progressive")
    for name, said in (
        ("list_invoices", "List invoices of a customer."),
        ("refund_payment", "Pay money back to the customer."),
        ("search_logs", "Search the log lines of a service."),
        ("book_room", "Book a meeting room."),
    ):

        def answer(text: str) -> str:
            return text

        server.tool(answer, name=name, description=said)
    if kind == "regex":
        from fastmcp.server.transforms.search import RegexSearchTransform

        server.add_transform(RegexSearchTransform())
    elif kind == "bm25":
        from fastmcp.server.transforms.search import BM25SearchTransform

        server.add_transform(BM25SearchTransform())
    else:
        from fastmcp.experimental.transforms.code_mode import CodeMode

        server.add_transform(CodeMode())
    return server


if __name__ == "__main__":
    build(sys.argv[1]).run(show_banner=False)
