"""One name for one thing in what people read: the table of CONTRIBUTING.md against templates, command and app."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TABLE = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("| what people read | and not |")[2]
ROWS = re.findall(r"^\| (.+?) \| (.+?) \|$", TABLE.partition("\n\n")[0], re.MULTILINE)[1:]
REFUSED = [word for _, words in ROWS for word in re.split(r", (?!small)", words)]
READ = ("emu_core/reports", "emu_core/cli", "emu_core/charts", "emu_core/notebook", "app/emu_app")
OF_OTHERS = ("app/emu_app/shell/glossary.py",)  # names what the field calls a thing
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
]
ON_PAGES = {
    "directions"
}  # of vectors, which pages speak of, too; and the published name of an encoder is on its page
OF_PAGES = {"encoders.md": "Universal Sentence Encoder"}


def read_texts(path: Path) -> Iterator[str]:
    """The texts of a file that people may read: a template's, or the strings of a module that are no docstrings."""
    text = path.read_text("utf-8")
    if path.suffix == ".j2":
        yield text
        return
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def refused_words(text: str) -> list[str]:
    return [word for word in REFUSED if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]


def test_the_table_is_read_and_a_refused_word_is_found() -> None:
    assert len(ROWS) > 5 and "Multilingual E5, small" in REFUSED and "may lose" in REFUSED
    assert refused_words("German may lose.") == ["may lose"] and not refused_words("dismay loser")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_so_do_the_pages_and_what_notebooks_say(page: Path) -> None:
    text = page.read_text("utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    allowed = {*ON_PAGES, OF_PAGES.get(page.name)}
    assert not set(refused_words(text)) - allowed


@pytest.mark.parametrize("folder", READ)
def test_what_people_read_has_one_name_for_one_thing(folder: str) -> None:
    files = sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".j2"))
    assert files
    for path in files:
        if str(path.relative_to(ROOT)) in OF_OTHERS:
            continue
        for text in read_texts(path):
            assert not refused_words(text), f"{path.name}: {text[:200]!r}"
