"""What secrets look like: provider prefixes, tokens, PEM, URLs, paths, e-mail. Patterns only; pure, any thread."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

PREFIX: Final = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?=[AESdeghklnprswxy])(?:sk[-_]|[pr]k_(?:live|test)|gh[pousr]_|github_pat_|A[KS]IA|xox|xapp-|AIza|glpat-|gl[a-z]{2,6}-|npm_|hf_"
    r"|pypi-|SG\.|whsec_|shp(?:at|ss|ca|pa)_|do[opr]_v1_|ya29\.|eyJ|lin_api_|key-|AC[0-9a-f]{4}|EAA|dckr_pat_|ATATT|nvapi-|gsk_|xai-)"
)
"""Where a key with a provider's prefix may begin; SHAPE then decides there."""

SHAPE: Final = re.compile(
    r"sk[-_](?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{16,}|[pr]k_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|A[KS]IA[A-Z0-9]{12,}"
    r"|xox[a-z](?:\.[a-z]+)?-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}"
    r"|gl[a-z]{2,6}-[A-Za-z0-9_.-]{16,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{40,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|whsec_[A-Za-z0-9+/=]{16,}|shp(?:at|ss|ca|pa)_[A-Fa-f0-9]{20,}"
    r"|do[opr]_v1_[a-f0-9]{32,}|ya29\.[A-Za-z0-9_-]{16,}|lin_api_[A-Za-z0-9]{20,}|key-[a-f0-9]{32}"
    r"|AC[0-9a-f]{32}|EAA[A-Za-z0-9]{60,}|dckr_pat_[A-Za-z0-9_-]{20,}|ATATT[A-Za-z0-9_=-]{40,}|nvapi-[A-Za-z0-9_-]{30,}"
    r"|gsk_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}"
)
JWT_SHAPE: Final = re.compile(r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}")

SCHEME_VALUE: Final = re.compile(r"(bearer|basic)\s+([A-Za-z0-9._~+/-]{8,}={0,2})", re.IGNORECASE)

URL_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}$")
URL_REST: Final = re.compile(r"[^\s\"'<>`\\]+")
QUERY_VALUE: Final = re.compile(r"([^&;=#?]+)=([^&;#]*)")

PATH_NAME: Final = (
    r"(?:[^\\/:*?\"<>|\r\n\s,;()\[\]{}'`$&=%@#]+(?: [^\\/:*?\"<>|\r\n\s,;()\[\]{}'`$&=%@#]+){0,2}(?=[\\/])"
    r"|[^\\/:*?\"<>|\r\n\s,;()\[\]{}'`$&=%@#]+)"
)
UNIX_HOME: Final = re.compile(
    r"(?:(?:(?<![\w.~)}\]>-])|(?<=\\[nrt]))(?:/mnt/[a-z]|/[a-z])?|(?<=/var)|(?<=file:/)|(?<=file://))/(?:home|Users)/([A-Za-z0-9_][\w.-]*)"
)
WINDOWS_HOME: Final = re.compile(rf"[A-Za-z]:[\\/]+Users[\\/]+({PATH_NAME})", re.IGNORECASE)
NOBODY: Final = frozenset(
    (
        "user", "username", "users", "you", "your", "yourname", "your-name", "your_name", "your-username", "yourusername",
        "your_username", "youruser", "name", "me", "root", "ubuntu", "runner", "vscode", "node", "app", "default",
        "public", "shared", "all", "guest", "admin", "myuser", "user_name", "user-name", "linuxbrew", "xxx", "foo",
        "downloads", "desktop", "documents",
    )
)  # fmt: skip
"""User names of images and manuals: nobody is told anything by them."""

PEM_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{1,40}-----")
PEM_END: Final = re.compile(r"-----END [A-Z0-9 ]{1,40}-----")
PEM_BODY: Final = re.compile(r"(?:[A-Za-z0-9+/=]{16,}|\s|\\+[nr])+")
PEM_LINE: Final = re.compile(r"\s*(?:[A-Za-z0-9+/=]*|[A-Za-z-]+: .*)\s*")
PEM_FEWEST: Final = re.compile(r"[A-Za-z0-9+/=]{16}")

EMAIL_SHAPE: Final = re.compile(
    r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}\b"
)

SEPARATOR: Final = re.compile(r"(\\*[\"'])?([ \t]*)(?:=>|:=|[:=])([ \t]*)(\\*[\"'])?")
UNQUOTED: Final = re.compile(r"[^\s\"'&,;)}\]<>|\\]+")
FLAG: Final = re.compile(r"(--[A-Za-z][A-Za-z0-9_-]{1,60})[ \t]+(?=[^\s-])")
FLAG_GAP: Final = re.compile(r"()([ \t]+)()()")
"""Between a command line's `--password` and its value; groups as in SEPARATOR."""
COOKIES: Final = re.compile(r"[^\s\"'\\=;]+=[^\"'\r\n\\]+")
AUTHORIZATION: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9-]*[ \t]+)?[^\s\"',;<>\\]+")
ODD_CHAR: Final = re.compile(r"[0-9!@#$%^*+~]")
LINE_VALUE: Final = re.compile(r"[^\"'\r\n\\]+")
PLACEHOLDER: Final = re.compile(
    r"<[^>]*>?|\$\{?\w+\}?.*|%[sd(].*|\{[^}]*\}?.*|\*+|\[.*|\(.*|\.{2,}|x{3,}|none|null|true|false|undefined|str|string|str\b.*|your\b.*"
    r"|your[-_].*|os\.\w.*|process\.env.*|optional|required|example|token|api[-_]?key",
    re.IGNORECASE,
)
"""What stands where a secret would, in manuals and code."""


def looks_random(word: str) -> bool:
    """Whether a run of base64 or hexadecimal characters carries about as much as its alphabet can."""
    if not any(map(str.isdigit, word)):
        return False
    entropy = -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())
    if set(word.lower()) <= set("0123456789abcdef"):
        return len(word) >= 32 and entropy > 3.2
    return entropy > 4.1 and word != word.lower() and "/" not in word[:2]
