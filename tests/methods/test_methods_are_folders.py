"""A method is a folder: what lies outside knows it by the registry alone."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from emu_core.encoders.registry import encoder_kinds
from emu_core.methods.registry import methods

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent.name for path in (ROOT / "emu_core" / "methods").glob("*/method.py"))
# The papers' own experiments name the methods that they compare.
BENCHES = ("emu_core/bench/", "emu_core/cli/bench.py", "app/emu_app/views/bench.py")
# What else may import a method, besides its folder: the page Split, which is about FMDA's parts of a sentence.
IMPORTERS = {"fmda": {"emu_core/api/split.py", "app/emu_app/views/split.py"}}
# Names of methods that are also words: the product's own, and terms that the other methods need in their texts.
WORDS = {"emu", "head", "softmax", "contrastive"}


@dataclass(frozen=True)
class Module:
    """What matters of a module: its source, what it imports or may import by name, and its texts."""

    source: str
    imported: frozenset[str]
    texts: frozenset[str]


@cache
def modules() -> dict[str, Module]:
    """All modules outside the benches, by path."""
    paths = [path for package in ("emu_core", "app") for path in sorted((ROOT / package).rglob("*.py"))]
    sources = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
    return {name: read(source) for name, source in sources.items() if not name.startswith(BENCHES)}


def outside(folder: str) -> dict[str, Module]:
    """The modules outside a method's folder and the benches."""
    inside = f"emu_core/methods/{folder}/"
    return {name: module for name, module in modules().items() if not name.startswith(inside)}


def names(folder: str) -> set[str]:
    """The names of a folder's methods, and the kinds of encoder that it defines."""
    module = f"emu_core.methods.{folder}."
    named = {method.name for method in methods().values() if method.settings.__module__.startswith(module)}
    return named | {kind for kind, place in encoder_kinds().items() if place.startswith(module)}


def read(source: str) -> Module:
    """Read a module. Its imports are those at the top and within functions, and texts, which may name a module.

    Its texts are the constants that are not alone in their statement, as docstrings are.
    """
    imported, constants, docstrings = set[str](), list[ast.Constant](), set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            imported |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Expr):
            docstrings.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            constants.append(node)
    all_texts = {str(node.value) for node in constants}
    texts = {str(node.value) for node in constants if id(node) not in docstrings}
    return Module(source, frozenset(imported | all_texts), frozenset(texts))


def imports(module: Module, folder: str) -> bool:
    """Whether a module imports one of a folder, or names it in a text."""
    within = re.compile(rf"emu_core\.methods\.{folder}(\.|:|$)")
    return any(within.match(name) for name in module.imported)


def is_named(text: str, name: str) -> bool:
    """Whether a text is a method's name, or contains it, unless it is also a word."""
    if name in WORDS:
        return text == name and name != "emu"
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])", text) is not None


def test_a_method_that_is_imported_or_named_is_found() -> None:
    used = read("def train():\n    from emu_core.methods.fmda.parts import Part\n")
    assert imports(used, "fmda") and not imports(used, "emu")
    assert imports(read('"emu_core.methods.fmda.encoder:DisentangledEncoder"'), "fmda")
    assert not imports(read("from emu_core.methods.registry import methods"), "emu")
    (text,) = read('"""About bicvm."""\nkind != "bicvm"\n').texts
    assert is_named(text, "bicvm") and is_named("use the method bicvm", "bicvm")
    assert is_named("softmax", "softmax") and not is_named("the softmax of all", "softmax")
    assert not is_named("views/bicvm.py", "bicvm") and not is_named("emu", "emu")


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_other_module_imports_a_method(folder: str) -> None:
    importers = {name for name, module in outside(folder).items() if imports(module, folder)}
    assert importers == IMPORTERS.get(folder, set())


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_other_module_names_a_method(folder: str) -> None:
    assert names(folder)
    named = {
        f"{path}: {text}"
        for path, module in outside(folder).items()
        for text in module.texts
        for name in names(folder)
        if is_named(text, name)
    }
    assert named == set()
