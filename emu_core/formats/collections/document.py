"""The content of a file, decoded as far as a format asks for it."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import yaml

from emu_core.data.cleaning import cleaned
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.formats.collections.values import objects
from emu_core.formats.encodings import checked_text
from emu_core.formats.lines import lines_of, with_line_feeds
from emu_core.formats.source_files import SourceFile
from emu_core.formats.tables.formats import unpacked_name
from emu_core.formats.tables.json_tables import decoded_json

MAX_YAML_CHARACTERS = 30_000_000
_MAX_NODES = 5_000_000  # brackets in JSON, of which each may be an object of 60 bytes and more
_BEGINNING = 100_000
_MAX_DEPTH = 50
_SAMPLE_LINES, _SAMPLE_CHARACTERS = 50, 50_000
_LEAST_FITTING = 0.8
LEAST_TELLING = 0.5
"""The share of lines that suffices where a line of the format is like no other."""
_BROKEN = (ValueError, RecursionError, yaml.YAMLError)


_YAML_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # only its parser is used


def _yaml_documents(text: str) -> list[Any]:
    """Return the YAML documents in a text as lists, mappings and texts: "yes" and "1.0" are sentences or names here.

    They are built from the parser's events, so that tags mean nothing and no alias expands. The lists of a repeated key
    are joined.

    Raises:
        YAMLError: it is no YAML, has an alias or nests too deeply.
    """
    stack: list[list[Any]] = [[]]  # the documents, and then the parts of each list or mapping that is open
    for event in yaml.parse(text, Loader=_YAML_LOADER):
        if isinstance(event, yaml.AliasEvent) or len(stack) > _MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem="an alias or too many levels", problem_mark=event.start_mark)
        if isinstance(event, yaml.ScalarEvent):
            stack[-1].append(event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            stack.append([])
        elif isinstance(event, yaml.CollectionEndEvent):
            parts = stack.pop()
            stack[-1].append(parts if isinstance(event, yaml.SequenceEndEvent) else _yaml_mapping(parts))
    return stack[0]


def _yaml_mapping(parts: list[Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        if not isinstance(key, str):
            raise yaml.YAMLError("a key that is no text")
        is_again = isinstance(value, list) and isinstance(values.get(key), list)
        values[key] = values[key] + value if is_again else value
    return values


class Document:
    """The content of a file; what is asked for twice is decoded once.

    Attributes:
        file: the file.
        payload: its bytes, unpacked.
    """

    def __init__(self, file: SourceFile) -> None:
        """Read the file. Raises DataError if it can't be read or is too large."""
        self.file = file
        self.payload = file.payload()

    @property
    def path(self) -> str:
        """The file's path, for messages and for what it states."""
        return self.file.path

    @cached_property
    def text(self) -> str:
        r"""The text, whose lines end in "\n"; "" if the file is not text."""
        return self._decoded[0]

    @property
    def beginning(self) -> str:
        """The first 100,000 characters of the text, in which a format is told without reading all of a large file."""
        return self.text[:_BEGINNING]

    @property
    def encoding(self) -> str:
        """The encoding of the text."""
        return self._decoded[1]

    @cached_property
    def _decoded(self) -> tuple[str, str]:
        try:
            text, encoding = checked_text(self.payload, self.path)
        except DataError:
            return "", "utf-8"
        return with_line_feeds(text), encoding

    @cached_property
    def json(self) -> Any:
        """The decoded JSON, of JSON Lines the list of their values; None if it is neither."""
        start = self.text.lstrip()[:1]
        if not start or start not in "[{" or self.text.count("[") + self.text.count("{") > _MAX_NODES:
            return None
        try:
            return decoded_json(self.text, self.path)
        except DataError:
            return None

    @property
    def keys(self) -> frozenset[str]:
        """The keys of a JSON or YAML object, or of the first object in a list of them."""
        value = self.json if self.json is not None else self.yaml
        if isinstance(value, list):
            value = next((item for item in value if isinstance(item, dict)), None)
        return frozenset(map(str, value)) if isinstance(value, dict) else frozenset()

    @property
    def records(self) -> list[dict[str, Any]]:
        """The objects of a JSON list or of JSON Lines; none for anything else."""
        return objects(self.json)

    @cached_property
    def json_objects(self) -> list[dict[str, Any]]:
        """The records, or the single object that is all of the JSON."""
        return objects(self.json if isinstance(self.json, list) else [self.json])

    @property
    def yaml(self) -> Any:
        """The first YAML document whose every scalar is text, or the list of several; None if it is no YAML."""
        return self._yaml_or_fault[0]

    @property
    def yaml_fault(self) -> str:
        """A sentence that says where it is no YAML and why; "" if it is."""
        return self._yaml_or_fault[1]

    @property
    def is_damaged_yaml(self) -> bool:
        """Whether its name is that of a YAML file, but its content is none."""
        return self.has_yaml_name and self.yaml is None

    @property
    def has_yaml_name(self) -> bool:
        """Whether its name ends as those of YAML files do."""
        return unpacked_name(self.path).lower().endswith((".yml", ".yaml"))

    def checked_yaml(self) -> Any:
        """Return the same as `yaml`. Raises DataError if it is no YAML."""
        if self.yaml is None:
            raise DataError(self.yaml_fault)
        return self.yaml

    @cached_property
    def _yaml_or_fault(self) -> tuple[Any, str]:
        name = shown(self.path)
        if len(self.text) > MAX_YAML_CHARACTERS:
            return None, f"{name} has more than {MAX_YAML_CHARACTERS:,} characters; split it"
        try:
            documents = _yaml_documents(self.text)
        except _BROKEN as error:
            line = f" in line {mark.line + 1}" if (mark := getattr(error, "problem_mark", None)) else ""
            problem = shown(getattr(error, "problem", None) or "not a text that YAML allows")
            return None, f"{name} is not valid YAML{line} ({problem}); fix it, or export it again"
        return documents[0] if len(documents) == 1 else documents, ""

    @property
    def front_matter(self) -> Any:
        """The YAML between the lines of hyphens with which a Markdown text begins; None if there is none."""
        before, _, rest = self.text.partition("---\n")
        inner = rest.partition("\n---")[0]
        return None if before else Document(replace(self.file, source=inner.encode())).yaml

    def beside(self, name: str) -> "Document | None":
        """Return the file of a name in the same folder or the nearest one above."""
        file = self.file.beside(name)
        return None if file is None else Document(file)

    @cached_property
    def first_lines(self) -> list[str]:
        """Lines at the start of the text that are not blank: enough of them to see what they are."""
        lines = lines_of(self.text[:_SAMPLE_CHARACTERS])
        if len(self.text) > _SAMPLE_CHARACTERS and len(lines) > 1:
            lines.pop()  # it is cut
        return list(filter(cleaned, lines))[:_SAMPLE_LINES]

    def is_mostly(self, is_line: Callable[[str], object], least: float = _LEAST_FITTING) -> bool:
        """Return whether so many of the first lines, of which some may be broken, are as a format has them."""
        fitting = sum(bool(is_line(line)) for line in self.first_lines)
        return fitting > 0 and fitting >= least * len(self.first_lines)

    def lines(self) -> list[str]:
        """Return the lines of the text, as `lines_of` does."""
        return lines_of(self.text)
