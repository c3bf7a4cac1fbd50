"""The shape of the tree, as CONTRIBUTING.md promises it: short modules, short functions, first lines, words."""

from __future__ import annotations

import ast
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(ROOT.glob("inspector/**/*.py"))
MOST_LINES = 400
LONGEST_FUNCTION = 60
AVOIDED = re.compile(r"(Manager|Helper|Utils?)\b")


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_short_says_what_it_is_and_has_no_long_function(module: Path) -> None:
    text = module.read_text()
    tree = ast.parse(text)
    assert text.count("\n") <= MOST_LINES
    assert ast.get_docstring(tree), "the first line says what the module is"
    long = {node.name: node.end_lineno - node.lineno + 1 for node in functions(tree) if node.end_lineno}
    assert {name: lines for name, lines in long.items() if lines > LONGEST_FUNCTION} == {}
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert [name for name in classes if AVOIDED.search(name)] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_holds_no_changing_state(module: Path) -> None:
    """Everything that changes hangs on Console: a module-level list, dict or set is a constant by its name."""
    for node in ast.parse(module.read_text()).body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        value = getattr(node, "value", None)
        if isinstance(value, ast.List | ast.Dict | ast.Set):
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            assert [name for name in names if not name.lstrip("_").isupper() and name != "__all__"] == []


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, timeout=20
    ).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name]


def test_nothing_of_this_machine_is_written_into_the_tree() -> None:
    """No registry's host and no machine path; nothing under static/vendor is committed."""
    forbidden = re.compile(r"(registry\.npmjs|pypi\.org/simple|files\.pythonhosted|/work/(main|shared))")
    for path in tracked():
        assert "static/vendor" not in str(path)
        if path.suffix in (".py", ".md", ".toml", ".html", ".sh", ".js", ".css") or path.name == "Makefile":
            found = forbidden.search(path.read_text(errors="replace"))
            assert found is None or path == Path(__file__), f"{path}: {found and found.group()}"


def test_no_two_test_files_have_one_name() -> None:
    """Of two modules of one name, in folders that are no packages, pytest collects the first only."""
    loose = [path for path in ROOT.glob("tests/**/*.py") if not (path.parent / "__init__.py").exists()]
    names = sorted([path.name for path in loose if path.name != "conftest.py"])
    assert [one for one, other in pairwise(names) if one == other] == []
