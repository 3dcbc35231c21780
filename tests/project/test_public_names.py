"""What `emu_core` offers: complete, documented, with examples that run, and imported only when it is used."""

import ast
import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import emu_core
from emu_core import errors
from tests.support.docs_pages import blocks, pages
from tests.support.paths import DOCS, ROOT

ENTRIES = {
    entry
    for page in sorted((DOCS / "reference").glob("*.md"))
    for entry in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
}


def failures(name: str) -> str:
    """Run the examples in the docstring of a public name; return what failed, "" if all is as it says."""
    document = getattr(emu_core, name).__doc__ or ""
    test = doctest.DocTestParser().get_doctest(document, {}, name, None, None)
    report: list[str] = []
    if not test.examples:
        return f"{name} has no example\n"
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    return "".join(report)


@pytest.mark.slow
def test_every_public_name_has_an_example_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    others = (name for name in emu_core.__all__ if name != "train")
    names = ["train", *others]  # which use the run that it trains
    assert "".join(map(failures, names)) == ""


def test_an_example_that_does_not_hold_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong() -> None:
        """Do nothing.

        >>> 1 + 1
        3
        """

    monkeypatch.setattr(emu_core, "wrong", wrong, raising=False)
    assert "Expected:\n    3\nGot:\n    2\n" in failures("wrong")
    wrong.__doc__ = "Do nothing."
    assert failures("wrong") == "wrong has no example\n"


def test_every_public_name_is_documented_and_completed_by_editors() -> None:
    short = {entry.rpartition(".")[2] for entry in ENTRIES}
    modules = {name: getattr(emu_core, name).__module__ for name in emu_core.__all__}
    assert [name for name in modules if name not in short and modules[name] not in ENTRIES] == []
    assert {name for name in dir(emu_core) if not name.startswith("__")} == set(emu_core.__all__)
    assert "__version__" in dir(emu_core)
    tree = ast.parse((ROOT / "emu_core" / "__init__.py").read_text("utf-8"))
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: str(node.module) for node in imports for alias in node.names}
    assert set(homes) == set(emu_core.__all__)
    assert all(getattr(import_module(home), name) is getattr(emu_core, name) for name, home in homes.items())


def test_every_error_is_public() -> None:
    kinds = {errors.EmuError}
    while more := {kind for base in kinds for kind in base.__subclasses__()} - kinds:
        kinds |= more
    public = {kind for kind in kinds if kind.__module__ == "emu_core.errors"}
    assert all(getattr(emu_core, kind.__name__) is kind for kind in public)
    assert {kind.__name__ for kind in public} <= {*emu_core.__all__}
    assert all(kind.__name__.startswith("_") for kind in kinds - public)


def deep_imports(source: str) -> list[str]:
    """The modules of emu_core that Python code imports from, itself excepted."""
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = [
        name
        for node in imports
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [part.name for part in node.names]
        )
    ]
    return [module for module in modules if module.startswith("emu_core.")]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_pages_import_from_documented_modules(page: Path) -> None:
    code = [block for block in blocks(page) if block.language == "python"]
    written = {block.title.removesuffix(".py").replace("/", ".") for block in code}
    modules = [module for block in code for module in deep_imports(block.text)]
    assert [module for module in modules if module not in {*ENTRIES, *written}] == []


def test_deep_imports_are_recognised() -> None:
    source = "import emu_core\nimport emu_core.a.b\nfrom emu_core import train\nfrom emu_core.c import d\n"
    assert deep_imports(source) == ["emu_core.a.b", "emu_core.c"]


def test_importing_emu_core_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import emu_core\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(names - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['emu_core']"
