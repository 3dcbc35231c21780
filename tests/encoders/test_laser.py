"""The torch LASER is the package's encoder, with gradients, on a tiny file in the published format."""

import inspect
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import laserembeddings.__main__ as command
import numpy as np
import pytest
import torch
from laserembeddings import Laser, preprocessing
from safetensors.torch import load_file, save_file
from torch import Tensor

from emu_core.data.languages import is_known
from emu_core.encoders.base import FloatArray
from emu_core.encoders.laser import download as laser_download
from emu_core.encoders.laser import text as laser_text
from emu_core.encoders.laser.download import CODES, FILES, MODEL, URL, VOCABULARY, download, laser_absence
from emu_core.encoders.laser.encoder import LASER_LANGUAGES, LaserEncoder
from emu_core.encoders.laser.text import guess_languages
from emu_core.errors import EncoderError
from tests.support.laser_tiny import EACH, EMBEDDING, HIDDEN, LAYERS, SPECIAL, sentences, write_published

PAPER = ("en", "de", "es", "fr", "ja", "zh")
HARD = {
    "en": [
        "",
        "   ",
        "WHERE?! I can't find Mr. Smith's A/C remote...",
        "naïve “café” – 3½ €",
        "😀 ᚠᚢᚦ",
        "tab\there",
    ],
    "de": ["Abholung am 12. Mai, z.B. um 7.30 Uhr", "Wie geht's?", "Zimmer 404: 2 Nächte, 199,99 €"],
    "es": ["¿Dónde está la «piscina»? ¡Aquí!", 'Dijo "no", y se fue.'],
    "fr": ["L’eau n’est pas chaude aujourd’hui ; qu'y a-t-il ?", "1 000 €"],
    "ja": ["ﾌﾟｰﾙ「はどこ」ですか？Wi-Fiのcafé", "プールは\u3000どこ"],
    "zh": ["我的 Wi-Fi 密码是 café 吗？", "𠮷野家，请问早餐几点开始。"],
}


@pytest.fixture(scope="module")
def published(laser_files: Path) -> Path:
    return laser_files


@pytest.fixture(autouse=True)
def files_are_the_tiny_ones(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMU_LASER_DIR", str(published))


@pytest.fixture(scope="module")
def encoder(published: Path) -> LaserEncoder:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMU_LASER_DIR", str(published))
        return LaserEncoder.load()


@pytest.fixture(scope="module")
def package(published: Path) -> Laser:
    codes, vocabulary, model = (str(published / name) for name in FILES)
    return Laser(codes, vocabulary, model, embedding_options={"cpu": True, "max_tokens": 150})


@pytest.fixture
def no_cached_tokenizers() -> Iterator[None]:
    laser_text.laser_tokenizer.cache_clear()
    yield
    laser_text.laser_tokenizer.cache_clear()


def test_the_languages_of_the_paper_are_here() -> None:
    assert set(PAPER) <= set(sentences(1))


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(sentences(1)))
def test_vectors_are_the_packages(language: str, encoder: LaserEncoder, package: Laser) -> None:
    texts = sentences(EACH)[language] + HARD.get(language, [])
    expected = package.embed_sentences(texts, language)
    assert expected.shape == (len(texts), encoder.dim) == (len(texts), 2 * HIDDEN)
    if len(texts) > 1:
        assert expected.std(axis=0).mean() > 0.01  # the sentences have vectors that differ
    languages = [language] * len(texts)
    ids = encoder.token_ids(texts, languages)
    unknown = sum(sentence.count(SPECIAL["<unk>"]) for sentence in ids)
    assert unknown < 0.1 * sum(map(len, ids))
    steps: list[int] = []
    batches = encoder.encode(
        texts, batch_tokens=150, on_progress=lambda done, _: steps.append(done), languages=languages
    )
    assert len(texts) < 20 or len(steps) > 3
    np.testing.assert_allclose(batches, expected, rtol=0, atol=1e-6)
    one_by_one = np.concatenate([encoder.encode([text], languages=[language]) for text in texts])
    np.testing.assert_allclose(one_by_one, expected, rtol=0, atol=1e-6)
    in_one_batch = encoder.encode(texts, batch_tokens=10**6, languages=languages)
    np.testing.assert_allclose(in_one_batch, expected, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(sentences(1)))
def test_the_language_is_told_from_the_text(language: str, encoder: LaserEncoder, package: Laser) -> None:
    texts = sentences(EACH)[language]
    expected = package.embed_sentences(texts, language)
    same = np.abs(encoder.encode(texts) - expected).max(axis=1) < 1e-6
    assert same.mean() >= 0.95  # German dates, "12. Mai", are what English rules get wrong


def test_the_guesses() -> None:
    expected = {
        "Where is 'the pool'? It's y'all's, o'clock, don't, fun 'n' all": "en",
        "": "en",
        "12:30 ?!": "en",
        "L’EAU": "fr",
        "il n'y a pas": "fr",
        "aujourd'hui": "fr",
        "nell'acqua": "fr",
        "空港まで": "ja",
        "WiFiのpassword please": "ja",
        "播放 Taylor Swift 的 Shake It Off": "zh",
        "大韓民國 만세": "ko",
        "Πού είναι το Wi-Fi;": "el",
        "the angle α is small": "en",
        "п'ять": "ru",
        "አማርኛ": "en",
    }
    assert guess_languages(list(expected)) == list(expected.values())
    assert guess_languages([]) == []


def test_a_named_language_goes_before_the_guess(encoder: LaserEncoder) -> None:
    texts = ["朝食", "朝食", "朝食", "l'hôtel", "l'hôtel"]
    named = encoder.token_ids(texts, ["ja", "zh-tw", "", "en", ""])
    assert named[1] == named[2] == encoder.token_ids(["朝食"], ["zh"])[0] == encoder.token_ids(["朝食"])[0]
    assert named[3] != named[4] == encoder.token_ids(texts[4:], ["fr"])[0]
    assert encoder.token_ids(["朝食です"]) == encoder.token_ids(["朝食です"], ["ja"])
    with pytest.raises(ValueError):
        encoder.token_ids(texts, ["ja"])
    vectors = encoder.encode(texts[3:], languages=["en", ""])
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3


def test_long_sentences_are_cut_before_the_end_mark(encoder: LaserEncoder) -> None:
    ids, short = encoder.token_ids(["pool " * 2000, "pool"])
    assert len(ids) == encoder.max_tokens
    assert ids[-1] == short[-1] == SPECIAL["</s>"]
    assert SPECIAL["</s>"] not in ids[:-1]
    assert encoder.token_ids([""]) == [[SPECIAL["</s>"]]]


def test_padding_does_not_matter(encoder: LaserEncoder) -> None:
    features = encoder.tokenize(["When does the pool open this evening, please?", "pool", ""])
    other = features["input_ids"].masked_fill(~features["attention_mask"], 9)
    assert not torch.equal(other, features["input_ids"])
    with torch.no_grad():
        expected = encoder(features)
        torch.testing.assert_close(encoder({**features, "input_ids": other}), expected, rtol=0, atol=0)
    assert expected.dtype == torch.float32
    assert expected.isfinite().all()


def plain_forward(weights: dict[str, Tensor], ids: list[int]) -> Tensor:
    """The LSTM's equations (torch's order of gates: input, forget, cell, output), one token at a time."""
    states = [weights["model.embed_tokens.weight"][i] for i in ids]
    for layer in range(LAYERS):
        directions = []
        for end in ("", "_reverse"):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            w, u, b, c = (weights[f"model.lstm.{name}_l{layer}{end}"] for name in names)
            hidden, cell, out = torch.zeros(HIDDEN).double(), torch.zeros(HIDDEN).double(), []
            for x in states if not end else states[::-1]:
                i, f, g, o = (w @ x + u @ hidden + b + c).split(HIDDEN)
                cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
                hidden = o.sigmoid() * cell.tanh()
                out.append(hidden)
            directions.append(out if not end else out[::-1])
        states = [torch.cat(pair) for pair in zip(*directions, strict=True)]
    return torch.stack(states).amax(dim=0)


def test_gradients_reach_every_weight_and_are_right(encoder: LaserEncoder) -> None:
    texts = ["pool", "Wann öffnet das Restaurant?", "プールはどこですか"]
    direction = torch.randn(len(texts), encoder.dim, generator=torch.Generator().manual_seed(0))
    encoder.zero_grad()
    (encoder(encoder.tokenize(texts)) * direction).sum().backward()

    weights = {name: p.detach().double().requires_grad_() for name, p in encoder.named_parameters()}
    out = torch.stack([plain_forward(weights, ids) for ids in encoder.token_ids(texts)])
    (out * direction).sum().backward()
    for name, p in encoder.named_parameters():
        expected = weights[name].grad
        assert p.grad is not None and expected is not None, name
        assert expected.abs().max() > 0, name
        assert (p.grad - expected).norm() < 1e-4 * expected.norm(), name
    encoder.zero_grad()


def test_layers_and_embeddings_are_all_weights_in_order(encoder: LaserEncoder) -> None:
    (table,) = encoder.embeddings()
    assert table.shape == (encoder.model.embed_tokens.num_embeddings, EMBEDDING)
    layers = encoder.layers()
    assert len(layers) == LAYERS
    assert [len(layer) for layer in layers] == [8] * LAYERS  # two weights and two biases in each direction
    assert [layer[0].shape[-1] for layer in layers] == [EMBEDDING] + [2 * HIDDEN] * (LAYERS - 1)
    named = {id(weight) for weight in (table, *(w for layer in layers for w in layer))}
    assert named == {id(weight) for weight in encoder.parameters()}
    assert all(weight.requires_grad for weight in encoder.parameters())


def test_the_published_shape_has_the_published_sizes() -> None:
    assert LaserEncoder.dim == 1024
    assert len(LaserEncoder.languages) == len(set(LASER_LANGUAGES.split())) == 93
    assert list(LaserEncoder.languages) == sorted(LaserEncoder.languages)
    assert sum(is_known(code) for code in LaserEncoder.languages) >= 75  # the others are small ones
    assert set(PAPER) <= set(LaserEncoder.languages)


@pytest.fixture(scope="module")
def saved(published: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FloatArray, list[str]]:
    """An encoder that is no longer the published one, saved; and its vectors."""
    texts = [text for each in sentences(3).values() for text in each]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMU_LASER_DIR", str(published))
        changed = LaserEncoder.load()
    before = changed.encode(texts)
    optimizer = torch.optim.Adam(changed.parameters(), lr=0.01)
    changed(changed.tokenize(texts)).sum().backward()
    optimizer.step()
    vectors = changed.encode(texts)
    assert np.abs(vectors - before).max() > 0.01
    folder = tmp_path_factory.mktemp("run") / "encoder"
    changed.save(folder)
    return folder, vectors, texts


@pytest.mark.slow
def test_saved_and_opened_again_alone_it_is_the_same(
    saved: tuple[Path, FloatArray, list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, vectors, texts = saved
    monkeypatch.setenv("EMU_LASER_DIR", str(tmp_path))  # the published files are gone
    opened = LaserEncoder.open(folder)
    assert np.array_equal(opened.encode(texts), vectors)
    assert all(p.requires_grad for p in opened.parameters())
    names = {"config.json", "dictionary.json", "model.safetensors", CODES, VOCABULARY}
    assert {path.name for path in folder.iterdir()} == names
    config = json.loads((folder / "config.json").read_text("utf-8"))
    assert (config["encoder"], config["dim"]) == ("laser", 2 * HIDDEN)


def test_weights_in_one_piece_of_memory_are_saved(encoder: LaserEncoder, tmp_path: Path) -> None:
    """As a GPU keeps an LSTM's."""
    encoder.save(tmp_path / "apart")
    opened = LaserEncoder.open(tmp_path / "apart")
    weights = list(opened.model.lstm.parameters())
    together = torch.cat([weight.detach().flatten() for weight in weights])
    start = 0
    for weight in weights:
        weight.data = together[start : start + weight.numel()].view_as(weight)
        start += weight.numel()
    opened.save(tmp_path / "together")
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("apart", "together")]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", None),
        ("model.safetensors", b"not safetensors"),
        ("dictionary.json", None),
        ("dictionary.json", b"{}"),
        (CODES, b"a b 1\n"),
        (VOCABULARY, b"a 1\n"),
        (VOCABULARY, None),
        ("config.json", b"{"),
        ("config.json", b"[]"),
        ("config.json", None),
    ],
)
def test_a_saved_folder_that_is_not_whole_is_an_encoder_error(
    name: str, content: bytes | None, saved: tuple[Path, FloatArray, list[str]], tmp_path: Path
) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(saved[0], folder)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(EncoderError, match="train"):
        LaserEncoder.open(folder)


def test_a_saved_folder_without_its_last_layer_is_an_encoder_error(
    saved: tuple[Path, FloatArray, list[str]], tmp_path: Path
) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(saved[0], folder)
    weights = load_file(folder / "model.safetensors")
    save_file(
        {name: weight for name, weight in weights.items() if "_l1" not in name}, folder / "model.safetensors"
    )
    with pytest.raises(EncoderError):
        LaserEncoder.open(folder)


def copied(published: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(published, folder)
    monkeypatch.setenv("EMU_LASER_DIR", str(folder))
    return folder


def test_a_zipped_checkpoint_opens_too(
    encoder: LaserEncoder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_published(tmp_path, zipped=True)
    assert (tmp_path / MODEL).read_bytes()[:2] == b"PK"
    monkeypatch.setenv("EMU_LASER_DIR", str(tmp_path))
    texts = sentences(2)["en"]
    assert np.array_equal(LaserEncoder.load().encode(texts), encoder.encode(texts))


class Attack:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("zipped", [True, False])
def test_code_in_a_checkpoint_is_never_run(
    zipped: bool, published: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = copied(published, tmp_path / "laser", monkeypatch)
    checkpoint = torch.load(folder / MODEL, weights_only=True)
    checkpoint["extra"] = Attack(tmp_path / "attacked")
    torch.save(checkpoint, folder / MODEL, _use_new_zipfile_serialization=zipped)
    with pytest.raises(EncoderError, match="emu encoders download laser"):
        LaserEncoder.load()
    (folder / MODEL).write_bytes(pickle.dumps(checkpoint, protocol=2))
    with pytest.raises(EncoderError, match="emu encoders download laser"):
        LaserEncoder.load()
    assert not (tmp_path / "attacked").exists()
    with (folder / MODEL).open("rb") as file:
        pickle.load(file)  # noqa: S301 - the attack is one
    assert (tmp_path / "attacked").exists()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("zipped", [True, False])
def test_a_truncated_checkpoint_is_an_encoder_error(
    share: float, zipped: bool, published: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = copied(published, tmp_path / "laser", monkeypatch)
    file = io.BytesIO()
    torch.save(torch.load(folder / MODEL, weights_only=True), file, _use_new_zipfile_serialization=zipped)
    content = file.getvalue()
    (folder / MODEL).write_bytes(content[: int(share * len(content))])
    with pytest.raises(EncoderError, match="delete it and run: emu encoders download laser"):
        LaserEncoder.load()


def without_a_weight(file: dict[str, Any]) -> None:
    del file["model"]["lstm.bias_hh_l1"]


def without_the_last_layer(file: dict[str, Any]) -> None:
    for name in [name for name in file["model"] if "_l1" in name]:
        del file["model"][name]


def with_another_layer(file: dict[str, Any]) -> None:
    file["model"]["lstm.bias_ih_l2"] = torch.zeros(4 * HIDDEN)


def with_a_view(file: dict[str, Any]) -> None:
    """A table of a billion rows that takes a few bytes."""
    file["model"]["embed_tokens.weight"] = torch.zeros(1, 1).expand(10**9, EMBEDDING)


BROKEN: list[Callable[[dict[str, Any]], object]] = [
    lambda file: file.pop("model"),
    lambda file: file.pop("dictionary"),
    lambda file: file["dictionary"].pop("</s>"),
    lambda file: file["dictionary"].update({"pool": 10**6}),
    lambda file: file["dictionary"].update({"pool": "1"}),
    lambda file: file["dictionary"].pop("<pad>"),
    lambda file: file["model"].update({"lstm.bias_hh_l1": torch.zeros(4 * HIDDEN, dtype=torch.int64)}),
    lambda file: file["model"].update({"lstm.bias_hh_l1": "weights"}),
    without_a_weight,
    without_the_last_layer,
    with_another_layer,
    with_a_view,
]


@pytest.mark.parametrize("breaking", BROKEN, ids=range(len(BROKEN)))
def test_a_checkpoint_that_is_not_a_whole_laser_is_an_encoder_error(
    breaking: Callable[[dict[str, Any]], object],
    published: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    folder = copied(published, tmp_path / "laser", monkeypatch)
    file = torch.load(folder / MODEL, weights_only=True)
    breaking(file)
    torch.save(file, folder / MODEL)
    with pytest.raises(EncoderError, match="delete it and run: emu encoders download laser"):
        LaserEncoder.load()


@pytest.mark.parametrize("name", [CODES, VOCABULARY])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"<html>not found</html>\n", b"x y 3\n\xe4 1\n"])
def test_damaged_text_files_are_an_encoder_error(
    name: str, content: bytes, published: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = copied(published, tmp_path / "laser", monkeypatch)
    (folder / name).write_bytes(content)
    with pytest.raises(EncoderError, match="delete both and run: emu encoders download laser"):
        LaserEncoder.load()


def test_a_vocabulary_of_another_encoder_is_refused(
    published: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = copied(published, tmp_path / "laser", monkeypatch)
    (folder / VOCABULARY).write_text("".join(f"word{i} {i}\n" for i in range(100)), "utf-8")
    with pytest.raises(EncoderError, match=VOCABULARY):
        LaserEncoder.load()


@pytest.mark.parametrize(
    ("text", "missing", "extra"),
    [("游泳池在哪里？", "jieba", "zh"), ("プールはどこですか？", "MeCab", "ja")],
)
@pytest.mark.usefixtures("no_cached_tokenizers")
def test_a_missing_extra_is_named_and_nothing_is_cut_wrongly(
    text: str, missing: str, extra: str, encoder: LaserEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preprocessing, missing, None)
    mend = rf"pip install 'laserembeddings-fork\[{extra}\]==1\.2\.2'"
    for languages in (None, [extra]):
        with pytest.raises(EncoderError, match=mend):
            encoder.token_ids([text], languages)
    if extra == "zh":
        with pytest.raises(EncoderError, match=mend):
            encoder.token_ids([text], ["yue"])
    assert encoder.token_ids(["pool"])  # other languages do without
    monkeypatch.undo()
    assert encoder.token_ids([text])


@pytest.mark.usefixtures("no_cached_tokenizers")
def test_without_romanisation_the_mend_is_named(
    encoder: LaserEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package can't be imported at all without transliterate."""
    monkeypatch.setitem(sys.modules, "transliterate", None)
    for name in [name for name in sys.modules if name.startswith("laserembeddings")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(EncoderError, match=r"transliterate.*pip install laserembeddings-fork==1\.2\.2"):
        encoder.token_ids(["Πού είναι η πισίνα;"])


def test_without_the_package_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert laser_absence() == ""
    monkeypatch.setattr("emu_core.encoders.saved.find_spec", lambda name: None)
    assert laser_absence() == "pip install laserembeddings-fork==1.2.2"
    monkeypatch.delenv("EMU_LASER_DIR")
    for call in (LaserEncoder.load, download):
        with pytest.raises(EncoderError, match=r"pip install laserembeddings-fork==1\.2\.2"):
            call()


def test_without_the_files_it_is_absent_and_says_what_to_do(
    published: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = copied(published, tmp_path / "laser", monkeypatch)
    (folder / MODEL).unlink()
    reason = laser_absence()
    assert "emu encoders download laser" in reason and "EMU_LASER_DIR" in reason
    assert str(folder) not in reason  # which a page shows to everybody
    with pytest.raises(EncoderError, match="emu encoders download laser"):
        LaserEncoder.load()


def test_names_and_places_are_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMU_LASER_DIR")
    folder = laser_download.files_folder()
    defaults = (Laser.DEFAULT_BPE_CODES_FILE, Laser.DEFAULT_BPE_VOCAB_FILE, Laser.DEFAULT_ENCODER_FILE)
    assert [(folder / name).resolve() for name in FILES] == [Path(name).resolve() for name in defaults]
    source = inspect.getsource(command.download_models)
    assert all(f"'{URL}{name}'" in source for name in FILES)
    monkeypatch.setenv("EMU_LASER_DIR", " ")
    assert laser_download.files_folder() == folder


class Command:
    """Stands in for the package's command: writes files, then ends with a code."""

    def __init__(self, names: tuple[str, ...] = (), code: int = 0, stderr: bytes = b"") -> None:
        self.names, self.code, self.stderr = names, code, stderr
        self.calls: list[list[str]] = []

    def __call__(self, args: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        self.calls.append(args)
        for name in self.names:
            (Path(args[-1]) / name).write_text(name, "utf-8")
        return subprocess.CompletedProcess(args, self.code, stderr=self.stderr)


def test_the_packages_own_command_downloads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = Command(FILES)
    monkeypatch.setattr(subprocess, "run", run)
    target = tmp_path / "new" / "folder"
    monkeypatch.setenv("EMU_LASER_DIR", str(target))
    assert download() == target
    assert {path.name: path.read_text("utf-8") for path in target.iterdir()} == {name: name for name in FILES}
    (args,) = run.calls
    assert args[:-1] == [sys.executable, "-P", "-m", "laserembeddings", "download-models"]
    assert Path(args[-1]).parent == target  # aside, so that half a download is never taken for a whole one
    assert download() == target
    assert len(run.calls) == 1  # what is there is not fetched again


NO_NETWORK = (
    b"Traceback\nurllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>\n\n"
)


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (Command(FILES[:2], 1, NO_NETWORK), "Temporary failure in name resolution"),
        (Command(FILES, 1), "no reason given"),
        (Command(FILES[:2], 0), "they did not arrive"),
    ],
)
def test_without_network_the_message_says_what_to_fetch_and_where_to_put_it(
    run: Command, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("EMU_LASER_DIR", str(tmp_path))
    with pytest.raises(EncoderError) as caught:
        download()
    message = str(caught.value)
    assert reason in message
    assert all(URL + name in message for name in FILES)
    assert str(tmp_path) in message
    assert "\n" not in message
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def hang(args: list[str], *, timeout: float, **options: Any) -> None:
        raise subprocess.TimeoutExpired(args, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    monkeypatch.setattr(laser_download, "PATIENCE_S", 5)
    monkeypatch.setenv("EMU_LASER_DIR", str(tmp_path))
    with pytest.raises(EncoderError, match="more than 5 s"):
        download()


@pytest.mark.slow
def test_the_real_command_fails_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The proxy that no one listens at keeps the test off the network."""
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(laser_download, "PATIENCE_S", 60)
    monkeypatch.setenv("EMU_LASER_DIR", str(tmp_path))
    with pytest.raises(EncoderError, match=r"URLError.*93langs\.fcodes"):
        download()


def test_a_folder_that_can_not_be_written_is_an_encoder_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("EMU_LASER_DIR", str(tmp_path / "file" / "folder"))
    with pytest.raises(EncoderError, match="EMU_LASER_DIR"):
        download()
