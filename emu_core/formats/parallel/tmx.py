"""Translation memories in TMX."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from emu_core.formats.parallel.rows import ParallelRows
from emu_core.formats.parallel.xml_units import XmlUnits


def read_tmx(path: Path, _: Sequence[str] | None = None) -> ParallelRows:
    """Read the units of a translation memory, gzipped or not, each with the text of its languages.

    `en-US` and `EN` are en. Of the markup inside a segment, highlighted text stays and formatting codes are removed.
    The memory names its languages, so those that are given are not needed.

    Raises:
        DataError: the file is missing, too large, not TMX or damaged, has fewer than two languages, or a unit doesn't
            state its language or has one twice; it names file and line.
    """
    return _Memory(path).rows()


class _Memory(XmlUnits):
    title, root = "TMX", "tmx"
    code_elements = frozenset({"bpt", "ept", "it", "ph", "ut"})

    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "tu":
            self._begin_unit()
        elif tag == "tuv":
            self._language = self._code(attributes)
        elif tag == "seg" and "tuv" in self._path:
            self._begin_segment(self._language)

    def _close(self, tag: str) -> None:
        if tag == "tu":
            self._end_unit()

    def _code(self, attributes: Mapping[str, str]) -> str:
        stated = attributes.get("xml:lang") or attributes.get("lang")
        code = self._known(stated, "a <tuv>", "give it xml:lang with a code such as en")
        if code in self._unit:
            raise self._error(
                f"has the language {code} twice in the unit that begins on line {self._unit_line}; "
                "leave one <tuv> of each language"
            )
        return code
