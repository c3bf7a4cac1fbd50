"""The form that defines a server: typed text to a ServerSpec and back. Pure but for `~`; request threads."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from inspector.errors import ConfigError, UsageError
from inspector.settings.commands import command_spec, url_spec
from inspector.settings.entry import read_entry, written_entry
from inspector.settings.importing import Imported
from inspector.settings.oauth import FIELDS, read_oauth, written_oauth
from inspector.settings.spec import (
    APPS,
    CLIENT_TASKS,
    DECLARABLE,
    ERAS,
    SKILLS,
    SSE,
    STDIO,
    TASKS,
    OAuth,
    ServerSpec,
    Timeouts,
)
from inspector.settings.targets import demo_spec, pasted

MASK: Final = "••••••"
"""Stands for a stored value of env or headers: sent back unchanged, it means the value stays."""
BY_HAND: Final = "added by hand"
DECLARES: Final = {
    "roots": "The server may ask which folders it should work in. You name them on Call, under Client.",
    "sampling": "The server may ask for a model's answer. You write it, on the Call screen, or decline.",
    "elicitation": "The server may ask you questions in the middle of a call. You answer on the Call screen.",
    "elicitation.url": "The server may send you to a web address. Loupe shows it whole and never opens it.",
    CLIENT_TASKS: "Handshake era: what the server asks may come as a task. It polls; you answer when you like.",
    TASKS: "Extension: the server may turn a call into a task, which is polled to its end.",
    SKILLS: "Extension: the server may list skills, instructions for a model. They are read and shown, never acted on.",
    APPS: "Extension: the server may offer apps. They are shown as source and run only when you say so.",
}
"""What declaring a client capability makes the server do, and what Loupe then does."""
_SECONDS: Final = ("probe", "connect", "call")
_BARE_HOST = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+|\[[0-9a-fA-F:]+\]):\d+(?:/\S*)?\Z")


class FormErrors(Exception):
    """Sentences by field name; `form` for what no single field causes."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(errors.values()))
        self.errors = dict(errors)


@dataclass(frozen=True, slots=True)
class Draft:
    """The form as typed: texts of any content. args: one argument a line; env: NAME=value; headers and
    oauth: name: value."""

    target: str = ""
    args: str = ""
    name: str = ""
    cwd: str = ""
    env: str = ""
    headers: str = ""
    oauth: str = ""
    transport: str = ""
    era: str = "auto"
    probe: str = f"{Timeouts().probe:g}"
    connect: str = f"{Timeouts().connect:g}"
    call: str = f"{Timeouts().call:g}"
    declare: tuple[str, ...] = ()
    ids: str = "int"


def read_draft(form: Mapping[str, str], declare: Sequence[str]) -> Draft:
    """The draft in a posted form; fields that were not sent keep their defaults."""
    typed = {
        name: form[name].replace("\r\n", "\n")
        for name in asdict(Draft())
        if name in form and name != "declare"
    }
    return Draft(**typed, declare=tuple(one for one in DECLARABLE if one in declare))


def draft_of(spec: ServerSpec, *, masked: bool = True) -> Draft:
    """The form that gives `spec` again; `masked` hides values of env and headers."""
    env = {name: MASK if masked else value for name, value in spec.env.items()}
    headers = {name: MASK if masked else value for name, value in spec.headers.items()}
    target, args = spec.url or "", ""
    if spec.url is None:
        listed = all(arg.strip() and not set(arg) & set("\r\n") for arg in spec.argv[1:])
        target = shlex.join(spec.argv[:1] if listed else spec.argv)
        args = "\n".join(spec.argv[1:]) if listed else ""
    return Draft(
        target=target,
        args=args,
        name=spec.name,
        cwd=spec.cwd or "",
        env="\n".join(f"{name}={value}" for name, value in env.items()),
        headers="\n".join(f"{name}: {value}" for name, value in headers.items()),
        oauth=_oauth_text(spec.oauth, masked),
        transport="sse" if spec.transport == SSE else "",
        era=spec.era,
        probe=f"{spec.timeouts.probe:g}",
        connect=f"{spec.timeouts.connect:g}",
        call=f"{spec.timeouts.call:g}",
        declare=spec.declare,
        ids=spec.ids,
    )


def is_json(text: str) -> bool:
    """Whether the one field holds pasted JSON rather than a command or URL."""
    return text.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"', "//", "/*"))


def pasted_json(text: str) -> Imported:
    """What pasted JSON holds; FormErrors on `target` when it cannot be read at all."""
    try:
        return pasted(text)
    except (ConfigError, UsageError) as problem:
        raise FormErrors({"target": f"{problem.message} {problem.remedy}"}) from None


def spec_of(draft: Draft, before: ServerSpec | None = None) -> ServerSpec:
    """The server the draft describes; `before` lends the values that were left masked. Raises FormErrors."""
    errors: dict[str, str] = {}
    spec = _target(draft, errors)
    env = _env(draft.env, before.env if before else {}, errors)
    headers = _headers(draft.headers, before.headers if before else {}, errors)
    oauth = _oauth(draft, before, errors)
    timeouts = _timeouts(draft, before, errors)
    if draft.era not in ERAS:
        errors["era"] = "Choose auto, handshake or modern."
    if draft.ids not in ("int", "str"):
        errors["ids"] = "Choose numbers or texts."
    if spec is not None:
        _fits(spec, draft, errors)
    if spec is None or errors:
        raise FormErrors(errors)
    stdio = spec.transport == STDIO
    found = replace(
        spec,
        name=draft.name.strip() or spec.name,
        transport=SSE if not stdio and draft.transport == "sse" else spec.transport,
        argv=(*spec.argv, *_lines(draft.args)),
        env=spec.env | env,
        cwd=os.path.expanduser(draft.cwd.strip()) or None if stdio else None,
        headers=headers,
        oauth=oauth,
        era=draft.era,
        timeouts=timeouts,
        declare=draft.declare,
        ids=draft.ids,
        source=before.source if before else spec.source,
    )
    return _checked(found)


def _target(draft: Draft, errors: dict[str, str]) -> ServerSpec | None:
    """Command, URL or demo; None, with the reason in `errors`, when it is none of them."""
    # Copied from a README: a prompt in front, lines continued with a backslash.
    text = re.sub(r"\\\n\s*", " ", draft.target.strip()).removeprefix("$ ").strip()
    if not text:
        errors["target"] = "Write a command, a URL or demo:flat, or paste JSON."
        return None
    if _BARE_HOST.match(text):
        errors["target"] = f"For a URL write http://{text}"
        return None
    try:
        if text.startswith("demo:"):
            return demo_spec(text[5:])
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text)
        if scheme is None:
            return command_spec(text.removeprefix("cmd:"), BY_HAND)
        if scheme[1].lower() not in ("http", "https"):
            errors["target"] = f"{scheme[1]}:// is no transport of MCP: use an http:// or https:// URL."
            return None
        return url_spec(text, BY_HAND)
    except UsageError as problem:
        errors["target"] = f"{problem.message} {problem.remedy}"
        return None


def _fits(spec: ServerSpec, draft: Draft, errors: dict[str, str]) -> None:
    """What was typed for the other kind of server would be dropped without a word: say it instead."""
    if spec.transport == STDIO:
        if draft.headers.strip():
            errors.setdefault("headers", "A command gets no HTTP headers: use env, or give a URL.")
        if draft.oauth.strip():
            errors.setdefault("oauth", "A command is not signed in to: give it its credentials in env.")
        if draft.transport == "sse":
            errors.setdefault("transport", "A command speaks over its stdin and stdout: choose auto.")
        return
    for name in ("args", "env", "cwd"):
        if getattr(draft, name).strip():
            errors.setdefault(name, "A URL starts no process, so this has no use: empty it.")


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _env(text: str, before: Mapping[str, str], errors: dict[str, str]) -> dict[str, str]:
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        name = name.strip().removeprefix("export ").strip()
        if not equals or not name:
            errors["env"] = f"Line {number} is not NAME=value."
        elif value == MASK and name not in before:
            errors["env"] = f"Line {number}: there is no earlier value of {name} to keep; type it."
        else:
            found[name] = before[name] if value == MASK else value
    return found


def _headers(text: str, before: Mapping[str, str], errors: dict[str, str]) -> dict[str, str]:
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            errors["headers"] = f"Line {number} is not Name: value."
        elif value == MASK and name not in before:
            errors["headers"] = f"Line {number}: there is no earlier value of {name} to keep; type it."
        else:
            found[name] = before[name] if value == MASK else value
    return found


def _oauth_text(oauth: OAuth | None, masked: bool) -> str:
    if oauth is None:
        return ""
    hidden = {"client_secret": MASK} if masked and oauth.client_secret else {}
    return "\n".join(f"{name}: {value}" for name, value in (written_oauth(oauth) | hidden).items())


def _oauth(draft: Draft, before: ServerSpec | None, errors: dict[str, str]) -> OAuth | None:
    found: dict[str, str] = {}
    kept = before.oauth.client_secret if before is not None and before.oauth is not None else None
    for number, line in enumerate(draft.oauth.split("\n"), 1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if not colon or name not in FIELDS or not value:
            errors["oauth"] = f"Line {number} is not name: value, with a name of {', '.join(FIELDS)}."
        elif value == MASK and (name != "client_secret" or kept is None):
            errors["oauth"] = f"Line {number}: there is no earlier value of {name} to keep; type it."
        else:
            found[name] = kept or "" if value == MASK else value
    try:
        return read_oauth(draft.name.strip() or "this server", found) if found else None
    except ConfigError as problem:
        errors.setdefault("oauth", problem.message)
        return None


def _timeouts(draft: Draft, before: ServerSpec | None, errors: dict[str, str]) -> Timeouts:
    found = {}
    for name in _SECONDS:
        try:
            seconds = float(getattr(draft, name))
        except ValueError:
            seconds = 0.0
        if 0 < seconds <= 86_400:
            found[name] = seconds
        else:
            errors[name] = "Seconds above 0, a day (86400) at most."
    return replace(before.timeouts if before else Timeouts(), **found)


def _checked(spec: ServerSpec) -> ServerSpec:
    """`spec`, when its entry in servers.json can be read back."""
    try:
        read_entry(spec.name, written_entry(spec), spec.source)
    except ConfigError as problem:
        raise FormErrors({"form": problem.message}) from None
    return spec
