"""Translations in XLIFF 1.2 and 2."""

from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path

from emu_core.data.parallel.text import ParallelRows
from emu_core.data.parallel.xml_units import XmlUnits

_SIDES = {"source": ("source-language", "srclang"), "target": ("target-language", "trglang")}


def read_xliff(path: Path, languages: Sequence[str] | None = None) -> ParallelRows:
    """Read `<source>` and `<target>` of each unit; a unit of several segments is one text.

    Languages are those of the file. Units without a target are left out, and so are suggestions (`<alt-trans>`,
    `<matches>`) and formatting codes.

    Raises:
        DataError: the file is missing, too large, not XLIFF or damaged, or names no two languages.
    """
    file = _Xliff(path)
    whole = [len(unit) == 2 and all(unit.values()) for unit in file.units]
    file.units, file.lines = list(compress(file.units, whole)), list(compress(file.lines, whole))
    return file.rows()


class _Xliff(XmlUnits):
    title, root = "XLIFF", "xliff"
    code_elements = frozenset({"bpt", "ept", "it", "ph", "x", "bx", "ex"})

    def __init__(self, path: Path) -> None:
        self._codes: dict[str, str] = {}
        self._ignored = 0  # open elements of suggestions
        super().__init__(path)

    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in ("alt-trans", "matches", "notes"):
            self._ignored += 1
        if tag in ("xliff", "file"):
            stated = {name.lower(): value for name, value in attributes.items()}
            for side, names in _SIDES.items():
                if value := next((stated[name] for name in names if name in stated), ""):
                    self._codes[side] = value
        elif tag in ("trans-unit", "unit"):
            self._begin_unit()
        elif tag in _SIDES and not self._ignored:
            name = "/".join(_SIDES[tag])
            self._begin_segment(
                self._known(
                    self._codes.get(tag), f"a <{tag}>", f"give <file> or <xliff> the attribute {name}"
                )
            )

    def _close(self, tag: str) -> None:
        if tag in ("alt-trans", "matches", "notes"):
            self._ignored -= 1
        elif tag in ("trans-unit", "unit"):
            self._end_unit()
