"""axe-core in a page: what it calls moderate, serious or critical, in both themes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
OURS = Path(__file__).with_name("axe.js").read_text()
ALIKE = 20
"""Rows of a table, items of a list that are looked at; more of the same would only cost time."""


@dataclass
class Axe:
    """What axe has against pages. Colours of a text whose place was met on an earlier page are not measured again."""

    places: list[str] = field(default_factory=list)

    def violations(self, page: Page, where: str = "#main") -> list[str]:
        """All it has against `where` as it stands; the page loses the rows beyond `ALIKE` of each table."""
        page.evaluate(f"{AXE};{OURS};0")  # without the 0 Playwright would call the last function
        page.evaluate("most => fewer(most)", ALIKE)
        self.places += page.evaluate("([where, seen]) => unseen(where, seen)", [where, self.places])
        page.emulate_media(color_scheme="light")
        found = [
            f"light: {each}"
            for each in page.evaluate(
                "where => shape(where).then(async one => [...one, ...await colours()])", where
            )
        ]
        page.emulate_media(color_scheme="dark")
        return found + [f"dark: {each}" for each in page.evaluate("() => colours()")]
