"""Texts that would run, load or break something wherever they were not escaped. Each element bears `data-pwn`."""

from __future__ import annotations

import itertools
from typing import Final

ADDRESS: Final = "https://evil.example/icon.png"
"""A place no page of ours may ask."""
SVG: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" data-pwn="" onload="pwn(6)"><script>pwn(7)</script>'
    f'<image href="{ADDRESS}"/></svg>'
)
PAYLOADS: Final = (
    '"><img src=x data-pwn onerror=pwn(1)>',
    "'><script data-pwn>pwn(2)</script>",
    "</script></style></textarea></title></template><svg data-pwn onload=pwn(3)>",
    f"--><iframe data-pwn srcdoc='<script>pwn(4)</script>' src={ADDRESS}></iframe>",
    "<a data-pwn href=javascript:pwn(5)>x</a><form data-pwn action=//evil.example><button>",
    '<b data-pwn hx-get="/servers" hx-trigger=load hx-on:htmx:load=pwn(8) style=background:url(//evil.example/b)>',
    "{{ 7919*104729 }}${7919*104729}<%= 7919*104729 %>{% raw %}",
    "`\"' onmouseover=pwn(9) autofocus onfocus=pwn(10) data-pwn=1 ",
    '<meta data-pwn http-equiv=refresh content="0;url=//evil.example"><base data-pwn href=//evil.example>',
    "\u202e\u2066\u200b\x1b[31m\x07]]>&lt;img data-pwn&gt;&#x3c;i data-pwn&#x3e;",
    "x','*');pwn(11);//\\\";pwn(12);//\\u003cimg src=x data-pwn\\u003e",
    "[a](javascript:pwn(5)) ![b](https://evil.example/b.png) <hx-partial data-pwn hx-target='body'>",
)
_turn = itertools.count()


def evil() -> str:
    """All payloads in one text, beginning with another one each time."""
    at = next(_turn) % len(PAYLOADS)
    return "".join(PAYLOADS[at:] + PAYLOADS[:at])


def line() -> str:
    """One payload a header or a line of stderr can carry: printable, and latin-1."""
    plain = [one for one in PAYLOADS if one.isascii() and one.isprintable()]
    return plain[next(_turn) % len(plain)]
