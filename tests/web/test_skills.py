"""Skills of a real FastMCP server: listed, their files read and held against the manifest; malformed entries named."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of
from flask.testing import FlaskClient

from inspector.console.console import Console
from inspector.console.skills import SkillFile, skill_of, verdict_on
from inspector.settings.spec import ServerSpec, Timeouts

SERVER = Path(__file__).resolve().parents[1] / "servers" / "fastmcp_skills.py"
GOOD = {
    "uri": "skill://a/b/SKILL.md",
    "frontmatter": {"name": "b", "description": "d"},
    "resources": [{"uri": "skill://a/b/SKILL.md", "size": 3, "digest": "sha256:" + "0" * 64}],
}


@pytest.fixture(scope="module")
def skilled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Console, FlaskClient]]:
    folder = tmp_path_factory.mktemp("skills")
    folder.chmod(0o700)
    argv = (sys.executable, str(SERVER), str(folder / "made"))
    spec = ServerSpec("skilled", argv=argv, era="modern", timeouts=Timeouts(probe=60, connect=90))
    with console_of(folder, {"skilled": spec}) as (console, client):
        console.connect("skilled")
        yield console, client


def test_skills_are_listed_read_and_held_against_their_manifest(skilled: tuple[Console, FlaskClient]) -> None:
    console, client = skilled
    before = client.get("/call/skilled/skills", base_url=ORIGIN).text
    assert "The server declares skills; none were listed yet." in before
    client.post("/call/skilled/skills/list", base_url=ORIGIN, headers={"Origin": ORIGIN})
    page = client.get("/call/skilled/skills", base_url=ORIGIN).text
    listing = console.skills.known("skilled")
    assert listing is not None and [one.name for one in listing.skills] == ["git-workflow", "refunds"]
    assert [one.problems for one in listing.skills] == [(), ()]
    assert "2 skills, 1 page" in page and "2 files" in page and "\u202e" not in page
    uri = next(one.uri for one in listing.skills[0].files or () if one.uri.endswith("more.md"))
    assert f"tool={quote(uri, safe=':/')}" in page
    fields = {"what": "resources", "tool": uri, "mode": "json", "json": "{}"}
    client.post("/call/skilled", base_url=ORIGIN, headers={"Origin": ORIGIN, **PARTIAL}, data=fields)
    call = console.calls.recent("skilled")[0]
    call.future.result(WAIT_S)
    shown = client.get(f"/call/skilled/result/{call.id}", base_url=ORIGIN, headers=PARTIAL).text
    assert "Rebase, never merge." in shown and "fits the skill&#39;s manifest" in shown.replace("'", "&#39;")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"uri": "skill://a/b"}, "Its uri does not end in /SKILL.md"),
        ({"frontmatter": {"name": "c", "description": "d"}}, "The last folder of its uri is not its name"),
        ({"frontmatter": 7}, "Its frontmatter lacks a name or a description"),
        ({"resources": []}, "Its manifest does not list its SKILL.md"),
        ({"resources": "some"}, "Its resources are neither an array nor “dynamic”: a host must not load it"),
        ({"resources": [7]}, "A file of its manifest lacks a uri, a size or a sha256 digest"),
        ({"resources": GOOD["resources"] * 513}, "It is beyond what every host takes: 512 files, 16 MiB"),
    ],
)
def test_what_breaks_the_specification_is_named(change: dict[str, object], problem: str) -> None:
    assert skill_of(GOOD).problems == ()
    assert skill_of(GOOD | {"resources": "dynamic"}).problems == ()
    assert problem in skill_of(GOOD | change).problems
    assert skill_of("text").problems == ("The entry is no object",)


def test_a_file_that_is_not_the_listed_one_is_said_not_to_be() -> None:
    digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert verdict_on(SkillFile("u", 3, digest), b"abc") == ""
    assert verdict_on(SkillFile("u", 4, digest), b"abc") == "The skill's manifest has 4 bytes for it; 3 came."
    assert (
        verdict_on(SkillFile("u", 3, digest), b"xyz") == "Its sha256 is not the one of the skill's manifest."
    )
