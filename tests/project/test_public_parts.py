"""The product uses the public parts of other packages, which they keep between releases."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = ("emu_core", "emu_app")
DOTTED = re.compile(r"[\w.]+")
COLUMNS = {"stColumn"}  # which have no keys


def sources() -> Iterator[tuple[Path, str]]:
    for folder in ("emu_core", "app"):
        for path in (ROOT / folder).rglob("*.py"):
            yield path, path.read_text("utf-8")


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def private_parts(source: str) -> list[str]:
    """The private modules that are imported, and the private names that are read from imported modules."""
    tree = ast.parse(source)
    parts, modules = [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith(OURS):
            parts += [name for alias in node.names if is_private(name := f"{node.module}.{alias.name}")]
        elif isinstance(node, ast.Import):
            parts += [alias.name for alias in node.names if is_private(alias.name)]
            modules |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    for node in ast.walk(tree):
        name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if DOTTED.fullmatch(name) and name.partition(".")[0] in modules and is_private(name):
            parts.append(name)
    return parts


def test_private_parts_are_recognised() -> None:
    source = "import torch\nimport torch._dynamo\nfrom openpyxl.worksheet._reader import Parser\n"
    source += "from umap import _private\ntorch.cpu._is_amx_tile_supported()\nself._own.__name__\n"
    assert sorted(private_parts(source)) == [
        "openpyxl.worksheet._reader.Parser",
        "torch._dynamo",
        "torch.cpu._is_amx_tile_supported",
        "umap._private",
    ]


def test_no_private_part_of_another_package_is_used() -> None:
    allowed = {"os._exit", "_typeshed.DataclassInstance"}  # which are documented
    parts = {f"{path.relative_to(ROOT)}: {part}" for path, text in sources() for part in private_parts(text)}
    assert {part for part in parts if part.partition(": ")[2] not in allowed} == set()


def test_the_style_sheet_names_no_part_that_could_have_a_key() -> None:
    test_ids = {name for _, text in sources() for name in re.findall(r"data-testid=\W*(\w+)", text)}
    assert test_ids == COLUMNS
