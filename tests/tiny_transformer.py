"""A transformer so small that a test can make it: a few words, 16 numbers."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

MASK = "[MASK]"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = ["find", "the", "hotel", "intent", ":", "where", "is", "pool", "?", "when", "does", "open"]
WORDS = [*SPECIAL, *WORDS, MASK]


def tiny_transformer(folder: Path, layers: int = 2) -> Path:
    """A BERT with random weights, as transformers saves it."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=words,
        **dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL, strict=True)),
        mask_token=MASK,
        model_max_length=24,
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    return folder
