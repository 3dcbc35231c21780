"""The layers of FMDA (Wu et al., section 3.1) and its baseline over a frozen encoder's token states."""

from dataclasses import dataclass

from torch import Tensor, nn

from emu_core.methods.fmda.parts import Part, Standard, softmax_over_tokens


@dataclass(frozen=True)
class MeaningLanguageOutput:
    """The embeddings into which FMDA and its baseline split B sentences."""

    meaning: Tensor
    """(B, d), of FMDA from template and residual."""
    language: Tensor
    """(B, d), the language-specific part."""

    def parts(self) -> dict[Part, Tensor]:
        """Return the embeddings by name."""
        return {Part.LANGUAGE: self.language, Part.MEANING: self.meaning}


@dataclass(frozen=True)
class FmdaOutput(MeaningLanguageOutput):
    """FMDA's output for B sentences of at most L tokens."""

    template: Tensor
    """(B, d), the sentence without its slots."""
    residual: Tensor
    """(B, d), the rest of the sentence."""
    attention: Tensor
    """(B, L), the share of each token in the template embedding; 0 on padding."""
    residual_attention: Tensor
    """(B, L), the same for the residual embedding."""

    def parts(self) -> dict[Part, Tensor]:
        """Return the embeddings by name."""
        return super().parts() | {Part.TEMPLATE: self.template, Part.RESIDUAL: self.residual}


class Fmda(nn.Module):
    """FMDA's trainable layers.

    The paper's four FFN layers are single linear layers here, and its MLPs two linear layers with a ReLU between. One
    MLP rebuilds the utterance (section 3.3) and makes the meaning (section 3.4): with an MLP of its own, trained by the
    contrast alone, the meaning would reduce to the intent.

    Args:
        dim: length d of token states and of every embedding.
        languages: codes, in the order of the language logits.
        hidden: width of the MLPs.
        language_hidden: width of the language's MLP, by default `hidden`; a wide one lets a language embedding carry
            the sentence, so that nothing is learnt from rebuilding it with the other language's.
    """

    def __init__(
        self, dim: int, languages: tuple[str, ...], hidden: int, language_hidden: int | None = None
    ) -> None:
        super().__init__()
        self.dim, self.languages = dim, languages
        self.standard = Standard(dim)
        self.language = _mlp(dim, language_hidden or hidden)
        self.identify = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, len(languages)))
        self.query, self.key = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.template_value, self.residual_value = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.rebuild = _mlp(dim, hidden)

    def forward(self, states: Tensor, mask: Tensor) -> FmdaOutput:
        """Split sentences.

        Only the attention's row of [CLS] is computed, the only position that is read. Both attentions sum to one, so
        that the linear layers can follow the sum over tokens: the result is that of the paper's L x L attention.

        Args:
            states: (B, L, d), the frozen encoder's last token states, [CLS] first.
            mask: (B, L), True on tokens.
        """
        states = self.standard(states)  # padding is masked below
        cls = states[:, 0]
        # q K^T = (q W_K) h^T, because q b_K shifts all logits equally; no root of d (section 3.1)
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
        """Return logits (B, languages) of language embeddings (B, d), section 3.2."""
        return self.identify(language)

    def rebuilt(self, out: FmdaOutput, language: Tensor | None = None) -> Tensor:
        """Return the standardised [CLS] (B, d), rebuilt from language, template and residual (section 3.3).

        `language` are language embeddings (B, d) to use instead of the utterances' own.
        """
        spoken = out.language if language is None else language
        return self.rebuild(spoken + out.template + out.residual)

    def template_layers(self) -> list[nn.Parameter]:
        """Return the template encoder, which only the first of two stages trains (section 4.6)."""
        return [*self.query.parameters(), *self.key.parameters(), *self.template_value.parameters()]

    def meaning_layers(self) -> list[nn.Parameter]:
        """Return the weights of the meaning embedding; the key's bias, which shifts all logits equally, is not one."""
        read = (self.query, self.key, self.template_value, self.residual_value, self.rebuild)
        return [weight for layer in read for weight in layer.parameters() if weight is not self.key.bias]


def _mlp(dim: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))


def _pooled(attention: Tensor, states: Tensor) -> Tensor:
    return (attention.unsqueeze(1) @ states).squeeze(1)


class MeaningLanguage(nn.Module):
    """The baseline: linear layers over the frozen encoder's [CLS] for meaning and language, and language logits.

    Args:
        dim: length d of [CLS] and of both embeddings.
        languages: codes, in the order of the language logits.
    """

    def __init__(self, dim: int, languages: tuple[str, ...]) -> None:
        super().__init__()
        self.dim, self.languages = dim, languages
        self.standard = Standard(dim)
        self.meaning, self.language = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.identify = nn.Linear(dim, len(languages))

    def forward(self, states: Tensor, mask: Tensor) -> MeaningLanguageOutput:
        """Split sentences of token states (B, L, d), of which only [CLS] is read; the mask is not."""
        return self.split(states[:, 0])

    def split(self, cls: Tensor) -> MeaningLanguageOutput:
        """Split sentences of [CLS] states (B, d)."""
        cls = self.standard(cls)
        return MeaningLanguageOutput(self.meaning(cls), self.language(cls))

    def language_logits(self, language: Tensor) -> Tensor:
        """Return logits (B, languages) of language embeddings (B, d)."""
        return self.identify(language)

    def meaning_layers(self) -> list[nn.Parameter]:
        """Return the layers of the meaning embedding."""
        return list(self.meaning.parameters())
