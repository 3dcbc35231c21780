"""Sentences that an encoder does not read: the end of long ones, and languages that it was not trained on."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from emu_core.data.cleaning import clean, normal_form
from emu_core.data.languages import language_name, unknown_languages
from emu_core.data.wording import counted, listed
from emu_core.encoders.base import TokenIds

_MARGIN_BYTES = 64  # for a prompt and special tokens; otherwise a token has a byte or more


class Reader(Protocol):
    """An encoder, or its tokenizer alone, which makes token ids of texts."""

    @property
    def max_tokens(self) -> int:
        """Longer sentences are truncated to this many tokens."""

    def ids_of(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return the token ids of each text."""


@dataclass(frozen=True)
class LongTexts:
    """Texts of which an encoder reads the beginning only.

    Attributes:
        count: the number of them.
        alike: the number of those that begin like a text of other words, so that both have the same vector.
        max_tokens: the number of tokens that are read.
    """

    count: int
    alike: int
    max_tokens: int

    def note(self, encoder: str) -> str:
        """Return a sentence that begins with the encoder's name; "" if there are no such texts."""
        if not self.count:
            return ""
        alike = f"; {self.alike:,} of them have the same vector as another" if self.alike else ""
        longer = f"{counted(self.count, 'sentence')} {'is' if self.count == 1 else 'are'} longer"
        return f"{encoder} reads {self.max_tokens:,} tokens of a sentence: {longer}, and cut{alike}."


def long_texts(reader: Reader, texts: Iterable[str]) -> LongTexts:
    """Count the texts that are cut. Only those that may be long are made into tokens."""
    candidates = [
        text
        for text in clean(texts)
        if len(text.encode("utf-8", "replace")) + _MARGIN_BYTES > reader.max_tokens
    ]
    if not candidates:
        return LongTexts(0, 0, reader.max_tokens)
    # A text that is cut has the same tokens without its end, and with more text after it.
    shorter, longer = [text[:-1] for text in candidates], [f"{text} {text}" for text in candidates]
    ids = reader.ids_of(candidates)
    cut = [
        (text, tuple(tokens))
        for text, tokens, *others in zip(
            candidates, ids, reader.ids_of(shorter), reader.ids_of(longer), strict=True
        )
        if all(tokens == other for other in others)
    ]
    forms: dict[tuple[int, ...], set[str]] = defaultdict(set)
    for text, tokens in cut:
        forms[tokens].add(normal_form(text))
    return LongTexts(len(cut), sum(len(forms[tokens]) > 1 for _, tokens in cut), reader.max_tokens)


def languages_note(encoder: str, known: Iterable[str], languages: Iterable[str]) -> str:
    """Return which languages an encoder was not trained on; "" if none, or if `known`, its own, is empty."""
    strangers = unknown_languages(known, languages)
    if not strangers:
        return ""
    return f"{encoder} was not trained on {listed(map(language_name, strangers))}: it may know little of it."
