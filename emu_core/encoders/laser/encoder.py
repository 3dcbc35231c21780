"""`laser`: LASER (Artetxe and Schwenk 2019), the encoder of Emu's paper, as a trainable torch module.

The text side is the package laserembeddings' own (BSD-3-Clause, as LASER itself); its encoder runs without gradients,
ours is `LaserModel`. The weights are not in the package: its command, or `laser_download.download`, fetches them.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar, Self

from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from emu_core.encoders.base import EncoderByLanguage, Features, TokenIds, pad
from emu_core.encoders.laser.download import (
    CODES,
    FILES,
    FOLDER_VARIABLE,
    MODEL,
    PACKAGE,
    VOCABULARY,
    files_folder,
    missing_files,
    package_folder,
)
from emu_core.encoders.laser.network import LaserModel, LaserShape, checked_dictionary, read_checkpoint
from emu_core.encoders.laser.text import LaserText
from emu_core.errors import EncoderError

DICTIONARY = "dictionary.json"
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

    def __init__(self, model: LaserModel, text: LaserText) -> None:
        """Join the network and the text side; `from_package` opens the published ones."""
        super().__init__()
        self.model = model
        self.text = text
        self.dim = model.dim

    @classmethod
    def from_package(cls) -> Self:
        """The published weights, from the folder that EMU_LASER_DIR names, or else the package's own.

        Raises:
            EncoderError: the package or a file is missing or damaged; the message is the mend.
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
    def from_folder(cls, folder: Path) -> Self:
        """Open what `save` wrote; no other file is needed. Raises EncoderError when it is not whole."""
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            files = {name: (folder / name).read_bytes() for name in (CODES, VOCABULARY, DICTIONARY)}
            if config["sha256"] != _checksums(files):
                raise ValueError("other files than those that were saved")
            model = LaserModel.of(LaserShape.of(config["params"]), load_file(folder / "model.safetensors"))
            dictionary = checked_dictionary(json.loads(files[DICTIONARY]), model.shape)
            return cls(model, LaserText(files[CODES], files[VOCABULARY], dictionary))
        except EncoderError:
            raise
        except FileNotFoundError as missing:
            name = Path(missing.filename or "model.safetensors").name
            raise EncoderError(f"{folder} has no {name}: the run did not finish; train it again") from None
        except Exception:  # a stranger's files; the readers raise many kinds
            raise EncoderError(
                f"{folder} does not hold a whole encoder 'laser'; train the run again"
            ) from None

    def save(self, folder: Path) -> None:
        """Write config.json, model.safetensors, the BPE's two files and the dictionary (about 210 MB)."""
        folder.mkdir(parents=True, exist_ok=True)
        state = {name: weight.contiguous() for name, weight in self.model.state_dict().items()}
        save_file(state, folder / "model.safetensors")
        dictionary = json.dumps(dict(self.text.dictionary), ensure_ascii=False).encode()
        files = {CODES: self.text.codes, VOCABULARY: self.text.vocabulary, DICTIONARY: dictionary}
        for name, content in files.items():
            (folder / name).write_bytes(content)
        config = {
            "encoder": self.spec,
            "dim": self.dim,
            "params": asdict(self.model.shape),
            "sha256": _checksums(files),
        }
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")

    def token_ids(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> list[TokenIds]:
        """Piece ids with `</s>` after them, cut to `max_tokens`.

        Args:
            texts: N sentences.
            languages: the N texts' languages, which LASER tokenises each in its own way; without them the script
                tells what matters most (see `laser_text.guess_languages`).

        Raises:
            EncoderError: Chinese or Japanese without the package that finds their words.
        """
        return self.text.token_ids(texts, self.max_tokens, languages)

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """`input_ids` and `attention_mask`, both (B, T)."""
        tokens, mask = pad(ids, pad_id=self.model.shape.padding_idx)
        return {"input_ids": tokens.to(self.device), "attention_mask": mask.to(self.device)}

    def forward(self, features: Features) -> Tensor:
        """(B, T) piece ids -> (B, dim)."""
        lengths = features["attention_mask"].sum(dim=1).cpu()  # packing wants them there
        out: Tensor = self.model(features["input_ids"], lengths)
        return out.float()  # under autocast too

    def embeddings(self) -> list[nn.Parameter]:
        """The piece embeddings."""
        return list(self.model.embed_tokens.parameters())

    def layers(self) -> list[list[nn.Parameter]]:
        """The LSTM's layers, both directions of one together."""
        named = dict(self.model.lstm.named_parameters())
        return [
            [weight for name, weight in named.items() if name.removesuffix("_reverse").endswith(f"_l{layer}")]
            for layer in range(self.model.shape.num_layers)
        ]


def absence() -> str:
    """Why the encoder can't be loaded here and the mend; empty when it can."""
    if package_folder() is None:
        return f"pip install {PACKAGE}"
    folder = files_folder()
    missing = missing_files(folder)
    if not missing:
        return ""
    return (
        f"{', '.join(missing)} not found in {folder}: run emu encoders download laser, or set {FOLDER_VARIABLE} to "
        f"the folder that has {', '.join(FILES)}"
    )


def _checksums(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
