"""The demo servers `flat` and `progressive`, spoken to in raw lines and bodies as a stranger would."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from rawdemo import ERAS, MODERN, HttpSession, Stdio, http_server, modern, stdio
from referencing import Registry

from inspector.demo.__main__ import main
from inspector.demo.catalog import Catalog, categories, examples

LOCAL: Registry[Any] = Registry()


@pytest.fixture(scope="module", params=ERAS)
def flat(request: pytest.FixtureRequest) -> Iterator[Stdio]:
    """For tests that write nothing."""
    with stdio("flat", era=request.param) as server:
        yield server


@pytest.fixture(scope="module", params=ERAS)
def progressive(request: pytest.FixtureRequest) -> Iterator[Stdio]:
    """For tests that write nothing."""
    with stdio("progressive", era=request.param) as server:
        yield server


@pytest.fixture(scope="module")
def served() -> Iterator[int]:
    """The port of an HTTP process that was asked for `progressive`."""
    with http_server("progressive") as (_, port):
        yield port


def check(schema: Any, value: Any) -> None:
    jsonschema.Draft202012Validator(schema, registry=LOCAL).validate(value)


def words(result: dict[str, Any]) -> str:
    found: str = result["content"][0]["text"]
    return found


def expanded(server: Stdio, category: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(words(server.call("expand_category", {"category": category})))[
        "tools"
    ]
    return found


def test_the_catalog_holds_five_categories_of_ten_tools() -> None:
    assert [len(category.tools) for category in categories()] == [10, 10, 10, 10, 10]
    assert len(set(examples())) == 50


def test_every_schema_is_valid_and_every_parameter_of_every_example_is_declared() -> None:
    for definition in Catalog().definitions():
        jsonschema.Draft202012Validator.check_schema(definition["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(definition.get("outputSchema", {}))
        check({**definition["inputSchema"], "unevaluatedProperties": False}, examples()[definition["name"]])


def test_the_catalog_shows_each_kind_of_parameter_a_form_has_to_draw() -> None:
    written = json.dumps(Catalog().definitions())
    for part in (
        '"enum"',
        '"default"',
        '["string", "null"]',
        '["integer", "null"]',
        '"type": "array"',
        '"pattern"',
    ):
        assert part in written
    assert examples()["get_ledger_entry"]["entryId"] > 2**53


def answered(catalog: Catalog, name: str, arguments: dict[str, Any]) -> Any:
    """What the tool answers, its progress left out."""
    result: dict[str, Any] = {}

    def run() -> Iterator[Any]:
        result.update((yield from catalog.call(name, arguments)))

    assert all(step.total for step in run())
    assert result["isError"] is False, words(result)
    return json.loads(words(result))


@pytest.mark.parametrize("name", examples())
def test_a_whole_number_with_a_point_is_an_integer_to_every_tool(name: str) -> None:
    wholes = {"limit": 2.0, "lastHours": 2.0, "topK": 2.0, "steps": 2.0, "year": 2026.0, "tier": 1.0}
    known = next(tool for tool in Catalog().definitions() if tool["name"] == name)["inputSchema"]
    fitting = {key: value for key, value in wholes.items() if key in known.get("properties", {})}
    given: dict[str, Any] = {**examples()[name], **fitting}
    plain = {**given, **{key: int(value) for key, value in fitting.items()}}
    assert answered(Catalog(), name, given) == answered(Catalog(), name, plain)


def test_the_last_month_of_the_calendar_and_an_index_of_nothing_are_no_failures() -> None:
    catalog = Catalog()
    asked: dict[str, Any] = {"plan": "team", "seats": 1, "onDate": "9999-12-31"}
    assert answered(catalog, "preview_proration", asked)["daysLeft"] == 1
    for row in answered(catalog, "list_articles", {})["articles"]:
        answered(catalog, "archive_article", {"articleId": row["articleId"]})
    built = answered(catalog, "rebuild_search_index", {"steps": 2})
    assert built == {"articles": 0, "words": 0, "commonest": ""}


def test_flat_lists_fifty_tools_as_written_and_in_the_same_order_each_time(flat: Stdio) -> None:
    first = flat.result("tools/list")["tools"]
    listed = len(flat.lines[-1].rstrip(b"\n"))
    second = flat.result("tools/list")["tools"]
    assert json.dumps(first) == json.dumps(Catalog().definitions())
    assert json.dumps(second) == json.dumps(first)
    assert 15_000 <= listed <= 21_000


def test_progressive_lists_three_tools_and_expands_to_the_same_fifty(progressive: Stdio) -> None:
    names = [tool["name"] for tool in progressive.result("tools/list")["tools"]]
    counted = json.loads(words(progressive.call("list_categories", {})))["categories"]
    tools = [tool for category in counted for tool in expanded(progressive, category["name"])]
    assert names == ["list_categories", "expand_category", "call_tool"]
    assert [category["count"] for category in counted] == [10] * 5
    assert all(category["description"] for category in counted)
    assert json.dumps(tools) == json.dumps(Catalog().definitions())


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["flat", "progressive"])
def test_every_tool_answers_its_example_and_keeps_to_its_output_schema(name: str, era: str) -> None:
    schemas = {tool["name"]: tool.get("outputSchema") for tool in Catalog().definitions()}
    with stdio(name, era=era) as server:
        for tool, arguments in examples().items():
            asked = {"name": tool, "arguments": arguments}
            result = (
                server.call("call_tool", asked)
                if name == "progressive"
                else server.call(tool, dict(arguments))
            )
            assert result["isError"] is False, words(result)
            assert ("structuredContent" in result) == (schemas[tool] is not None)
            if schemas[tool]:
                check(schemas[tool], result["structuredContent"])
                assert json.loads(words(result)) == result["structuredContent"]
        assert server.close() == 0
    assert sum(schema is not None for schema in schemas.values()) >= 15
    assert "INFO billing.list_invoices customerId=42 3 rows" in server.errors
    assert "WARNING infrastructure.health sync degraded, version 8.0.0, 140 ms" in server.errors
    assert len(server.errors) == 52  # a line a call, and one for each service of the health check


def test_a_question_about_the_software_refund_period_finds_its_article(progressive: Stdio) -> None:
    asked = {
        "name": "search_knowledge_base",
        "arguments": {"query": "What is the software refund period?"},
    }
    result = progressive.call("call_tool", asked)
    best = result["structuredContent"]["results"][0]
    assert best["title"] == "Refund period for software"
    assert "within 14 days" in best["body"]


def test_an_id_above_two_to_the_53_keeps_its_last_digit(flat: Stdio) -> None:
    entry = flat.call("get_ledger_entry", {"entryId": 9007199254740993})["structuredContent"]
    assert b'"entryId":9007199254740993' in flat.lines[-1]
    assert entry["paymentId"] == "PAY-302"


def test_what_a_tool_writes_can_be_read_back() -> None:
    with stdio("flat", era=MODERN) as server:
        server.call("record_payment", {"invoiceId": "INV-1004", "amountCents": 14400, "method": "card"})
        balance = server.call("get_balance", {"customerId": 42})["structuredContent"]
    assert balance == {"owedCents": 0, "overdueCents": 0, "nextDue": None}


def test_wrong_arguments_and_unknown_ids_are_tool_errors_a_model_could_act_on(progressive: Stdio) -> None:
    def refused(name: str, arguments: dict[str, Any]) -> str:
        result = progressive.call("call_tool", {"name": name, "arguments": arguments})
        assert result["isError"] is True
        return words(result)

    assert "INV-1001" in refused("get_invoice", {"invoiceId": "INV-9"})
    missing = refused("record_payment", {"invoiceId": "INV-1004", "method": "barter"})
    assert "record_payment(invoiceId, amountCents, method)" in missing
    assert '"amountCents" is a required property' in missing
    assert '"transfer"' in missing
    assert "no parameter 'customer'" in refused("list_invoices", {"customer": 42})
    assert "expand_category" in refused("pay_everyone", {})
    assert "billing, orders" in words(progressive.call("expand_category", {"category": "sales"}))
    assert "call_tool takes" in words(
        progressive.call("call_tool", {"name": "get_order", "arguments": "ORD-505"})
    )


def test_a_tool_that_is_not_listed_is_a_protocol_error(progressive: Stdio) -> None:
    error = progressive.ask("tools/call", {"name": "get_order", "arguments": {"orderId": "ORD-505"}})["error"]
    assert error["code"] == -32602
    assert "through call_tool" in error["message"]


def test_the_long_tool_reports_each_step_to_a_client_that_asked(flat: Stdio) -> None:
    asked = {"name": "rebuild_search_index", "arguments": {"steps": 4}}
    last = flat.request("tools/call", asked, meta={"progressToken": "p1"})
    notes = [flat.next_frame() for _ in range(4)]
    assert flat.next_frame()["id"] == last
    assert {note["method"] for note in notes} == {"notifications/progress"}
    steps = [
        (note["params"]["progressToken"], note["params"]["progress"], note["params"]["total"])
        for note in notes
    ]
    assert steps == [("p1", 1, 4), ("p1", 2, 4), ("p1", 3, 4), ("p1", 4, 4)]


def test_one_http_process_serves_all_three_and_the_chosen_one_at_the_root(served: int) -> None:
    found = {}
    for path in ("/", "/flat", "/progressive", "/cache-hints"):
        posted = modern(served, path, "tools/list")
        found[path] = len(posted.frame()["result"]["tools"])
        posted.close()
    session = HttpSession(served, "/flat")
    tools = session.result("tools/list", {})["tools"]
    called = session.result("tools/call", {"name": "get_order", "arguments": {"orderId": "ORD-501"}})
    assert found == {"/": 3, "/flat": 50, "/progressive": 3, "/cache-hints": 52}
    assert json.dumps(tools) == json.dumps(Catalog().definitions())
    assert json.loads(words(called))["orderId"] == "ORD-501"


def test_control_c_ends_a_stdio_server_that_waits_for_its_next_line() -> None:
    with stdio("flat", era=MODERN) as server:
        os.kill(server.process.pid, signal.SIGINT)
        assert server.process.wait(30) == -signal.SIGINT


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_open_stream_does_not_keep_the_http_server_from_ending_with_code_zero(
    number: signal.Signals,
) -> None:
    with http_server("cache-hints") as (process, port):
        stream = HttpSession(port, "/").listen()
        assert stream.status == 200
        os.kill(process.pid, number)
        assert process.wait(30) == 0
        assert process.stderr
        assert b"Traceback" not in process.stderr.read()
        stream.close()


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_a_foreign_host_or_origin_is_refused(served: int, headers: dict[str, str]) -> None:
    posted = modern(served, "/flat", "tools/list", **headers)
    assert posted.status == (421 if "Host" in headers else 403)
    posted.close()


def test_a_port_that_is_taken_is_a_sentence_and_exit_code_3(
    served: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["flat", "--http", str(served)]) == 3
    assert f"Port {served} of 127.0.0.1 cannot be taken" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_the_sdk_client_gets_on_with_it(mode: str) -> None:
    async def talk() -> tuple[int, Any]:
        command = StdioServerParameters(command=sys.executable, args=["-m", "inspector.demo", "flat"])
        async with Client(command, mode=mode, read_timeout_seconds=30) as client:
            listed = await client.list_tools()
            result = await client.call_tool("check_stock", {"sku": "TAB-10"})
            return len(listed.tools), result.structured_content

    assert anyio.run(talk) == (50, {"sku": "TAB-10", "available": 49})
