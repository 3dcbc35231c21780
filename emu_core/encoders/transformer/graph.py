"""A transformer and its tokenizer for ONNX."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer

TOKENIZER = "tokenizer.json"
ALONE = """\
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")  # cuts after {max_tokens} tokens


def token_ids(text):
    return tokenizer.encode({prompt!r} + text).ids
"""
WITH_TRANSFORMERS = """\
tokenizer = transformers.AutoTokenizer.from_pretrained(".")


def token_ids(text):
    return tokenizer({prompt!r} + text, truncation=True, max_length={max_tokens})["input_ids"]
"""


class WithoutPromptGraph(nn.Module):
    """The graph of a model whose pooling leaves the prompt out.

    That pooling looks at the data to see at which side it is padded. Our batches are always padded at the end, so the
    prompt is taken out of its mask here.
    """

    def __init__(self, model: "SentenceTransformer", prompt_tokens: int, dim: int) -> None:
        """Take a model, which is not copied, how many tokens the prompt has, and the length of a vector."""
        super().__init__()
        self.model, self.prompt_tokens, self.dim = model, prompt_tokens, dim

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) token ids, (B, T) 1 on tokens and 0 on padding -> (B, dim)."""
        backbone, *rest = self.model.children()
        features = backbone({"input_ids": input_ids, "attention_mask": attention_mask})
        place = torch.arange(input_ids.shape[1], device=input_ids.device)
        features["attention_mask"] = attention_mask * (place >= self.prompt_tokens)
        for module in rest:
            features = module(features)
        return features["sentence_embedding"][:, : self.dim].float()


def reads_alone(folder: Path, texts: list[str], expected: list[list[int]]) -> bool:
    """Return whether the tokenizer saved in a folder, opened without transformers, gives these texts these ids."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    return [tokenizer.encode(text).ids for text in texts] == expected
