"""docs/ and the README against the program: commands parse, what exists is written down, links lead somewhere."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from inspector.catalog.counters import COUNTERS
from inspector.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EVERYTHING = "\n".join(page.read_text() for page in PAGES)
CLI = (ROOT / "docs" / "cli.md").read_text()
STANDS_FOR = re.compile(
    r"…|\[|<[a-z]|\||(?<![\w'\"])(?!SELECT|REPLACE)[A-Z]{2,}(?![\w.])|\bsession:N|=N\b|\s[A-Z](?= |$)"
)
"""What has one of these describes a command; the rest are commands."""


def told(page: Path) -> Iterator[str]:
    """Commands as the page gives them: lines of its blocks, and what stands in the text as code."""
    text = page.read_text()
    for block in re.findall(r"^```(?:sh|bash|console)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            yield re.split(r"\s#", line.removeprefix("$ "))[0].strip()
    yield from re.findall(
        r"`(mcp-loupe [^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    )


def lines() -> list[tuple[str, str]]:
    ours = re.compile(r"(?:uvx .*|pipx run .*|\S*/)?(mcp-loupe(?: .*|$))")
    found = [(page.name, match[1]) for page in PAGES for line in told(page) if (match := ours.match(line))]
    return [(page, line) for page, line in dict.fromkeys(found) if not STANDS_FOR.search(line)]


def words_of(line: str) -> list[str]:
    """The arguments, without what only the shell reads."""
    words = shlex.split(line)[1:]
    end = next((at for at, word in enumerate(words) if word in (">", ">>", "|", "&&", ";")), len(words))
    return words[:end]


def parse(words: list[str]) -> None:
    """As the program does, commands of commands too, without running anything. Raises click's UsageError."""
    context = app.make_context("mcp-loupe", words)
    command: click.Command = app
    while isinstance(command, click.Group):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None
        context = command.make_context(name, rest, parent=context)


def commands(
    group: click.Group = app, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


EVERY = dict(commands())
PAIRS = lines()


def test_there_are_commands_in_the_docs() -> None:
    assert len(PAIRS) > 30


@pytest.mark.parametrize(("page", "line"), PAIRS, ids=[f"{page}: {line[:60]}" for page, line in PAIRS])
def test_a_command_of_the_docs_is_one_the_program_takes(
    page: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for word in shlex.split(line):
        if re.fullmatch(r"[\w./-]+\.\w+", word) and not word.startswith("/"):
            (tmp_path / word).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / word).touch()
    parse(words_of(line))


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_a_command_has_its_place_and_each_of_its_options_is_written_down(path: tuple[str, ...]) -> None:
    headings = " ".join(re.findall(r"^## (.+)$", CLI, re.MULTILINE)).split()
    assert path[0] in headings
    if len(path) > 1:
        assert re.search(rf"\b{re.escape(path[1])}\b", CLI)
    options = {
        name
        for one in EVERY[path].params
        if isinstance(one, click.Option)
        for name in one.opts
        if name.startswith("--")
    }
    assert {
        name for name in options - {"--help", "--version"} if not re.search(rf"{name}(?![\w-])", EVERYTHING)
    } == set()


def test_every_variable_that_is_read_from_the_environment_has_its_row() -> None:
    read = {"MCP_LOUPE_DATA"} | {name for one in COUNTERS.values() for name in (*one.keys, one.base)}
    for module in (ROOT / "inspector").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "os.environ.get"
                and isinstance(node.args[0], ast.Constant)
            ):
                read.add(node.args[0].value)
    rows = CLI.partition("## Environment")[2]
    assert len(read) > 8
    assert {name for name in read if f"`{name}`" not in rows} == set()


def places(page: Path) -> set[str]:
    """What a link into the page can name: its headings as GitHub makes them, and its own anchors."""
    text = page.read_text()
    headings = [
        re.sub(r"[^\w\- ]", "", one.strip().lower()).replace(" ", "-")
        for one in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    ]
    return {*headings, *re.findall(r'<a id="([^"]+)"', text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_exists(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        name, _, place = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if place and target.suffix == ".md":
            assert place in places(target), link


def test_every_page_of_docs_is_reached_from_the_readme() -> None:
    seen, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        waiting += [
            (page.parent / link).resolve()
            for link in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text())
        ]
    assert {page.name for page in PAGES} - {page.name for page in seen} == set()
