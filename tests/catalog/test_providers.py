"""What each model API would be sent."""

from __future__ import annotations

import hashlib

import pytest

from inspector.catalog import providers
from inspector.catalog.providers import (
    collisions,
    hidden_prompt_tokens,
    models,
    provider_name,
    render,
    render_all,
)

TOOL = (
    '{"title":"T","inputSchema":{"type":"object","properties":{"n":{"minimum":1.0}}},"name":"get",'
    '"description":"Gets é.","outputSchema":{},"annotations":{},"icons":[],"_meta":{},"vendor":1}'
)


def test_each_rendering_has_its_provider_s_key_order_and_the_schema_s_own_spelling() -> None:
    schema = '{"type":"object","properties":{"n":{"minimum":1.0}}}'
    sent = {provider: rendering.text for provider, rendering in render_all(TOOL).items()}
    assert sent == {
        "anthropic": '{"name":"get","description":"Gets é.","input_schema":' + schema + "}",
        "openai": '{"type":"function","name":"get","description":"Gets é.","parameters":'
        + schema
        + ',"strict":null}',
        "gemini": '{"name":"get","description":"Gets é.","parametersJsonSchema":' + schema + "}",
    }


def test_what_never_reaches_the_model_is_told() -> None:
    found = render(TOOL, "anthropic")
    assert found.dropped == ("title", "outputSchema", "annotations", "icons", "_meta", "vendor")
    assert found.refused == ()
    assert not found.renamed


def test_a_tool_without_description_is_sent_without_one() -> None:
    assert render('{"name":"a","inputSchema":{"type":"object"}}', "gemini").text == (
        '{"name":"a","parametersJsonSchema":{"type":"object"}}'
    )


@pytest.mark.parametrize(
    ("name", "provider", "mapped"),
    [
        ("a.b/c d", "anthropic", "a_b_c_d"),
        ("a.b/c d", "gemini", "a.b_c_d"),
        ("9lives", "openai", "9lives"),
        ("9lives", "gemini", "_lives"),
        ("é", "openai", "_"),
        ("x" * 64, "openai", "x" * 64),
    ],
)
def test_refused_characters_become_underscores(name: str, provider: str, mapped: str) -> None:
    assert provider_name(name, provider) == mapped


@pytest.mark.parametrize(("provider", "limit"), [("anthropic", 64), ("openai", 64), ("gemini", 128)])
def test_a_long_name_is_cut_and_told_apart_by_a_digest(provider: str, limit: int) -> None:
    name = "long-" * 40
    mapped = provider_name(name, provider)
    assert len(mapped) == limit
    assert mapped == name[: limit - 9] + "_" + hashlib.sha256(name.encode()).hexdigest()[:8]
    assert render('{"name":"' + name + '"}', provider).renamed


def test_names_that_collapse_into_one_are_found_per_provider() -> None:
    names = ["a.b", "a_b", "c", "d", "d"]
    assert collisions(names, "anthropic") == {"a_b": ["a.b", "a_b"], "d": ["d", "d"]}
    assert collisions(names, "gemini") == {"d": ["d", "d"]}


@pytest.mark.parametrize(
    ("schema", "provider", "sentences"),
    [
        ('{"type":"object","anyOf":[]}', "anthropic", 1),
        ('{"type":"object","not":{}}', "anthropic", 0),
        ('{"type":"object","not":{}}', "openai", 1),
        ('{"oneOf":[],"allOf":[]}', "anthropic", 3),
        ('{"properties":{"anyOf":{}},"type":"object"}', "anthropic", 0),
        ('{"oneOf":[]}', "gemini", 0),
        ("true", "gemini", 1),
    ],
)
def test_schemas_an_api_turns_down_are_told_with_the_reason(
    schema: str, provider: str, sentences: int
) -> None:
    assert len(render('{"name":"a","inputSchema":' + schema + "}", provider).refused) == sentences


def test_a_missing_schema_is_told_and_not_made_up() -> None:
    found = render('{"name":"a"}', "openai")
    assert found.text == '{"type":"function","name":"a","strict":null}'
    assert found.refused == ("inputSchema is missing",)


def test_hidden_prompts_are_known_only_where_published() -> None:
    assert (hidden_prompt_tokens("anthropic"), hidden_prompt_tokens("anthropic", "any")) == (346, 313)
    assert hidden_prompt_tokens("openai") is None
    assert hidden_prompt_tokens("gemini") is None


def test_every_row_of_the_tables_carries_a_known_source_label() -> None:
    table = providers.facts()
    assert set(table["providers"]) == set(providers.PROVIDERS)
    for rules in table["providers"].values():
        assert {rule["source"] for rule in rules.values() if isinstance(rule, dict)} <= set(table["sources"])
    assert {model.source for model in models().values()} <= {"S", "2", "D"}


def test_the_default_model_comes_first_and_windows_span_the_usual_sizes() -> None:
    windows = {model.id: model.window_tokens for model in models().values()}
    assert next(iter(windows)) == "claude-sonnet-4-5"
    assert {200_000, 400_000, 1_000_000} <= set(windows.values())
