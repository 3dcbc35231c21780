"""The dual encoder as a plain graph: arithmetic on padded batches, which ONNX can hold."""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.encoders.dual.encoder import DualEncoder
from emu_core.encoders.dual.layers import TransformerLayer, positions


class DualGraph(nn.Module):
    """The same vectors as `DualEncoder.forward`, over the same weights.

    The encoder looks up each distinct word of a batch once, which takes shapes that depend on the data. Here a
    sentence's ids, words and n-grams as `Hashing.token_ids` gives them, are added up by the word they belong to.
    """

    places: Tensor
    numbers: Tensor

    def __init__(self, encoder: DualEncoder) -> None:
        """Take the weights of an encoder; they are not copied."""
        super().__init__()
        self.encoder = encoder
        scale = encoder.config.position_scale if encoder.config.layers else 0.0
        self.register_buffer("places", scale * positions(encoder.max_tokens, encoder.dim), persistent=False)
        self.register_buffer("numbers", torch.arange(encoder.max_tokens), persistent=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, L) ids, (B, L) 1 on them and 0 on padding -> (B, dim)."""
        encoder, buckets = self.encoder, self.encoder.hashing.words
        real = attention_mask > 0
        begins = (input_ids < buckets) & real  # (B, L)
        number = begins.long().cumsum(dim=1) - 1  # of the word that an id belongs to
        belongs = (number.unsqueeze(1) == self.numbers[:, None]) & real.unsqueeze(1)  # (B, T, L)
        mask = (belongs & begins.unsqueeze(1)).any(dim=2)  # (B, T), words
        own = F.embedding(torch.where(begins, input_ids, 0), encoder.words)
        words = (belongs & begins.unsqueeze(1)).to(own.dtype) @ own  # (B, T, width)
        if encoder.ngrams is not None:
            grams = F.embedding(torch.where(begins | ~real, 0, input_ids - buckets), encoder.ngrams)
            summed = (belongs & ~begins.unsqueeze(1)).to(grams.dtype) @ grams
            words = (words + torch.tanh(encoder.ngram_map(summed))) / 2
        x = encoder.projection(words) + self.places  # (B, T, dim)
        for layer in cast("list[TransformerLayer]", list(encoder.transformer)):
            x = _layer(layer, x, mask)
        shares = mask.to(x.dtype) / mask.sum(dim=1, keepdim=True)
        out = (shares.unsqueeze(1) @ x).squeeze(1)
        return F.normalize(out, dim=-1) if encoder.config.normalised else out


def _layer(layer: TransformerLayer, x: Tensor, mask: Tensor) -> Tensor:
    if layer.pre_norm:
        x = x + _attended(layer, layer.attention_norm(x), mask)
        return x + layer.narrow(F.relu(layer.wide(layer.filter_norm(x))))
    x = layer.attention_norm(x + _attended(layer, x, mask))
    out: Tensor = layer.filter_norm(x + layer.narrow(F.relu(layer.wide(x))))
    return out


def _attended(layer: TransformerLayer, x: Tensor, mask: Tensor) -> Tensor:
    query, key, value = (
        part.unflatten(-1, (layer.heads, -1)).transpose(1, 2) for part in layer.projection(x).chunk(3, dim=-1)
    )  # each (B, heads, T, dim / heads)
    found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
    out: Tensor = layer.out(found.transpose(1, 2).flatten(2))
    return out
