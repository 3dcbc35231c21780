"""Who imports whom: packages along CONTRIBUTING.md's arrows, the app's parts in its order, tests what they share."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.docs_pages import blocks
from tests.support.paths import ROOT

GUIDE = ROOT / "CONTRIBUTING.md"
SOURCES = {
    ".".join(path.relative_to(root).with_suffix("").parts): path
    for root, name in ((ROOT, "emu_core"), (ROOT / "app", "emu_app"))
    for path in (root / name).rglob("*.py")
}
OUTSIDE = {"__init__", "__main__", "version"}  # the doors, and what holds a single constant
UPWARD = {
    ("emu_core.runs.run", "emu_core.reports.cells"),  # a run shows itself in a notebook, by `_repr_html_`
}
Graph = Mapping[str, set[str]]


def names_imported(source: str) -> Iterator[str]:
    """Yield what a module imports, also within functions, with its module's name for `from MODULE import NAME`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


@pytest.fixture(scope="module")
def names() -> Graph:
    """Everything that each module of ours imports."""
    return {name: {*names_imported(path.read_text("utf-8"))} for name, path in SOURCES.items()}


@pytest.fixture(scope="module")
def graph(names: Graph) -> Graph:
    """The modules of ours that each of them imports, but for those that are named as exceptions."""
    named = {name: {above for below, above in UPWARD if below == name} for name in names}
    assert all(above <= names[name] for name, above in named.items())  # none is named in vain
    return {name: (others & names.keys()) - named[name] for name, others in names.items()}


def package(module: str) -> str:
    """The part of the picture that a module is in: app, or what stands below emu_core."""
    first, *rest = module.split(".")
    return "app" if first == "emu_app" else rest[0] if rest else ""


def arrows() -> dict[str, set[str]]:
    """What each part of the picture may import, straight or through others."""
    (picture,) = [block.text for block in blocks(GUIDE) if block.language == "mermaid"]
    known: dict[str, set[str]] = {}
    for line in picture.splitlines()[1:]:
        left, right = (re.match(r"\s*(\w+)", side)[1] for side in line.split("-->"))  # type: ignore[index]
        known.setdefault(left, set()).add(right)
        known.setdefault(right, set())
    for _ in known:
        for name, reached in known.items():
            known[name] = reached | {further for near in reached for further in known[near]}
    return known


def test_every_import_runs_along_an_arrow_and_none_leads_back(graph: Graph) -> None:
    may = arrows()
    assert {package(name) for name in graph} == {*may} | OUTSIDE
    assert [name for name, reached in may.items() if name in reached] == []
    against = {
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if (own := package(name)) not in OUTSIDE and package(other) not in {"", own, *OUTSIDE, *may[own]}
    }
    assert against == set()
    assert not {"encoders", "methods", "training"} & (may["evaluation"] | may["losses"])  # no model there


def test_the_parts_of_the_app_import_those_above_them(graph: Graph) -> None:
    order = re.findall(r"^- `(\w+)(?:\.py)?`: ", GUIDE.read_text("utf-8"), re.MULTILINE)
    part = {name: name.split(".")[1] for name in graph if name.startswith("emu_app.")}
    assert order[-1] == "main" and {*part.values()} == {"__init__", *order}
    place = {name: order.index(own) for name, own in part.items() if own in order}
    upward = {(name, to) for name in place for to in graph[name] if place.get(to, -1) > place[name]}
    assert upward == set()


def test_no_import_runs_in_a_circle(graph: Graph) -> None:
    done: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"a circle: {' -> '.join((*path[path.index(name) :], name))}"
        if name not in done:
            for other in graph[name]:
                walk(other, (*path, name))
            done.add(name)

    for name in graph:
        walk(name, ())


def test_streamlit_is_in_the_app_alone(names: Graph) -> None:
    library = {name for name in names if name.startswith("emu_core")}
    using = {name for name in library for other in names[name] if other.split(".")[0] == "streamlit"}
    assert using == set()


def test_the_session_is_touched_in_the_shell_alone() -> None:
    touched = {
        name.split(".")[1]
        for name, path in SOURCES.items()
        if name.startswith("emu_app.")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if "session_state" in (getattr(node, "attr", ""), getattr(node, "id", ""), getattr(node, "name", ""))
    }
    assert touched == {"shell"}


def misplaced(path: Path, source: str) -> list[str]:
    """Return the imports of a test, a benchmark or a tool for which what is shared would have to be moved."""
    allowed = () if path.is_relative_to(ROOT / "tools") else ("tests.support",)
    return [
        name
        for name in names_imported(source)
        if name.startswith(".")
        or any(part == "conftest" or part.startswith("test_") for part in name.split("."))
        or (name.partition(".")[0] == "tests" and not name.startswith(allowed))
    ]


@pytest.mark.parametrize(
    ("file", "source", "is_misplaced"),
    [
        ("tests/app/test_a.py", "from test_b import AtOnce", True),
        ("tests/app/test_a.py", "import tests.app.test_b", True),
        ("tests/app/test_a.py", "def f():\n    from tests.app import helper", True),
        ("tests/support/a.py", "import conftest", True),
        ("tests/app/test_a.py", "from .helper import AtOnce", True),
        (
            "tests/app/test_a.py",
            "from tests.support.paths import ROOT\nfrom tests.support import paths",
            False,
        ),
        ("tools/gallery.py", "from tests.support.paths import ROOT", True),
    ],
)
def test_a_misplaced_import_is_found(file: str, source: str, is_misplaced: bool) -> None:
    assert bool(misplaced(ROOT / file, source)) is is_misplaced


@pytest.mark.slow
def test_what_tests_share_is_in_support() -> None:
    files = [path for folder in ("tests", "benchmarks", "tools") for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)): misplaced(path, path.read_text("utf-8")) for path in files}
    assert {path: names for path, names in found.items() if names} == {}
