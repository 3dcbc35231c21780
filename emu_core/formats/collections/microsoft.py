"""Microsoft's language understanding: LUIS, its successor CLU, and the `.lu` files of the Bot Framework."""

import io
import re
from collections.abc import Iterator

from emu_core.data.cleaning import BLANKS
from emu_core.data.languages import is_known, stated_code
from emu_core.formats.collections.bullets import NO_BULLET, NO_INTENT, bullet, is_ruler
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows, marked_text
from emu_core.formats.collections.values import mapping, objects, position, text_of
from emu_core.formats.lines import BLANK, seen_lines_of, without_blocks, without_comments
from emu_core.formats.tables.formats import unpacked_name

# What no other file with headings and bullets has: metadata, definitions, labelled entities.
_TELLING = re.compile(
    rf"^{BLANK}*(?:>{BLANK}*!#{BLANK}*@|\$\w+{BLANK}*:|[-*+].*\{{@?[\w:.]+{BLANK}*=[^{{}}\n]+\}}"
    rf"|@{BLANK}*(?:ml|prebuilt|list|composite|regex|patternany|phraselist|intent)\b)",
    re.MULTILINE | re.IGNORECASE,
)
_CULTURE = re.compile(rf"^{BLANK}*>{BLANK}*!#{BLANK}*@app\.culture{BLANK}*={BLANK}*([\w-]+)", re.MULTILINE)
_LOCALE = re.compile(r"[a-z]{2,3}-[a-z]{2,4}", re.IGNORECASE)
_DEFINITION = ("@", "$")
_COMMENT = (">", "<a ")  # and the numbers of questions
_FENCE = "```"
_ANSWER = (_FENCE, "**")  # of a question: a block of text, and what filters it
_LINK = re.compile(r"\[[^\[\]]*\]\([^()]*\)")
# The sections of a file, as the audit names what is left out of them.
_UTTERANCES, _QUESTIONS, _VALUES = "utterances", "questions of a knowledge base", "values of entities"
# An opening brace with the name of an entity, a closing one, or a character that is escaped.
_BRACE = re.compile(rf"\{{{BLANK}*@?([^{{}}=@\s]+){BLANK}*={BLANK}*|\}}|" r"\\([{}\[\]()\\@])")


def is_luis(document: Document) -> bool:
    """Return whether it has LUIS's version of the schema."""
    return "luis_schema_version" in mapping(document.json)


def read_luis(document: Document, rows: Rows) -> None:
    """Read the utterances; the end of an entity is its last character."""
    content = document.json
    for utterance in objects(content.get("utterances")):
        text = text_of(utterance.get("text"))
        spans = [
            _utf16_span(
                text,
                position(entity.get("startPos")),
                position(entity.get("endPos")) + 1,
                entity.get("entity"),
            )
            for entity in objects(utterance.get("entities"))
        ]
        rows.add(
            text,
            text_of(utterance.get("intent")),
            language=text_of(content.get("culture")),
            annotated=marked_text(text, spans),
        )


def is_clu(document: Document) -> bool:
    """Return whether it is a project of CLU, with utterances among its assets."""
    content = mapping(document.json)
    is_project = "projectFileVersion" in content or "projectKind" in mapping(content.get("metadata"))
    return is_project and "utterances" in mapping(content.get("assets"))


def read_clu(document: Document, rows: Rows) -> None:
    """Read the utterances with their data set, Train or Test."""
    content = document.json
    language = text_of(mapping(content.get("metadata")).get("language"))
    for utterance in objects(content["assets"]["utterances"]):
        text = text_of(utterance.get("text"))
        spans = []
        for entity in objects(utterance.get("entities")):
            start = position(entity.get("offset"))
            spans.append(
                _utf16_span(text, start, start + position(entity.get("length")), entity.get("category"))
            )
        rows.add(
            text,
            text_of(utterance.get("intent")),
            language=text_of(utterance.get("language")) or language,
            split=text_of(utterance.get("dataset")).lower(),
            annotated=marked_text(text, spans),
        )


def _utf16_span(text: str, start: int, end: int, name: object) -> tuple[int, int, object]:
    """Return a span that counts units of UTF-16, in which an emoji has two, as one that counts characters."""
    if text.isascii() or min(start, end) < 0:
        return start, end, name
    units = text.encode("utf-16-le", "surrogatepass")
    start, end = (len(units[: 2 * unit].decode("utf-16-le", "ignore")) for unit in (start, end))
    return start, end, name


def is_lu(document: Document) -> bool:
    """Return whether it has headings with bullets, and an ending or a notation that Markdown does not have."""
    is_named = unpacked_name(document.path).lower().endswith(".lu")
    return (is_named or bool(_TELLING.search(document.beginning))) and any(
        intent for intent, _ in _utterances(document, Rows(document.path))
    )


def read_lu(document: Document, rows: Rows) -> None:
    """Read the bullets below each heading; those of definitions are values of entities, and links lead elsewhere."""
    language = _culture(document)
    for intent, utterance in _utterances(document, rows):
        text, spans = _with_entities(utterance)
        rows.add(text, intent, language=language, annotated=marked_text(text, spans))


def _culture(document: Document) -> str:
    """Return the language of a file by its metadata, its name, `General.it-it.lu`, or its folder, `it-it`."""
    if stated := _CULTURE.search(document.text):
        return stated[1]
    names = (*document.file.name.split(".")[-2:-1], *document.file.folders[-1:])
    return next((name for name in names if _LOCALE.fullmatch(name) and is_known(stated_code(name) or "")), "")


def _utterances(document: Document, rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield the bullets below the headings of intents, with the name of each; `rows` counts the other lines.

    As in Microsoft's grammar, every line may be indented, also by a no-break space or a byte order mark.
    """
    section, intent = _UTTERANCES, ""
    text = "\n".join(seen_lines_of(without_comments(document.text)))
    for line in without_blocks(text, f"\n{_FENCE}", _FENCE, f"\n{_FENCE}\n").split("\n"):
        utterance = bullet(line)
        if line.startswith("#"):
            intent = line.lstrip("#").strip(BLANKS)
            section = _QUESTIONS if intent.startswith("?") else _UTTERANCES
            rows.leave_out(_QUESTIONS, count=section is _QUESTIONS)
        elif line.startswith(_DEFINITION) or (line.startswith(_ANSWER) and section is not _UTTERANCES):
            section = _VALUES
        elif is_ruler(line) or line.startswith(_COMMENT) or (utterance and section is _VALUES):
            continue
        elif _LINK.fullmatch(utterance) or line.startswith("["):
            rows.leave_out("links to other files")
        elif utterance and intent and section is _UTTERANCES:
            yield intent, utterance
        else:
            rows.leave_out(
                section if utterance and section is _QUESTIONS else NO_INTENT if utterance else NO_BULLET
            )


def _with_entities(utterance: str) -> tuple[str, list[tuple[int, int, str]]]:
    """Return the text without the braces of labelled entities, which may be nested, and their spans."""
    text, at = io.StringIO(), 0
    opened: list[tuple[int, str]] = []
    spans: list[tuple[int, int, str]] = []
    for match in _BRACE.finditer(utterance):
        entity, escaped = match.groups()
        is_end = bool(opened) and match[0] == "}"
        before = utterance[at : match.start()]
        text.write(before.rstrip() if is_end else before)
        at = match.end()
        if is_end:
            start, name = opened.pop()
            spans.append((start, text.tell(), name))
        elif entity:
            opened.append((text.tell(), entity))
        else:
            text.write(escaped or match[0])
    text.write(utterance[at:])
    return text.getvalue(), spans
