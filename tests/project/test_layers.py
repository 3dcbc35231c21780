"""The imports of the packages: one way, without a circle, and no module of its own for a single importer."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

# From the bottom: a layer may import those before it, and itself.
LAYERS = (
    {"errors", "version"},
    {"files", "threads", "processes", "spawning", "devices", "settings"},
    {"data", "losses"},
    {"formats"},
    {"evaluation"},
    {"encoders"},
    {"exporting", "runs"},
    {"training"},
    {"methods", "charts"},
    {"reports"},
    {"notebook"},
    {"api"},
    {"batches"},
    {"cluster"},
    {"bench"},
    {"sklearn"},
    {"cli"},
    {"emu_app"},
)
UPWARD = {
    ("emu_core.runs.run", "emu_core.reports.cells"),  # a run shows itself in a notebook, by `_repr_html_`
}


def _modules() -> dict[str, Path]:
    roots = ((ROOT, "emu_core"), (ROOT / "app", "emu_app"))
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for root, name in roots
        for path in (root / name).rglob("*.py")
    }


def _imports(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of ours that a file imports, also where it does so within a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if name in modules}


def _package(module: str) -> str:
    return "emu_app" if module.startswith("emu_app") else module.split(".")[1]


def _layer(module: str) -> int | None:
    return next((place for place, layer in enumerate(LAYERS) if _package(module) in layer), None)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    modules = _modules()
    return {name: _imports(path, modules) for name, path in modules.items()}


def test_every_package_has_its_layer(graph: dict[str, set[str]]) -> None:
    known = {"emu_core.__init__", "emu_core.__main__"}
    assert [name for name in graph if name not in known and _layer(name) is None] == []


def test_imports_run_one_way(graph: dict[str, set[str]]) -> None:
    upward = {
        (name, other)
        for name, others in graph.items()
        for other in others
        if (own := _layer(name)) is not None and (its := _layer(other)) is not None and its > own
    }
    assert upward == UPWARD


def test_the_parts_of_the_app_import_one_way(graph: dict[str, set[str]]) -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    order = re.findall(
        r"^- `(\w+)(?:\.py)?`: ", guide, re.MULTILINE
    )  # a part may import those before it, and itself
    parts = {name: name.split(".")[1] for name in graph if name.startswith("emu_app.")}
    assert order[-1] == "main" and set(parts.values()) == {
        "__init__",
        *order,
    }  # no other file is in none of them
    place = {name: order.index(part) for name, part in parts.items() if part in order}
    upward = [
        f"{name} imports {other}"
        for name in place
        for other in graph[name]
        if place.get(other, -1) > place[name]
    ]
    assert upward == []


def test_no_import_runs_in_a_circle(graph: dict[str, set[str]]) -> None:
    done: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"a circle: {' -> '.join((*path[path.index(name) :], name))}"
        if name not in done:
            for other in graph[name] - {above for below, above in UPWARD if below == name}:
                walk(other, (*path, name))
            done.add(name)

    for name in graph:
        walk(name, ())


def test_streamlit_is_in_the_app_alone() -> None:
    for path in (ROOT / "emu_core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.partition(".")[0] in ("streamlit", "emu_app") for name in names), path


def test_the_session_is_touched_in_the_shell_alone() -> None:
    app = ROOT / "app" / "emu_app"
    touched = {
        path.relative_to(app).parts[0]
        for path in app.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if "session_state" in (getattr(node, "attr", ""), getattr(node, "id", ""), getattr(node, "name", ""))
    }
    assert touched == {"shell"}
