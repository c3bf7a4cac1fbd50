"""Screens that come when they are asked for, and templates that are compiled once."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from flask import url_for

from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.web import late
from inspector.web.app import create_app
from inspector.web.compiled import compiled
from inspector.web.guard import CSP, Guard
from inspector.web.late import LATE, GrowingFlask

ORIGIN = "http://127.0.0.1:6280"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console(Paths.locate(tmp_path_factory.mktemp("late")).ensure()) as found:
        yield found


@pytest.fixture
def app(console: Console) -> GrowingFlask:
    guard = Guard(6280)
    app = create_app(console, guard)
    app.extensions["guard"] = guard
    return app


def status(app: GrowingFlask, path: str) -> int:
    return fetch(app, path)[0]


def fetch(app: GrowingFlask, path: str) -> tuple[int, str]:
    client = app.test_client()
    client.get("/login", query_string={"token": app.extensions["guard"].mint()}, base_url=ORIGIN)
    answer = client.get(path, base_url=ORIGIN)
    return answer.status_code, answer.get_data(as_text=True)


def test_a_page_that_leads_to_the_late_screens_brings_none_of_them(app: GrowingFlask) -> None:
    code, page = fetch(app, "/servers")
    assert code == 200
    for word in LATE:
        assert f'href="/{word}' in page
    modules = {module for modules in LATE.values() for module in modules}
    assert modules & set(app.blueprints) == set()


@pytest.mark.parametrize("word", LATE)
def test_the_first_request_brings_a_late_screen_and_no_other(word: str, app: GrowingFlask) -> None:
    assert status(app, f"/{word}") == 200
    modules = {module for modules in LATE.values() for module in modules}
    assert modules & set(app.blueprints) == set(LATE[word])
    assert app.url_map.bind("").match(f"/{word}") == (f"{word}.index", {})


def test_two_requests_at_once_both_wait_for_it(app: GrowingFlask) -> None:
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda path: status(app, path), ["/lab", "/lab/evaluate"] * 2)) == [200] * 4


def test_an_address_within_a_late_screen_is_made_by_that_screen(app: GrowingFlask) -> None:
    with app.test_request_context("/", base_url=ORIGIN):
        assert url_for("lab.index", catalog="a b") == "/lab?catalog=a+b"
        assert "lab" not in app.blueprints
        assert url_for("replay_runs.show", id="7", _anchor="x") == "/replay/runs/7#x"
        assert "replay_runs" in app.blueprints


def test_a_late_screen_that_cannot_be_loaded_is_told_behind_the_guard_and_comes_with_the_next_request(
    app: GrowingFlask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_handles(name: str) -> ModuleType:
        if name.endswith("replay_runs"):
            raise OSError(errno.EMFILE, "Too many open files")
        return import_module(name)

    with monkeypatch.context() as patch:
        patch.setattr(late, "import_module", no_handles)
        stranger = app.test_client().get("/replay", base_url=ORIGIN)
        code, page = fetch(app, "/replay")
    assert (stranger.status_code, "not signed in" in stranger.text) == (401, True)
    assert stranger.headers["Content-Security-Policy"] == CSP
    assert (code, "this is our own fault" in page) == (500, True)
    assert status(app, "/replay/stand-in") == 200


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of" / "this_user"))
    return tmp_path / "of" / "this_user" / "mcp-loupe" / "templates"


def test_templates_are_compiled_once_for_this_user_alone_even_without_a_umask(
    console: Console, cache: Path, tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        create_app(console, Guard(6280)).jinja_env.get_template("servers/index.html")
    finally:
        os.umask(before)
    found = list(tmp_path.rglob("*"))
    assert {each.suffix for each in found if each.is_file()} == {".cache"}
    assert [each for each in found if each.stat().st_mode & 0o077] == []
    assert kept_code(console, "servers/index.html")[0] is not None


def test_a_compiled_template_that_is_damaged_linked_or_open_to_others_is_made_anew(
    console: Console, cache: Path, tmp_path: Path
) -> None:
    name = "auth/refused.html"
    code, file = kept_code(console, name)
    assert code is None
    create_app(console, Guard(6280)).jinja_env.get_template(name)
    whole = file.read_bytes()
    code, _ = kept_code(console, name)
    assert code is not None
    for damaged in (b"", whole[:-1], whole[:40], whole[:-9] + b"\xff" + whole[-8:], os.urandom(500)):
        file.write_bytes(damaged)
        assert kept_code(console, name)[0] is None
    file.write_bytes(whole)
    file.chmod(0o644)
    assert kept_code(console, name)[0] is None
    file.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o600)
    file.symlink_to(tmp_path / "elsewhere")
    assert kept_code(console, name)[0] is None
    create_app(console, Guard(6280)).jinja_env.get_template(name)
    assert kept_code(console, name)[0] is not None


def test_without_a_safe_folder_nothing_is_kept(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "somebody's").touch()
    cache.chmod(0o777)
    assert compiled() is None


def test_a_link_in_the_folders_place_leads_nowhere(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies there would be run; another user's own folder, too, seen by a user who owns nothing."""
    cache.parent.mkdir(parents=True)
    (tmp_path / "theirs").mkdir(0o755)
    (tmp_path / "theirs" / "mcp-loupe-1.cache").touch()
    cache.symlink_to(tmp_path / "theirs")
    assert compiled() is None
    cache.unlink()
    cache.mkdir(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert compiled() is None


def kept_code(console: Console, name: str) -> tuple[CodeType | None, Path]:
    """What is read back for a template, and from which file."""
    app, cache = create_app(console, Guard(6280)), compiled()
    source = Path(app.template_folder or "") / name
    assert cache is not None
    bucket = cache.get_bucket(app.jinja_env, name, str(source), source.read_text())
    return bucket.code, cache.file(bucket)
