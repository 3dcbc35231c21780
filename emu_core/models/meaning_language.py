"""The baseline of FMDA: meaning and language by linear layers (Tiyajamorn et al., 2021)."""

from dataclasses import dataclass

from torch import Tensor, nn

from emu_core.models.parts import Part, Standard


@dataclass(frozen=True)
class MeaningLanguageOutput:
    """The baseline's output for B sentences.

    Attributes:
        meaning: (B, d).
        language: (B, d).
    """

    meaning: Tensor
    language: Tensor

    def parts(self) -> dict[Part, Tensor]:
        """The two embeddings by name."""
        return {Part.LANGUAGE: self.language, Part.MEANING: self.meaning}


class MeaningLanguage(nn.Module):
    """Three single linear layers over the frozen encoder's [CLS]: meaning, language, and the language's name.

    Attributes:
        dim: length d of the sentence vector and of both embeddings.
        languages: codes, in the order of the language logits.
        standard: what [CLS] goes through first; it stays as it is while the layers are trained.
    """

    def __init__(self, dim: int, languages: tuple[str, ...]) -> None:
        """Draw the layers' first weights from torch's random state."""
        super().__init__()
        self.dim, self.languages = dim, languages
        self.standard = Standard(dim)
        self.meaning, self.language = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.identify = nn.Linear(dim, len(languages))

    def forward(self, states: Tensor, mask: Tensor) -> MeaningLanguageOutput:
        """Split sentences of token states (B, L, d), of which [CLS] is read; the mask (B, L) is not."""
        del mask
        return self.split(states[:, 0])

    def split(self, cls: Tensor) -> MeaningLanguageOutput:
        """Split sentences of [CLS] states (B, d)."""
        cls = self.standard(cls)
        return MeaningLanguageOutput(self.meaning(cls), self.language(cls))

    def language_logits(self, language: Tensor) -> Tensor:
        """Language embeddings (B, d) -> logits (B, languages)."""
        out: Tensor = self.identify(language)
        return out

    def meaning_layers(self) -> list[nn.Parameter]:
        """Return the layers of the meaning embedding."""
        return list(self.meaning.parameters())
