"""The guide lists every format of a collection, as its row in the table says it."""

from emu_core.formats.collections.formats import COLLECTION_FORMATS
from tests.support.paths import ROOT


def test_the_guide_has_the_table_of_collections() -> None:
    page = (ROOT / "docs" / "how-to" / "data.md").read_text("utf-8")
    section = page.partition("## Exports of other tools")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    assert rows == [f"| {table.title} | `{table.files}` | {table.reads} |" for table in COLLECTION_FORMATS]
