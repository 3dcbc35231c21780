"""One sentence as a disentangled encoder splits it: the tokens, where each embedding looks, the embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from emu_core.encoders.base import FloatArray
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.models.fmda import Fmda
from emu_core.models.parts import Part

BLANK = "␣"  # a token that is a space


@dataclass(frozen=True)
class Token:
    """One token, and how much of two embeddings comes from it.

    Attributes:
        word: how a person reads it.
        start: where it begins in the sentence.
        end: where it ends there.
        is_added: whether the encoder itself puts it around every sentence; then it stands nowhere in it.
        template: its share of the template embedding, 0 to 1.
        residual: its share of the residual embedding.
    """

    word: str
    start: int
    end: int
    is_added: bool
    template: float
    residual: float

    def touches(self, spans: Sequence[tuple[int, int]]) -> bool:
        """Whether a character of it is in one of the spans (start, end) of the sentence."""
        return any(self.start < end and start < self.end for start, end in spans)


@dataclass(frozen=True, eq=False)
class SplitSentence:
    """A sentence and its parts.

    Attributes:
        tokens: in their order; empty where the encoder has no attention.
        parts: an embedding (dim,) each.
        languages: how sure the language part is of each language's code, 0 to 1.
    """

    tokens: tuple[Token, ...]
    parts: dict[Part, FloatArray]
    languages: dict[str, float]


def split_sentence(encoder: DisentangledEncoder, text: str) -> SplitSentence:
    """Split a sentence, no spaces at its ends."""
    parts = {part: vectors[0] for part, vectors in encoder.parts([text]).items()}
    with torch.no_grad():
        language = torch.from_numpy(parts[Part.LANGUAGE]).to(encoder.device).unsqueeze(0)
        sure = torch.softmax(encoder.head.language_logits(language)[0], dim=-1).tolist()
    tokens = _tokens(encoder, text) if isinstance(encoder.head, Fmda) else ()
    return SplitSentence(tokens, parts, dict(zip(encoder.head.languages, sure, strict=True)))


def _tokens(encoder: DisentangledEncoder, text: str) -> tuple[Token, ...]:
    prompt = encoder.base.prompt
    whole = prompt + text
    _, (places,) = encoder.base.tokens_with_offsets([text])
    found = []
    for (name, *shares), (start, end) in zip(encoder.attention(text), places, strict=True):
        letters = whole[start:end]
        begin = start + len(letters) - len(letters.lstrip())  # a token may begin at the space before its word
        word = letters.strip() or (BLANK if letters else name)
        added = end <= len(prompt)
        where = (0, 0) if added else (max(begin - len(prompt), 0), end - len(prompt))
        found.append(Token(word, *where, added, *shares))
    return tuple(found)
