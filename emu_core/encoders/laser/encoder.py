"""`laser`: LASER (Artetxe and Schwenk 2019), the encoder of Emu's paper, as a trainable torch module.

The text side is the package laserembeddings' own (BSD-3-Clause, as LASER itself); its encoder runs without gradients,
ours is `LaserNetwork`. The weights are not in the package: its command, or `download.download`, fetches them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Self

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from emu_core.encoders.base import EncoderByLanguage, EncoderInfo, Features, TokenIds
from emu_core.encoders.laser.download import CODES, MODEL, VOCABULARY, absence, files_folder
from emu_core.encoders.laser.text import LaserText
from emu_core.encoders.onnx_parts import CHECK_TEXTS, OnnxParts
from emu_core.encoders.saved import WEIGHTS, opening, read_config, write_encoder
from emu_core.errors import EncoderError

MOST_LAYERS = 64  # the published one has 5
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


@dataclass(frozen=True)
class LaserShape:
    """The sizes that the published file calls `params`; its other entries, on how batches are padded, are not read."""

    num_embeddings: int  # pieces in the table
    padding_idx: int  # the table's row for padding
    embed_dim: int  # length of a piece's vector
    hidden_size: int  # of each direction of each layer
    num_layers: int  # LSTM layers
    bidirectional: bool  # whether each layer reads both ways, which doubles the length of a sentence's vector

    def __post_init__(self) -> None:
        sizes = (self.num_embeddings, self.embed_dim, self.hidden_size, self.num_layers)
        whole = all(type(size) is int and size > 0 for size in sizes)
        if not whole or self.num_layers > MOST_LAYERS or type(self.bidirectional) is not bool:
            raise ValueError("not the shape of a LASER encoder")
        if type(self.padding_idx) is not int or not 0 <= self.padding_idx < self.num_embeddings:
            raise ValueError("the padding has no row in the table")

    @classmethod
    def of(cls, params: Mapping[str, object]) -> Self:
        """Read `params`. Raises KeyError or ValueError."""
        return cls(**{name: params[name] for name in cls.__dataclass_fields__})  # type: ignore[arg-type]


class LaserNetwork(nn.Module):
    """Piece ids to sentence vectors; its weights have the published file's names.

    Attributes:
        shape: sizes of its parts.
        dim: length of a sentence vector.
    """

    def __init__(self, shape: LaserShape) -> None:
        super().__init__()
        self.shape = shape
        self.dim = shape.hidden_size * (2 if shape.bidirectional else 1)
        self.embed_tokens = nn.Embedding(shape.num_embeddings, shape.embed_dim, shape.padding_idx)
        self.lstm = nn.LSTM(
            shape.embed_dim, shape.hidden_size, shape.num_layers, bidirectional=shape.bidirectional
        )

    @classmethod
    def of(cls, shape: LaserShape, state: Mapping[str, Tensor]) -> Self:
        """Make a network with these weights. Raises ValueError or RuntimeError where they are not such a network's."""
        if not all(isinstance(weight, Tensor) and weight.is_floating_point() for weight in state.values()):
            raise ValueError("weights that are not numbers")
        with torch.device("meta"):  # no memory, and no time for weights that are replaced at once
            model = cls(shape)
        model.load_state_dict({name: _whole(weight) for name, weight in state.items()}, assign=True)
        return model.requires_grad_()

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Piece ids (B, T), padded at the end, and their numbers (B) on the CPU, at least 1 each -> (B, dim)."""
        pieces = pack_padded_sequence(self.embed_tokens(ids), lengths, batch_first=True, enforce_sorted=False)
        states, _ = self.lstm(pieces)  # packed: padding is never computed, so a batch changes nothing
        padded, _ = pad_packed_sequence(states, batch_first=True, padding_value=float("-inf"))  # (B, T, dim)
        return padded.max(dim=1).values


def read_checkpoint(path: Path) -> tuple[LaserNetwork, dict[str, int]]:
    """Open the published file: `params`, `model` and `dictionary`, without running any code in it.

    Returns:
        The network, and the row of each piece in its table.

    Raises:
        EncoderError: it is damaged or something else.
    """
    try:
        file = torch.load(path, map_location="cpu", weights_only=True)
        model = LaserNetwork.of(LaserShape.of(file["params"]), file["model"])
        return model, checked_dictionary(file["dictionary"], model.shape)
    except Exception as error:  # a stranger's file goes through torch's readers, which raise what they like
        raise EncoderError(
            f"{path} is damaged or not LASER's published encoder; delete it and run: emu encoders download laser"
        ) from error


def checked_dictionary(dictionary: object, shape: LaserShape) -> dict[str, int]:
    """Return the dictionary if it fits a table of this shape. Raises ValueError if it does not."""
    if not isinstance(dictionary, dict) or not all(
        isinstance(piece, str) and type(row) is int and 0 <= row < shape.num_embeddings
        for piece, row in dictionary.items()
    ):
        raise ValueError("not a dictionary of pieces")
    if dictionary.get("<pad>") != shape.padding_idx or not {"</s>", "<unk>"} <= dictionary.keys():
        raise ValueError("a dictionary without its special pieces")
    return dictionary


def _whole(weight: Tensor) -> Tensor:
    """Return a copy of the weight as float32.

    A GPU keeps all of an LSTM's weights in one piece of memory, and a file's may start at any byte, on which the last
    bit of what is computed with them depends; copies don't, and are each on their own.
    """
    if not weight.is_contiguous():
        raise ValueError("weights that are a view of others")  # which could stand for more than memory holds
    return weight.to(torch.float32, copy=True)


def padded_vectors(network: LaserNetwork, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """(B, T) piece ids, (B, T) 1 on tokens and 0 on padding -> (B, dim), the vectors of `network.forward`.

    That packs its sentences, which takes shapes that depend on the data and that ONNX can't hold. Here each direction
    of each layer is an LSTM of its own on the padded batch: forwards, padding comes after all that is read, and
    backwards each sentence is reversed in its place first.
    """
    lstm, real = network.lstm, attention_mask > 0
    place = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
    reverse = torch.where(real, real.sum(dim=1, keepdim=True) - 1 - place, place).unsqueeze(-1)
    states = network.embed_tokens(input_ids)  # (B, T, embedding)
    for layer in range(lstm.num_layers):
        outputs = [_lstm(lstm, f"_l{layer}", states)]
        if lstm.bidirectional:
            backwards = _lstm(lstm, f"_l{layer}_reverse", _reorder(states, reverse))
            outputs.append(_reorder(backwards, reverse))
        states = torch.cat(outputs, dim=-1)  # (B, T, dim)
    return states.masked_fill(~real.unsqueeze(-1), float("-inf")).amax(dim=1)


def _lstm(lstm: nn.LSTM, suffix: str, x: Tensor) -> Tensor:
    """Run one direction of one layer of an LSTM: (B, T, in) -> (B, T, hidden)."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights = [getattr(lstm, f"{name}{suffix}") for name in names]
    start = x.new_zeros(1, len(x), lstm.hidden_size)
    return torch.lstm(x, (start, start), weights, True, 1, 0.0, False, False, True)[0]


def _reorder(x: Tensor, order: Tensor) -> Tensor:
    """(B, T, C) -> the same rows in the order (B, T, 1)."""
    return x.gather(1, order.expand(-1, -1, x.shape[2]))


class LaserEncoder(EncoderByLanguage):
    """LASER: a BiLSTM of five layers over BPE pieces, max-pooled to 1024-d; the vectors are not normalised.

    All its weights train: 23.6 M in the piece embeddings and 28.6 M above them.
    """

    spec: ClassVar[str] = "laser"
    dim: int = 1024  # of the published encoder; each has its own
    max_tokens = 512
    languages = tuple(LANGUAGES.split())

    def __init__(self, model: LaserNetwork, text: LaserText) -> None:
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
