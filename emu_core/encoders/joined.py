"""Several encoders as one, whose cosine is the mean of theirs."""

import math
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import chain, zip_longest
from pathlib import Path
from textwrap import indent
from typing import ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.encoders.base import (
    Encoder,
    EncoderByLanguage,
    EncoderInfo,
    Features,
    FloatArray,
    ReportProgress,
    TokenIds,
)
from emu_core.encoders.onnx_parts import OnnxParts
from emu_core.encoders.registry import JOINED, PARTS, encoder_class, load_encoder, open_encoder
from emu_core.encoders.saved import opening, read_config, write_encoder
from emu_core.encoders.specs import BOTH, distinct_parts, joined_spec

TIMES_SLOWER = 20  # both together than "use" (benchmarks/README.md)
_IMPORTS = "from itertools import chain, zip_longest"
NO_TOKEN = -1  # fills the places of a part that has fewer tokens than another
_TO_IDS = """\
tokenizers_of_parts = [{functions}]


def token_ids(text):
    parts = [token_ids_of_part(text) for token_ids_of_part in tokenizers_of_parts]
    return list(chain.from_iterable(zip_longest(*parts, fillvalue={no_token})))
"""


class JoinedEncoder(EncoderByLanguage):
    """The unit vectors of its parts side by side, each times the root of its weight: of length 1.

    The cosine of two sentences is then the weighted mean of the parts' cosines. The token ids of a sentence alternate
    between the parts; `NO_TOKEN` fills up those of the shorter ones.

    Attributes:
        parts: the encoders, none of them joined.
        weights: one for each part, above 0; their sum is 1.
        dims: the lengths of their vectors.
    """

    spec: ClassVar[str] = JOINED
    pad_id = NO_TOKEN
    weights: tuple[float, ...]
    dims: tuple[int, ...]

    def __init__(self, encoders: Sequence[Encoder], weights: Sequence[float] | None = None) -> None:
        """Join encoders, with equal weights if none are given. One that is joined itself is taken apart."""
        super().__init__()
        weights = [1 / len(encoders)] * len(encoders) if weights is None else weights
        flat = [
            (part, weight * share)
            for encoder, weight in zip(encoders, weights, strict=True)
            for part, share in (
                zip(encoder.parts, encoder.weights, strict=True)
                if isinstance(encoder, JoinedEncoder)
                else [(encoder, 1.0)]
            )
        ]
        self._parts = nn.ModuleList(part for part, _ in flat)
        self.weights = tuple(weight for _, weight in flat)
        self.dims = tuple(part.dim for part in self.parts)
        self.dim, self.max_tokens = sum(self.dims), min(part.max_tokens for part in self.parts)
        known = [
            part.languages for part in self.parts if part.languages
        ]  # those of a model of the hub are unknown
        self.languages = tuple(code for code in known[0] if all(code in of for of in known)) if known else ()
        self.eval()

    @property
    def parts(self) -> list[Encoder]:
        """The encoders."""
        return list(self._parts)  # type: ignore[arg-type]

    def with_parts(self, encoders: Sequence[Encoder]) -> "JoinedEncoder":
        """Return other encoders joined with the same weights, such as those that were trained from these."""
        return JoinedEncoder(encoders, self.weights)

    @property
    def part_dims(self) -> tuple[int, ...]:
        """The lengths of the parts' vectors."""
        return tuple(dim for part in self.parts for dim in part.part_dims)

    @property
    def part_languages(self) -> tuple[tuple[str, ...], ...]:
        """The languages of the parts."""
        return tuple(languages for part in self.parts for languages in part.part_languages)

    @cached_property
    def without_head(self) -> Encoder:
        """The same of the parts without their heads."""
        parts = [part.without_head for part in self.parts]
        same = all(bare is part for bare, part in zip(parts, self.parts, strict=True))
        return self if same else self.with_parts(parts)

    @classmethod
    def info(cls) -> EncoderInfo:
        """Describe the published encoders that are offered joined."""
        infos = [info for kind in BOTH if (info := encoder_class(kind).info()) is not None]
        missing = next((info.reason for info in infos if not info.available), "")
        first, *others = (info.languages for info in infos)
        return EncoderInfo(
            joined_spec(BOTH),
            f"Best quality: both encoders, about {TIMES_SLOWER} times slower",
            sum(info.dim for info in infos),
            tuple(code for code in first if all(code in languages for languages in others)),
            sum(info.size_mb for info in infos),
            " AND ".join(info.licence for info in infos),
            not missing,
            missing,
        )

    @classmethod
    def load(cls, name: str = "") -> Self:
        """Open the parts of a spec such as `use+e5-small`. Raises EncoderError if one can't be opened."""
        return cls([load_encoder(part, device="cpu:fp32") for part in distinct_parts(name)])

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote. Raises EncoderError if it is incomplete."""
        with opening(folder, cls.spec):
            config = read_config(folder)
            weights = [float(weight) for weight in config["weights"]]
            folders = [folder / PARTS / str(number) for number in range(len(weights))]
            if (
                len(weights) < 2
                or not all(0 < weight < 1 for weight in weights)
                or not math.isclose(sum(weights), 1)
            ):
                raise ValueError(f"the weights {weights}")
            if any(read_config(part)["encoder"] == cls.spec for part in folders):
                raise ValueError("a joined part")
            encoder = cls([open_encoder(part) for part in folders], weights)
            if config["dim"] != encoder.dim:
                raise ValueError("parts of other lengths")
            return encoder

    def save(self, folder: Path) -> None:
        """Write config.json, and each part's files into `parts/`."""
        write_encoder(folder, {"encoder": self.spec, "dim": self.dim, "weights": self.weights})
        for number, part in enumerate(self.parts):
            part.save(folder / PARTS / str(number))

    def token_ids(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> list[TokenIds]:
        """Return the token ids of each text, in turn those of each part, truncated to its `max_tokens`."""
        ids = [
            part.token_ids(texts, languages) if isinstance(part, EncoderByLanguage) else part.token_ids(texts)
            for part in self.parts
        ]
        return [_alternating(of_text) for of_text in zip(*ids, strict=True)]

    def limit_tokens(self, most: int) -> None:
        """Truncate texts to `most` tokens of each part from now on."""
        for part in self.parts:
            part.limit_tokens(min(most, part.max_tokens))
        self.max_tokens = most

    def ids_by_part(self, ids: Sequence[TokenIds]) -> list[list[TokenIds]]:
        """Return the token ids of the sentences for each part."""
        count = len(self.parts)
        return [
            [[token for token in sentence[number::count] if token != NO_TOKEN] for sentence in ids]
            for number in range(count)
        ]

    def combined_ids(self, ids: Sequence[TokenIds], most: int) -> TokenIds:
        """Return the token ids of a sentence that combines all, up to `most` for each part."""
        parts = zip(self.parts, self.ids_by_part(ids), strict=True)
        return _alternating([part.combined_ids(part_ids, most) for part, part_ids in parts])

    def joined(self, vectors: Sequence[Tensor]) -> Tensor:
        """Join the vectors of the parts, (N, dim of the part) each: (N, dim)."""
        units = (F.normalize(part.float(), dim=1) for part in vectors)
        return torch.cat(
            [unit * math.sqrt(weight) for unit, weight in zip(units, self.weights, strict=True)], dim=1
        )

    def joined_arrays(self, vectors: Sequence[FloatArray]) -> FloatArray:
        """Join arrays as `joined` joins tensors."""
        return self.joined([torch.from_numpy(np.asarray(part)) for part in vectors]).numpy()

    def split(self, vectors: FloatArray) -> list[FloatArray]:
        """Return the parts' unit vectors, (N, dim of the part) each, of joined ones (N, dim)."""
        columns = np.split(vectors, np.cumsum(self.dims)[:-1], axis=1)
        return [
            part / np.float32(math.sqrt(weight)) for part, weight in zip(columns, self.weights, strict=True)
        ]

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """Return a batch of each part, by the part's number and the names of its tensors."""
        return {
            f"{number}.{name}": tensor
            for number, (part, part_ids) in enumerate(zip(self.parts, self.ids_by_part(ids), strict=True))
            for name, tensor in part.collate(part_ids).items()
        }

    def forward(self, features: Features) -> Tensor:
        """Return sentence vectors (B, dim), with gradients."""
        batches: list[Features] = [{} for _ in self.parts]
        for key, tensor in features.items():
            number, _, name = key.partition(".")
            if number.isdecimal():  # sentence-transformers adds others
                batches[int(number)][name] = tensor
        return self.joined([part(batch) for part, batch in zip(self.parts, batches, strict=True)])

    @torch.no_grad()
    def vectors(
        self,
        ids: Sequence[TokenIds],
        *,
        batch_tokens: int | None = None,
        on_progress: ReportProgress | None = None,
    ) -> Tensor:
        """Encode like every encoder, each part in batches of its own."""
        vectors = []
        for number, (part, part_ids) in enumerate(zip(self.parts, self.ids_by_part(ids), strict=True)):
            report = None if on_progress is None else partial(_report, on_progress, number, len(self.parts))
            vectors.append(part.vectors(part_ids, batch_tokens=batch_tokens, on_progress=report))
        return self.joined(vectors)

    def embeddings(self) -> list[nn.Parameter]:
        """Return the embedding table of each part."""
        return [table for part in self.parts for table in part.embeddings()]

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the layers of the parts side by side, those at the output together."""
        from_output = zip_longest(*(reversed(part.layers()) for part in self.parts), fillvalue=[])
        return [list(chain.from_iterable(layers)) for layers in from_output][::-1]

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Return one graph of all parts, whose tokenizers' files are in folders of their own."""
        names = [f"part_{number}" for number in range(len(self.parts))]
        exports = []
        for name, part in zip(names, self.parts, strict=True):
            (folder / name).mkdir()
            exports.append(part.onnx_parts(folder / name))
        functions = [
            _as_function(name, export, [path.name for path in (folder / name).iterdir()])
            for name, export in zip(names, exports, strict=True)
        ]
        calls = ", ".join(f"{name}()" for name in names)
        code = "\n\n".join([*functions, _TO_IDS.format(functions=calls, no_token=NO_TOKEN)])
        ids = [
            _alternating(of_text) for of_text in zip(*(export.check_ids for export in exports), strict=False)
        ]
        counted = f"{exports[0].counted} of each of {len(names)} encoders"
        return OnnxParts(partial(self._graph, exports), _IMPORTS, code, ids, counted, len(names))

    def _graph(self, exports: Sequence[OnnxParts], ids: Tensor, mask: Tensor) -> Tensor:
        """Return the vectors (B, dim) of token ids (B, T) in operations of ONNX."""
        vectors = []
        for number, (part, export) in enumerate(zip(self.parts, exports, strict=True)):
            tokens, known = ids[:, number :: len(exports)], mask[:, number :: len(exports)]
            if export.counted == "tokens":  # beyond is only padding, for which a transformer has no positions
                width = torch.sym_min(tokens.shape[1], part.max_tokens)
                tokens, known = tokens.narrow(1, 0, width), known.narrow(1, 0, width)
            known = known * (tokens != NO_TOKEN)
            vectors.append(export.graph(torch.where(known > 0, tokens, part.pad_id), known))
        return self.joined(vectors)


def _alternating(ids: Sequence[TokenIds]) -> TokenIds:
    """Return the token ids of a sentence by all parts in turn."""
    return list(chain.from_iterable(zip_longest(*ids, fillvalue=NO_TOKEN)))


def _report(on_progress: ReportProgress, number: int, count: int, done: int, total: int) -> None:
    """Report the progress of a part as that of all."""
    on_progress((number * total + done) // count, total)


def _as_function(name: str, export: OnnxParts, files: Sequence[str]) -> str:
    """Return lines of Python with a function that returns a part's `token_ids`; its files are in the folder `name`."""
    code = f"{export.imports}\n\n{export.token_ids}".replace(
        'from_pretrained(".")', f'from_pretrained("{name}")'
    )
    for file in files:
        code = code.replace(f'"{file}"', f'"{name}/{file}"')
    return f"def {name}():\n{indent(code.strip(), '    ')}\n\n    return token_ids\n"


def base_spec(encoder: Encoder) -> str:
    """Return the kinds of the encoders under all layers of an encoder, as a spec."""
    bare = encoder.bare
    return joined_spec(part.bare.spec for part in (bare.parts if isinstance(bare, JoinedEncoder) else [bare]))
