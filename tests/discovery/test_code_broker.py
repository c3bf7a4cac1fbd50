"""The boundary between a script and real servers: what is asked, allowed, sent, recorded, and left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from code_parts import Desk, Person, chaos, demo, desk

from inspector.discovery.access import Access
from inspector.discovery.code.broker import Rules
from inspector.discovery.code.calls import Call, Status, effects_of
from inspector.discovery.code.comparison import compare, model_text, texts_of
from inspector.discovery.code.extract import Extractor, NotExtracted
from inspector.discovery.code.keeping import kept, read_kept
from inspector.discovery.code.limits import LimitHit, Limits, limits_of
from inspector.discovery.code.monty import MontyRuntime
from inspector.discovery.code.run import Run
from inspector.discovery.code.runtime import CheckFailed, SandboxDied, ScriptFailed, Stopped
from inspector.discovery.code.stubs import stubs_of
from inspector.errors import UsageError

CLASSIC = """found = logs__search_logs()
counts: dict[str, int] = {}
for entry in found["entries"]:
    counts[entry["message"]] = counts.get(entry["message"], 0) + 1
print(f"{found['total']} entries, {len(counts)} distinct messages")
for message, times in counts.items():
    tracker__create_issue(title=message, body=f"seen {times} times")
"""
REFUND = 'flat__refund_payment(paymentId="PAY-1", amountCents=1)'
READ = "flat__list_invoices(customerId=42)"


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk(tmp_path_factory.mktemp("flat"), demo("flat"), demo("logs")) as opened:
        yield opened


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk(tmp_path_factory.mktemp("chaos"), chaos(wait_s=0.5)) as opened:
        yield opened


# --- the classic task


def test_the_classic_task_prints_one_line_and_the_log_lines_stay_out_of_the_context(tmp_path: Path) -> None:
    with desk(tmp_path, demo("logs"), demo("tracker")) as pair:
        result = pair.run(CLASSIC)
        assert result.output == "10000 entries, 7 distinct messages\n"
        assert isinstance(result.error, ScriptFailed) and result.line == 7
        assert "its database was locked" in result.error.message
        effects = result.effects
        assert (len(effects.done), len(effects.failed), len(effects.unknown), effects.reads) == (3, 1, 0, 1)
        assert not effects.retry_safe and "Resume instead" in effects.advice[1]

        against = compare(texts_of(pair.registry, stubs_of(pair.registry), CLASSIC, result))
        assert against.loop.total_tokens > 400_000 > 1_500 > against.code.total_tokens
        assert against.kept_out_tokens == against.loop.tokens[2] and against.exact
        assert against.entry()["loop_fits_window"] is False
        text = model_text(result)
        assert (
            "L00001" not in text
            and "checkout-" not in text
            and "3 changes done, 1 failed, 0 unknown." in text
        )

        path = tmp_path / "run.json"
        path.write_bytes(kept(CLASSIC, result.calls).encode())
        code, earlier = read_kept(path)
        sent_before = len(pair.calls_recorded())
        again = pair.run(code, Rules(allow=("*",), earlier=earlier))
        assert again.error is None and again.output == result.output
        assert [call.status for call in again.calls] == ["reused"] * 4 + ["done"] * 4
        assert len(pair.calls_recorded()) - sent_before == 4
        titles = pair.run("print(len(tracker__list_issues()['issues']))")
        assert titles.output == "7\n"


def test_every_call_is_recorded_with_its_cause_the_run_and_the_line_of_the_script(flat: Desk) -> None:
    before = len(flat.calls_recorded())
    result = flat.run(f"x = 1\n\n{READ}")
    (frame,) = flat.calls_recorded()[before:]
    assert (frame.cause, frame.op) == ("code", "code-1 line 3")
    (call,) = result.calls
    assert call.line == 3 and call.frames[0] == frame.seq
    sizes = {each.seq: len(each.raw or b"") for each in flat.events}
    assert (call.request_bytes, call.reply_bytes) == tuple([sizes[seq] for seq in call.frames])


# --- permission


def test_approving_a_script_approves_no_call_and_a_denied_one_is_an_exception_and_an_effect(
    flat: Desk,
) -> None:
    before, person = len(flat.calls_recorded()), Person()
    code = f"try:\n    {READ}\nexcept PermissionError as e:\n    print(e)"
    result = flat.run(code, Rules(), approver=person)
    assert result.error is None and result.output == "flat__list_invoices: the call was not allowed\n"
    assert [each.call.tool for each in person.asked] == ["flat__list_invoices"]
    assert [each.outcome for each in result.effects.failed] == ["denied"]
    assert result.effects.entry()["failed"][0]["sent"] is False
    assert len(flat.calls_recorded()) == before


def test_allowing_a_call_a_tool_or_a_category_covers_just_that(flat: Desk) -> None:
    calls = "\n".join([READ, READ, "flat__get_order(orderId='ORD-501')"])

    def asked(*says: str) -> list[str]:
        person = Person(list(says))  # type: ignore[arg-type]
        flat.run(calls, Rules(), approver=person)
        return [each.call.function for each in person.asked]

    assert asked("call", "call", "call") == ["flat__list_invoices", "flat__list_invoices", "flat__get_order"]
    assert asked("tool", "call") == ["flat__list_invoices", "flat__get_order"]
    other = Person(["category"])
    in_category = f"{READ}\nflat__list_team(team='billing')\nflat__get_order(orderId='ORD-501')"
    result = flat.run(in_category, Rules(), approver=other, typed=False)
    assert [each.call.category for each in other.asked] == ["flat/list", "flat/get"]
    assert [each.status for each in result.calls] == ["done", "done", "refused"]
    assert result.calls[1].allowed_by == "the category flat/list, allowed in this run"


def test_what_the_context_forbids_is_no_function_at_all(flat: Desk) -> None:
    rules = Rules(access=Access(deny=("*refund*",)), allow=("*",))
    result = flat.run(REFUND, rules, typed=False)
    assert isinstance(result.error, ScriptFailed) and result.error.exc_name == "LookupError"
    assert result.calls == [] and "refund" not in stubs_of(flat.registry, rules.access).text(
        "python", "names"
    )


def test_arguments_are_checked_by_the_real_schema_before_anybody_is_asked(flat: Desk) -> None:
    person = Person(["call"])
    result = flat.run(
        "flat__list_invoices(customerId='x', nonsense=1)", Rules(), approver=person, typed=False
    )
    assert isinstance(result.error, ScriptFailed) and result.error.exc_name == "ValueError"
    assert person.asked == [] and result.calls[0].outcome == "invalid"


def test_a_script_that_does_not_type_check_runs_nothing(flat: Desk) -> None:
    result = flat.run(f"{READ}\nflat__list_invoices(customerId='x')")
    assert isinstance(result.error, CheckFailed) and result.line == 2
    assert result.calls == [] and result.output == ""


def test_a_function_there_is_not_comes_with_those_named_most_like_it(flat: Desk) -> None:
    result = flat.run("flat__list_invoises(customer_id='x')")
    assert isinstance(result.error, CheckFailed)
    assert result.error.remedy.startswith("Nothing ran. Is flat__list_invoices ")
    assert flat.run("nothing_of_the_kind()").error.remedy == "Nothing ran. Mend the script"


# --- data of one server on its way to another


def test_data_of_another_server_is_marked_and_can_be_asked_for_or_blocked(flat: Desk) -> None:
    code = (
        "found = logs__search_logs(service='mailer', limit=1)['entries'][0]\n"
        "flat__get_order(orderId=found['message'])"
    )
    marked = flat.run(code, typed=False)
    assert marked.calls[-1].marks == ("logs, read by call 1",)
    person = Person(["call"])
    asked = flat.run(code, Rules(allow=("*",), flows="ask"), approver=person, typed=False)
    assert [each.why for each in person.asked] == ["it carries data of another server: logs, read by call 1"]
    assert asked.calls[-1].outcome == "tool_error"
    blocked = flat.run(code, Rules(allow=("*",), flows="block"), typed=False)
    assert blocked.calls[-1].outcome == "blocked" and isinstance(blocked.error, ScriptFailed)


def test_disguised_data_counts_as_derived_and_the_script_s_own_words_do_not(flat: Desk) -> None:
    read = "m = logs__search_logs(service='mailer', limit=1)['entries'][0]['message']\n"
    disguised = flat.run(read + "flat__get_order(orderId=m[::-1])", typed=False)
    assert disguised.calls[-1].marks == ("derived, perhaps from logs",)
    own = flat.run(read + "flat__get_order(orderId='ORD-501')", typed=False)
    assert own.calls[-1].marks == ()


# --- what comes back


def test_a_result_over_the_cap_is_refused_with_a_way_to_read_it_in_parts(flat: Desk) -> None:
    code = (
        "try:\n    logs__search_logs()\nexcept OverflowError as e:\n    print(e)\n"
        "part = result_part(1, start=9999, count=5)\nprint(len(part), part[0]['id'])"
    )
    result = flat.run(code, Rules(Limits(result_bytes=100_000), allow=("*",)))
    assert result.error is None
    assert (
        "more than 100,000 B: read it with result_part(1, start=0, count=100), or call it with limit, offset"
        in result.output
    )
    assert result.output.endswith("1 L10000\n")


def test_tool_errors_protocol_errors_and_broken_outputs_are_exceptions_a_script_can_tell_apart(
    broken: Desk,
) -> None:
    code = "".join(
        [
            f"try:\n    chaos__{name}()\n    print('no error')\nexcept Exception as e:\n    print(type(e).__name__)\n"
            for name in ("is_error", "custom_error_code", "wrong_structured_content")
        ]
    )
    result = broken.run(code, typed=False)
    assert result.output == "RuntimeError\nOSError\nValueError\n"
    assert [call.outcome for call in result.calls] == ["tool_error", "protocol_error", "invalid_output"]
    assert [call.status for call in result.calls] == ["failed", "failed", "done"]
    sizes = {each.seq: len(each.raw or b"") for each in broken.events}
    for call in result.calls:
        assert (call.request_bytes, call.reply_bytes) == tuple([sizes[seq] for seq in call.frames])


def test_a_time_out_leaves_the_effect_unknown_and_a_resumed_run_asks_before_it_sends_it_again(
    broken: Desk,
) -> None:
    result = broken.run("chaos__never_answer()", typed=False)
    effects = result.effects
    assert [call.tool for call in effects.unknown] == ["chaos__never_answer"] and effects.done == ()
    assert (
        "Look on chaos whether call 1, chaos__never_answer, took place before it is sent again"
        in effects.advice
    )
    person = Person()
    broken.run(
        "chaos__never_answer()", Rules(allow=("*",), earlier=result.calls), approver=person, typed=False
    )
    assert [each.why for each in person.asked] == [
        "it was sent in the run before, and nobody knows whether it took place"
    ]


@pytest.mark.parametrize(
    ("status", "repeatable", "safe", "advice"),
    [
        ("done", False, False, "repeats a side effect of s__f"),
        ("unknown", False, False, "may repeat a side effect of s__f"),
        ("done", True, True, "repeats no side effect"),
        ("failed", False, True, "repeats no side effect"),
    ],
)
def test_running_it_again_is_safe_where_every_change_may_be_repeated(
    status: Status, repeatable: bool, safe: bool, advice: str
) -> None:
    call = Call(1, "f", "s__f", "s", {}, 1, repeatable=repeatable, status=status)
    found = effects_of([call], ended_well=False)
    assert found.retry_safe is safe
    assert found.advice[0].startswith(f"Running the whole script again {advice}")


# --- the sandbox's end


def test_a_worker_killed_in_the_middle_loses_nothing_that_was_recorded(flat: Desk) -> None:
    run = flat.prepared(f"{READ}\nprint('so far')\n{READ}\nwhile True:\n    pass")
    calls = 0

    def kill_at_second() -> None:
        nonlocal calls
        calls += 1
        if [each.status for each in run.broker.calls] == ["done", "done"] and run.clock.pid is not None:
            os.kill(run.clock.pid, signal.SIGKILL)

    run.broker._changed = kill_at_second
    result = run.play()
    assert isinstance(result.error, SandboxDied) and calls
    assert [each.status for each in result.calls] == ["done", "done"] and result.output == "so far\n"
    assert flat.run("print('alive')").output == "alive\n"


def test_a_run_is_stopped_while_it_computes(flat: Desk) -> None:
    run = flat.prepared(f"{READ}\nwhile True:\n    pass", Rules(Limits(turn_s=60), allow=("*",)))
    run.broker._changed = lambda: run.stop() if run.broker.calls[0].status == "done" else None
    assert isinstance(run.play().error, Stopped)


def test_limits_are_settings_with_hard_maxima_and_each_is_an_error_of_its_own(flat: Desk) -> None:
    assert limits_of(["calls=3", "turn_s=0.5"]) == replace(Limits(), calls=3, turn_s=0.5)
    for word, said in (
        ("calls=1000000", "at most 10,000"),
        ("calls=x", "a whole number"),
        ("speed=1", "K among"),
    ):
        with pytest.raises(UsageError) as problem:
            limits_of([word])
        assert said in problem.value.remedy

    def hit(code: str, **limits: float) -> tuple[str, float]:
        error = flat.run(code, Rules(replace(Limits(), **limits), allow=("*",)), typed=False).error  # type: ignore[arg-type]
        assert isinstance(error, LimitHit), error
        return error.kind, error.allowed

    flood = f"for _ in range(20):\n    {READ}"
    assert hit("while True: pass", turn_s=0.2) == ("turn_s", 0.2)
    assert hit(
        "for _ in range(9):\n  sum(range(10**6))\n  extract(1, int)\nwhile True: extract(1, int)", run_s=0.2
    ) == (
        "run_s",
        0.2,
    )
    assert hit("x = 'x' * 10**9", memory_bytes=10**6) == ("memory_bytes", 10**6)
    assert hit("def f(n): return f(n)\nf(1)", recursion=50) == ("recursion", 50)
    assert hit(flood, calls=5) == ("calls", 5)
    assert hit("print('x' * 100)", output_bytes=50) == ("output_bytes", 50)
    assert hit(flood, rate=3.0) == ("rate", 3.0)


def test_a_run_too_many_at_once_is_told_so(flat: Desk) -> None:
    alone = MontyRuntime(1)
    within: list[BaseException | None] = []

    def second() -> None:
        rules = Rules(allow=("*",))
        other = Run("code-2", "1", flat.registry, stubs_of(flat.registry), alone, rules, None)
        within.append(other.play().error)

    run = flat.prepared(READ)
    run._runtime = alone
    run.broker._changed = lambda: second() if not within else None
    assert run.play().error is None
    alone.close()
    assert isinstance(within[0], LimitHit) and (within[0].kind, within[0].allowed) == ("concurrency", 1)


# --- extract


def test_extract_parses_then_validates_and_is_the_same_every_time() -> None:
    code = "class Row(TypedDict):\n    n: int\n    tags: NotRequired[list[str]]"
    extract = Extractor({}, code).extract
    assert extract("42", "<class 'int'>") == 42
    assert extract(' {"n": 1} ', "<class 'Row'>") == {"n": 1}
    assert extract('Here it is:\n```json\n[{"n": 2}]\n```', "list[Row]") == [{"n": 2}]
    assert extract("x", "int | str") == "x"
    for value, type_ in (("x", "<class 'int'>"), ('{"n": "x"}', "<class 'Row'>"), ("1", "<class 'Nothing'>")):
        with pytest.raises(Exception, match="extract: "):
            extract(value, type_)


def test_a_class_that_is_no_type_fits_nothing_however_often_it_is_tried() -> None:
    extract = Extractor({}, "class Row:\n    n: nothing_such").extract
    for _ in range(2):
        with pytest.raises(NotExtracted, match="there is no type nothing_such"):
            extract({"n": 1}, "Row")


@pytest.mark.parametrize(
    ("type_", "says"),
    [
        ("'a\\x00b'", "is no type"),
        ("'" + "-" * 1_900 + "1'", "this UnaryOp is no type"),
        ("-" * 1_900 + "1", "this UnaryOp is no type"),
        ("f(x)", r"f\(x\) is no type"),
        ("Literal[b'x']", "/enum/0 is of type bytes"),
        ({"enum": {1, 2}}, "/enum is of type set"),
        ({1: 2}, "a key that is no string"),
    ],
)
def test_what_a_script_hands_over_as_a_type_ends_in_its_own_error(type_: object, says: str) -> None:
    with pytest.raises(NotExtracted, match=says):
        Extractor({}, "").extract("x", type_)


def test_a_model_behind_extract_is_validated_like_anything_else() -> None:
    asked = []

    def model(value: object, schema: object) -> object:
        asked.append((value, schema))
        return 7 if value == "seven" else "no number"

    extract = Extractor({}, "", model).extract
    assert extract("seven", "<class 'int'>") == 7 and len(asked) == 1
    with pytest.raises(Exception, match="what the model made of the value does not fit"):
        extract("eight", "<class 'int'>")
