"""A transformer so small that a test can make it: a few words, 16 numbers."""

from pathlib import Path
from string import ascii_lowercase

import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

MASK = "[MASK]"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = ["find", "the", "hotel", "intent", ":", "where", "is", "pool", "?", "when", "does", "open"]
WORDS = [*SPECIAL, *WORDS, MASK]
LETTERS = [*SPECIAL, *ascii_lowercase, MASK]


def tiny_transformer(folder: Path, layers: int = 2, *, letters: bool = False) -> Path:
    """A BERT with random weights, as transformers saves it; its tokens are those few words, or the letters of any."""
    vocabulary, longest = (LETTERS, 64) if letters else (WORDS, 24)
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, "[UNK]"))
    words.normalizer = normalizers.Lowercase()
    if letters:
        words.pre_tokenizer = pre_tokenizers.Split(Regex(r"\S"), "isolated")
    else:
        words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=words,
        **dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL, strict=True)),
        mask_token=MASK,
        model_max_length=longest,
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=longest,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    return folder
