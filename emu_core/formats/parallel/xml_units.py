"""The units of an XML file of translations, collected while it is parsed."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from xml.parsers import expat

from emu_core.data.cleaning import BLANKS
from emu_core.data.languages import language_code, ordered
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.formats.limits import check_lengths, check_rows, opened
from emu_core.formats.parallel.rows import ParallelRows, check_languages

_MAX_LANGUAGES = 100
_MAX_DEPTH = 100  # nested elements; a usual file has about ten levels


class XmlUnits(ABC):
    """The units of a file and the lines where they begin.

    An entity declaration, which could expand to gigabytes, is refused, and no other file is ever opened.

    Attributes:
        title: the format's name, for messages.
        root: its outermost element.
        code_elements: elements within a sentence that hold a format's own code and no text.
    """

    title: ClassVar[str]
    root: ClassVar[str]
    code_elements: ClassVar[frozenset[str]]

    def __init__(self, path: Path) -> None:
        """Parse the file, gzipped or not. Raises DataError if it is damaged, unsafe or not in this format."""
        self.units: list[dict[str, str]] = []
        self.lines: list[int] = []
        self._name = path.name
        self._path: list[str] = []
        self._languages: dict[str, None] = {}
        self._code_depth = 0  # open elements of `code_elements`
        self._language = ""
        self._segment: list[str] | None = None
        self._segment_depth = 0
        self._unit: dict[str, str] = {}
        self._unit_line = 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_unknown
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        try:
            with opened(path, path.name) as file:
                parser.ParseFile(file)
        except expat.ExpatError as error:
            raise DataError(
                f"{shown(self._name)}: line {error.lineno} is not XML in the encoding it names "
                f"({expat.ErrorString(error.code)}); export the translations as {self.title} again"
            ) from error
        except (LookupError, ValueError) as error:  # an encoding that expat and Python don't know
            raise self._error("is in an encoding that can't be read; export it in UTF-8") from error

    def rows(self) -> ParallelRows:
        """Return the units with text. Raises DataError if there is none, or in fewer than two languages."""
        if not self.units:
            raise DataError(
                f"{shown(self._name)} has no translation unit with text; check the export of the {self.title} file"
            )
        languages = ordered(code for unit in self.units for code in unit)
        check_languages(languages, self._name)
        texts = {code: [unit.get(code) for unit in self.units] for code in languages}
        for side in texts.values():
            check_lengths([text or "" for text in side], self._name, "unit")
        return ParallelRows(texts, dict.fromkeys(languages, self._name), self.lines)

    @abstractmethod
    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take note of an element outside of a sentence."""

    @abstractmethod
    def _close(self, tag: str) -> None:
        """Take note of the end of an element outside of a sentence."""

    def _begin_unit(self) -> None:
        self._unit, self._unit_line = {}, self._parser.CurrentLineNumber

    def _end_unit(self) -> None:
        if self._unit:
            self.units.append(self._unit)
            self.lines.append(self._unit_line)
            check_rows(len(self.units), self._name)
        self._unit = {}

    def _begin_segment(self, language: str) -> None:
        self._language, self._segment, self._segment_depth = language, [], len(self._path)

    def _known(self, stated: str | None, where: str, fix: str) -> str:
        """Return the code of a language that an element states. Raises DataError if it is none."""
        code = language_code(stated) if stated else None
        if code is None:
            language = f"the unknown language {shown(stated)!r}" if stated else "no language"
            raise self._error(f"has {where} of {language}; {fix}")
        self._languages[code] = None
        if len(self._languages) > _MAX_LANGUAGES:
            raise self._error(f"has language number {_MAX_LANGUAGES + 1}; split the file by language")
        return code

    def _error(self, fault: str) -> DataError:
        return DataError(f"{shown(self._name)}: line {self._parser.CurrentLineNumber} {fault}")

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self._error(
            f"declares the entity '{shown(name)}', which may expand without end; write the characters "
            "themselves and remove the declaration"
        )

    def _refuse_unknown(self, name: str, _is_parameter: bool) -> None:
        raise self._error(f"has the unknown entity '&{shown(name)};'; write the character itself")

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = tag.rpartition(":")[2].lower()
        if not self._path and tag != self.root:
            raise self._error(
                f"begins with <{shown(tag)}>: this is XML but not {self.title}; export the translations as "
                f"{self.title} again"
            )
        self._path.append(tag)
        if len(self._path) > _MAX_DEPTH:
            raise self._error(f"has more than {_MAX_DEPTH} nested elements; export the translations again")
        if self._segment is not None:
            self._code_depth += tag in self.code_elements
        else:
            self._begin(tag, attributes)

    def _end(self, _: str) -> None:
        tag = self._path.pop()
        if self._segment is None:
            self._close(tag)
        elif len(self._path) < self._segment_depth:
            # A segment may be broken over indented lines.
            text = " ".join("".join(self._segment).split()).strip(BLANKS)
            self._unit[self._language] = text
            self._segment, self._code_depth = None, 0
        else:
            self._code_depth -= tag in self.code_elements

    def _text(self, text: str) -> None:
        if self._segment is not None and not self._code_depth:
            self._segment.append(text)
