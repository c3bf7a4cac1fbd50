"""The figures of the ledger: the golden case of the field to the tenth of a per cent, losses, unknowns."""

from __future__ import annotations

from dataclasses import replace

from inspector.discovery.conversation import discoveries_until_flat
from inspector.discovery.ledger import MEASURED, Ledger, Row, percent, versus


def ledger(*replies: tuple[str, int], provenance: str = MEASURED) -> Ledger:
    found = Ledger()
    for column, size in replies:
        found = found.add(Row(0, "server", "x", column, reply_bytes=size, provenance=provenance))  # type: ignore[arg-type]
    return found


GOLDEN = ledger(("entry", 922), ("discovery", 781), ("discovery", 3818))


def test_the_golden_case_of_the_field_comes_out_to_the_tenth_of_a_per_cent() -> None:
    totals = GOLDEN.totals(entry_tools=3, revealed_tools=10)
    against = versus(totals, 16358)
    assert totals.total_bytes == 5521
    assert percent(against.entry_reduction) == "94.4 %"
    assert percent(against.net_saved) == "66.2 %"
    assert against.net_saved == 1 - 5521 / 16358


def test_business_replies_errors_and_requests_are_columns_of_their_own() -> None:
    found = ledger(("entry", 922), ("discovery", 781), ("business", 9000), ("error", 50))
    found = Ledger(tuple([replace(row, request_bytes=7) for row in found.rows]))
    totals = found.totals()
    assert (totals.total_bytes, totals.business_bytes, totals.error_bytes) == (1703, 9000, 50)
    assert totals.request_bytes == 28


def test_a_group_reply_larger_than_the_flat_list_is_a_loss_and_shown_as_one() -> None:
    """dmcp: a group of 27,611 B against a flat list of 15,899 B (docs of real servers)."""
    against = versus(ledger(("entry", 1778), ("discovery", 27611)).totals(), 15899)
    assert percent(against.net_saved) == "-84.8 %"
    assert percent(against.entry_reduction) == "88.8 %"


def test_without_a_baseline_nothing_is_claimed() -> None:
    against = versus(GOLDEN.totals(), None)
    assert (against.entry_reduction, against.net_saved, against.billed_saved) == (None, None, None)
    assert percent(None) == "–"


def test_a_sum_is_measured_only_when_every_part_is() -> None:
    assert GOLDEN.provenance()["total_bytes"] == "measured"
    mixed = GOLDEN.add(Row(0, "host", "x", "discovery", reply_bytes=9, provenance="derived"))
    assert mixed.provenance()["total_bytes"] == "derived"
    assert mixed.provenance()["entry_bytes"] == "measured"


def test_break_even_in_bytes_counts_whole_discoveries() -> None:
    assert discoveries_until_flat(922, 4599, 16358) == 4  # 922 + 3 × 4,599 = 14,719; the fourth passes 16,358
    assert discoveries_until_flat(922, 0, 16358) is None
    assert discoveries_until_flat(2000, 10, 1000) == 0
