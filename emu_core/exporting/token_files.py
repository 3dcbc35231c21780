"""How token ids are made, for a program that has the graph alone: the tokenizer's files and a worked example."""

import json
import shutil
from pathlib import Path

from emu_core.encoders.base import Encoder
from emu_core.encoders.bicvm.encoder import VOCABULARY as WORDS
from emu_core.encoders.bicvm.encoder import BicvmEncoder
from emu_core.encoders.dual.encoder import DualEncoder
from emu_core.encoders.graph import CHECK_TEXTS
from emu_core.encoders.laser.download import CODES, VOCABULARY
from emu_core.encoders.laser.encoder import DICTIONARY, LaserEncoder
from emu_core.encoders.transformer.encoder import TransformerEncoder, quietly
from emu_core.encoders.use.encoder import BOS, EOS, UNKNOWN, UseEncoder, resource
from emu_core.errors import EncoderError

TOKENIZER, PIECES = "tokenizer.json", "sp.model"
FAST = """\
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")  # cuts after {max_tokens} tokens


def token_ids(text):
    return tokenizer.encode({prompt!r} + text).ids
"""
SLOW = """\
tokenizer = transformers.AutoTokenizer.from_pretrained(".")


def token_ids(text):
    return tokenizer({prompt!r} + text, truncation=True, max_length={max_tokens})["input_ids"]
"""
SENTENCEPIECE = """\
pieces = sentencepiece.SentencePieceProcessor(model_file="sp.model")


def token_ids(text):
    ids = []
    for piece in pieces.encode(text, out_type=str):
        number = pieces.piece_to_id(piece)
        ids += [number] * (len(piece) if number == {unknown} else 1)  # unknown characters count one by one
    ids = [{bos}, *(ids or [{unknown}]), {eos}]
    return ids if len(ids) <= {max_tokens} else [*ids[:{last}], {eos}]
"""
IMPORTS = """\
import numpy as np
import onnxruntime
import {package}
"""
LASER_IMPORTS = """\
import json
from pathlib import Path

import numpy as np
import onnxruntime
from emu_core.encoders.laser.text import LaserText
"""
LASER = """\
codes, vocabulary = Path("{codes}").read_bytes(), Path("{vocabulary}").read_bytes()
pieces = LaserText(codes, vocabulary, json.loads(Path("{dictionary}").read_text("utf-8")))


def token_ids(text):
    return pieces.token_ids([text], {max_tokens})[0]
"""
BICVM_IMPORTS = """\
import json
from pathlib import Path

import numpy as np
import onnxruntime
from emu_core.encoders.bicvm.vocabulary import words
from emu_core.encoders.bicvm.vocabulary import Vocabulary
"""
BICVM = """\
vocabulary = Vocabulary.parse(json.loads(Path("{words}").read_text("utf-8")))


def token_ids(text):
    sentence = words(text)
    return vocabulary.ids(sentence, vocabulary.guess(sentence))[:{max_tokens}]
"""
DUAL_IMPORTS = """\
import numpy as np
import onnxruntime
from emu_core.encoders.dual.hashing import Hashing
"""
DUAL = """\
hashing = {hashing}


def token_ids(text):
    return hashing.token_ids(text, {max_tokens})  # words, each with its n-grams behind it
"""
EXAMPLE = """\
`model.onnx` takes `input_ids` and `attention_mask` (1 on tokens, 0 on padding), both int64 (batch, tokens) and of at
most {max_tokens} {counted}, and gives `sentence_embedding`, float32 (batch, {dim}). In this folder:

```python
{imports}

{token_ids}

session = onnxruntime.InferenceSession("model.onnx")


def encode(texts):
    ids = [token_ids(text) for text in texts]
    width = max(1, *(len(row) for row in ids))
    tokens = [row + [{pad}] * (width - len(row)) for row in ids]
    mask = [[1] * len(row) + [0] * (width - len(row)) for row in ids]
    feed = {{"input_ids": np.array(tokens, np.int64), "attention_mask": np.array(mask, np.int64)}}
    return session.run(["sentence_embedding"], feed)[0]


print(encode(["Where is the pool?"]).shape)
```
"""


def write_token_files(encoder: Encoder, folder: Path) -> str:
    """Write the tokenizer's files where the encoder has some.

    Returns:
        How vectors are made from text with the folder alone, in Markdown.

    Raises:
        EncoderError: the written tokenizer makes other token ids than the encoder.
    """
    tokenised_by = encoder.bare
    match tokenised_by:
        case UseEncoder():
            shutil.copyfile(resource(PIECES), folder / PIECES)
            imports, template = IMPORTS.format(package="sentencepiece"), SENTENCEPIECE
        case LaserEncoder():
            _write_laser(tokenised_by, folder)
            imports, template = LASER_IMPORTS, LASER
        case TransformerEncoder():
            package, template = _write_tokenizer(tokenised_by, folder)
            imports = IMPORTS.format(package=package)
        case BicvmEncoder():
            (folder / WORDS).write_text(
                json.dumps(tokenised_by.vocabulary.counts, ensure_ascii=False), "utf-8"
            )
            imports, template = BICVM_IMPORTS, BICVM
        case DualEncoder():
            imports, template = DUAL_IMPORTS, DUAL
        case _:
            raise EncoderError(f"the encoder '{encoder.spec}' has no tokenizer that can be exported")
    token_ids = template.format(
        prompt=_prompt(tokenised_by),
        max_tokens=encoder.max_tokens,
        last=encoder.max_tokens - 1,
        bos=BOS,
        eos=EOS,
        unknown=UNKNOWN,
        codes=CODES,
        vocabulary=VOCABULARY,
        dictionary=DICTIONARY,
        words=WORDS,
        hashing=tokenised_by.hashing if isinstance(tokenised_by, DualEncoder) else "",
    )
    is_dual = isinstance(tokenised_by, DualEncoder)
    pad = 0 if is_dual else encoder.collate([[1], [1, 1]])["input_ids"][0, 1].item()
    return EXAMPLE.format(
        imports=imports,
        token_ids=token_ids,
        pad=pad,
        dim=encoder.dim,
        max_tokens=encoder.max_tokens,
        counted="words with their n-grams" if is_dual else "tokens",
    )


def _write_tokenizer(encoder: TransformerEncoder, folder: Path) -> tuple[str, str]:
    """Write a transformer's tokenizer; which package reads it, and how."""
    from tokenizers import Tokenizer

    texts = [*CHECK_TEXTS, " ".join(CHECK_TEXTS) * (encoder.max_tokens // 100 + 1)]
    expected = encoder.token_ids(texts)  # the tokenizer is saved with the limit of its last use
    with quietly():
        encoder.model.tokenizer.save_pretrained(str(folder))
    if not (folder / TOKENIZER).exists():
        return "transformers", SLOW
    alone = Tokenizer.from_file(str(folder / TOKENIZER))
    prompt = _prompt(encoder)
    if [alone.encode(prompt + text).ids for text in texts] != expected:
        raise EncoderError(
            f"the tokenizer of '{encoder.spec}' makes other tokens once it is saved alone; export it with "
            "--format sentence-transformers"
        )
    return "tokenizers", FAST


def _write_laser(encoder: LaserEncoder, folder: Path) -> None:
    """Write what the text side reads, under the names that an encoder's own folder has."""
    (folder / CODES).write_bytes(encoder.text.codes)
    (folder / VOCABULARY).write_bytes(encoder.text.vocabulary)
    (folder / DICTIONARY).write_text(json.dumps(dict(encoder.text.dictionary), ensure_ascii=False), "utf-8")


def _prompt(encoder: Encoder) -> str:
    if not isinstance(encoder, TransformerEncoder) or encoder.model.default_prompt_name is None:
        return ""
    return encoder.model.prompts[encoder.model.default_prompt_name] or ""
