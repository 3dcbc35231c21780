"""One utterance split: what each part says, and which words it is made of."""

import streamlit as st

from app.background import Done
from app.encoders import computed
from app.panels.widgets import roomy_columns
from app.split.parts import MEANINGS, NAMES
from app.tasks import split
from app.vectors import weights_of
from app.wording import literal
from emu_core import charts
from emu_core.api.split import SplitSentence, Token
from emu_core.charts.attention import Bar, TokenKind
from emu_core.data.languages import language_name
from emu_core.data.slots.utterances import Utterance
from emu_core.models.parts import Part

MOST_TOKENS = 80  # drawn
MOST_NAMED = 3
ON_WORDS = 0.05  # of the attention; with less the words are not looked at
MUCH = 1.3  # times an even share


def split_by(spec: str, one: Utterance) -> SplitSentence | None:
    """Return an utterance's parts by a run, or None, and draw why, while they are not there."""
    weights = weights_of(spec)
    outcome = computed(
        f"split:{weights}:{one.text}",
        "Opening the run's encoder and splitting the sentence",
        split,
        spec,
        weights,
        one.text,
    )
    return outcome.value if isinstance(outcome, Done) else None


def draw_parts(one: Utterance, found: SplitSentence) -> None:
    """Draw each part in words."""
    texts = {Part.LANGUAGE: _language(found)}
    if found.tokens:
        texts |= {
            Part.TEMPLATE: looks_at(one, found, [token.template for token in found.tokens]),
            Part.RESIDUAL: looks_at(one, found, [token.residual for token in found.tokens]),
            Part.MEANING: "Made of template and residual together, no language in it.",
        }
    else:
        texts[Part.MEANING] = "Made of the encoder's first token by one layer, which takes the language out."
    for place, (part, says) in zip(roomy_columns(len(texts), 230, "parts"), texts.items(), strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{NAMES[part]}**")
            st.caption(MEANINGS[part])
            st.markdown(says)


def draw_attention(one: Utterance, found: SplitSentence) -> None:
    """Draw which tokens template and residual are made of."""
    if not found.tokens:
        st.info(
            "This is a run of the baseline. It reads the encoder's first token alone and has no attention over words, "
            "no template and no residual; a run of FMDA has them.",
            icon=":material/info:",
        )
        return
    tokens = found.tokens[:MOST_TOKENS]
    st.plotly_chart(
        charts.attention_bars(
            [Bar(token.word, kind_of(token, one)) for token in tokens],
            {
                NAMES[Part.TEMPLATE]: [token.template for token in tokens],
                NAMES[Part.RESIDUAL]: [token.residual for token in tokens],
            },
        ),
        key="split-attention",
        config={"displayModeBar": False},
        alt=f"Attention over {len(tokens)} tokens, for template and residual.",
    )
    added = [token for token in found.tokens if token.is_added]
    template, residual = (
        100 * sum(shares) for shares in zip(*((t.template, t.residual) for t in added), strict=True)
    )
    cut = (
        f"The first {MOST_TOKENS} of {len(found.tokens)} tokens are drawn. "
        if len(tokens) < len(found.tokens)
        else ""
    )
    st.caption(
        f"{cut}Shares of the attention, in percent; the dotted line is an even share. Faint: what the encoder itself "
        f"puts around every sentence ({literal(' '.join(token.word for token in added))}), which takes "
        f"{template:.0f} % of the template's attention and {residual:.0f} % of the residual's. The residual looks "
        "where the template does not, and by its formula, softmax(1 - attention), is always close to even."
    )


def kind_of(token: Token, one: Utterance) -> TokenKind:
    """Return what a token of an utterance is."""
    if token.is_added:
        return TokenKind.ADDED
    if not one.slots:
        return TokenKind.WORD
    spans = [(slot.start, slot.end) for slot in one.slots]
    return TokenKind.SLOT if token.touches(spans) else TokenKind.TEMPLATE


def _language(found: SplitSentence) -> str:
    sure = sorted(found.languages.items(), key=lambda item: -item[1])[:MOST_NAMED]
    return "Says: " + ", ".join(f"{literal(language_name(code))} {100 * share:.0f} %" for code, share in sure)


def looks_at(one: Utterance, found: SplitSentence, shares: list[float]) -> str:
    """Where an embedding looks: at its slots or beside them where they are known, and at which words most."""
    own = [(share, token) for share, token in zip(shares, found.tokens, strict=True) if not token.is_added]
    total = sum(share for share, _ in own)
    if total < ON_WORDS:  # then the shares among the words say nothing
        return (
            "Looks at no word: nearly all of its attention is on what the encoder puts around the sentence."
        )
    looks = _looks(own, total / max(1, len(own)))
    if not one.slots:
        return looks
    in_slots = [(share, token) for share, token in own if kind_of(token, one) is TokenKind.SLOT]
    return (
        f"{looks} Slots get {100 * sum(share for share, _ in in_slots) / total:.0f} % of its attention to words, and "
        f"are {len(in_slots)} of {len(own)} tokens."
    )


def _looks(own: list[tuple[float, Token]], even: float) -> str:
    """Which words have clearly more than an even share, or else which have clearly less."""
    more = [(share, token) for share, token in own if share > MUCH * even]
    if more:
        return f"Looks most at: {_named(sorted(more, key=lambda item: -item[0]))}."
    less = [(share, token) for share, token in own if share < even / MUCH]
    return f"Looks evenly at all words{f' but {_named(less)}' if less else ''}."


def _named(words: list[tuple[float, Token]]) -> str:
    return ", ".join(f"*{literal(token.word, 30)}*" for _, token in words[:MOST_NAMED])
