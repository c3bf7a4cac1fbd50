"""Which stage of disclosure the measurements speak for: shares of the window, servers, and what it rests on."""

from __future__ import annotations

import pytest
from lab_parts import BILLING, LOGS, server, shop, tool

from inspector.discovery.access import EVERYONE, Access
from inspector.discovery.advice import StageAdvice, advise
from inspector.discovery.registry import registry_of


def three() -> StageAdvice:
    servers = [server("billing", *BILLING), server("logs", *LOGS), server("mail", tool("send"))]
    return advise(registry_of(servers), EVERYONE, 6_000, 100_000)


@pytest.mark.parametrize(
    ("tokens", "stage", "judgement"),
    [(999, 1, False), (1_000, 2, True), (5_000, 2, True), (5_001, 2, False)],
)
def test_the_share_of_the_window_decides_and_between_the_thresholds_it_is_a_matter_of_judgement(
    tokens: int, stage: int, judgement: bool
) -> None:
    found = advise(shop(), EVERYONE, tokens, 100_000)
    assert (found.stage, found.judgement, found.share) == (stage, judgement, tokens / 100_000)


def test_three_servers_speak_for_connecting_them_on_demand() -> None:
    assert three().stage == 3
    assert advise(shop(), EVERYONE, 6_000, 100_000).stage == 2


def test_the_measurements_it_rests_on_are_those_of_what_the_context_may_see() -> None:
    lasting = server("billing", *BILLING, ttlMs=5, cacheScope="public")
    typed = server("logs", *LOGS, tool("send", outputSchema={"type": "object"}))
    found = advise(registry_of([lasting, typed]), Access(deny=("*__list_invoices",)), 999, 100_000)
    assert found.because == (
        "all 5 tools take 999 tokens, 1.0 % of a window of 100,000",
        "below 1 %, where a full listing is right",
        "2 servers",
        "freshness hints above 0 from billing",
        "1 of 5 tools declare an outputSchema, which code mode rests on",
    )
