"""`laser`: LASER (Artetxe and Schwenk 2019), the encoder of Emu's paper, as a trainable torch module.

The text side is the package laserembeddings' own (BSD-3-Clause, as LASER itself); its encoder runs without gradients,
ours is `LaserNetwork`. The weights are not in the package: its command, or `download.download`, fetches them.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import ClassVar, Self

from safetensors.torch import load_file
from torch import Tensor, nn

from emu_core.encoders.base import EncoderByLanguage, EncoderInfo, Features, TokenIds
from emu_core.encoders.laser.download import CODES, MODEL, VOCABULARY, absence, files_folder
from emu_core.encoders.laser.network import LaserNetwork, LaserShape, checked_dictionary, read_checkpoint
from emu_core.encoders.laser.padded import padded_vectors
from emu_core.encoders.laser.text import LaserText
from emu_core.encoders.onnx_parts import CHECK_TEXTS, OnnxParts
from emu_core.encoders.saved import WEIGHTS, opening, read_config, write_encoder
from emu_core.errors import EncoderError

DICTIONARY = "dictionary.json"
IMPORTS = """\
import json
from pathlib import Path

from emu_core.encoders.laser.text import LaserText
"""
TO_IDS = """\
codes, vocabulary = Path("{codes}").read_bytes(), Path("{vocabulary}").read_bytes()
pieces = LaserText(codes, vocabulary, json.loads(Path("{dictionary}").read_text("utf-8")))


def token_ids(text):
    return pieces.token_ids([text], {max_tokens})[0]
"""
# As LASER's README lists them.
LANGUAGES = (
    "af am ar ay az be ber bg bn br bs ca cbk cs da de dtp dv el en eo es et eu fa fi fr ga gl ha he hi hr hu hy ia id "
    "ie io is it ja ka kab kk km ko ku kw kzj la lfn lt lv mg mhr mk ml mr ms my nb nds nl oc pl pt ro ru sd si sk sl "
    "so sq sr sv sw ta te tg th tl tr tt ug uk ur uz vi wuu yue zh"
)


class LaserEncoder(EncoderByLanguage):
    """LASER: a BiLSTM of five layers over BPE pieces, max-pooled to 1024-d; the vectors are not normalised.

    All its weights train: 23.6 M in the piece embeddings and 28.6 M above them.
    """

    spec: ClassVar[str] = "laser"
    dim: int = 1024  # of the published encoder; each has its own
    max_tokens = 512
    languages = tuple(LANGUAGES.split())

    def __init__(self, model: LaserNetwork, text: LaserText) -> None:
        """Join the network and the text side; `load` opens the published ones."""
        super().__init__()
        self.model = model
        self.text = text
        self.dim, self.pad_id = model.dim, model.shape.padding_idx

    @classmethod
    def info(cls) -> EncoderInfo:
        """Describe the published encoder."""
        reason = absence()
        return EncoderInfo(cls.spec, "LASER", cls.dim, cls.languages, 212, "BSD-3-Clause", not reason, reason)

    @classmethod
    def load(cls, name: str = "") -> Self:
        """Open the published weights, from the folder that EMU_LASER_DIR names, or else the package's own.

        Raises:
            EncoderError: the package or a file is missing or damaged; the message says how to fix it.
        """
        reason = absence()
        if reason:
            raise EncoderError(f"the encoder 'laser' can't be loaded here: {reason}")
        folder = files_folder()
        model, dictionary = read_checkpoint(folder / MODEL)
        try:
            codes, vocabulary = ((folder / name).read_bytes() for name in (CODES, VOCABULARY))
            return cls(model, LaserText(codes, vocabulary, dictionary))
        except (ValueError, OSError) as error:
            raise EncoderError(
                f"{CODES} or {VOCABULARY} in {folder} is damaged; delete both and run: emu encoders download laser"
            ) from error

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote; no other file is needed. Raises EncoderError when it is not whole."""
        with opening(folder, cls.spec):
            config = read_config(folder)
            files = {name: (folder / name).read_bytes() for name in (CODES, VOCABULARY, DICTIONARY)}
            if config["sha256"] != _checksums(files):
                raise ValueError("other files than those that were saved")
            model = LaserNetwork.of(LaserShape.of(config["params"]), load_file(folder / WEIGHTS))
            dictionary = checked_dictionary(json.loads(files[DICTIONARY]), model.shape)
            return cls(model, LaserText(files[CODES], files[VOCABULARY], dictionary))

    def save(self, folder: Path) -> None:
        """Write config.json, model.safetensors, the BPE's two files and the dictionary (about 210 MB)."""
        folder.mkdir(parents=True, exist_ok=True)
        config = {"encoder": self.spec, "dim": self.dim, "params": asdict(self.model.shape)}
        config["sha256"] = _checksums(self._write_text_files(folder))
        write_encoder(folder, config, self.model.state_dict())

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Write what the text side reads, and return the graph."""
        self._write_text_files(folder)
        token_ids = TO_IDS.format(
            codes=CODES, vocabulary=VOCABULARY, dictionary=DICTIONARY, max_tokens=self.max_tokens
        )
        # Left to guess, it wants further packages for two of the languages.
        check_ids = self.token_ids(CHECK_TEXTS, ["en"] * len(CHECK_TEXTS))
        return OnnxParts(partial(padded_vectors, self.model), IMPORTS, token_ids, check_ids)

    def token_ids(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> list[TokenIds]:
        """Return piece ids with `</s>` after them, cut to `max_tokens`.

        Args:
            texts: N sentences.
            languages: the N texts' languages, which LASER tokenises each in its own way; without them the script
                tells what matters most (see `text.guess_languages`).

        Raises:
            EncoderError: Chinese or Japanese without the package that finds their words.
        """
        return self.text.token_ids(texts, self.max_tokens, languages)

    def forward(self, features: Features) -> Tensor:
        """(B, T) piece ids -> (B, dim)."""
        lengths = features["attention_mask"].sum(dim=1).cpu()  # packing wants them there
        out: Tensor = self.model(features["input_ids"], lengths)
        return out.float()  # under autocast too

    def embeddings(self) -> list[nn.Parameter]:
        """Return the piece embeddings."""
        return list(self.model.embed_tokens.parameters())

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the LSTM's layers, both directions of one together."""
        named = dict(self.model.lstm.named_parameters())
        return [
            [weight for name, weight in named.items() if name.removesuffix("_reverse").endswith(f"_l{layer}")]
            for layer in range(self.model.shape.num_layers)
        ]

    def _write_text_files(self, folder: Path) -> dict[str, bytes]:
        """Write the BPE's two files and the dictionary, and return their contents by name."""
        dictionary = json.dumps(dict(self.text.dictionary), ensure_ascii=False).encode()
        files = {CODES: self.text.codes, VOCABULARY: self.text.vocabulary, DICTIONARY: dictionary}
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return files


def _checksums(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
