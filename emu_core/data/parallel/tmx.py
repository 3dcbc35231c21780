"""Translation memories (TMX, 1.1 to 1.4b) as a stream: no entities, no external files, nothing read but the text."""

from collections.abc import Mapping
from pathlib import Path
from xml.parsers import expat

from emu_core.data.cleaning import clean
from emu_core.data.languages import language_code, ordered
from emu_core.data.parallel.rows import ParallelRows, check_languages
from emu_core.data.readers.opened import MAX_BYTES, opened
from emu_core.data.readers.table import MAX_ROWS, check_rows
from emu_core.data.wording import shown
from emu_core.errors import DataError

_CHUNK = 2**20
# The content of these elements is a format's own code and not text.
_CODE = frozenset({"bpt", "ept", "it", "ph", "ut"})
_MOST_LANGUAGES = 100
_DEEPEST = 100  # elements in each other; a memory has about ten


def read_tmx(path: Path, *, max_bytes: int = MAX_BYTES, max_rows: int = MAX_ROWS) -> ParallelRows:
    """Read the units of a translation memory, gzipped or not, each with the text of its languages.

    `en-US` and `EN` are en. Of the markup inside a segment, highlighted text stays and formatting codes go. An entity
    declaration is refused, so that no few lines can unfold to gigabytes, and no other file is ever opened.

    Args:
        path: the file.
        max_bytes: the largest file, and the largest unpacked.
        max_rows: the most units.

    Raises:
        DataError: the file is missing, too large, no TMX or damaged, has fewer than two languages, or a unit doesn't
            state its language or has one twice; it names file and line.
    """
    memory = _Memory(path.name, max_rows)
    with opened(path, path.name, max_bytes) as file:
        while chunk := file.read(_CHUNK):
            memory.feed(chunk, final=False)
    memory.feed(b"", final=True)
    if not memory.units:
        raise DataError(f"{shown(path.name)} has no translation unit (<tu>) with text; check the export")
    languages = ordered(memory.languages)
    check_languages(languages, path.name)
    texts = {code: _column(memory.units, code) for code in languages}
    return ParallelRows(texts, dict.fromkeys(languages, path.name), memory.lines)


def _column(units: list[dict[str, str]], code: str) -> list[str | None]:
    values = [unit.get(code) for unit in units]
    cleaned = clean(["" if value is None else value for value in values])
    return [None if value is None else text for value, text in zip(values, cleaned, strict=True)]


class _Memory:
    """The XML parser's handlers, called with elements and text in turn."""

    def __init__(self, name: str, max_rows: int) -> None:
        self.units: list[dict[str, str]] = []
        self.lines: list[int] = []
        self.languages: dict[str, None] = {}
        self._name, self._max_rows = name, max_rows
        self._path: list[str] = []
        self._code_depth = 0  # elements of a format's own code that are open
        self._language = ""
        self._segment: list[str] | None = None
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

    def feed(self, chunk: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as error:
            raise DataError(
                f"{shown(self._name)}: line {error.lineno} is not XML in the encoding it names "
                f"({expat.ErrorString(error.code)}); export the translation memory as TMX again"
            ) from error
        except (LookupError, ValueError) as error:  # an encoding that expat and Python don't know
            raise self._error("is in an encoding that can't be read; export it in UTF-8") from error

    def _error(self, what: str, line: int | None = None) -> DataError:
        return DataError(f"{shown(self._name)}: line {line or self._parser.CurrentLineNumber} {what}")

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self._error(
            f"declares the entity '{shown(name)}', which may unfold without end; write the characters "
            "themselves and remove the declaration"
        )

    def _refuse_unknown(self, name: str, _is_parameter: bool) -> None:
        raise self._error(f"has the unknown entity '&{shown(name)};'; write the character itself")

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = tag.rpartition(":")[2].lower()
        if not self._path and tag != "tmx":
            raise self._error(
                f"begins with <{shown(tag)}>: this is XML but no TMX; name a translation memory"
            )
        self._path.append(tag)
        if len(self._path) > _DEEPEST:
            raise self._error(f"has more than {_DEEPEST} elements in each other; export the memory again")
        if self._segment is not None:
            self._code_depth += tag in _CODE
        elif tag == "tu":
            self._unit, self._unit_line = {}, self._parser.CurrentLineNumber
        elif tag == "tuv":
            self._language = self._code(attributes)
        elif tag == "seg" and "tuv" in self._path:
            self._segment = []

    def _end(self, tag: str) -> None:
        tag = self._path.pop()
        if tag == "seg" and self._segment is not None and "seg" not in self._path:
            # A segment may be broken over indented lines.
            self._unit[self._language] = " ".join("".join(self._segment).split())
            self._segment, self._code_depth = None, 0
        elif self._segment is not None:
            self._code_depth -= tag in _CODE
        elif tag == "tu" and self._unit:
            self.units.append(self._unit)
            self.lines.append(self._unit_line)
            check_rows(len(self.units), self._max_rows, self._name)
            self._unit = {}

    def _text(self, text: str) -> None:
        if self._segment is not None and not self._code_depth:
            self._segment.append(text)

    def _code(self, attributes: Mapping[str, str]) -> str:
        stated = attributes.get("xml:lang") or attributes.get("lang")
        code = language_code(stated) if stated else None
        if code is None:
            raise self._error(
                f"has a <tuv> of {f'the unknown language {shown(stated)!r}' if stated else 'no language'}; "
                "give it xml:lang with a code such as en"
            )
        if code in self._unit:
            raise self._error(
                f"has the language {code} twice in the unit that begins on line {self._unit_line}; "
                "leave one <tuv> of each language"
            )
        self.languages[code] = None
        if len(self.languages) > _MOST_LANGUAGES:
            raise self._error(f"has language number {_MOST_LANGUAGES + 1}; split the file by language")
        return code
