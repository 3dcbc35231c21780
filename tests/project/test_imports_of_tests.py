"""What tests share is in tests/support: nobody imports a test module or conftest, and no tool imports tests."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

FILES = sorted(path for folder in ("tests", "benchmarks", "tools") for path in (ROOT / folder).rglob("*.py"))


def imported(source: str) -> Iterator[str]:
    """Yield the names that a module imports, with its module's for `from MODULE import NAME`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def misplaced(path: Path, source: str) -> list[str]:
    """Return the imports that what is shared would have to be moved for."""
    allowed = () if path.is_relative_to(ROOT / "tools") else ("tests.support.",)
    return [
        name
        for name in imported(source)
        if name.startswith(".")
        or any(part == "conftest" or part.startswith("test_") for part in name.split("."))
        or (name.partition(".")[0] == "tests" and not name.startswith(allowed))
    ]


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        ("tests/app/test_a.py", "from test_b import AtOnce", ["test_b.AtOnce"]),
        ("tests/app/test_a.py", "import tests.app.test_b", ["tests.app.test_b"]),
        ("tests/app/test_a.py", "def f():\n    from tests.app import helper", ["tests.app.helper"]),
        ("tests/app/test_a.py", "from conftest import visit", ["conftest.visit"]),
        ("tests/support/a.py", "import conftest", ["conftest"]),
        ("tests/app/test_a.py", "from .helper import AtOnce", [".helper.AtOnce"]),
        ("tests/app/test_a.py", "from tests.support.paths import ROOT\nfrom tests.support import paths", []),
        ("tools/gallery.py", "from tests.support.paths import ROOT", ["tests.support.paths.ROOT"]),
    ],
)
def test_a_misplaced_import_is_found(file: str, source: str, expected: list[str]) -> None:
    assert misplaced(ROOT / file, source) == expected


def test_what_is_shared_is_in_support() -> None:
    found = {str(path.relative_to(ROOT)): misplaced(path, path.read_text("utf-8")) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}
