"""What every transformer shares: a model of sentence-transformers as a trainable encoder."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.encoders.base import Encoder, Features, TokenIds, pad
from emu_core.errors import EncoderError

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedModel

TEXTS = 1024  # tokenised at a time: the tokenizer keeps much more of a text than its ids
LONGEST = 512  # tokens, for a model that names no limit
CPU_TOKENS = 2048  # a batch; on the CPU measured about a tenth faster than 4096
CPU_STEP_TOKENS = 384
"""Of a training step's few sentences, padded to the longest, nearly half is padding: 32 of SIB-200 in parts took 0.6 of
the time on a CPU. A GPU is faster with all at once."""
PROBE = "Where is the pool?"
READ_FEATURES = {"input_ids", "attention_mask", "token_type_ids", "modality", "prompt_length"}


class TransformerEncoder(Encoder):
    """A transformer with the pooling, prompt and normalisation that its sentence-transformers folder asks for.

    The vectors are those of `SentenceTransformer.encode`. The word embeddings are frozen: moving only the rows that
    one language's training text touches pulls the languages apart. So is a head of the transformer that the pooling
    doesn't read.

    Attributes:
        model: the model, as sentence-transformers has it; `model.save_pretrained` writes a folder for it.
    """

    model_kwargs: ClassVar[dict[str, Any]] = {}

    def __init__(self, model: "SentenceTransformer") -> None:
        """Wrap a model. Raises EncoderError when it can't be fed with token ids alone."""
        super().__init__()
        self.model = model.eval()
        if model.max_seq_length is None or model.max_seq_length > 1_000_000:
            model.max_seq_length = LONGEST
        self.max_tokens = model.max_seq_length
        name = model.default_prompt_name
        self._prompt = model.prompts[name] if name else None
        probe: dict[str, Any] = model.preprocess([PROBE], prompt=self._prompt)
        with torch.no_grad():
            vector = self.model(dict(probe)).get("sentence_embedding")
        if vector is None or "input_ids" not in probe or not READ_FEATURES.issuperset(probe):
            raise EncoderError(
                "this model is not a transformer over the tokens of a text; choose one that is, such as "
                "hf:intfloat/multilingual-e5-small"
            )
        # A pooling that leaves the prompt out must know how many tokens it has.
        self._prompt_length: int | None = probe.get("prompt_length")
        tokenizer = model.tokenizer
        self._pad_id = 0 if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        self.dim = model.truncate_dim or int(vector.shape[-1])
        freeze(model)

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Open what `save` wrote, without network. Raises EncoderError when it is not whole."""
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            expected = np.asarray(config["probe"], dtype=np.float32)
            with quietly():
                encoder = cls(open_model(folder / "model", **cls.model_kwargs))
            (vector,) = encoder.encode([PROBE])
            # transformers fills weights that it does not find with random ones.
            same = float(vector @ expected) >= 0.999 * float(
                np.linalg.norm(vector) * np.linalg.norm(expected)
            )
        except (KeyError, TypeError, ValueError, OSError, EncoderError):
            same = False
        if not same:
            raise EncoderError(f"{folder} does not hold a whole encoder '{cls.spec}'; train the run again")
        return encoder

    def save(self, folder: Path) -> None:
        """Write config.json and `model/`, a sentence-transformers folder that opens with no emu_core installed."""
        folder.mkdir(parents=True, exist_ok=True)
        with quietly():
            self.model.save_pretrained(str(folder / "model"), create_model_card=False)
        config = {"encoder": self.spec, "dim": self.dim, "probe": self.encode([PROBE])[0].tolist()}
        (folder / "config.json").write_text(json.dumps(config) + "\n", "utf-8")

    @property
    def backbone(self) -> "PreTrainedModel":
        """The transformer itself, without pooling and what follows. Raises EncoderError where there is none."""
        if self.model.transformers_model is None:
            raise EncoderError(
                f"'{self.spec}' holds no transformer whose layers can be told apart; choose another model"
            )
        return self.model.transformers_model

    @property
    def state_dim(self) -> int:
        """Length of a token's state, which a dense module after the pooling may make another than `dim`."""
        return int(self.backbone.config.hidden_size)

    @property
    def prompt(self) -> str:
        """What is put before each text."""
        return self._prompt or ""

    @property
    def mask_id(self) -> int:
        """The id of the mask token. Raises EncoderError where the tokenizer has none."""
        found = self.model.tokenizer.mask_token_id
        if found is None:
            raise EncoderError(
                f"the tokenizer of '{self.spec}' has no mask token, with which slots are hidden; choose another model"
            )
        return int(found)

    def tokens_with_offsets(self, texts: Sequence[str]) -> tuple[list[TokenIds], list[list[tuple[int, int]]]]:
        """Token ids as `token_ids` gives them, and where each token stands in its text with the prompt before it.

        Tokens that stand for no characters, such as the first and last, are at (0, 0).

        Raises:
            EncoderError: the tokenizer can't say where a token stands.
        """
        tokenizer = self.model.tokenizer
        if not tokenizer.is_fast:
            raise EncoderError(
                f"the tokenizer of '{self.spec}' can't say where in a text a token stands; choose a model with a fast "
                "one"
            )
        found = tokenizer(
            [self.prompt + text.strip() for text in texts],
            truncation=True,
            max_length=self.max_tokens,
            return_offsets_mapping=True,
        )
        if found["input_ids"] != self.token_ids(texts):
            raise EncoderError(
                f"'{self.spec}' changes a text before it makes tokens of it, so slots can't be found among them; "
                "choose another model"
            )
        return found["input_ids"], found["offset_mapping"]

    def states(self, features: Features) -> Tensor:
        """(B, T) token ids -> the last layer's states (B, T, state_dim), float32."""
        out: Tensor = self.backbone(
            input_ids=features["input_ids"], attention_mask=features["attention_mask"]
        ).last_hidden_state
        return out.float()

    def embeddings(self) -> list[nn.Parameter]:
        """The word embeddings."""
        return list(self.backbone.get_input_embeddings().parameters())

    def layers(self) -> list[list[nn.Parameter]]:
        """What precedes the transformer's blocks (positions, their norm), then the blocks.

        What follows the blocks (a last norm, dense modules) belongs to the last of them. A model without a list of
        its `num_hidden_layers` blocks, such as one that shares them, is one layer.
        """
        unread = {id(weight) for weight in [*self.embeddings(), *_unread_head(self.model)]}
        weights = [weight for weight in self.model.parameters() if id(weight) not in unread]
        count = self.backbone.config.num_hidden_layers
        lists = [m for m in self.backbone.modules() if isinstance(m, nn.ModuleList) and len(m) == count]
        if not lists:
            return [weights]
        block_of = {id(weight): i for i, block in enumerate(lists[0], 1) for weight in block.parameters()}
        layers: list[list[nn.Parameter]] = [[] for _ in range(count + 1)]
        at = 0
        for weight in weights:
            at = block_of.get(id(weight), at)
            layers[at].append(weight)
        return [layer for layer in layers if layer]

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Token ids with the prompt and the special tokens, cut to `max_tokens`."""
        ids: list[TokenIds] = []
        as_lists = {"text": {"padding": False}, "common": {"return_tensors": None}}
        for start in range(0, len(texts), TEXTS):
            part = list(texts[start : start + TEXTS])
            ids += self.model.preprocess(part, prompt=self._prompt, processing_kwargs=as_lists)["input_ids"]
        return ids

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """Sentences of like lengths share a batch; a CPU's are smaller."""
        if batch_tokens is None and self.device.type == "cpu":
            batch_tokens = CPU_TOKENS
        return super().batches(ids, batch_tokens)

    @property
    def step_tokens(self) -> int | None:
        """Few on a CPU; on a GPU all sentences of a step are computed together."""
        return CPU_STEP_TOKENS if self.device.type == "cpu" else None

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """`input_ids` and `attention_mask`, both (B, T)."""
        tokens, mask = pad(ids, pad_id=self._pad_id)
        return {"input_ids": tokens.to(self.device), "attention_mask": mask.long().to(self.device)}

    def forward(self, features: Features) -> Tensor:
        """(B, T) token ids -> (B, dim), of length 1 where the model normalises."""
        read: dict[str, Any] = dict(features)  # the model writes into what it is given
        if self._prompt_length is not None:
            read["prompt_length"] = self._prompt_length
        out: Tensor = self.model(read)["sentence_embedding"]
        return out[:, : self.dim].float()


def open_model(name: str | Path, *, local_only: bool = True, **model_kwargs: Any) -> "SentenceTransformer":
    """Open a sentence-transformers or transformers model, in float32 on the CPU, running no code of its own.

    Args:
        name: a folder, or a name on the Hugging Face hub.
        local_only: read the cache only, for a hub name.
        model_kwargs: what the transformer's class takes.

    Raises:
        EncoderError: what is there needs code of its own, is damaged, or is not a model.
        OSError: it is not there.
    """
    from sentence_transformers import SentenceTransformer

    # A folder's own configuration may set these too, and ours wins: no pickled objects, no kernels from the hub.
    safe = {"dtype": torch.float32, "weights_only": True, "use_kernels": False, "allow_all_kernels": False}
    try:
        return SentenceTransformer(
            str(name),
            device="cpu",
            trust_remote_code=False,
            local_files_only=local_only,
            model_kwargs=safe | model_kwargs,
        )
    except OSError:
        raise
    except Exception as error:  # a stranger's files go through three libraries, which raise what they like
        if "trust_remote_code" in str(error):
            raise EncoderError(
                f"the model {name} needs Python code of its own, which is never run here; choose another model"
            ) from None
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise EncoderError(
            f"{name} is not a model that can be opened ({first_line}); choose another"
        ) from error


def freeze(model: "SentenceTransformer") -> None:
    """Stop the training of the word embeddings, and of a head whose output the pooling doesn't read."""
    if model.transformers_model is None:
        return
    model.transformers_model.get_input_embeddings().requires_grad_(False)
    for weight in _unread_head(model):
        weight.requires_grad_(False)


def _unread_head(model: "SentenceTransformer") -> list[nn.Parameter]:
    first: Any = model[0]
    read = first.modality_config["text"]["method_output_name"]
    pooler = getattr(model.transformers_model, "pooler", None)
    return list(pooler.parameters()) if pooler is not None and read == "last_hidden_state" else []


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the libraries' progress bars and warnings off the screen while a model that is known to be right opens."""
    from transformers.utils import logging as bars

    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    levels, had_bars = [logger.level for logger in loggers], bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if had_bars:
            bars.enable_progress_bar()
