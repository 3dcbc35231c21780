"""The tokenizer of a transformer, without the weights beside it, opened when it is first used."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu_core.data.cleaning import clean
from emu_core.encoders.base import TokenIds, Tokens
from emu_core.encoders.saved import opening
from emu_core.encoders.transformer.opening import open_tokenizer, quietly
from emu_core.files import read_json

if TYPE_CHECKING:  # seconds to import
    from transformers import PreTrainedTokenizerBase

TEXTS_AT_ONCE = 1024  # tokenised at a time: the tokenizer's own results take much memory
DEFAULT_MAX_TOKENS = 512  # tokens, for a model that names no limit
MAX_LIMIT = 1_000_000  # a larger limit stands for none


def prompted_tokens(open_it: Callable[[], "PreTrainedTokenizerBase"], prompt: str, max_tokens: int) -> Tokens:
    """Return the token ids of texts after a prompt, of a tokenizer that the first call opens."""
    opened = cache(open_it)

    def ids_of(texts: Sequence[str]) -> list[TokenIds]:
        ids: list[TokenIds] = []
        with quietly():
            tokenizer = opened()
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            part = [prompt + text for text in clean(texts[start : start + TEXTS_AT_ONCE])]
            ids += tokenizer(part, truncation=True, max_length=max_tokens)["input_ids"]
        return ids

    return Tokens(max_tokens, ids_of)


def folder_tokens(folder: Path) -> Tokens:
    """Return the tokens of a folder of sentence-transformers or transformers, with the folder's prompt and limit.

    Any error means that the folder has another layout.
    """
    modules = _content(folder / "modules.json") or [{"path": ""}]
    transformer = folder / modules[0]["path"]
    about = _content(folder / "config_sentence_transformers.json")
    prompt = (about.get("prompts") or {}).get(about.get("default_prompt_name") or "", "")
    limit = _content(transformer / "sentence_bert_config.json").get("max_seq_length") or min(
        _content(transformer / "config.json").get("max_position_embeddings") or MAX_LIMIT + 1,
        _content(transformer / "tokenizer_config.json").get("model_max_length") or MAX_LIMIT + 1,
    )
    max_tokens = DEFAULT_MAX_TOKENS if limit > MAX_LIMIT else int(limit)

    def opened() -> Any:
        with opening(transformer, "hf"):
            return open_tokenizer(transformer)

    return prompted_tokens(opened, prompt, max_tokens)


def _content(path: Path) -> Any:
    return read_json(path) if path.is_file() else {}
