"""A transformer and its tokenizer for ONNX."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

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


def without_prompt(
    model: "SentenceTransformer", prompt_tokens: int, input_ids: Tensor, attention_mask: Tensor
) -> Tensor:
    """(B, T) token ids and their mask -> (B, dim), of a model whose pooling leaves the prompt out.

    That pooling looks at the data to see at which side it is padded. Our batches are always padded at the end, so the
    prompt is taken out of its mask here.
    """
    backbone, *rest = model.children()
    features = backbone({"input_ids": input_ids, "attention_mask": attention_mask})
    place = torch.arange(input_ids.shape[1], device=input_ids.device)
    features["attention_mask"] = attention_mask * (place >= prompt_tokens)
    for module in rest:
        features = module(features)
    vectors: Tensor = features["sentence_embedding"]
    return vectors


def reads_alone(folder: Path, texts: list[str], expected: list[list[int]]) -> bool:
    """Return whether the tokenizer saved in a folder, opened without transformers, gives these texts these ids."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    return [tokenizer.encode(text).ids for text in texts] == expected
