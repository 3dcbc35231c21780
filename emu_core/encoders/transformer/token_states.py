"""A frozen transformer's token states, and sentences with some characters masked."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from emu_core.encoders.base import ReportProgress, TokenIds, evaluation_mode
from emu_core.encoders.transformer.encoder import PROBE_TEXT, TransformerEncoder
from emu_core.encoders.transformer.tokens import TEXTS_AT_ONCE
from emu_core.errors import EncoderError
from emu_core.files import whole_file

Span = tuple[int, int]


@dataclass(frozen=True)
class TokenStates:
    """States of the tokens of N sentences, without padding."""

    states: Tensor  # (tokens of all sentences, d), in half precision: tens of thousands of sentences are in memory
    starts: Tensor  # (N + 1,), where each sentence's tokens begin, and where the last end

    def __len__(self) -> int:
        return len(self.starts) - 1

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return states (B, L, d) of some sentences, float32, and their mask (B, L), True on tokens."""
        begin = self.starts[rows]
        length = self.starts[rows + 1] - begin
        position = torch.arange(int(length.max()), device=rows.device)  # (L,)
        mask = position < length[:, None]  # (B, L)
        token_rows = torch.where(mask, begin[:, None] + position, begin[:, None])
        return self.states[token_rows].float() * mask.unsqueeze(-1), mask

    def first(self, rows: Tensor) -> Tensor:
        """Return the state of the first token of some sentences (B, d), float32."""
        return self.states[self.starts[rows]].float()


def token_states(
    encoder: TransformerEncoder,
    ids: Sequence[TokenIds],
    *,
    cache: Path | None = None,
    on_progress: ReportProgress | None = None,
) -> TokenStates:
    """Return the last layer's state of every token, on the encoder's device.

    States are stored in the folder `cache`, and read from it for the same encoder and tokens.
    """
    counts = torch.tensor([len(sentence) for sentence in ids], dtype=torch.long)
    states = _first_states(encoder, ids, counts, torch.float16, cache, "states", on_progress)
    return TokenStates(states, F.pad(counts.cumsum(0), (1, 0)).to(states.device))


def cls_states(
    encoder: TransformerEncoder,
    ids: Sequence[TokenIds],
    *,
    cache: Path | None = None,
    on_progress: ReportProgress | None = None,
) -> Tensor:
    """Return the first token's states (N, d), float32, like `token_states`; equal sentences are computed once."""
    row_by_sentence = {sentence: row for row, sentence in enumerate(dict.fromkeys(map(tuple, ids)))}
    distinct = [list(sentence) for sentence in row_by_sentence]
    counts = torch.ones(len(distinct), dtype=torch.long)
    states = _first_states(encoder, distinct, counts, torch.float32, cache, "cls", on_progress)
    return states[torch.tensor([row_by_sentence[tuple(sentence)] for sentence in ids], device=states.device)]


@torch.no_grad()
def _first_states(
    encoder: TransformerEncoder,
    ids: Sequence[TokenIds],
    counts: Tensor,
    dtype: torch.dtype,
    cache: Path | None,
    name: str,
    on_progress: ReportProgress | None,
) -> Tensor:
    """Return the states of each sentence's first `counts` tokens (N,), concatenated, from the cache if it has them."""
    out = torch.empty((int(counts.sum()), encoder.state_dim), dtype=dtype, device=encoder.device)
    file = cache / f"{name}-{_digest(encoder, ids)}.safetensors" if cache else None
    if file is not None:
        with suppress(SafetensorError, KeyError, OSError):  # it is missing or incomplete
            states = load_file(file)["states"]
            if states.shape == out.shape:
                return out.copy_(states)
    starts = counts.cumsum(0) - counts
    with evaluation_mode(encoder):
        for rows, batch in encoder.in_batches(ids, on_progress=on_progress):
            features = encoder.collate(batch)
            position = torch.arange(features["input_ids"].shape[1])  # (T,)
            kept = position < counts[rows].unsqueeze(1)  # (B, T)
            token_rows = (starts[rows].unsqueeze(1) + position)[kept]
            out[token_rows.to(out.device)] = encoder.states(features)[kept.to(out.device)].to(dtype)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as partial:
            save_file({"states": out.cpu()}, partial)
    return out


def _digest(encoder: TransformerEncoder, ids: Sequence[TokenIds]) -> str:
    """Return a checksum of the sentences, the precision and, through a sentence's vector, the encoder's weights."""
    digest = hashlib.sha256(encoder.precision.encode() + encoder.encode([PROBE_TEXT]).tobytes())
    for sentence in ids:
        digest.update(np.asarray([len(sentence), *sentence], dtype="<i8").tobytes())
    return digest.hexdigest()[:32]


def joined_states(parts: Sequence[TokenStates]) -> TokenStates:
    """Concatenate the states of sentences."""
    counts = torch.cat([part.starts.diff() for part in parts])
    return TokenStates(torch.cat([part.states for part in parts]), F.pad(counts.cumsum(0), (1, 0)))


def masked_ids(
    encoder: TransformerEncoder, texts: Sequence[str], spans: Sequence[Sequence[Span]]
) -> list[TokenIds]:
    """Return token ids of N texts, with consecutive tokens that overlap a span replaced by a single mask token.

    A single mask does not reveal the length of the hidden words. Spans are (start, end) of a text's characters.

    Raises:
        EncoderError: the tokenizer has no mask token, or does not know the positions of tokens.
    """
    mask, prompt = encoder.mask_id, encoder.prompt
    masked: list[TokenIds] = []
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        part = slice(start, start + TEXTS_AT_ONCE)
        ids, offsets = encoder.tokens_with_offsets(texts[part])
        for text, sentence, token_spans, hidden_spans in zip(
            texts[part], ids, offsets, spans[part], strict=True
        ):
            is_hidden = _hidden_characters(prompt, text, hidden_spans)
            replaced = [
                mask if is_hidden[a:b].any() else token
                for token, (a, b) in zip(sentence, token_spans, strict=True)
            ]
            masked.append(
                [
                    token
                    for position, token in enumerate(replaced)
                    if token != mask or replaced[position - 1] != mask
                ]
            )
    return masked


def _hidden_characters(prompt: str, text: str, spans: Sequence[Span]) -> NDArray[np.bool_]:
    """Return whether each character of the prompt and the text, as it is tokenised, is hidden: (characters,)."""
    shift = len(prompt) - (len(text) - len(text.lstrip()))  # spaces at the ends are not tokenised
    is_hidden = np.zeros(len(prompt) + len(text), dtype=bool)
    for start, end in spans:
        is_hidden[max(shift + start, len(prompt)) : max(shift + end, 0)] = True
    # A token may begin at the space before its word, which may belong to another span.
    blanks = [position for position, letter in enumerate(prompt + text.lstrip()) if letter.isspace()]
    is_hidden[blanks] = False
    return is_hidden


def template_spans(length: int, slots: Sequence[Span]) -> list[Span]:
    """Return the spans of a text of `length` characters outside its slots: its template."""
    edges = [0, *(edge for slot in sorted(slots) for edge in slot), length]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def require_transformer(encoder: Any) -> TransformerEncoder:
    """Return the encoder if it has token states. Raises EncoderError otherwise."""
    if not isinstance(encoder, TransformerEncoder):
        raise EncoderError(
            f"the encoder '{encoder.spec}' has no token states, from which templates are learnt; choose e5-small or "
            "hf:NAME"
        )
    return encoder
