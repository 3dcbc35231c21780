"""CoNLL with intents: a line for each token, as xSID has it, or with the intent below the tokens of a sentence."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import mode

from emu_core.data.cleaning import BLANKS, cleaned
from emu_core.data.splits import SPLIT_NAMES
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows, marked_text, slot_spans
from emu_core.formats.lines import lines_of

_COMMENT = re.compile(r"#\s*([\w-]+)\s*[=:](.*)")
_OF_SENTENCE = ("intent", "text")  # the comments that every sentence has of its own
_SLOT = re.compile(r"O|[BIESLU]-.+")
_SAMPLE, _SAMPLE_CHARACTERS = 50, 50_000  # sentences at the start that show which column is which


@dataclass(frozen=True)
class _Sentence:
    """The comments above a sentence by key, and the cells of each of its tokens."""

    comments: Mapping[str, str]
    tokens: Sequence[Sequence[str]]


@dataclass(frozen=True)
class _Layout:
    """The numbers of the columns of words, slots and intents, -1 for none; an intent may be the last line instead."""

    word: int
    slot: int
    intent: int = -1
    is_intent_last: bool = False


def is_conll(document: Document) -> bool:
    """Return whether it has tokens in lines and an intent for each sentence."""
    if document.json is not None or not document.text:
        return False
    sample = _sample(document)
    return any(sentence.tokens for sentence in sample) and (
        any("intent" in sentence.comments for sentence in sample) or _has_intents(_layout(sample))
    )


def read_conll(document: Document, rows: Rows) -> None:
    """Read the sentences with their slots.

    Translations have the same number in files of the same split. One without a number has that of its place, as xSID's
    English sentences have.
    """
    layout = _layout(_sample(document))
    splits = [word for word in re.split(r"[\W_]+", document.path.casefold()) if word in SPLIT_NAMES]
    number = 0
    for sentence in _sentences(document.lines()):
        comments, tokens = sentence.comments, sentence.tokens
        if not tokens and "text" not in comments:
            rows.leave_out("comments without a sentence")
            continue
        number += 1
        intent = comments.get("intent", "")
        if layout.is_intent_last and len(tokens) > 1 and len(tokens[-1]) == 1:
            *tokens, [intent] = tokens
        elif not intent and layout.intent >= 0 and tokens:
            intent = mode(_column(tokens, layout.intent))
        words = _column(tokens, layout.word)
        text = comments.get("text") or " ".join(words)
        id = comments.get("id", str(number) if "text" in comments else "")
        slots = _column(tokens, layout.slot) if layout.slot >= 0 else []
        rows.add(
            text,
            intent,
            id=" ".join([*splits, id]) if id else "",
            annotated=marked_text(text, slot_spans(text, words, slots)),
        )


def _sample(document: Document) -> list[_Sentence]:
    """Return the first sentences; a file of another kind may be a single one with all of its lines."""
    start = document.text[:_SAMPLE_CHARACTERS]
    is_cut = len(start) < len(document.text)
    sample = list(islice(_sentences(lines_of(start)), _SAMPLE))
    return sample[:-1] if is_cut and 1 < len(sample) < _SAMPLE else sample


def _sentences(lines: Iterable[str]) -> Iterator[_Sentence]:
    comments: dict[str, str] = {}
    tokens: list[list[str]] = []
    have_tabs = False
    for line in chain(lines, [""]):
        begins_token = line[:1].isalnum() or line.startswith("#")  # as most lines do
        is_blank = not (begins_token or cleaned(line))
        may_be_comment = "#" in line and (not tokens or have_tabs)
        key, value = _commented(line) if may_be_comment else ("", "")
        is_comment = bool(key) or (may_be_comment and line.startswith("#") and "\t" not in line)
        # Where no blank line is before a sentence, its comments begin it.
        begins = bool(tokens and key) and key in (*comments, *_OF_SENTENCE)
        if begins or is_blank:
            if tokens or any(key in comments for key in _OF_SENTENCE):
                yield _Sentence(comments, tokens)
            comments, tokens = {}, []
        if key and not tokens:
            comments.setdefault(key, value)
        elif not (is_blank or is_comment):
            have_tabs = "\t" in line
            tokens.append(line.split("\t") if have_tabs else line.split())


def _commented(line: str) -> tuple[str, str]:
    """Return the key and the value of a comment, which tabs may be around; of a token's line and any other, ""."""
    seen = line.strip(BLANKS) if "\t" in line else line
    if not (comment := _COMMENT.match(seen)):
        return "", ""
    key = comment[1].casefold()
    return (key, comment[2].strip()) if "\t" not in seen or key in _OF_SENTENCE else ("", "")


def _layout(sample: Sequence[_Sentence]) -> _Layout:
    sentences = [sentence.tokens for sentence in sample if sentence.tokens]
    is_intent_last = bool(sentences) and all(
        len(tokens) > 1
        and len(tokens[-1]) == 1 < min(map(len, tokens[:-1]))
        and not _SLOT.fullmatch(tokens[-1][0])
        for tokens in sentences
    )
    if is_intent_last:
        sentences = [tokens[:-1] for tokens in sentences]
    width = mode(len(cells) for tokens in sentences for cells in tokens) if sentences else 0
    sentences = [
        whole for tokens in sentences if (whole := [cells for cells in tokens if len(cells) >= width])
    ]
    columns = [[_column(tokens, number) for tokens in sentences] for number in range(width)]
    is_numbered = len(columns) > 1 and all(
        cells == [str(number) for number in range(1, len(cells) + 1)] for cells in columns[0]
    )
    word = int(is_numbered)
    slots = [
        number
        for number in range(word + 1, width)
        if all(_SLOT.fullmatch(cell) for cells in columns[number] for cell in cells)
    ]
    slot = slots[-1] if slots else -1
    intents = [
        number
        for number in range(word + 1, width)
        if number not in slots and _is_of_sentence(columns[number]) and slot >= 0
    ]
    return _Layout(word, slot, intents[0] if intents else -1, is_intent_last and slot >= 0)


def _has_intents(layout: _Layout) -> bool:
    return layout.intent >= 0 or layout.is_intent_last


def _is_of_sentence(column: Sequence[Sequence[str]]) -> bool:
    """Return whether a column has one value for all tokens of a sentence, as no column of grammar does."""
    return (
        any(len(cells) > 1 for cells in column)
        and all(len(set(cells)) == 1 for cells in column)
        and any(any(map(str.isalnum, cells[0])) for cells in column)
    )


def _column(tokens: Sequence[Sequence[str]], number: int) -> list[str]:
    return [cells[number].strip() if number < len(cells) else "" for cells in tokens]
