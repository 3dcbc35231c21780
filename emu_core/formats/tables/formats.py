"""The table of formats: from it come what a file or a folder may hold, the upload boxes, help and messages."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emu_core.formats.tables.cells import Cells


@dataclass(frozen=True)
class TableFormat:
    """A format of tables.

    Attributes:
        title: its name in help and messages.
        endings: of the names of its files, the usual one first; text may also be gzipped (`.csv.gz`).
        reader: the module of this package whose `parse` reads it; imported when a file is read, because the command's
            help needs only the titles.
        magic: the first bytes of each of its files; b"" for text, whose content is looked at by `read_table`.
        is_written: whether Emu writes it, too, with the first ending.
    """

    title: str
    endings: tuple[str, ...]
    reader: str
    magic: bytes = b""
    is_written: bool = False

    def parse(self, content: str | bytes, name: str) -> "Cells":
        """Return the cells of a file's content, given as text or else as bytes; `name` is used in messages."""
        cells: Cells = import_module(f"emu_core.formats.tables.{self.reader}").parse(content, name)
        return cells


CSV = TableFormat("CSV", (".csv",), "delimited", is_written=True)
TSV = TableFormat("TSV", (".tsv", ".tab"), "delimited", is_written=True)
JSON_LINES = TableFormat("JSON Lines", (".jsonl", ".ndjson", ".json"), "json_tables", is_written=True)
PARQUET = TableFormat("Parquet", (".parquet", ".pq"), "parquet", b"PAR1", is_written=True)
XLSX = TableFormat("Excel (XLSX)", (".xlsx",), "xlsx", b"PK\x03\x04")
TABLE_FORMATS = (CSV, TSV, JSON_LINES, PARQUET, XLSX)

PLAIN_ENDING = ".txt"  # a sentence a line, unless a labelled set is expected
GZIP_ENDING = ".gz"
TABLE_ENDINGS = tuple(ending for table in TABLE_FORMATS for ending in table.endings)
WRITTEN_ENDINGS = tuple(table.endings[0] for table in TABLE_FORMATS if table.is_written)
ZIP_ENDING = ".zip"
COLLECTION_ENDINGS = (".yml", ".yaml", ".md", ".lu", ".intent", ".conll", ".iob", ".arrow")
"""Other endings of collections (emu_core.formats.collections), which are recognised by their content."""
FILE_ENDINGS = (*TABLE_ENDINGS, PLAIN_ENDING, *COLLECTION_ENDINGS, ZIP_ENDING, GZIP_ENDING)
"""Endings of files of sentences, labelled or not."""
STRUCTURED_ENDINGS = (
    *(*JSON_LINES.endings, *COLLECTION_ENDINGS, ZIP_ENDING, ".tmx"),
    *(".conllu", ".xml", ".html", ".xlf", ".xliff", ".po", ".pot", ".toml", ".ini", ".py", ".log"),
)
"""Endings of files that never have a sentence a line, whether they can be read or not."""
UNREAD_ENDINGS = (
    *(".xls", ".xlsm", ".xlsb", ".ods", ".doc", ".docx", ".odt", ".rtf", ".pdf", ".ppt", ".pptx"),
    *(
        ".pkl",
        ".pickle",
        ".npy",
        ".npz",
        ".feather",
        ".orc",
        ".avro",
        ".db",
        ".sqlite",
        ".rar",
        ".7z",
        ".tar",
    ),
)
"""Endings of files that people have sentences in, and that can't be read."""


def any_of(names: Iterable[str], word: str = "or") -> str:
    """Return names as in a sentence: "CSV, TSV or Parquet"."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}"


FORMAT_TITLES = any_of(table.title for table in TABLE_FORMATS)
"""The formats as in a sentence: "CSV, TSV, ... or Excel (XLSX)"."""


def format_of(name: str) -> TableFormat | None:
    """Return the format that the ending of a file's name states, gzipped or not; None if it is not that of a table."""
    unpacked = unpacked_name(name).lower()
    return next((table for table in TABLE_FORMATS if unpacked.endswith(table.endings)), None)


def is_table(name: str) -> bool:
    """Return whether a file's name is that of a table."""
    return format_of(name) is not None


def unpacked_name(name: str) -> str:
    """Return a file's name without the ending of gzip."""
    return name[: -len(GZIP_ENDING)] if name.lower().endswith(GZIP_ENDING) else name


def without_endings(name: str, endings: tuple[str, ...] = FILE_ENDINGS) -> str:
    """Return a file's name without these endings, of which it may have several: `train.en.txt.gz`."""
    while ending := next((ending for ending in endings if name.lower().endswith(ending)), ""):
        name = name[: -len(ending)]
    return name
