"""Import on the Servers screen: files other clients keep, pasted JSON, an upload. Request threads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from inspector.errors import ConfigError, UsageError
from inspector.settings.found import discover_imported
from inspector.settings.importing import Imported, Unresolved, read_config
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import pasted
from inspector.settings.variables import supply
from inspector.web.frame import console, shell
from inspector.web.guard import spawns
from inspector.web.servers_preview import digest, preview, warnings
from inspector.web.servers_state import state

imports = Blueprint("imports", __name__)

ROOM: Final = 300_000
"""Characters of a page for entries to choose from: one that is there is shown whole, or says that it is not."""
_ENTRY: Final = 900
"""What an entry costs beside its own texts, and what a value costs that it asks for."""
MOST_PROBLEMS: Final = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry to tick. known: a server with the same start is in the list already. asks: values still missing."""

    name: str
    target: str
    cwd: str
    env: list[str]
    headers: list[str]
    disabled: bool
    known: bool
    ticked: bool
    asks: list[Unresolved]
    warnings: list[str]
    digest: str


def choices(
    imported: Imported, known: Sequence[ServerSpec], ticked: Collection[str] | None = None
) -> list[Choice]:
    """Every usable entry; until a person chose, those that are new and not disabled are ticked."""
    starts = {_start(spec) for spec in known}
    asked_for = _by_server(imported)
    found = []
    for spec in imported.specs:
        is_known, disabled = _start(spec) in starts, spec.name in imported.disabled
        found.append(
            Choice(
                name=spec.name,
                target=spec.shown_target(),
                cwd=spec.cwd or "",
                env=sorted(spec.env),
                headers=sorted(spec.headers),
                disabled=disabled,
                known=is_known,
                ticked=spec.name in ticked if ticked is not None else not (is_known or disabled),
                asks=asked_for.get(spec.name, []),
                warnings=warnings(spec),
                digest=digest(spec),
            )
        )
    return found


def fitting(imported: Imported) -> Imported:
    """The entries, from the first on, that one page can show; what is not shown cannot be chosen."""
    asked_for, room, specs = _by_server(imported), ROOM, list[ServerSpec]()
    for spec in imported.specs:
        texts = [*spec.argv, spec.cwd or "", spec.url or "", *spec.env, *spec.headers, spec.name]
        asks = asked_for.get(spec.name, [])
        labels = [text for ask in asks for text in (ask.label, ask.placeholder, ask.default or "", spec.name)]
        room -= sum(map(len, texts + labels)) + _ENTRY * (1 + len(asks))
        if specs and room < 0:
            break
        specs.append(spec)
    problems = imported.problems[:MOST_PROBLEMS]
    if (more := len(imported.problems) - len(problems)) > 0:
        problems.append(f"{more:,} more such sentences are left out.")
    if (more := len(imported.specs) - len(specs)) > 0:
        problems.insert(0, f"{more:,} more entries do not fit this page: put them into a file of their own.")
    return replace(imported, specs=specs, problems=problems)


def _by_server(imported: Imported) -> dict[str, list[Unresolved]]:
    found: dict[str, list[Unresolved]] = {}
    for one in imported.unresolved:
        found.setdefault(one.server, []).append(one)
    return found


def _start(spec: ServerSpec) -> tuple[object, ...]:
    return spec.argv, spec.cwd, spec.url


def asked(name: str, placeholder: str) -> str:
    """The form field for the value of a placeholder."""
    return f"value:{name}:{placeholder}"


def chooser(
    imported: Imported,
    *,
    path: str = "",
    text: str = "",
    error: str = "",
    ticked: Collection[str] | None = None,
) -> str:
    """The page that lets a person choose entries. path: the file, or text: what was pasted, to read again."""
    imported, known = fitting(imported), list(console().servers_file.all().values())
    return render_template(
        "servers/import.html",
        shell=shell("servers"),
        source=imported.source,
        choices=choices(imported, known, ticked),
        problems=imported.problems,
        path=path,
        text=text,
        error=error,
        asked=asked,
        typed=request.form,
    )


@imports.get("/servers/add/import")
def choose() -> str:
    """The entries of a file that was found on this machine; other paths are not read."""
    path = request.args.get("path", "")
    return chooser(read_found(path), path=path)


def read_found(path: str) -> Imported:
    """What is in a found file. Raises ConfigError when it cannot be read, UsageError when it is none of them."""
    for config, imported in discover_imported():
        if str(config.path) == path:
            if imported is None:
                raise ConfigError(
                    config.error or f"{path} cannot be read.", "Correct it, then import it again."
                )
            return imported
    raise UsageError(
        f"{path or 'That file'} is not one of the files found here.",
        "Upload it, or paste its text.",
    )


@imports.post("/servers/add/import/read")
def read() -> Response:
    """The entries of an uploaded file or pasted text."""
    upload = request.files.get("file")
    text, source = request.form.get("text", ""), "pasted text"
    if upload is not None and upload.filename:
        source = f"uploaded {Path(upload.filename).name}"
        text = decoded(upload.read(), source)
    if not text.strip():
        raise UsageError("There is nothing to import.", "Choose a file, or paste its text.")
    return make_response(chooser(read_config(text, source), text=text))


def decoded(found: bytes, source: str) -> str:
    """UTF-8, or UTF-16 with its mark. Raises ConfigError."""
    try:
        return found.decode("utf-16" if found[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source} is no text (byte {error.start}).", "Save it as UTF-8.") from None


@imports.post("/servers/add/import")
@spawns
def add_chosen() -> Response:
    """Put the ticked entries into the list, with the values typed for their placeholders; connect them if asked."""
    path, text = request.form.get("path", ""), request.form.get("text", "").replace("\r\n", "\n")
    if path:
        imported = read_found(path)
    else:
        source = request.form.get("source", "pasted text")
        imported = pasted(text) if source == "pasted text" else read_config(text, source)
    imported, ticked = fitting(imported), set(request.form.getlist("entry"))
    chosen = [spec for spec in imported.specs if spec.name in ticked]
    if not chosen:
        page = chooser(imported, path=path, text=text, error="Choose at least one entry.", ticked=ticked)
        return make_response(page, 422)
    added = {console().servers_file.add(filled(spec, imported)): spec for spec in chosen}
    pending = begin(added) if request.form.get("do") == "connect" else []
    if pending:
        return redirect(url_for("servers.confirm", key=pending), 303)
    return redirect(url_for("servers.index", added=list(added)), 303)


def begin(added: Mapping[str, ServerSpec]) -> list[str]:
    """Connect what was shown whole on this page. Returns the keys that deserve another look: something is to be warned
    of or missing, or the file was changed since the page was made. added: key to the entry without typed values."""
    shown, pending = set(request.form.getlist("seen")), []
    for key, entry in added.items():
        look = preview(console().servers_file.get(key))
        if look.warnings or not look.can_start or digest(entry) not in shown:
            pending.append(key)
            continue
        state().seen.add(look.digest)
        state().openings.begin(console(), key)
    return pending


def filled(spec: ServerSpec, imported: Imported) -> ServerSpec:
    """`spec` with what was typed; a placeholder left empty stays, and a connect will name it."""
    values = {
        one.placeholder: request.form[asked(spec.name, one.placeholder)]
        for one in imported.unresolved
        if one.server == spec.name and request.form.get(asked(spec.name, one.placeholder))
    }
    return supply(spec, values)
