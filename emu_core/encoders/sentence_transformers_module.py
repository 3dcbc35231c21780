"""An encoder of ours in sentence-transformers: its module, and live models of it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules.input_module import InputModule
from torch import Tensor
from torch.func import functional_call

from emu_core.encoders.base import Encoder, Features, TokenIds
from emu_core.encoders.registry import open_encoder
from emu_core.encoders.saved import REDUCED, opening
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import open_model
from emu_core.files import read_json


def to_sentence_transformers(encoder: Encoder) -> SentenceTransformer:
    """Return a live model of an encoder, which shares its weights and its device.

    A transformer is a model of sentence-transformers' own modules; any other encoder is an `EmuModule`.
    """
    if isinstance(encoder, TransformerEncoder):
        return encoder.model
    device = str(encoder.device)
    return SentenceTransformer(modules=[EmuModule(encoder)], device=device, similarity_fn_name="cosine")


def open_export(folder: Path, device: str = "cpu") -> SentenceTransformer:
    """Open an exported folder, or any other model's, without running code from it.

    Raises:
        EncoderError: the folder holds no whole model, or one that needs code of its own.
    """
    ours = f"{EmuModule.__module__}.{EmuModule.__qualname__}"
    with opening(folder, "sentence-transformers"):
        if [module["type"] for module in read_json(folder / "modules.json")] != [ours]:
            return open_model(folder).to(device)
        # By its name, sentence-transformers would look for the class in files of the folder first.
        module = EmuModule.load(str(folder))
    return SentenceTransformer(modules=[module], device=device, similarity_fn_name="cosine")


class EmuModule(InputModule):
    """Tokenises and encodes sentences, and passes on `sentence_embedding` (B, dim).

    With `half()` or `bfloat16()`, weights take half of the memory. Transformers compute in that precision, and all
    other layers in float32, because differences of nearly equal cosines would be lost.
    """

    config_file_name = "emu_module.json"

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self._longest = encoder.max_tokens
        self._limit: int | None = None  # until it is set, each part of a joined encoder has its own

    @property
    def max_seq_length(self) -> int:
        """Tokens that sentences are truncated to."""
        return self.encoder.max_tokens

    @max_seq_length.setter
    def max_seq_length(self, most: int) -> None:
        if not 1 <= most <= self._longest:
            raise ValueError(f"max_seq_length is {most}; this encoder reads from 1 to {self._longest} tokens")
        self.encoder.limit_tokens(most)
        self._limit = most

    @property
    def tokenizer(self) -> Any:  # type: ignore[override]
        """The tokenizer: that of transformers if there is one, without the encoder's prompt, or else ours."""
        bare = self.encoder.bare
        return bare.model.tokenizer if isinstance(bare, TransformerEncoder) else EncoderTokenizer(self)

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the weights."""
        return next(self.encoder.parameters()).dtype

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any
    ) -> dict[str, Tensor]:
        """Return the features of a batch of sentences."""
        return self.encoder.tokenize([f"{prompt or ''}{text}" for text in inputs])

    def forward(self, features: dict[str, Tensor], **kwargs: Any) -> dict[str, Tensor]:
        """Add the sentence vectors, in the precision of the weights."""
        if not isinstance(
            self.encoder.bare, TransformerEncoder
        ):  # others' batches may have a mask of integers
            masks = (name for name in features if name.endswith("attention_mask"))
            features |= {name: features[name].bool() for name in masks}
        if self.dtype in REDUCED:
            vectors = functional_call(self.encoder, self._in_full_precision(), (features,))
        else:
            vectors = self.encoder(features)
        features["sentence_embedding"] = vectors.to(self.dtype)
        return features

    def _in_full_precision(self) -> dict[str, Tensor]:
        """Return as float32 what is in reduced precision, except the weights of transformers."""
        modules = self.encoder.named_modules()
        native = tuple(f"{name}." for name, module in modules if isinstance(module, TransformerEncoder))
        return {
            name: weight.float()
            for name, weight in chain(self.encoder.named_parameters(), self.encoder.named_buffers())
            if weight.dtype in REDUCED and not name.startswith(native)
        }

    def get_embedding_dimension(self) -> int:
        """Return the length of a sentence vector."""
        return self.encoder.dim

    def get_config_dict(self) -> dict[str, Any]:
        """Return what a user may have changed about the encoder; None for a limit that is not set."""
        return {"max_seq_length": self._limit, "dtype": str(self.dtype).removeprefix("torch.")}

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Write the encoder's own files, with weights of float32, and the module's settings."""
        self.encoder.save(Path(output_path))
        self.save_config(output_path)

    @classmethod
    def load(  # type: ignore[override]
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        model_kwargs: Mapping[str, Any] | None = None,
        token: bool | str | None = None,
        cache_folder: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
        **kwargs: Any,
    ) -> "EmuModule":
        """Open what `save` wrote, in a folder or a repository of the hub.

        `dtype`, or its old name `torch_dtype`, in `model_kwargs` is the precision of the weights; the default, like
        "auto", is the one that was saved.
        """
        place = (model_name_or_path, subfolder, token, cache_folder, revision, local_files_only)
        folder = cls.load_dir_path(*place)
        if folder is None:
            raise FileNotFoundError(f"{model_name_or_path} holds no encoder")
        module = cls(open_encoder(Path(folder)))
        config = cls.load_config(folder)
        if (limit := config.get("max_seq_length")) is not None:
            module.max_seq_length = int(limit)
        asked = (model_kwargs or {}).get("dtype") or (model_kwargs or {}).get("torch_dtype") or "auto"
        return module.to(_dtype(config.get("dtype", "float32") if asked == "auto" else asked))


def _dtype(named: object) -> torch.dtype:
    """Return a precision that is given itself or by its name. Raises ValueError if it is none of floating point."""
    dtype = getattr(torch, named, None) if isinstance(named, str) else named
    if isinstance(dtype, torch.dtype) and dtype.is_floating_point:
        return dtype
    raise ValueError(f"dtype is {named}; give one such as torch.bfloat16 or its name")


class EncoderTokenizer:
    """The tokens of an encoder, called as a tokenizer of transformers is called.

    Tensors are what the model takes: `model(model.tokenizer(texts, return_tensors="pt"))`. The token ids of a joined
    encoder are those of its parts in turn.
    """

    model_input_names = ("input_ids", "attention_mask")

    def __init__(self, module: EmuModule) -> None:
        self._module = module

    @property
    def model_max_length(self) -> int:
        """Tokens that texts are truncated to."""
        return self._module.max_seq_length

    @property
    def pad_token_id(self) -> int:
        """The token id that fills a batch."""
        return self._module.encoder.pad_id

    def __call__(
        self,
        text: str | Sequence[str],
        *,
        padding: bool | str = False,
        max_length: int | None = None,
        return_tensors: str | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Return the tokens of a text or of several: always truncated, and padded if they are tensors.

        Lists are padded only to "max_length".
        """
        with self._limited_to(max_length):
            ids = self._module.encoder.ids_of([text] if isinstance(text, str) else list(text))
        if return_tensors is not None:
            return self.pad({"input_ids": ids}, return_tensors)
        width = (max_length or self.model_max_length) if padding == "max_length" else 0
        gaps = [max(0, width - len(of_text)) for of_text in ids]
        several = {
            "input_ids": [i + [self.pad_token_id] * gap for i, gap in zip(ids, gaps, strict=True)],
            "attention_mask": [[1] * len(i) + [0] * gap for i, gap in zip(ids, gaps, strict=True)],
        }
        return {name: rows[0] for name, rows in several.items()} if isinstance(text, str) else several

    def encode(self, text: str, **options: Any) -> TokenIds:
        """Return the token ids of a text."""
        return list(self(text, **options)["input_ids"])

    def pad(
        self, encoded: Mapping[str, Sequence[TokenIds]], return_tensors: str = "pt", **options: Any
    ) -> Features | dict[str, Any]:
        """Return the features of a batch, as arrays of numpy if they are asked for."""
        features = self._module.encoder.collate(encoded["input_ids"])
        if return_tensors == "np":
            return {name: tensor.cpu().numpy() for name, tensor in features.items()}
        return features

    @contextmanager
    def _limited_to(self, most: int | None) -> Iterator[None]:
        usual = self._module.max_seq_length
        if most is not None:
            self._module.max_seq_length = min(most, usual)
        try:
            yield
        finally:
            if most is not None:
                self._module.max_seq_length = usual
