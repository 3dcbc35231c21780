"""Parallel text from files of any kind: plain files line by line, tables, translation memories (TMX)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.parsers import expat

from emu_core.data.cleaning import BLANKS, clean
from emu_core.data.file_names import language_of_file
from emu_core.data.languages import checked_language, is_known, language_code, ordered
from emu_core.data.parallel.text import ParallelRows, ParallelText, check_languages, pair_of
from emu_core.data.readers.formats import (
    GZIP_ENDING,
    PLAIN_ENDING,
    TSV,
    format_of,
    is_memory,
    is_table,
    without_endings,
)
from emu_core.data.readers.limits import check_rows, named_paths, opened
from emu_core.data.readers.tables import read_columns
from emu_core.data.readers.text import read_lines
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

# Every sentence of an evaluation's file is compared with every translation.
MAX_EVALUATION_PAIRS = 20_000
_CODE_ELEMENTS = frozenset({"bpt", "ept", "it", "ph", "ut"})  # they hold a format's own code and no text
_MAX_LANGUAGES = 100
_MAX_DEPTH = 100  # nested elements; a usual memory has about ten levels


def read_parallel(
    files: Sequence[str | Path], languages: Sequence[str] | None = None, *, drop_empty: bool = False
) -> list[ParallelText]:
    """Read sentences and their translations.

    - Plain files have a sentence a line and their language at the end of their name: `train.en` and `train.de`,
      `train.en.txt.gz`, `tatoeba.deu-eng.deu`. Files whose names are alike up to there belong together, line by line;
      if no two do, all of them belong together. Lines that are blank in both languages separate documents.
    - Tables in a format of `TABLE_FORMATS` have a language as the name of each column.
    - TMX names its own languages.

    Text and TMX may be gzipped. Of the languages that belong together, English, or else the first, is paired with each
    of the others.

    Args:
        files: the files, of any mixture of kinds.
        languages: codes or names for files that do not state their own: of those plain files, in order, or of
            the columns of a .tsv without a header.
        drop_empty: leave out rows that are empty in one of two languages, which is an error otherwise.

    Returns:
        One or more texts, in the order of the files; with `notes` about anything unusual.

    Raises:
        DataError: a file can't be read, its language is unknown or there twice, files that belong together differ
            in length, or a row is empty in one language; it names file and line.
    """
    missing = "no file of parallel text is named; name two such as train.en and train.de, or a table"
    paths = named_paths(files, missing)
    codes = None if languages is None else [checked_language(language) for language in languages]
    plain = [path for path in paths if not (is_memory(path.name) or is_table(path.name))]
    all_rows = [_read_plain(group) for group in _groups(plain, codes or ())] if plain else []
    for path in paths:
        if is_memory(path.name):
            all_rows.append(read_tmx(path))
        elif is_table(path.name):
            all_rows.append(_read_table(path, codes))
    check_rows(sum(len(rows.lines) for rows in all_rows), "the parallel text in all files together")
    texts = []
    for rows in all_rows:
        pivot = "en" if "en" in rows.texts else next(iter(rows.texts))
        texts += [
            pair_of(rows, pivot, other, drop_empty=drop_empty) for other in rows.texts if other != pivot
        ]
    return texts


def read_translations(folder: Path) -> list[ParallelText]:
    """Read all pairs of files NAME.A-B.A and NAME.A-B.B in a folder, such as tatoeba.deu-eng.deu and .eng.

    Raises:
        DataError: there is no such file, one of a pair is missing, they differ in length, a line is empty, or there are
            more than `MAX_EVALUATION_PAIRS`; it names file and line.
    """
    texts = []
    for path in files_in(folder):
        stem, _, ending = path.name.rpartition(".")
        codes = stem.rpartition(".")[2].split("-")
        if len(codes) != 2 or ending not in codes:
            continue
        sides = [path.with_name(f"{stem}.{code}") for code in codes]
        if missing := next((side for side in sides if not side.is_file()), None):
            raise DataError(
                f"{path.name} has no {missing.name} beside it; translations are in two files, line by line"
            )
        if ending == codes[0]:
            languages = [language_code(code) or code for code in codes]
            text = pair_of(
                _read_plain(list(zip(languages, sides, strict=True))), *languages, drop_empty=False
            )
            check_pairs(len(text), text.name)
            texts.append(text)
    if not texts:
        raise DataError(
            f"no translations in {folder}; name them like tatoeba.deu-eng.deu and tatoeba.deu-eng.eng"
        )
    return texts


def files_in(folder: Path, ending: str = "") -> list[Path]:
    """Return the files of a folder by name. Raises DataError if there is none."""
    if not folder.is_dir():
        raise DataError(f"no folder {folder}; name one with files of sentence pairs")
    files = sorted(path for path in folder.iterdir() if path.name.endswith(ending) and path.is_file())
    if not files:
        raise DataError(f"no {ending or 'file'} in {folder}; name a folder with files of sentence pairs")
    return files


def check_pairs(count: int, name: str) -> None:
    """Raise a DataError if an evaluation's file has no pairs, or more than `MAX_EVALUATION_PAIRS`."""
    if count > MAX_EVALUATION_PAIRS:
        raise DataError(f"{name} has {count:,} pairs, and {MAX_EVALUATION_PAIRS:,} are the most; give fewer")
    if not count:
        raise DataError(f"{name} has no sentence pair; give some")


_Group = list[tuple[str, Path]]  # plain files that are each other's translations, each with its language


def _groups(paths: Sequence[Path], languages: Sequence[str]) -> list[_Group]:
    """Sort plain files into groups whose files belong together line by line.

    First each file gets its language, from its name or else from `languages`, in order. Then files of one folder whose
    names are alike up to the language form a group; if no two do, files of any folders whose names are alike; and if
    still no two do, all files are one group.
    """
    stated = [language_of_file(path.name) for path in paths]
    _check_given(paths, stated, languages)
    given = iter(languages)
    files = [(code or next(given), path) for code, path in zip(stated, paths, strict=True)]
    stems = [_stem(path, states_language=code is not None) for code, path in zip(stated, paths, strict=True)]
    in_folders = [f"{path.parent}/{stem}" for path, stem in zip(paths, stems, strict=True)]
    for alike in (in_folders, stems):
        groups: dict[str, _Group] = {}
        for key, file in zip(alike, files, strict=True):
            groups.setdefault(key, []).append(file)
        if len(groups) < len(files):
            break
    else:
        groups = {"all": files}
    for group in groups.values():
        check_languages([code for code, _ in group], listed((path.name for _, path in group), 4))
    return list(groups.values())


def _check_given(paths: Sequence[Path], stated: Sequence[str | None], languages: Sequence[str]) -> None:
    """Raise a DataError unless the languages given are those of the files whose names state none, one for each.

    They may also be given for files that all state theirs, if they are the same.
    """
    codes = {code for code in stated if code is not None}
    unstated = [path.name for path, code in zip(paths, stated, strict=True) if code is None]
    if languages and not unstated and codes != set(languages):
        raise DataError(
            f"{listed((path.name for path in paths), 4)} are of {listed(ordered(codes))} by their names and not of "
            f"{listed(languages)}; name these, or none"
        )
    if unstated and len(unstated) != len(languages):
        raise DataError(
            f"{listed(unstated)} {'does' if len(unstated) == 1 else 'do'} not say the language; name "
            f"files like train.en and train.de, or give {counted(len(unstated), 'language')} for them in order "
            f"({len(languages)} given)"
        )


def _stem(path: Path, *, states_language: bool) -> str:
    """Return a plain file's name without its endings and the language that it states."""
    stem = without_endings(path.name, (PLAIN_ENDING, GZIP_ENDING))
    return stem.rpartition(".")[0] if states_language else stem


def _read_plain(group: _Group) -> ParallelRows:
    """Read files whose lines are each other's translations."""
    texts: dict[str, list[str]] = {}
    notes: tuple[str, ...] = ()
    for code, path in group:
        lines, line_notes = read_lines(path, path.name)
        check_rows(len(lines), path.name)
        texts[code] = clean(lines)
        notes += line_notes
    names = {code: path.name for code, path in group}
    first, count = group[0][0], len(texts[group[0][0]])
    for code, lines in texts.items():
        if len(lines) != count:
            raise DataError(
                f"{shown(names[first])} has {counted(count, 'line')} and {shown(names[code])} {len(lines):,}, so line "
                f"{min(count, len(lines)) + 1:,} has no translation; give each sentence its translation in the same "
                "line"
            )
    return ParallelRows(texts, names, range(1, count + 1), notes=notes)


def _read_table(path: Path, languages: Sequence[str] | None) -> ParallelRows:
    """Read the columns that are named by languages, or all of a .tsv without a header whose languages are given."""
    names, columns, notes = read_columns(path)
    header = {}  # place -> language
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        code = language_code(name)
        # Above keys, `id` is not Indonesian and `no` not Norwegian.
        is_key = code in ("id", "no") and all(len(text.split()) < 2 for text in column)
        if code is not None and is_known(code) and not is_key:
            header[number] = code
    is_tsv = format_of(path.name) is TSV
    unit, start = ("line", 2) if is_tsv else ("row", 1)
    if len(header) < 2 and not is_tsv:
        raise DataError(
            f"{shown(path.name)}: the columns name no two languages: {listed(names)}; rename those of the "
            "sentences to codes such as en and de"
        )
    if is_tsv and (len(header) < 2 or (languages is not None and set(header.values()) != set(languages))):
        start = 1
        header = _languages_given(path.name, names, header, languages)
        columns = [(name, *column) for name, column in zip(names, columns, strict=True)]
    check_languages(list(header.values()), path.name)
    texts = {code: clean(columns[number]) for number, code in header.items()}
    lines = range(start, start + len(columns[0]))
    return ParallelRows(texts, dict.fromkeys(texts, path.name), lines, unit, notes)


def _languages_given(
    name: str, cells: Sequence[str], header: Mapping[int, str], languages: Sequence[str] | None
) -> dict[int, str]:
    """Return the languages of the columns of a file whose first line does not name them."""
    if languages is None:
        raise DataError(
            f"{shown(name)}: the first line names no two languages: {listed(cells, 4)}; put codes such as en and "
            "de above the columns, or name the languages"
        )
    if len(header) == len(cells) >= 2:
        raise DataError(
            f"{shown(name)} is of {listed(header.values())} by its first line and not of {listed(languages)}; name "
            "these, or none"
        )
    if len(languages) != len(cells):
        raise DataError(
            f"{shown(name)} has {counted(len(cells), 'column')} and {counted(len(languages), 'language')} "
            f"{'is' if len(languages) == 1 else 'are'} named: {listed(languages)}; name one for each column"
        )
    return dict(enumerate(languages))


def read_tmx(path: Path) -> ParallelRows:
    """Read the units of a translation memory, gzipped or not, each with the text of its languages.

    `en-US` and `EN` are en. Of the markup inside a segment, highlighted text stays and formatting codes are removed. An
    entity declaration, which could expand to gigabytes, is refused, and no other file is ever opened.

    Raises:
        DataError: the file is missing, too large, not TMX or damaged, has fewer than two languages, or a unit doesn't
            state its language or has one twice; it names file and line.
    """
    memory = _Memory(path)
    if not memory.units:
        raise DataError(f"{shown(path.name)} has no translation unit (<tu>) with text; check the export")
    languages = ordered(memory.languages)
    check_languages(languages, path.name)
    texts = {code: [unit.get(code) for unit in memory.units] for code in languages}
    return ParallelRows(texts, dict.fromkeys(languages, path.name), memory.lines)


class _Memory:
    """The units of a file and the lines where they begin, collected by the handlers of the XML parser."""

    def __init__(self, path: Path) -> None:
        self.units: list[dict[str, str]] = []
        self.lines: list[int] = []
        self.languages: dict[str, None] = {}
        self._name = path.name
        self._path: list[str] = []
        self._code_depth = 0  # open elements of `_CODE_ELEMENTS`
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
        try:
            with opened(path, path.name) as file:
                parser.ParseFile(file)
        except expat.ExpatError as error:
            raise DataError(
                f"{shown(self._name)}: line {error.lineno} is not XML in the encoding it names "
                f"({expat.ErrorString(error.code)}); export the translation memory as TMX again"
            ) from error
        except (LookupError, ValueError) as error:  # an encoding that expat and Python don't know
            raise self._error("is in an encoding that can't be read; export it in UTF-8") from error

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
        if not self._path and tag != "tmx":
            raise self._error(
                f"begins with <{shown(tag)}>: this is XML but not TMX; name a translation memory"
            )
        self._path.append(tag)
        if len(self._path) > _MAX_DEPTH:
            raise self._error(f"has more than {_MAX_DEPTH} nested elements; export the memory again")
        if self._segment is not None:
            self._code_depth += tag in _CODE_ELEMENTS
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
            self._unit[self._language] = " ".join("".join(self._segment).split()).strip(BLANKS)
            self._segment, self._code_depth = None, 0
        elif self._segment is not None:
            self._code_depth -= tag in _CODE_ELEMENTS
        elif tag == "tu" and self._unit:
            self.units.append(self._unit)
            self.lines.append(self._unit_line)
            check_rows(len(self.units), self._name)
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
        if len(self.languages) > _MAX_LANGUAGES:
            raise self._error(f"has language number {_MAX_LANGUAGES + 1}; split the file by language")
        return code
