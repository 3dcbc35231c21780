"""`laser`: LASER (Artetxe and Schwenk 2019), the encoder of Emu's paper, as a trainable torch module.

The tokenizer is that of the package laserembeddings (BSD-3-Clause, like LASER); the network is our own, because the
package's has no gradients. The weights are fetched by the package's command, or by `download.download`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from emu_core.encoders.base import EncoderByLanguage, EncoderInfo, Features, TokenIds
from emu_core.encoders.laser.download import CODES, MODEL, VOCABULARY, files_folder, laser_absence
from emu_core.encoders.laser.text import LaserText
from emu_core.encoders.onnx_parts import CHECK_TEXTS, OnnxParts
from emu_core.encoders.saved import opening, read_config, read_weights, write_encoder
from emu_core.errors import EncoderError

DICTIONARY = "dictionary.json"
_IMPORTS = """\
import json
from pathlib import Path

from emu_core.encoders.laser.text import LaserText
"""
_TO_IDS = """\
codes, vocabulary = Path("{codes}").read_bytes(), Path("{vocabulary}").read_bytes()
pieces = LaserText(codes, vocabulary, json.loads(Path("{dictionary}").read_text("utf-8")))


def token_ids(text):
    return pieces.token_ids([text], {max_tokens})[0]
"""
# As LASER's README lists them.
LASER_LANGUAGES = (
    "af am ar ay az be ber bg bn br bs ca cbk cs da de dtp dv el en eo es et eu fa fi fr ga gl ha he hi hr hu hy ia id "
    "ie io is it ja ka kab kk km ko ku kw kzj la lfn lt lv mg mhr mk ml mr ms my nb nds nl oc pl pt ro ru sd si sk sl "
    "so sq sr sv sw ta te tg th tl tr tt ug uk ur uz vi wuu yue zh"
)


class LaserNetwork(nn.Module):
    """The network from piece ids to sentence vectors; its weights have the published file's names."""

    def __init__(self, state: Mapping[str, Tensor], padding: int) -> None:
        """Take copies of weights, whose sizes are the network's. Raises an error of any kind if they do not fit."""
        super().__init__()
        copies = {name: _whole(weight) for name, weight in state.items()}
        pieces, embedding = copies["embed_tokens.weight"].shape
        hidden = copies["lstm.weight_hh_l0"].shape[1]
        layers = sum(name.startswith("lstm.bias_ih") and not name.endswith("_reverse") for name in copies)
        self.dim = 2 * hidden
        with torch.device("meta"):  # no memory or time for weights that are replaced at once
            self.embed_tokens = nn.Embedding(pieces, embedding, padding)
            self.lstm = nn.LSTM(embedding, hidden, layers, bidirectional=True)
        self.load_state_dict(copies, assign=True)
        self.requires_grad_()

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return vectors (B, dim) of padded piece ids (B, T); their lengths (B,), 1 or more, are on the CPU."""
        pieces = pack_padded_sequence(self.embed_tokens(ids), lengths, batch_first=True, enforce_sorted=False)
        states, _ = self.lstm(pieces)  # packed, so padding is not computed
        padded, _ = pad_packed_sequence(states, batch_first=True, padding_value=float("-inf"))  # (B, T, dim)
        return padded.max(dim=1).values


def read_checkpoint(path: Path) -> tuple[LaserNetwork, dict[str, int]]:
    """Return the network in the published file and its dictionary, the row of each piece, without running any code.

    Raises:
        EncoderError: the file is damaged or something else.
    """
    try:
        file = torch.load(path, map_location="cpu", weights_only=True)
        dictionary = checked_dictionary(file["dictionary"], len(file["model"]["embed_tokens.weight"]))
        network = LaserNetwork(file["model"], dictionary["<pad>"])
        if network.lstm.num_layers != file["params"]["num_layers"]:
            raise ValueError("fewer layers than it describes")
        return network, dictionary
    except Exception as error:  # torch's readers raise many kinds of error for an untrusted file
        raise EncoderError(
            f"{path} is damaged or not LASER's published encoder; delete it and run: emu encoders download laser"
        ) from error


def checked_dictionary(dictionary: object, rows: int) -> dict[str, int]:
    """Return the dictionary. Raises ValueError if it does not fit a table of that many rows."""
    if not isinstance(dictionary, dict) or not all(
        isinstance(piece, str) and type(row) is int and 0 <= row < rows for piece, row in dictionary.items()
    ):
        raise ValueError("not a dictionary of pieces")
    if not {"<pad>", "</s>", "<unk>"} <= dictionary.keys():
        raise ValueError("a dictionary without its special pieces")
    return dictionary


def _whole(weight: Tensor) -> Tensor:
    """Return a copy of the weight as float32.

    A weight in a file may start at any byte, and a GPU keeps an LSTM's weights in one piece of memory; the last bit of
    results depends on both, but not for copies.
    """
    if not isinstance(weight, Tensor) or not weight.is_floating_point():
        raise ValueError("weights that are not numbers")
    if not weight.is_contiguous():
        raise ValueError("weights that are a view of others")  # such a view could expand beyond memory
    return weight.to(torch.float32, copy=True)


def _padded_vectors(network: LaserNetwork, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """Return the vectors (B, dim) of padded piece ids (B, T) like `network.forward`, in operations of ONNX.

    Instead of packing sentences, which takes shapes that depend on the data, each direction of each layer is an LSTM
    on the padded batch. Forwards, padding comes last; backwards, each sentence is reversed in place first. The mask
    (B, T) is 1 on tokens and 0 on padding.
    """
    lstm, real = network.lstm, attention_mask > 0
    position = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
    reverse = torch.where(real, real.sum(dim=1, keepdim=True) - 1 - position, position).unsqueeze(-1)
    states = network.embed_tokens(input_ids)  # (B, T, embedding)
    for layer in range(lstm.num_layers):
        forwards = _lstm(lstm, f"_l{layer}", states)
        backwards = _lstm(lstm, f"_l{layer}_reverse", _reorder(states, reverse))
        states = torch.cat([forwards, _reorder(backwards, reverse)], dim=-1)  # (B, T, dim)
    return states.masked_fill(~real.unsqueeze(-1), float("-inf")).amax(dim=1)


def _lstm(lstm: nn.LSTM, suffix: str, x: Tensor) -> Tensor:
    """Run one direction of one layer: (B, T, in) -> (B, T, hidden)."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights = [getattr(lstm, f"{name}{suffix}") for name in names]
    start = x.new_zeros(1, len(x), lstm.hidden_size)
    return torch.lstm(x, (start, start), weights, True, 1, 0.0, False, False, True)[0]


def _reorder(x: Tensor, order: Tensor) -> Tensor:
    """Return the rows of (B, T, C) in an order (B, T, 1)."""
    return x.gather(1, order.expand(-1, -1, x.shape[2]))


class LaserEncoder(EncoderByLanguage):
    """LASER: a BiLSTM of five layers over BPE pieces, max-pooled to 1024 dimensions, not normalised.

    All weights are trained: 23.6 M in the piece embeddings and 28.6 M above them.
    """

    spec: ClassVar[str] = "laser"
    dim: int = 1024  # what the published encoder has; that of an instance is its network's
    max_tokens = 512
    languages = tuple(LASER_LANGUAGES.split())

    def __init__(self, model: LaserNetwork, text: LaserText) -> None:
        super().__init__()
        self.model = model
        self.text = text
        self.dim, self.pad_id = model.dim, text.dictionary["<pad>"]

    @classmethod
    def info(cls) -> EncoderInfo:
        """Describe the published encoder."""
        reason = laser_absence()
        return EncoderInfo(cls.spec, "LASER", cls.dim, cls.languages, 212, "BSD-3-Clause", not reason, reason)

    @classmethod
    def load(cls, name: str = "") -> Self:
        """Open the published weights, from the folder named by EMU_LASER_DIR, or else the package's.

        Raises:
            EncoderError: the package or a file is missing or damaged; the message says how to fix it.
        """
        reason = laser_absence()
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
        """Open what `save` wrote, without the published files. Raises EncoderError if it is incomplete."""
        with opening(folder, cls.spec):
            config = read_config(folder)
            files = {name: (folder / name).read_bytes() for name in (CODES, VOCABULARY, DICTIONARY)}
            if config["sha256"] != _checksums(files):
                raise ValueError("other files than those that were saved")
            state = read_weights(folder)
            dictionary = checked_dictionary(json.loads(files[DICTIONARY]), len(state["embed_tokens.weight"]))
            text = LaserText(files[CODES], files[VOCABULARY], dictionary)
            return cls(LaserNetwork(state, dictionary["<pad>"]), text)

    def save(self, folder: Path) -> None:
        """Write config.json, model.safetensors and the tokenizer's files (about 210 MB)."""
        folder.mkdir(parents=True, exist_ok=True)
        checksums = _checksums(self._write_text_files(folder))
        config = {"encoder": self.spec, "dim": self.dim, "sha256": checksums}
        write_encoder(folder, config, self.model.state_dict())

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Write the tokenizer's files, and return the graph."""
        self._write_text_files(folder)
        token_ids = _TO_IDS.format(
            codes=CODES, vocabulary=VOCABULARY, dictionary=DICTIONARY, max_tokens=self.max_tokens
        )
        # With guessed languages, two of them would need further packages.
        check_ids = self.token_ids(CHECK_TEXTS, ["en"] * len(CHECK_TEXTS))
        return OnnxParts(partial(_padded_vectors, self.model), _IMPORTS, token_ids, check_ids)

    def token_ids(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> list[TokenIds]:
        """Return piece ids followed by `</s>`, truncated to `max_tokens`.

        Args:
            texts: N sentences.
            languages: their languages, which LASER tokenises differently; see `text.guess_languages` for the default.

        Raises:
            EncoderError: the package that finds the words of Chinese or Japanese is missing.
        """
        return self.text.token_ids(texts, self.max_tokens, languages)

    def forward(self, features: Features) -> Tensor:
        """Return vectors (B, dim) of piece ids (B, T)."""
        lengths = features["attention_mask"].sum(dim=1).cpu()  # packing needs them there
        out: Tensor = self.model(features["input_ids"], lengths)
        return out.float()  # under autocast too

    def embeddings(self) -> list[nn.Parameter]:
        """Return the piece embeddings."""
        return list(self.model.embed_tokens.parameters())

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the LSTM's layers, each with both directions."""
        weights = dict(self.model.lstm.named_parameters())
        return [
            [
                weight
                for name, weight in weights.items()
                if name.removesuffix("_reverse").endswith(f"_l{layer}")
            ]
            for layer in range(self.model.lstm.num_layers)
        ]

    def _write_text_files(self, folder: Path) -> dict[str, bytes]:
        """Write the tokenizer's files, and return their contents by name."""
        dictionary = json.dumps(dict(self.text.dictionary), ensure_ascii=False).encode()
        files = {CODES: self.text.codes, VOCABULARY: self.text.vocabulary, DICTIONARY: dictionary}
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return files


def _checksums(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
