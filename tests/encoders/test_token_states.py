"""A frozen transformer's token states, and its tokens with slots or templates hidden."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch

from emu_core.encoders.e5 import E5SmallEncoder
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import (
    cls_states,
    joined_states,
    masked_ids,
    require_transformer,
    template_spans,
    token_states,
)
from emu_core.errors import EncoderError
from emu_core.methods.fmda.parts import mean_over_tokens
from tests.support.tiny_transformer import tiny_transformer

TEXTS = ["where is the pool ?", "open", "when does the hotel open ?", "where is the hotel ?"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TransformerEncoder:
    folder = tiny_transformer(tmp_path_factory.mktemp("tiny"))
    encoder = require_transformer(load_encoder(f"hf:{folder}"))
    encoder.eval()
    return encoder


@pytest.fixture(scope="module")
def e5() -> E5SmallEncoder:
    return E5SmallEncoder.load()


def test_states_are_those_of_each_sentence_alone(tiny: TransformerEncoder) -> None:
    done = []
    states = token_states(tiny, tiny.token_ids(TEXTS), on_progress=lambda now, of: done.append((now, of)))
    assert len(states) == len(TEXTS)
    assert done[-1] == (4, 4)
    batch, mask = states.batch(torch.tensor([2, 0]))
    for place, row in enumerate((2, 0)):
        with torch.no_grad():
            alone = tiny.states(tiny.tokenize([TEXTS[row]]))[0]
        length = len(alone)
        assert mask[place].tolist() == [True] * length + [False] * (mask.shape[1] - length)
        # Half precision has eleven bits.
        np.testing.assert_allclose(batch[place, :length], alone, rtol=2e-3, atol=2e-3)
        assert (batch[place, length:] == 0).all()
        np.testing.assert_allclose(states.first(torch.tensor([row]))[0], alone[0], rtol=2e-3, atol=2e-3)


def test_the_mean_over_states_is_the_encoders_vector(tiny: TransformerEncoder) -> None:
    states = token_states(tiny, tiny.token_ids(TEXTS))
    means = mean_over_tokens(*states.batch(torch.arange(len(TEXTS))))
    np.testing.assert_allclose(means, tiny.encode(TEXTS), rtol=5e-3, atol=5e-3)


def test_cls_of_equal_tokens_is_computed_once(
    tiny: TransformerEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = tiny.token_ids([TEXTS[0], TEXTS[1], TEXTS[0]])
    seen = []
    real = tiny.collate
    monkeypatch.setattr(tiny, "collate", lambda some: seen.extend(some) or real(some))
    found = cls_states(tiny, ids)
    assert len(seen) == 2
    assert torch.equal(found[0], found[2])
    with torch.no_grad():
        alone = tiny.states(tiny.tokenize([TEXTS[1]]))[0, 0]
    np.testing.assert_allclose(found[1], alone, rtol=1e-4, atol=1e-5)


def test_states_are_kept_for_the_same_encoder_and_tokens(
    tiny: TransformerEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = tiny.token_ids(TEXTS)
    states, cls = token_states(tiny, ids, cache=tmp_path), cls_states(tiny, ids, cache=tmp_path)
    files = sorted(tmp_path.iterdir())
    assert [file.name.split("-")[0] for file in files] == ["cls", "states"]
    ran = []
    real = tiny.states
    monkeypatch.setattr(tiny, "states", lambda features: ran.append(1) or real(features))
    again = token_states(tiny, ids, cache=tmp_path)
    assert torch.equal(again.states, states.states) and torch.equal(again.starts, states.starts)
    assert torch.equal(cls_states(tiny, ids, cache=tmp_path), cls)
    assert not ran
    token_states(tiny, ids[:2], cache=tmp_path)
    assert ran  # other sentences
    files[1].write_bytes(b"damaged")
    assert torch.equal(token_states(tiny, ids, cache=tmp_path).states, states.states)
    with torch.no_grad():
        tiny.embeddings()[0].mul_(2)
    try:
        assert not torch.equal(cls_states(tiny, ids, cache=tmp_path), cls)  # other weights
    finally:
        with torch.no_grad():
            tiny.embeddings()[0].div_(2)


def test_parts_are_joined_in_their_order(tiny: TransformerEncoder) -> None:
    ids = tiny.token_ids(TEXTS)
    whole = token_states(tiny, ids)
    parts = joined_states([token_states(tiny, some) for some in (ids[:1], [], ids[1:])])
    assert torch.equal(parts.starts, whole.starts)
    np.testing.assert_allclose(parts.states, whole.states, rtol=2e-3, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "value", "slots", "template"),
    [
        (
            "wake me up at five am today",
            "five am",
            "▁wake ▁me ▁up ▁at <mask> ▁today",
            "<mask> ▁five ▁am <mask>",
        ),
        ("five am", "five am", "<mask>", "▁five ▁am"),
        ("weck mich um fünf Uhr", "fünf Uhr", "▁we ck ▁mich ▁um <mask>", "<mask> ▁fünf ▁Uhr"),
        ("  wake me up", "me", "▁wake <mask> ▁up", "<mask> ▁me <mask>"),
        ("空港行きの最終バス", "空港", None, None),
    ],
)
def test_hidden_words_give_way_to_one_mask(
    e5: E5SmallEncoder, text: str, value: str, slots: str | None, template: str | None
) -> None:
    start = text.index(value)
    span = (start, start + len(value))
    shown = e5.model.tokenizer.convert_ids_to_tokens
    begins = ["<s>", "▁que", "ry", ":"]
    (of_slots,) = masked_ids(e5, [text], [[span]])
    (of_template,) = masked_ids(e5, [text], [template_spans(len(text), [span])])
    for ids, expected in ((of_slots, slots), (of_template, template)):
        tokens = shown(ids)
        assert tokens[:4] == begins  # the prompt is the encoder's own, and stays
        assert tokens[-1] == "</s>"
        if expected is not None:
            assert tokens[4:-1] == expected.split()
    if slots is None:  # no spaces: what is hidden is in neither
        assert "空港" not in shown(of_slots)
        assert {"空港", "▁空港"} & set(shown(of_template))


@pytest.mark.slow
def test_templates_are_one_whatever_their_values(e5: E5SmallEncoder) -> None:
    texts = ["turn on the light in the kitchen now", "turn on the light in the guest bathroom now"]
    spans = [[(25, 32)], [(25, 39)]]
    first, second = masked_ids(e5, texts, spans)
    assert first == second


def test_a_sentence_without_slots_stays_as_it_is(e5: E5SmallEncoder) -> None:
    text = "turn it off"
    assert masked_ids(e5, [text], [[]]) == e5.token_ids([text])


@pytest.mark.parametrize(
    ("length", "slots", "spans"),
    [
        (10, [(2, 4), (6, 8)], [(0, 2), (4, 6), (8, 10)]),
        (10, [(6, 8), (2, 4)], [(0, 2), (4, 6), (8, 10)]),
        (5, [(0, 5)], []),
        (5, [], [(0, 5)]),
        (6, [(0, 2), (2, 4)], [(4, 6)]),
    ],
)
def test_the_template_is_what_no_slot_covers(
    length: int, slots: list[tuple[int, int]], spans: list[tuple[int, int]]
) -> None:
    assert template_spans(length, slots) == spans


def test_an_encoder_without_token_states_says_so() -> None:
    with pytest.raises(EncoderError, match=r"'use' has no token states.*e5-small"):
        require_transformer(load_encoder("use"))


def test_a_tokenizer_without_mask_token_says_so(tiny: TransformerEncoder) -> None:
    without = deepcopy(tiny)
    without.model.tokenizer.mask_token = None
    with pytest.raises(EncoderError, match="no mask token"):
        masked_ids(without, [TEXTS[0]], [[(0, 5)]])
