"""Events between the model's moves, and what each costs at the next request. Pure, any thread.

Correctness before cache hits: a tool that may no longer be called is refused at once and out of search at once; it
leaves the array at the next conversation boundary, or now when it is a matter of security.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from inspector.discovery.access import Access
from inspector.discovery.ledger import Actor, Row
from inspector.discovery.play import State
from inspector.discovery.prompt_cache import Use

Event = Callable[[State], State]


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """An event and the next request with and without it. extra: what the event adds, in uncached input tokens."""

    state: State
    without: Use
    with_it: Use
    extra: float


def priced(state: State, event: Event) -> Priced:
    """Let `event` happen and compare what the next request would cost."""
    after = event(state)
    rules = state.setting.rules
    without, with_it = next_request(state), next_request(after)
    return Priced(after, without, with_it, with_it.billed(rules) - without.billed(rules))


def next_request(state: State) -> Use:
    """What a request sent now would read, write and pay."""
    return state.prefix.request(state.model.pieces(), state.setting.rules)[0]


def advance(state: State, us: int) -> State:
    """The simulated clock moves on."""
    return _noted(replace(state, registry=state.registry.advanced(us)), "registry", f"clock +{us / 1e6:g} s")


def list_changed(state: State, key: str) -> State:
    """`notifications/tools/list_changed`: stale at once, whatever the TTL says."""
    return _noted(
        replace(state, registry=state.registry.list_changed(key)), "server", f"list_changed from {key}"
    )


def revoke(state: State, public: str, *, security: bool = False) -> State:
    """A tool is taken back: refused and unfindable now. security: out of the context now, too."""
    after = replace(state, registry=state.registry.revoke(public))
    if security:
        after = _without(after, [public])
    return _noted(after, "host", f"{public} revoked{' (security)' if security else ''}", state)


def drop_server(state: State, key: str) -> State:
    """A server is gone, and the model is told. Moves are answered one by one here: no call was running."""
    server = state.registry.server(key)
    label = server.label if server is not None else key
    weigher = state.setting.weigher
    notice = weigher.piece(
        "user", "host notice", f"The server {label} is unavailable; its tools cannot be called."
    )
    after = replace(state, registry=state.registry.disconnected(key), model=state.model.said(notice))
    return _noted(after, "host", f"{key} disconnected, the model was told", state)


def switch_access(state: State, access: Access) -> State:
    """Another user, or a rotated token: what was listed privately for the old one is not there for the new one, and
    what the new one may not see leaves the context at once."""
    after = replace(state, setting=replace(state.setting, access=access))
    return _noted(_without(after, _gone(after)), "host", f"now acting as {access.name or 'everyone'}", state)


def reorder(state: State) -> State:
    """The host re-sorts the array: nothing else changes, and the prefix is lost."""
    return _noted(replace(state, model=state.model.reordered()), "host", "array sorted by name", state)


def boundary(state: State) -> State:
    """A conversation boundary: what cannot be called any more leaves the array."""
    gone = _gone(state)
    return _noted(_without(state, gone), "host", f"boundary: {len(gone)} definitions left", state)


def cache_expired(state: State) -> State:
    """The provider's own time ran out."""
    return _noted(replace(state, prefix=state.prefix.expired()), "provider", "prompt cache expired")


def _gone(state: State) -> list[str]:
    """Real tools in the context that this context may not call now."""
    callable_now = {tool.public for tool in state.registry.visible(state.setting.access)}
    return sorted(
        [name for name in state.model.native if state.registry.knows(name) and name not in callable_now]
    )


def _without(state: State, publics: list[str]) -> State:
    messages = tuple(
        [piece for piece in state.model.messages if not (piece.kind == "injected" and piece.label in publics)]
    )
    return replace(state, model=replace(state.model.without(publics), messages=messages))


def _noted(state: State, actor: Actor, what: str, before: State | None = None) -> State:
    """A ledger row of the event; with `before`, what it put into or took out of the context."""
    row = Row(0, actor, "event", "none", got=what)
    if before is not None:
        row = replace(
            row,
            context_bytes=state.model.bytes - before.model.bytes,
            context_tokens=state.model.tokens - before.model.tokens,
        )
    return replace(state, ledger=state.ledger.add(row))
