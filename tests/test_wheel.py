"""What is shipped: the sdist, the wheel made of it, and the wheel installed and used in a fresh environment."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from contextlib import suppress
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from inspector import __version__

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("inspector/", "templates/", "static/", "traces/")
VENDOR = {"inspector/static/vendor/htmx-bundle.js", "inspector/static/vendor/htmx-LICENSE.txt"}


def run(*words: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([*map(str, words)], cwd=cwd, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist alone."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    with tarfile.open(folder / f"mcp_loupe-{__version__}.tar.gz") as sdist:
        sdist.extractall(folder, filter="data")
    unpacked = folder / f"mcp_loupe-{__version__}"
    assert (unpacked / "CHANGELOG.md").is_file() and (unpacked / "LICENSE").is_file()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked)
    return folder / f"mcp_loupe-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it; what the wheel needs is lent by ours, `inspector` is not."""
    folder = tmp_path_factory.mktemp("fresh")
    venv = folder / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=folder)
    python = venv / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", python]
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    lib = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    )
    (lib / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv


def environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(home), "MCP_LOUPE_DATA": str(home / "data")}


def test_the_wheel_holds_every_file_of_the_tree_that_is_shipped_and_no_other(wheel: Path) -> None:
    tracked = run("git", "ls-files", "-z", *SHIPPED, cwd=ROOT).split("\0")
    wanted = {name if name.startswith("inspector/") else f"inspector/{name}" for name in tracked if name}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = archive.read(f"mcp_loupe-{__version__}.dist-info/METADATA").decode()
    assert held == wanted | VENDOR
    assert f"\nVersion: {__version__}\n" in metadata
    assert "\nLicense-File: LICENSE\n" in metadata


def test_the_installed_command_lists_a_demo_and_reads_a_shipped_recording(
    installed: Path, tmp_path: Path
) -> None:
    env, command = environment(tmp_path), installed / "bin" / "mcp-loupe"
    assert run(command, "--version", cwd=tmp_path, env=env).split()[-1] == __version__
    where = [installed / "bin" / "python", "-c", "import inspector; print(inspector.__file__)"]
    package = Path(run(*where, cwd=tmp_path, env=env))
    assert package.is_relative_to(installed)
    listed = json.loads(run(command, "list", "--json", "demo:flat", cwd=tmp_path, env=env))
    assert listed["totals"]["tools"] > 0
    recording = package.parent / "traces" / "git-modern.mcptrace.jsonl"
    assert "tools/list" in run(command, "trace", "show", recording, cwd=tmp_path, env=env)


def dockers_command(port: int) -> list[str]:
    """How the Dockerfile starts the console, on `port`."""
    command = re.search(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert command
    return [word.replace("6280", str(port)) for word in json.loads(command[1])]


def free_port() -> int:
    """A port that nothing listens on, below those the system gives to who asks for any: nobody takes it meanwhile."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def test_the_installed_console_started_as_in_a_container_serves_all_its_pages_are_made_of(
    installed: Path, tmp_path: Path
) -> None:
    env, command = environment(tmp_path), str(installed / "bin" / "mcp-loupe")
    port = free_port()
    argv = [command, *dockers_command(port), "--json"]
    with subprocess.Popen(argv, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as console:
        try:
            assert console.stdout is not None and json.loads(console.stdout.readline())["url"]
            link = run(command, "url", cwd=tmp_path, env=env).strip()
            base, browser = f"http://localhost:{port}", build_opener(HTTPCookieProcessor(CookieJar()))
            assert link.startswith(f"{base}/login?token=")
            page = browser.open(link, timeout=60).read().decode()
            files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
            assert [file for file in files if "htmx-bundle.js" in file]
            assert all(browser.open(f"{base}{file}", timeout=60).read() for file in files)
            assert "sqlite-crash" in browser.open(f"{base}/traces", timeout=60).read().decode()
        finally:
            console.terminate()
            console.wait(30)
