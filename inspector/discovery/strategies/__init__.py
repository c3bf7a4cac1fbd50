"""The ways of disclosing a catalog, one file each. Pure but for a live server's own replies; any thread."""

from __future__ import annotations

from collections.abc import Mapping

from inspector.discovery.play import Strategy
from inspector.discovery.strategies.categories import Categories
from inspector.discovery.strategies.full import Full
from inspector.discovery.strategies.gateway_code import GatewayCode
from inspector.discovery.strategies.gateway_code_search import GatewayCodeSearch
from inspector.discovery.strategies.gateway_search import GatewaySearch
from inspector.discovery.strategies.provider_search import ProviderSearch
from inspector.discovery.strategies.search_inject import SearchInject
from inspector.discovery.strategies.search_stable import SearchStable
from inspector.discovery.strategies.server_driven import ServerDriven
from inspector.discovery.strategies.servers_on_demand import ServersOnDemand


def strategies() -> Mapping[str, Strategy]:
    """A fresh one of each, by id, in the order they are shown."""
    every: tuple[Strategy, ...] = (
        Full(), Categories(), SearchInject(), SearchStable(), GatewaySearch(), GatewayCode(),
        GatewayCodeSearch(), ProviderSearch(), ServersOnDemand(), ServerDriven(),
    )  # fmt: skip
    return {each.id: each for each in every}
