"""A method is a folder: what lies outside knows it by the registry alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from emu_core.encoders.registry import encoder_kinds
from emu_core.methods.registry import methods

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent.name for path in (ROOT / "emu_core" / "methods").glob("*/method.py"))
# The papers' own experiments name the methods that they compare.
BENCHES = ("emu_core/bench/", "emu_core/cli/bench.py", "app/views/bench.py")
# What else may import a method, besides its folder: the page Split, which is about FMDA's parts of a sentence.
IMPORTERS = {"fmda": {"emu_core/api/split.py", "app/views/split.py"}}
# Names of methods that are also words: the product's own, and terms that the other methods need in their texts.
WORDS = {"emu", "softmax", "contrastive"}


def sources(folder: str) -> Iterator[tuple[str, str]]:
    """The modules outside a method's folder and the benches."""
    for package in ("emu_core", "app"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith((f"emu_core/methods/{folder}/", *BENCHES)):
                yield name, path.read_text("utf-8")


def names(folder: str) -> set[str]:
    """The names of a folder's methods, and the kinds of encoder that it defines."""
    module = f"emu_core.methods.{folder}."
    named = {method.name for method in methods().values() if method.settings.__module__.startswith(module)}
    return named | {kind for kind, place in encoder_kinds().items() if place.startswith(module)}


def imports(tree: ast.AST, folder: str) -> bool:
    """Whether a module imports one of a folder, at the top or within a function, or names it in a text."""
    package = f"emu_core.methods.{folder}"
    within = re.compile(rf"{re.escape(package)}(\.|:|$)")
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imported = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        else:
            imported = [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
        if any(within.match(name) for name in imported):
            return True
    return False


def texts(tree: ast.AST) -> Iterator[str]:
    """The text constants of a module that are not alone in their statement, as docstrings are."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def is_named(text: str, name: str) -> bool:
    """Whether a text is a method's name, or contains it, unless it is also a word."""
    if name in WORDS:
        return text == name and name != "emu"
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])", text) is not None


def test_a_method_that_is_imported_or_named_is_found() -> None:
    used = ast.parse("def train():\n    from emu_core.methods.fmda.parts import Part\n")
    assert imports(used, "fmda") and not imports(used, "emu")
    assert imports(ast.parse('"emu_core.methods.fmda.encoder:DisentangledEncoder"'), "fmda")
    assert not imports(ast.parse("from emu_core.methods.registry import methods"), "emu")
    (text,) = texts(ast.parse('"""About bicvm."""\nkind != "bicvm"\n'))
    assert is_named(text, "bicvm") and is_named("use the method bicvm", "bicvm")
    assert is_named("softmax", "softmax") and not is_named("the softmax of all", "softmax")
    assert not is_named("views/bicvm.py", "bicvm") and not is_named("emu", "emu")


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_other_module_imports_a_method(folder: str) -> None:
    importers = {name for name, text in sources(folder) if imports(ast.parse(text), folder)}
    assert importers == IMPORTERS.get(folder, set())


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_other_module_names_a_method(folder: str) -> None:
    assert names(folder)
    named = {
        f"{module}: {text}"
        for module, source in sources(folder)
        for text in texts(ast.parse(source))
        for name in names(folder)
        if is_named(text, name)
    }
    assert named == set()


def test_not_even_a_comment_names_the_posterior_outside_its_folder() -> None:
    named = [name for name, text in sources("posterior") if re.search("posterior", text, re.IGNORECASE)]
    assert named == []
