"""A transformer of sentence-transformers as a graph."""

import torch
from torch import Tensor, nn

from emu_core.encoders.transformer.encoder import TransformerEncoder


class TransformerGraph(nn.Module):
    """The same vectors as `TransformerEncoder.forward`, over the same weights.

    A pooling that leaves the prompt out looks at the data to see at which side it is padded. Our batches are always
    padded at the end, so the prompt is taken out of its mask here.
    """

    def __init__(self, encoder: TransformerEncoder) -> None:
        """Take an encoder; its weights are not copied."""
        super().__init__()
        self.encoder = encoder
        self.prompt = 0  # tokens of it that the pooling leaves out
        if encoder._prompt_length is not None and _leaves_prompt_out(encoder):
            self.prompt = encoder._prompt_length

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) token ids, (B, T) 1 on tokens and 0 on padding -> (B, dim)."""
        features = {"input_ids": input_ids, "attention_mask": attention_mask}
        if not self.prompt:
            whole: Tensor = self.encoder(features)
            return whole
        backbone, *rest = self.encoder.model.children()
        features = backbone(features)
        place = torch.arange(input_ids.shape[1], device=input_ids.device)
        features["attention_mask"] = attention_mask * (place >= self.prompt)
        for module in rest:
            features = module(features)
        return features["sentence_embedding"][:, : self.encoder.dim].float()


def _leaves_prompt_out(encoder: TransformerEncoder) -> bool:
    return not all(getattr(module, "include_prompt", True) for module in encoder.model.children())
