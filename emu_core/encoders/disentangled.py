"""A frozen transformer with FMDA's layers, or its baseline's, on it: the result of those methods."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.data.wording import shown
from emu_core.encoders.base import Encoder, Features, FloatArray, Progress, evaluation_mode
from emu_core.encoders.encode import Encode
from emu_core.encoders.on_base import EncoderOnBase
from emu_core.encoders.onnx_parts import OnnxParts
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import EncoderError
from emu_core.models.fmda import Fmda, FmdaOutput, MeaningLanguage
from emu_core.models.parts import Part, mean_over_tokens


class DisentangledEncoder(EncoderOnBase):
    """A transformer and the layers that split its token states.

    As an encoder it gives the meaning embedding, at length 1. `parts` gives every embedding.

    Attributes:
        base: the transformer, whose tokens it takes.
        head: the layers over its states.
    """

    spec: ClassVar[str] = "disentangled"

    base: TransformerEncoder
    head: Fmda | MeaningLanguage

    def __init__(self, base: TransformerEncoder, model: Fmda | MeaningLanguage) -> None:
        super().__init__(base, model, model.dim)

    @classmethod
    def on(cls, base: Encoder, config: Mapping[str, Any], state: Mapping[str, Tensor]) -> Self:
        """Put saved layers on their transformer."""
        transformer = require_transformer(base)
        languages = tuple(str(code) for code in config["languages"])
        model: Fmda | MeaningLanguage
        with torch.random.fork_rng(devices=[]):  # first weights are drawn, and then replaced
            if config["model"] == "fmda":
                widths = int(config["hidden"]), int(config["language_hidden"])
                model = Fmda(transformer.state_dim, languages, *widths)
            else:
                model = MeaningLanguage(transformer.state_dim, languages)
        model.load_state_dict(dict(state))
        return cls(transformer, model)

    def facts(self) -> dict[str, Any]:
        """Return which model it is, its languages and its widths."""
        languages = list(self.head.languages)
        if isinstance(self.head, MeaningLanguage):
            return {"model": "meaning-language", "languages": languages}
        widths = {"hidden": self.head.hidden, "language_hidden": self.head.language_hidden}
        return {"model": "fmda", "languages": languages, **widths}

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Return the transformer's, with the meaning embedding for its graph."""
        parts = self.base.onnx_parts(folder)
        return replace(parts, graph=lambda ids, mask: self({"input_ids": ids, "attention_mask": mask}))

    @property
    def part_names(self) -> tuple[Part, ...]:
        """The names of the embeddings that `parts` gives."""
        if isinstance(self.head, Fmda):
            return tuple(Part)
        return (Part.CLS, Part.MEAN, Part.LANGUAGE, Part.MEANING)

    @torch.no_grad()
    def parts(self, texts: Sequence[str], *, on_progress: Progress | None = None) -> dict[Part, FloatArray]:
        """Return every embedding of N sentences: arrays (N, dim), of the length that the layers gave them.

        Args:
            texts: N sentences.
            on_progress: called with (sentences done, N) after each batch.
        """
        ids = self.token_ids(texts)
        found = {part: torch.empty((len(ids), self.dim)) for part in self.part_names}
        with evaluation_mode(self):
            for rows, batch in self.in_batches(ids, on_progress=on_progress):
                features = self.collate(batch)
                states, mask = self.base.states(features), features["attention_mask"].bool()
                own = {Part.CLS: states[:, 0], Part.MEAN: mean_over_tokens(states, mask)}
                own |= self.head(states, mask).parts()
                for part, vectors in own.items():
                    found[part][rows] = vectors.float().cpu()
        return {part: vectors.numpy() for part, vectors in found.items()}

    @torch.no_grad()
    def attention(self, text: str) -> list[tuple[str, float, float]]:
        """Return each token's share in the template and in the residual embedding: (token, share, share).

        The shares of each embedding add up to 1. They include the tokens that the encoder itself puts around the
        sentence.

        Raises:
            EncoderError: the baseline has no attention.
        """
        if not isinstance(self.head, Fmda):
            raise EncoderError("only FMDA has an attention over tokens; choose a run of the method fmda")
        ids = self.token_ids([text])
        features = self.collate(ids)
        with evaluation_mode(self):
            out: FmdaOutput = self.head(self.base.states(features), features["attention_mask"].bool())
        tokens = self.base.model.tokenizer.convert_ids_to_tokens(ids[0])
        return list(zip(tokens, out.attention[0].tolist(), out.residual_attention[0].tolist(), strict=True))

    def forward(self, features: Features) -> Tensor:
        """A batch -> meaning embeddings (B, dim) of length 1."""
        out = self.head(self.base.states(features), features["attention_mask"].bool())
        return F.normalize(out.meaning, dim=-1)

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the transformer's, and then the layers on it that have a part in the meaning embedding."""
        return [*super().layers(), self.head.meaning_layers()]


def part_encode(encoder: Encoder, name: str) -> Encode:
    """Return a function from N texts to their embeddings of that name (N, dim), of the length that the layers give.

    Args:
        encoder: of a run of the method fmda or meaning-language.
        name: a `Part`.

    Raises:
        EncoderError: the encoder has no such embedding.
    """
    if not isinstance(encoder, DisentangledEncoder):
        raise EncoderError(
            f"the encoder '{encoder.spec}' has no embedding '{shown(name)}' but one of the whole sentence; name a run "
            "of the method fmda or meaning-language, or leave --part out"
        )
    part = next((part for part in encoder.part_names if part == name), None)
    if part is None:
        raise EncoderError(
            f"this run has no embedding '{shown(name)}'; there are: {', '.join(encoder.part_names)}. Choose one with "
            "--part"
        )
    return lambda texts: encoder.parts(texts)[part]
