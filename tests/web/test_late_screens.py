"""Screens that come when they are asked for, and templates that are compiled once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask import url_for

from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.web.app import create_app
from inspector.web.compiled import compiled
from inspector.web.guard import Guard
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


def test_templates_are_compiled_once_in_a_folder_of_this_user_alone(
    console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    app = create_app(console, Guard(6280))
    app.jinja_env.get_template("servers/index.html")
    [folder] = tmp_path.iterdir()
    kept = sorted(folder.glob("mcp-loupe-*.cache"))
    assert (folder.stat().st_mode & 0o777, bool(kept)) == (0o700, True)
    cache = compiled()
    assert cache is not None and Path(cache.directory) == folder
    env, source = app.jinja_env, Path(app.template_folder or "") / "servers" / "index.html"
    bucket = cache.get_bucket(env, "servers/index.html", str(source), source.read_text())
    assert bucket.code is not None


def test_without_a_safe_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert compiled() is None


def test_a_folder_somebody_else_laid_out_is_not_read_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies there would be run."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / f"_jinja2-cache-{os.getuid()}").symlink_to(tmp_path / "theirs")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert compiled() is None
