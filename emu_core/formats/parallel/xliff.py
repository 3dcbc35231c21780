"""Translations in XLIFF 1.2 and 2."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from emu_core.data.wording import counted, shown
from emu_core.errors import DataError
from emu_core.formats.file_names import language_of_file
from emu_core.formats.parallel.rows import ParallelRows
from emu_core.formats.parallel.xml_units import XmlUnits
from emu_core.formats.tables.formats import GZIP_ENDING, STRUCTURED_ENDINGS, without_endings

_UNITS = frozenset({"trans-unit", "segment"})  # of XLIFF 1.2, and of 2
_SIDES = {"source": ("source-language", "srclang"), "target": ("target-language", "trglang")}
_NO_UNITS = frozenset({"alt-trans", "matches", "ignorable"})  # suggestions, and blanks between segments
_UNTRANSLATED = frozenset({"new", "initial", "needs-translation"})  # the target is often a copy of the source


def read_xliff(path: Path, languages: Sequence[str] | None = None) -> ParallelRows:
    """Read `<source>` and `<target>` of each unit (XLIFF 1.2) or segment (2).

    Languages are those that the file states, or else two that are given, or, of the target, the file's name. Units
    without a translation, or not to be translated, are left out and counted; suggestions and formatting codes are not
    read.

    Raises:
        DataError: the file is missing, too large, not XLIFF or damaged, has no translation, or its two languages are
            not known.
    """
    file = _Xliff(path, languages)
    if not file.units:
        raise DataError(
            f"{shown(path.name)} has no unit with a translation; export the XLIFF file with its translations"
        )
    note = f"{shown(path.name)}: {counted(file.left_out, 'unit')} without a translation left out."
    return replace(file.rows(), notes=(note,) if file.left_out else ())


class _Xliff(XmlUnits):
    title, root = "XLIFF", "xliff"
    code_elements = frozenset({"bpt", "ept", "it", "ph", "x", "bx", "ex", "sc", "ec"})

    def __init__(self, path: Path, languages: Sequence[str] | None) -> None:
        given = list(languages or ())
        stem = without_endings(path.name, (GZIP_ENDING, *STRUCTURED_ENDINGS))
        given = [""] * (2 - len(given)) + given  # a single one is that of the translations
        self._codes_around = {"source": given[0], "target": given[1] or language_of_file(stem) or ""}
        self._codes = self._codes_around
        self._ignored_depth: int | None = None  # of the element in which no unit is read
        self._is_translated = True
        self.left_out = 0
        super().__init__(path)

    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._ignored_depth is not None:
            return
        if tag in ("xliff", "file"):
            stated = {name.lower(): value for name, value in attributes.items()}
            codes = {side: stated[name] for side, names in _SIDES.items() for name in names if name in stated}
            self._codes = self._codes_around | codes
            if tag == "xliff":
                self._codes_around = self._codes
        elif tag in _NO_UNITS or attributes.get("translate") == "no":
            self._ignored_depth = len(self._path)
            self.left_out += tag in _UNITS or tag == "unit"
        elif tag in _UNITS:
            self._begin_unit()
            self._is_translated = attributes.get("state") not in _UNTRANSLATED
        elif tag in _SIDES and self._path[-2] in _UNITS:
            if attributes.get("state") in _UNTRANSLATED:
                self._is_translated = False
            self._begin_segment(self._code(tag))

    def _close(self, tag: str) -> None:
        if self._ignored_depth is not None:
            if len(self._path) < self._ignored_depth:
                self._ignored_depth = None
        elif tag in _UNITS:
            if not (len(self._unit) == 2 and all(self._unit.values()) and self._is_translated):
                self._unit = {}
                self.left_out += 1
            self._end_unit()

    def _code(self, side: str) -> str:
        fix = f"give <file> or <xliff> the attribute {'/'.join(_SIDES[side])}"
        code = self._known(self._codes.get(side), f"a <{side}>", fix)
        if code in self._unit:
            raise self._error(
                f"has source and target in the same language, {code}; {fix} with its own language"
            )
        return code
