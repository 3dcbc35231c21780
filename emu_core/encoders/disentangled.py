"""A frozen transformer with FMDA's layers, or its baseline's, on it: what those methods leave."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Self

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from emu_core.data.wording import shown
from emu_core.encoders.base import Encoder, Features, FloatArray, evaluation_mode
from emu_core.encoders.encode import Encode
from emu_core.encoders.on_base import BASE, HEAD, EncoderOnBase
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import EncoderError
from emu_core.models.fmda import Fmda, FmdaOutput
from emu_core.models.meaning_language import MeaningLanguage
from emu_core.models.parts import Part, mean_over_tokens


class DisentangledEncoder(EncoderOnBase):
    """A transformer and the layers that split its token states.

    As an encoder it gives the meaning embedding, at length 1. `parts` gives every embedding.

    Attributes:
        base: the transformer, whose tokens it takes.
        model: the layers over its states.
    """

    spec: ClassVar[str] = "disentangled"

    base: TransformerEncoder

    def __init__(self, base: TransformerEncoder, model: Fmda | MeaningLanguage) -> None:
        """Put layers on a transformer; neither is copied."""
        super().__init__()
        self.base, self.model = base, model.to(base.device)
        self.dim, self.max_tokens, self.languages = model.dim, base.max_tokens, base.languages
        self.eval()

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Open what `save` wrote. Raises EncoderError when it is not whole."""
        from emu_core.encoders.registry import open_encoder

        base = require_transformer(open_encoder(folder / BASE))
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            languages = tuple(str(code) for code in config["languages"])
            model: Fmda | MeaningLanguage
            with torch.random.fork_rng(devices=[]):  # first weights are drawn, and then replaced
                if config["model"] == "fmda":
                    widths = int(config["hidden"]), int(config["language_hidden"])
                    model = Fmda(base.state_dim, languages, *widths)
                else:
                    model = MeaningLanguage(base.state_dim, languages)
            model.load_state_dict(load_file(folder / HEAD))
            return cls(base, model)
        except (KeyError, TypeError, ValueError, RuntimeError, OSError, SafetensorError):
            raise EncoderError(
                f"{folder} does not hold a whole encoder '{cls.spec}'; train the run again"
            ) from None

    def save(self, folder: Path) -> None:
        """Write config.json, the layers' safetensors, and `base/`."""
        facts = {
            "model": "fmda" if isinstance(self.model, Fmda) else "meaning-language",
            "languages": list(self.model.languages),
            **_widths(self.model),
        }
        self.write(folder, self.model.state_dict(), facts)

    @property
    def part_names(self) -> tuple[Part, ...]:
        """What `parts` gives."""
        if isinstance(self.model, Fmda):
            return tuple(Part)
        return (Part.CLS, Part.MEAN, Part.LANGUAGE, Part.MEANING)

    @torch.no_grad()
    def parts(
        self, texts: Sequence[str], *, on_progress: Callable[[int, int], None] | None = None
    ) -> dict[Part, FloatArray]:
        """Every embedding of N sentences: arrays (N, dim), of the length that the layers gave them.

        Args:
            texts: N sentences.
            on_progress: called with (sentences done, N) after each batch.
        """
        ids = self.token_ids(texts)
        found = {part: torch.empty((len(ids), self.dim)) for part in self.part_names}
        done = 0
        with evaluation_mode(self):
            for rows in self.batches(ids):
                features = self.collate([ids[row] for row in rows])
                states, mask = self.base.states(features), features["attention_mask"].bool()
                own = {Part.CLS: states[:, 0], Part.MEAN: mean_over_tokens(states, mask)}
                own |= self.model(states, mask).parts()
                for part, vectors in own.items():
                    found[part][rows] = vectors.float().cpu()
                done += len(rows)
                if on_progress is not None:
                    on_progress(done, len(ids))
        return {part: vectors.numpy() for part, vectors in found.items()}

    @torch.no_grad()
    def attention(self, text: str) -> list[tuple[str, float, float]]:
        """What the template and the residual embedding of a sentence are made of: (token, share, share) for each token.

        The shares of each embedding add up to 1. They include the tokens that the encoder itself puts around the
        sentence.

        Raises:
            EncoderError: the baseline has no attention.
        """
        if not isinstance(self.model, Fmda):
            raise EncoderError("only FMDA has an attention over tokens; choose a run of the method fmda")
        ids = self.token_ids([text])
        features = self.collate(ids)
        with evaluation_mode(self):
            out: FmdaOutput = self.model(self.base.states(features), features["attention_mask"].bool())
        tokens = self.base.model.tokenizer.convert_ids_to_tokens(ids[0])
        return list(zip(tokens, out.attention[0].tolist(), out.residual_attention[0].tolist(), strict=True))

    def forward(self, features: Features) -> Tensor:
        """A batch -> meaning embeddings (B, dim) of length 1."""
        out = self.model(self.base.states(features), features["attention_mask"].bool())
        return F.normalize(out.meaning, dim=-1)

    def layers(self) -> list[list[nn.Parameter]]:
        """The transformer's, and then the layers on it that have a part in the meaning embedding."""
        return [*super().layers(), self.model.meaning_layers()]


def _widths(model: Fmda | MeaningLanguage) -> dict[str, int]:
    if isinstance(model, MeaningLanguage):
        return {}
    return {"hidden": model.hidden, "language_hidden": model.language_hidden}


def part_encode(encoder: Encoder, name: str) -> Encode:
    """What gives the embedding of that name: N texts -> (N, dim), of the length that the layers gave it.

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


class DisentangledGraph(nn.Module):
    """The same vectors as `DisentangledEncoder.forward`, over the same weights."""

    def __init__(self, encoder: DisentangledEncoder) -> None:
        """Take an encoder; its weights are not copied."""
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) token ids, (B, T) 1 on tokens and 0 on padding -> (B, dim)."""
        out: Tensor = self.encoder({"input_ids": input_ids, "attention_mask": attention_mask})
        return out
