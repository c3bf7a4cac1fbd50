"""A check as JUnit XML, which every CI shows: one test case a tool, one a budget. Pure."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET  # only written, never read
from typing import Final

from inspector.catalog.budgets import BUDGETS, LIST, Checked, Violation

_NOT_IN_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(checked: Checked) -> str:
    """The report. Characters XML 1.0 cannot hold are written as escapes."""
    cases: dict[str, list[Violation]] = {name: [] for name in checked.checks}
    for each in checked.violations:
        cases.setdefault(_case_of(each), []).append(each)
    failed = sum([bool(violations) for violations in cases.values()])
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "mcp-loupe check", **counts})
    for name, violations in cases.items():
        case = ET.SubElement(
            suite, "testcase", {"classname": "mcp-loupe.check", "name": _clean(name) or "(no name)"}
        )
        if violations:
            _failure(case, violations)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case_of(violation: Violation) -> str:
    if violation.rule in BUDGETS:
        return violation.rule
    return LIST if violation.tool is None else violation.tool


def _failure(case: ET.Element, violations: list[Violation]) -> None:
    """One failure a test case: many readers of JUnit show only the first."""
    first = violations[0]
    failure = ET.SubElement(case, "failure", {"type": first.rule, "message": _clean(first.message)})
    failure.text = "\n".join(
        [_clean(f"[{each.severity}] {each.rule}: {each.message}") for each in violations]
    )


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
