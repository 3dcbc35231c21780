"""A model of sentence-transformers as a trainable encoder."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.devices import Precision
from emu_core.encoders.base import Encoder, Features, TokenIds, Tokens
from emu_core.encoders.onnx_parts import CHECK_TEXTS, OnnxParts
from emu_core.encoders.saved import opening, read_config, write_encoder
from emu_core.encoders.transformer.bfloat16 import ConvertedWeights, in_bfloat16, is_reduced
from emu_core.encoders.transformer.opening import ignored_head, open_model, quietly
from emu_core.encoders.transformer.tokens import DEFAULT_MAX_TOKENS, MAX_LIMIT, TEXTS_AT_ONCE, folder_tokens
from emu_core.errors import EncoderError, Fix

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedModel


TOKENIZER = "tokenizer.json"
_WITH_TOKENIZERS = """\
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")  # cuts after {max_tokens} tokens


def token_ids(text):
    return tokenizer.encode({prompt!r} + text).ids
"""
_WITH_TRANSFORMERS = """\
tokenizer = transformers.AutoTokenizer.from_pretrained(".")


def token_ids(text):
    return tokenizer({prompt!r} + text, truncation=True, max_length={max_tokens})["input_ids"]
"""
CPU_TOKENS = 2048  # in a batch; on a CPU about a tenth faster than 4096
CPU_STEP_TOKENS = 384
"""Nearly half of a training step's sentences, padded to the longest, is padding: on a CPU, 32 of SIB-200 in parts took
0.6 of the time. A GPU is faster with all at once."""
PROBE_TEXT = "Where is the pool?"
READ_FEATURES = {"input_ids", "attention_mask", "token_type_ids", "modality", "prompt_length"}


class TransformerEncoder(Encoder):
    """A transformer with the pooling, prompt and normalisation of its sentence-transformers folder.

    The vectors are those of `SentenceTransformer.encode`. The word embeddings are frozen, because training only the
    rows of one language's text separates the languages, and so is a head of the transformer that the pooling ignores.

    Only the transformer computes vectors in bfloat16, if they are wanted so; what follows it is in float32.
    """

    computes_in_bf16 = True
    model_kwargs: ClassVar[dict[str, Any]] = {}

    def __init__(self, model: "SentenceTransformer") -> None:
        """Raises EncoderError if the model needs more than token ids."""
        super().__init__()
        self.model = model.eval()
        self._converted = ConvertedWeights()
        if model.max_seq_length is None or model.max_seq_length > MAX_LIMIT:
            model.max_seq_length = DEFAULT_MAX_TOKENS
        self.max_tokens = model.max_seq_length
        name = model.default_prompt_name
        self.prompt = (name and model.prompts[name]) or ""  # the text before each sentence
        probe: dict[str, Any] = model.preprocess([PROBE_TEXT], prompt=self.prompt)
        with torch.no_grad():
            vector = self.model(dict(probe)).get("sentence_embedding")
        if vector is None or "input_ids" not in probe or not READ_FEATURES.issuperset(probe):
            raise EncoderError(
                "this model is not a transformer over the tokens of a text; choose one that is, such as "
                "hf:intfloat/multilingual-e5-small"
            )
        # A pooling that leaves the prompt out needs its number of tokens.
        self._prompt_length: int | None = probe.get("prompt_length")
        tokenizer = model.tokenizer
        self.pad_id = 0 if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        self.dim = model.truncate_dim or int(vector.shape[-1])
        if model.transformers_model is not None:
            for weight in self._untrained():
                weight.requires_grad_(False)
        self.eval()

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote, without network. Raises EncoderError if it is incomplete."""
        with opening(folder, cls.spec):
            expected = np.asarray(read_config(folder)["probe"], dtype=np.float32)
            try:
                with quietly():
                    encoder = cls(open_model(folder / "model", **cls.model_kwargs))
            except (EncoderError, OSError):
                raise ValueError("no whole model") from None
            (vector,) = encoder.encode([PROBE_TEXT])
            # transformers replaces missing weights by random ones.
            if not vector @ expected >= 0.999 * np.linalg.norm(vector) * np.linalg.norm(expected):
                raise ValueError("another vector than that of the model that was saved")
            return encoder

    def save(self, folder: Path) -> None:
        """Write config.json and `model/`, a sentence-transformers folder that opens without emu_core."""
        folder.mkdir(parents=True, exist_ok=True)
        with quietly():
            self.model.save_pretrained(str(folder / "model"), create_model_card=False)
        precision, self._precision = self._precision, Precision.FP32  # the files are the same in any
        try:
            probe = self.encode([PROBE_TEXT])[0].tolist()
        finally:
            self._precision = precision
        write_encoder(folder, {"encoder": self.spec, "dim": self.dim, "probe": probe})

    @classmethod
    def open_tokens(cls, source: str | Path) -> Tokens:
        """Open the tokenizer of a saved encoder."""
        if not isinstance(source, Path):
            return super().open_tokens(source)
        with opening(source, cls.spec):
            return folder_tokens(source / "model")

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Write the tokenizer, and return the graph."""
        from tokenizers import Tokenizer

        texts = [*CHECK_TEXTS, " ".join(CHECK_TEXTS) * (self.max_tokens // 100 + 1)]
        ids = self.token_ids(texts)  # the tokenizer is saved with its last limit
        with quietly():
            self.model.tokenizer.save_pretrained(str(folder))
        package, code = "transformers", _WITH_TRANSFORMERS
        if (folder / TOKENIZER).exists():
            package, code = "tokenizers", _WITH_TOKENIZERS
            alone = Tokenizer.from_file(str(folder / TOKENIZER))
            if [alone.encode(self.prompt + text).ids for text in texts] != ids:
                raise EncoderError(
                    f"the tokenizer of '{self.spec}' makes other tokens when it is saved alone; export it for "
                    "sentence-transformers: ",
                    Fix("format", "sentence-transformers"),
                )
        token_ids = code.format(prompt=self.prompt, max_tokens=self.max_tokens)
        return OnnxParts(self._padded_vectors, f"import {package}", token_ids, ids[: len(CHECK_TEXTS)])

    def _padded_vectors(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the vectors (B, dim) of token ids (B, T) like `forward`, in operations of ONNX.

        A pooling that leaves the prompt out depends on the data to find the padded side. Our batches are always padded
        at the end, so the prompt is removed from the mask here.
        """
        features = {"input_ids": input_ids, "attention_mask": attention_mask}
        backbone, *modules = self.model.children()
        if self._prompt_length is None or all(getattr(module, "include_prompt", True) for module in modules):
            return self(features)
        features = backbone(features)
        position = torch.arange(input_ids.shape[1], device=input_ids.device)
        features["attention_mask"] = attention_mask * (position >= self._prompt_length)
        for module in modules:
            features = module(features)
        return features["sentence_embedding"][:, : self.dim].float()

    @property
    def backbone(self) -> "PreTrainedModel":
        """The transformer itself, without pooling and what follows. Raises EncoderError if there is none."""
        if self.model.transformers_model is None:
            raise EncoderError(
                f"'{self.spec}' has no transformer whose layers can be distinguished; choose another model"
            )
        return self.model.transformers_model

    @property
    def state_dim(self) -> int:
        """Length of a token's state, which differs from `dim` if a dense module follows the pooling."""
        return int(self.backbone.config.hidden_size)

    @property
    def mask_id(self) -> int:
        """The id of the mask token. Raises EncoderError if the tokenizer has none."""
        token_id = self.model.tokenizer.mask_token_id
        if token_id is None:
            raise EncoderError(
                f"the tokenizer of '{self.spec}' has no mask token, with which slots are hidden; choose another model"
            )
        return int(token_id)

    def tokens_with_offsets(self, texts: Sequence[str]) -> tuple[list[TokenIds], list[list[tuple[int, int]]]]:
        """Return `token_ids`, and the span of each token in the text with its prompt; (0, 0) for special tokens.

        Raises:
            EncoderError: the tokenizer does not know the positions of tokens.
        """
        tokenizer = self.model.tokenizer
        if not tokenizer.is_fast:
            raise EncoderError(
                f"the tokenizer of '{self.spec}' does not know the positions of tokens in a text; choose a model with "
                "a fast one"
            )
        tokens = tokenizer(
            [self.prompt + text.strip() for text in texts],
            truncation=True,
            max_length=self.max_tokens,
            return_offsets_mapping=True,
        )
        if tokens["input_ids"] != self.token_ids(texts):
            raise EncoderError(
                f"'{self.spec}' changes a text before tokenising it, so slots can't be found among its tokens; choose "
                "another model"
            )
        return tokens["input_ids"], tokens["offset_mapping"]

    def states(self, features: Features) -> Tensor:
        """Return the last layer's states (B, T, state_dim), float32, of token ids (B, T)."""
        with self._reduced():
            out: Tensor = self.backbone(
                input_ids=features["input_ids"], attention_mask=features["attention_mask"]
            ).last_hidden_state
        return out.float()

    def embeddings(self) -> list[nn.Parameter]:
        """Return the word embeddings."""
        return list(self.backbone.get_input_embeddings().parameters())

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the weights before the transformer's blocks (positions and their norm), then those of each block.

        Weights after the blocks (a last norm, dense modules) belong to the last block. A model without a list of
        `num_hidden_layers` blocks, such as one that shares them, is one layer.
        """
        untrained = {id(weight) for weight in self._untrained()}
        weights = [weight for weight in self.model.parameters() if id(weight) not in untrained]
        count = self.backbone.config.num_hidden_layers
        lists = [m for m in self.backbone.modules() if isinstance(m, nn.ModuleList) and len(m) == count]
        if not lists:
            return [weights]
        block_of = {id(weight): i for i, block in enumerate(lists[0], 1) for weight in block.parameters()}
        layers: list[list[nn.Parameter]] = [[] for _ in range(count + 1)]
        number = 0
        for weight in weights:
            number = block_of.get(id(weight), number)
            layers[number].append(weight)
        return [layer for layer in layers if layer]

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return token ids with the prompt and special tokens, truncated to `max_tokens`."""
        ids: list[TokenIds] = []
        as_lists = {"text": {"padding": False}, "common": {"return_tensors": None}}
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            part = list(texts[start : start + TEXTS_AT_ONCE])
            ids += self.model.preprocess(part, prompt=self.prompt, processing_kwargs=as_lists)["input_ids"]
        return ids

    def limit_tokens(self, most: int) -> None:
        """Truncate texts to `most` tokens from now on."""
        self.max_tokens = self.model.max_seq_length = most

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """Yield batches of sentences of similar lengths, smaller ones on a CPU."""
        if batch_tokens is None and self.device.type == "cpu":
            batch_tokens = CPU_TOKENS
        return super().batches(ids, batch_tokens)

    @property
    def step_tokens(self) -> int | None:
        """Few tokens on a CPU; all at once on a GPU."""
        return CPU_STEP_TOKENS if self.device.type == "cpu" else None

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """Return a batch like every encoder, with a mask of integers."""
        features = super().collate(ids)
        return {**features, "attention_mask": features["attention_mask"].long()}

    def forward(self, features: Features) -> Tensor:
        """Return vectors (B, dim) of token ids (B, T), with length 1 if the model normalises."""
        read: dict[str, Any] = dict(features)  # the model writes into its argument
        if self._prompt_length is not None:
            read["prompt_length"] = self._prompt_length
        if self._encodes_in_bf16:
            backbone, *modules = self.model.children()
            with self._reduced():
                read = backbone(read)
            read = {name: _as_float32(value) for name, value in read.items()}
            for module in modules:
                read = module(read)
        else:
            with self._reduced():
                read = self.model(read)
        out: Tensor = read["sentence_embedding"]
        return out[:, : self.dim].float()

    @property
    def _encodes_in_bf16(self) -> bool:
        """Whether this is the computation of vectors, and not training, and they are wanted in bfloat16."""
        return self._precision is Precision.BF16 and not torch.is_grad_enabled()

    def _reduced(self) -> AbstractContextManager[object]:
        """Compute in bfloat16 if vectors are wanted so, or training is in it; else do nothing."""
        if self._encodes_in_bf16:
            return in_bfloat16(self.device, self._converted, frozen_only=self.training)
        if is_reduced(self.device):
            return in_bfloat16(self.device, self._converted, frozen_only=True)
        return nullcontext()

    def weights_changed(self) -> None:
        """Convert the weights again."""
        self._converted.forget()

    def train(self, mode: bool = True) -> Self:
        """Set the mode; before training, forget the converted weights: torch doesn't count what fused optimisers do."""
        if mode:
            self.weights_changed()
        return super().train(mode)

    def _untrained(self) -> list[nn.Parameter]:
        """Return the word embeddings, and the weights of a head that the pooling ignores."""
        return [*self.embeddings(), *(weight for _, weight in ignored_head(self.model))]


def _as_float32(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.dtype == torch.bfloat16 else value
