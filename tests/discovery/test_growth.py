"""The same scenario over catalogs of other sizes: exact counts, the wanted tool kept, a gap that widens."""

from __future__ import annotations

from lab_parts import setting, shop, strategy

from inspector.discovery.growth import growth, resized
from inspector.discovery.registry import Tool


def names(size: int, keep: str = "") -> list[str]:
    return [tool.public for server in resized(shop(), size, keep).servers for tool in server.tools]


def test_a_catalog_is_sampled_down_evenly_and_keeps_what_is_expected() -> None:
    assert len(names(2)) == 2
    assert "logs__list_services" not in names(2)
    assert "logs__list_services" in names(2, "list_services")


def test_a_catalog_grows_by_copies_with_names_of_their_own() -> None:
    grown = names(23)
    assert len(set(grown)) == 23
    found = resized(shop(), 23).resolve("billing__void_invoice_5")
    assert isinstance(found, Tool)
    assert found.text.startswith('{"name":"billing__void_invoice_5"')
    assert resized(shop(), 23).collisions == {}


def test_the_same_size_lists_the_same_bytes_as_received() -> None:
    assert [each.wire_bytes for each in resized(shop(), 5).servers] == [
        each.wire_bytes for each in shop().servers
    ]


def test_the_entry_gap_widens_with_the_catalog_and_a_small_one_does_not_pay() -> None:
    points = growth([strategy("search_stable")], setting("void invoice"), shop(), sizes=(3, 30, 300))
    gaps = [point.run.versus.entry_reduction or 0.0 for point in points]
    assert gaps == sorted(gaps)
    assert (points[0].run.versus.net_saved or 0) < 0 < (points[-1].run.versus.net_saved or 0)
    assert [point.synthetic for point in points] == [False, True, True]
