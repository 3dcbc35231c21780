"""What an encoder does not read: the end of long sentences, and languages that it does not know."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

from emu_core.api.inputs import languages_of, reading_notes
from emu_core.cli import main
from emu_core.encoders.base import TokenIds, Tokens
from emu_core.encoders.e5 import E5File, E5SmallEncoder, bert, e5_tokenizer, sentence_transformer
from emu_core.encoders.reading import long_texts
from emu_core.encoders.registry import load_encoder, open_tokens
from emu_core.encoders.use.encoder import UseEncoder
from emu_core.evaluation.arrays import Vectors
from tests.support.packed import pack
from tests.support.small import small_set
from tests.support.small_run import small_run
from tests.support.tiny_transformer import tiny_transformer

BEGINNING = "请问酒店的游泳池几点开放我想带着孩子去游泳" * 43  # 903 characters
TEXTS = ["Where is the pool?", "", " pool \n", "𓀀𓀁 ꙮ", "pool, " * 600, BEGINNING]


def words(limit: int) -> Tokens:
    """An encoder that reads `limit` words, each of which is a token."""

    def ids_of(texts: Sequence[str]) -> list[TokenIds]:
        return [[hash(word) for word in text.split()][:limit] for text in texts]

    return Tokens(limit, ids_of)


def test_sentences_that_are_cut_are_counted_and_those_with_one_vector() -> None:
    same = " ".join(map(str, range(100)))
    cut = [f"{same} one", f"{same} two", f"{same} Two", " ".join(map(str, range(1, 150)))]
    whole = [same, "short", " ".join(map(str, range(99))), f" {same}\n"]
    found = long_texts(words(100), [*cut, *whole])
    assert (found.count, found.alike, found.max_tokens) == (4, 3, 100)
    repeated = long_texts(words(100), [cut[0], cut[0].upper()])
    assert (repeated.count, repeated.alike) == (2, 0)  # one sentence twice
    assert "2 of them have the same vector as another" in long_texts(words(100), cut[:2]).note("It")
    assert not long_texts(words(100), whole).note("It")


def test_short_sentences_are_not_made_into_tokens() -> None:
    def refused(texts: Sequence[str]) -> list[TokenIds]:
        raise AssertionError(f"asked for {len(texts)}")

    assert long_texts(Tokens(512, refused), ["Where is the pool?", "游泳池" * 40]).count == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["use", "plain", "prompt", "short", "e5-small", "run"])
def test_a_tokenizer_alone_makes_the_tokens_of_its_encoder(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny_transformer(tmp_path / "plain")
    if kind == "use":
        spec = "use"
    elif kind == "run":
        spec = f"run:{small_run(tmp_path / 'runs')[0].folder}"
    elif kind == "e5-small":
        file = E5File(pack().data)
        e5 = E5SmallEncoder(sentence_transformer(bert(file), e5_tokenizer(file)))
        e5.save(tmp_path / "run" / "encoder")
        spec = f"run:{tmp_path / 'run'}"
    elif kind == "plain":
        spec = f"hf:{plain}"
    else:
        transformer = Transformer(str(plain))
        if kind == "short":
            transformer.max_seq_length = 9
        prompts = {"prompts": {"task": "find the hotel intent: "}, "default_prompt_name": "task"}
        about = prompts if kind == "prompt" else {}
        model = SentenceTransformer(modules=[transformer, Pooling(16, "mean")], device="cpu", **about)
        model.save_pretrained(str(tmp_path / "model"), create_model_card=False)
        spec = f"hf:{tmp_path / 'model'}"
    encoder = load_encoder(spec)
    expected = encoder.ids_of(TEXTS)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("weights were opened")

    for opener in (
        "emu_core.encoders.transformer.encoder.open_model",
        "emu_core.encoders.transformer.hf.open_model",
    ):
        monkeypatch.setattr(opener, forbidden)
    monkeypatch.setattr(UseEncoder, "load", forbidden)
    monkeypatch.setattr(UseEncoder, "open", forbidden)
    (tokens,) = open_tokens(spec)
    assert tokens.max_tokens == encoder.max_tokens and tokens.ids_of(TEXTS) == expected


def test_the_encoder_of_long_chinese_sentences(tmp_path: Path) -> None:
    rooms = [f"{BEGINNING}{room}号房间" for room in (101, 102, 205)]
    encoder = load_encoder("use")
    found = long_texts(encoder, [*rooms, "游泳池在哪里？"])
    assert (found.count, found.alike) == (3, 3)
    vectors: Vectors = encoder.encode(rooms)
    assert (vectors == vectors[0]).all()


@pytest.mark.slow
def test_a_run_knows_the_languages_of_its_base(tmp_path: Path) -> None:
    run, labelled, _ = small_run(tmp_path / "runs")
    spec = f"run:{run.folder}"
    assert languages_of(spec) == languages_of("use") == UseEncoder.languages
    assert languages_of("hf:some/model") == ()
    assert reading_notes(spec, labelled.frame) == ()
    (note,) = reading_notes(spec, labelled.frame.assign(language="sw"))
    assert note.startswith("The run small was not trained on Swahili")


@pytest.mark.slow
def test_every_command_names_languages_and_long_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = small_set(("en", "de")).frame
    frame["language"] = frame["language"].replace({"de": "sw"})
    frame.loc[frame.index[:2], "text"] = [f"{BEGINNING}{room}" for room in (1, 2)]
    data, out = tmp_path / "small.csv", tmp_path / "vectors.parquet"
    frame.to_csv(data, index=False)
    for given in (
        ["evaluate", str(data)],
        ["embed", str(data), "--out", str(out)],
        ["predict", str(data), "--pool", str(data)],
        ["predict", str(data), "--pool", str(data), "--out", str(tmp_path / "predicted.csv")],
        ["train", str(data), "--out", str(tmp_path / "run")],
    ):
        assert main([*given, "--device", "cpu"]) == 0
        printed = capsys.readouterr()
        said = printed.out + printed.err
        assert "The encoder use was not trained on Swahili" in said, given
        assert (
            "reads 512 tokens of a sentence: 2 sentences are longer, and cut; 2 of them have the same" in said
        )
