"""FMDA's layers over a frozen encoder's token states (Wu et al., section 3.1)."""

from dataclasses import dataclass

from torch import Tensor, nn

from emu_core.models.parts import Part, Standard, softmax_over_tokens


@dataclass(frozen=True)
class FmdaOutput:
    """FMDA's output for B sentences of at most L tokens.

    Attributes:
        language: (B, d), what is the language's alone.
        template: (B, d), the sentence without its slots.
        residual: (B, d), what the template leaves.
        meaning: (B, d), made of template and residual.
        attention: (B, L), how much of the template embedding comes from each token; 0 on padding.
        residual_attention: (B, L), the same of the residual embedding.
    """

    language: Tensor
    template: Tensor
    residual: Tensor
    meaning: Tensor
    attention: Tensor
    residual_attention: Tensor

    def parts(self) -> dict[Part, Tensor]:
        """The four embeddings by name."""
        return {
            Part.LANGUAGE: self.language,
            Part.TEMPLATE: self.template,
            Part.RESIDUAL: self.residual,
            Part.MEANING: self.meaning,
        }


class Fmda(nn.Module):
    """FMDA's trainable layers.

    The paper's four FFN layers are single linear layers here, and its MLPs two linear layers with a ReLU between. One
    MLP rebuilds the utterance (section 3.3) and makes the meaning (section 3.4): of one of its own, which the contrast
    alone would train, the meaning is soon no more than the intent.

    Attributes:
        dim: length d of token states and of every embedding.
        hidden: width of the MLPs.
        language_hidden: width of the language's MLP; a wide one lets a language embedding carry the sentence along, and
            then nothing is learnt from rebuilding with the other language's.
        languages: codes, in the order of the language logits.
        standard: what states go through first; it stays as it is while the layers are trained.
    """

    def __init__(
        self, dim: int, languages: tuple[str, ...], hidden: int, language_hidden: int | None = None
    ) -> None:
        super().__init__()
        self.dim, self.hidden, self.languages = dim, hidden, languages
        self.language_hidden = language_hidden or hidden
        self.standard = Standard(dim)
        self.language = _mlp(dim, self.language_hidden)
        self.identify = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, len(languages)))
        self.query, self.key = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.template_value, self.residual_value = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.rebuild = _mlp(dim, hidden)

    def forward(self, states: Tensor, mask: Tensor) -> FmdaOutput:
        """Split sentences.

        Only the attention's row of the [CLS] position is computed, since only that position of the sequences is read.
        Both attentions sum to one, so a linear layer over tokens can be applied after the sum over them: the result
        is that of the paper's L x L attention at a fraction of the work.

        Args:
            states: (B, L, d), the frozen encoder's last token states, [CLS] first.
            mask: (B, L), True on tokens.
        """
        states = self.standard(states)  # padding becomes anything, and is masked below
        cls = states[:, 0]
        # q K^T = (q W_K) h^T, for q b_K moves every logit alike; no root of d (section 3.1)
        toward = self.query(cls) @ self.key.weight  # (B, d)
        attention = softmax_over_tokens((states @ toward.unsqueeze(-1)).squeeze(-1), mask)  # (B, L)
        residual_attention = softmax_over_tokens(1 - attention, mask)
        template = self.template_value(_pooled(attention, states))
        residual = self.residual_value(_pooled(residual_attention, states))
        return FmdaOutput(
            language=self.language(cls),
            template=template,
            residual=residual,
            meaning=self.rebuild(template + residual),
            attention=attention,
            residual_attention=residual_attention,
        )

    def language_logits(self, language: Tensor) -> Tensor:
        """Language embeddings (B, d) -> logits (B, languages), section 3.2."""
        out: Tensor = self.identify(language)
        return out

    def rebuilt(self, out: FmdaOutput, language: Tensor | None = None) -> Tensor:
        """The utterance's standardised [CLS], rebuilt from language, template and residual (section 3.3): (B, d).

        Args:
            out: of the utterances.
            language: language embeddings (B, d) to take instead of their own.
        """
        spoken = out.language if language is None else language
        utterance: Tensor = self.rebuild(spoken + out.template + out.residual)
        return utterance

    def template_layers(self) -> list[nn.Parameter]:
        """The template encoder: what the first of two stages trains and the second leaves (section 4.6)."""
        return [*self.query.parameters(), *self.key.parameters(), *self.template_value.parameters()]

    def meaning_layers(self) -> list[nn.Parameter]:
        """Return the layers of the meaning embedding; the key's bias moves every token's logit alike and is none."""
        read = (self.query, self.key, self.template_value, self.residual_value, self.rebuild)
        return [weight for layer in read for weight in layer.parameters() if weight is not self.key.bias]


def _mlp(dim: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))


def _pooled(attention: Tensor, states: Tensor) -> Tensor:
    return (attention.unsqueeze(1) @ states).squeeze(1)


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
