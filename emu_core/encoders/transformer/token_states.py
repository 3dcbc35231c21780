"""A frozen transformer's states of every token, and of sentences with some characters masked."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from emu_core.encoders.base import TokenIds, evaluation_mode
from emu_core.encoders.transformer.encoder import PROBE, TransformerEncoder
from emu_core.errors import EncoderError

Span = tuple[int, int]


@dataclass(frozen=True)
class TokenStates:
    """States of the tokens of N sentences, without padding.

    Attributes:
        states: (tokens of all sentences, d), in half precision, so that tens of thousands of
            sentences stay in memory.
        starts: (N + 1,), where each sentence's tokens begin; the last number is where they all end.
    """

    states: Tensor
    starts: Tensor

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.starts) - 1

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """States (B, L, d) of some sentences, float32, and their mask (B, L), True on tokens."""
        begin = self.starts[rows]
        length = self.starts[rows + 1] - begin
        place = torch.arange(int(length.max()), device=rows.device)  # (L,)
        mask = place < length[:, None]  # (B, L)
        at = torch.where(mask, begin[:, None] + place, begin[:, None])
        return self.states[at].float() * mask.unsqueeze(-1), mask

    def first(self, rows: Tensor) -> Tensor:
        """States of the first token of some sentences (B, d), float32."""
        return self.states[self.starts[rows]].float()


def token_states(
    encoder: TransformerEncoder,
    ids: Sequence[TokenIds],
    *,
    cache: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> TokenStates:
    """Run the encoder once over sentences and keep the last layer's state of every token, on its device.

    Args:
        encoder: is put into evaluation mode for the time of the call.
        ids: token ids of N sentences.
        cache: folder that keeps the states, and from which they are read when encoder and tokens are the same.
        on_progress: called with (sentences done, N) after each batch.
    """
    lengths = torch.tensor([len(own) for own in ids], dtype=torch.long)
    starts = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
    device = encoder.device
    kept = None if cache is None else _Kept(cache, "states", encoder, ids)
    if kept is not None and (read := kept.read((int(starts[-1]), encoder.state_dim))) is not None:
        return TokenStates(read.to(device), starts.to(device))
    states = torch.empty((int(starts[-1]), encoder.state_dim), dtype=torch.float16, device=device)
    done = 0
    for rows, own, mask in _runs(encoder, ids):
        at = torch.cat([torch.arange(int(starts[row]), int(starts[row + 1])) for row in rows])
        states[at.to(device)] = own[mask].half()
        done += len(rows)
        if on_progress is not None:
            on_progress(done, len(ids))
    if kept is not None:
        kept.write(states)
    return TokenStates(states, starts.to(device))


def cls_states(
    encoder: TransformerEncoder,
    ids: Sequence[TokenIds],
    *,
    cache: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Tensor:
    """As `token_states`, of the first token alone: (N, d), float32. Equal token ids are run once."""
    distinct = list(dict.fromkeys(map(tuple, ids)))
    place = {one: row for row, one in enumerate(distinct)}
    rows_of = torch.tensor([place[tuple(one)] for one in ids], device=encoder.device)
    kept = None if cache is None else _Kept(cache, "cls", encoder, distinct)
    if kept is not None and (read := kept.read((len(distinct), encoder.state_dim))) is not None:
        return read.to(encoder.device)[rows_of]
    states = torch.empty((len(distinct), encoder.state_dim), device=encoder.device)
    done = 0
    for rows, own, _ in _runs(encoder, [list(one) for one in distinct]):
        states[rows] = own[:, 0]
        done += len(rows)
        if on_progress is not None:
            on_progress(done, len(distinct))
    if kept is not None:
        kept.write(states)
    return states[rows_of]


class _Kept:
    """Where the states of some sentences by some encoder are kept."""

    def __init__(
        self, folder: Path, name: str, encoder: TransformerEncoder, ids: Sequence[Sequence[int]]
    ) -> None:
        digest = hashlib.sha256(encoder.encode([PROBE]).tobytes())  # tells other weights apart
        for own in ids:
            digest.update(np.asarray([len(own), *own], dtype="<i8").tobytes())
        self._path = folder / f"{name}-{digest.hexdigest()[:32]}.safetensors"

    def read(self, shape: tuple[int, int]) -> Tensor | None:
        """The states; None where there are none, or none of that shape."""
        try:
            states = load_file(self._path)["states"]
        except (FileNotFoundError, SafetensorError, KeyError, OSError):
            return None
        return states if tuple(states.shape) == shape else None

    def write(self, states: Tensor) -> None:
        """Keep states: whole or not at all."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        save_file({"states": states.cpu().contiguous()}, partial)
        partial.replace(self._path)


def joined(parts: Sequence[TokenStates]) -> TokenStates:
    """The sentences of several, one after the other."""
    ends = [0, *accumulate(int(part.starts[-1]) for part in parts)]
    starts = [part.starts[:-1] + before for part, before in zip(parts, ends, strict=False)]
    last = torch.tensor([ends[-1]], device=parts[0].starts.device)
    return TokenStates(torch.cat([part.states for part in parts]), torch.cat([*starts, last]))


@torch.no_grad()
def _runs(encoder: TransformerEncoder, ids: Sequence[TokenIds]) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Yield each batch's row numbers, token states (B, L, d) and mask (B, L)."""
    with evaluation_mode(encoder):
        for rows in encoder.batches(ids):
            features = encoder.collate([ids[row] for row in rows])
            yield rows, encoder.states(features), features["attention_mask"].bool()


def masked_ids(
    encoder: TransformerEncoder, texts: Sequence[str], spans: Sequence[Sequence[Span]]
) -> list[TokenIds]:
    """Token ids of texts in which the tokens that touch a span have given way to one mask token.

    One for all of them, so that the mask does not tell how long the hidden words were.

    Args:
        encoder: its tokenizer says where each token stands.
        texts: N sentences.
        spans: for each, (start, end) of characters to mask.

    Raises:
        EncoderError: the tokenizer has no mask token, or can't say where a token stands.
    """
    mask, prompt = encoder.mask_id, encoder.prompt
    found = []
    for start in range(0, len(texts), 1024):
        some = slice(start, start + 1024)
        ids, offsets = encoder.tokens_with_offsets(texts[some])
        for text, own, places, masked in zip(texts[some], ids, offsets, spans[some], strict=True):
            lead = len(prompt) - (len(text) - len(text.lstrip()))  # spaces at the ends are not tokenised
            hidden = np.zeros(len(prompt) + len(text), dtype=bool)
            for begin, end in masked:
                hidden[max(lead + begin, len(prompt)) : max(lead + end, 0)] = True
            # A token may begin at the space before its word, and that space may be another span's.
            blank = [at for at, letter in enumerate(prompt + text.lstrip()) if letter.isspace()]
            hidden[blank] = False
            replaced = [mask if hidden[a:b].any() else i for i, (a, b) in zip(own, places, strict=True)]
            found.append([i for at, i in enumerate(replaced) if i != mask or replaced[at - 1] != mask])
    return found


def template_spans(length: int, slots: Sequence[Span]) -> list[Span]:
    """What of a text of so many characters is in none of its slots: the spans of its template."""
    edges = [0, *(edge for slot in sorted(slots) for edge in slot), length]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def require_transformer(encoder: Any) -> TransformerEncoder:
    """The encoder, if it has a state for each token. Raises EncoderError otherwise."""
    if not isinstance(encoder, TransformerEncoder):
        raise EncoderError(
            f"the encoder '{encoder.spec}' has no states of single tokens, from which templates are learnt; choose "
            "e5-small or hf:NAME"
        )
    return encoder
