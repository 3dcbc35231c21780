"""Encoders that read a sentence by its language's own rules, where the language is known."""

from abc import abstractmethod
from collections.abc import Callable, Sequence

from emu_core.encoders.base import Encoder, FloatArray, TokenIds


class EncoderByLanguage(Encoder):
    """An encoder that can be told its sentences' languages; without them it guesses each."""

    @abstractmethod
    def token_ids(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> list[TokenIds]:
        """Token ids of each text, cut to `max_tokens`; the N texts' languages where they are known."""

    def encode(
        self,
        texts: Sequence[str],
        *,
        batch_tokens: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        languages: Sequence[str] | None = None,
    ) -> FloatArray:
        """As every encoder's, with the texts' languages where they are known."""
        ids = self.token_ids(texts, languages)
        return self.encode_ids(ids, batch_tokens=batch_tokens, on_progress=on_progress)
