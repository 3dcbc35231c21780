"""A frozen transformer under the layers of FMDA or its baseline: the result of those methods."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.data.wording import shown
from emu_core.encoders.base import Encoder, Features, FloatArray, ReportProgress, evaluation_mode
from emu_core.encoders.encode import Encode
from emu_core.encoders.on_base import EncoderOnBase
from emu_core.encoders.onnx_parts import OnnxParts
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import EncoderError, Fix
from emu_core.methods.fmda.layers import Fmda, FmdaOutput, MeaningLanguage
from emu_core.methods.fmda.parts import Part, mean_over_tokens


class DisentangledEncoder(EncoderOnBase):
    """A transformer and layers over its token states that split a sentence into several embeddings.

    As an encoder it returns the meaning embedding, with length 1; `parts` returns every embedding.
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
        with torch.random.fork_rng(devices=[]):  # the weights are drawn before they are replaced
            model: Fmda | MeaningLanguage = MeaningLanguage(transformer.state_dim, languages)
            if config["model"] == "fmda":
                widths = (len(state[name]) for name in ("rebuild.0.bias", "language.0.bias"))
                model = Fmda(transformer.state_dim, languages, *widths)
        model.load_state_dict(dict(state))
        return cls(transformer, model)

    def facts(self) -> dict[str, object]:
        """Return the model's name and languages."""
        name = "fmda" if isinstance(self.head, Fmda) else "meaning-language"
        return {"model": name, "languages": list(self.head.languages)}

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Return the transformer's parts, with the meaning embedding as the graph."""
        parts = self.base.onnx_parts(folder)
        return replace(parts, graph=lambda ids, mask: self({"input_ids": ids, "attention_mask": mask}))

    @property
    def part_names(self) -> tuple[Part, ...]:
        """The names of the embeddings that `parts` returns."""
        baseline = (Part.CLS, Part.MEAN, Part.LANGUAGE, Part.MEANING)
        return tuple(Part) if isinstance(self.head, Fmda) else baseline

    @torch.no_grad()
    def parts(
        self, texts: Sequence[str], *, on_progress: ReportProgress | None = None
    ) -> dict[Part, FloatArray]:
        """Return every embedding (N, dim) of N sentences, not normalised; `on_progress` as in `encode`."""
        ids = self.ids_of(texts)
        vectors_by_part = {part: torch.empty((len(ids), self.dim)) for part in self.part_names}
        with evaluation_mode(self):
            for rows, batch in self.in_batches(ids, on_progress=on_progress):
                features = self.collate(batch)
                states, mask = self.base.states(features), features["attention_mask"].bool()
                batch_parts = {Part.CLS: states[:, 0], Part.MEAN: mean_over_tokens(states, mask)}
                batch_parts |= self.head(states, mask).parts()
                for part, vectors in batch_parts.items():
                    vectors_by_part[part][rows] = vectors.float().cpu()
        return {part: vectors.numpy() for part, vectors in vectors_by_part.items()}

    def encode_part(self, name: str) -> Encode:
        """Return a function from N texts to their embeddings (N, dim) of a part, not normalised.

        Raises:
            EncoderError: the encoder has no such part.
        """
        if name not in self.part_names:
            raise EncoderError(
                f"this run has no embedding '{shown(name)}'; there are: {', '.join(self.part_names)}. Choose one with ",
                Fix("part"),
            )
        return lambda texts: self.parts(texts)[Part(name)]

    @torch.no_grad()
    def attention(self, text: str) -> list[tuple[str, float, float]]:
        """Return each token with its shares in the template and the residual embedding, which sum to 1 each.

        Special tokens are included.

        Raises:
            EncoderError: the baseline has no attention.
        """
        if not isinstance(self.head, Fmda):
            raise EncoderError("only FMDA has an attention over tokens; choose a run of the method fmda")
        ids = self.ids_of([text])
        features = self.collate(ids)
        with evaluation_mode(self):
            out: FmdaOutput = self.head(self.base.states(features), features["attention_mask"].bool())
        tokens = self.base.model.tokenizer.convert_ids_to_tokens(ids[0])
        return list(zip(tokens, out.attention[0].tolist(), out.residual_attention[0].tolist(), strict=True))

    def forward(self, features: Features) -> Tensor:
        """Return the meaning embeddings (B, dim) of a batch, with length 1."""
        out = self.head(self.base.states(features), features["attention_mask"].bool())
        return F.normalize(out.meaning, dim=-1)

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the transformer's layers, and the weights on it that affect the meaning embedding."""
        return [*super().layers(), self.head.meaning_layers()]
