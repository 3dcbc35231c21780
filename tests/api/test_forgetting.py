"""The forgetting check: its measures by plain arithmetic, its files, good and bad, and the command."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from emu_core import forgetting
from emu_core.api import forgetting as api
from emu_core.api import inputs
from emu_core.cli import main
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import available_encoders, load_encoder
from emu_core.encoders.saved import write_checksums
from emu_core.errors import DataError, Fix, RunError
from emu_core.evaluation.forgetting import retrieval_change, similarity_change
from emu_core.formats.parallel.files import read_translations
from emu_core.formats.texts.scored_pairs import read_scored_pairs
from emu_core.runs.config import RunConfig
from emu_core.runs.forgetting import read_forgetting
from emu_core.runs.run import Run, create_run
from emu_core.runs.stored_data import LabelledData
from emu_core.runs.trained_on import TrainedOn
from tests.support.raises import raises
from tests.support.sentences import cosine
from tests.support.small import small_set
from tests.support.small_run import small_run

SCORED = """\
Where is the pool?,Where's the swimming pool?,4.8
"Hello, I am here",The gym is closed,0.2
A taxi please,I would like a cab,4.5
Where is the pool?,Is there a gym?,1.5
Do you have wifi?,"The ""wifi"" is slow",2.5
My dog is with me,I brought my cat,2.0
"""
ENGLISH = "Where is the pool?\nA taxi please\nDo you have wifi?\nMy dog is with me\n"
GERMAN = "Wo ist das Schwimmbad?\nBitte ein Taxi\nHaben Sie WLAN?\nMein Hund ist dabei\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return small_run(tmp_path_factory.mktemp("forgetting") / "runs")[0]


@pytest.fixture
def run(finished: Run, tmp_path: Path) -> Run:
    shutil.copytree(finished.folder, tmp_path / finished.name)
    return Run(tmp_path / finished.name)


@pytest.fixture
def sts(tmp_path: Path) -> Path:
    folder = tmp_path / "sts"
    folder.mkdir()
    (folder / "en.dev.csv").write_text(SCORED)
    (folder / "de.csv").write_text("sentence1,sentence2,score\n" + SCORED)
    (folder / "notes.txt").write_text("no data")
    return folder


@pytest.fixture
def tatoeba(tmp_path: Path) -> Path:
    folder = tmp_path / "tatoeba"
    folder.mkdir()
    (folder / "tatoeba.deu-eng.eng").write_text(ENGLISH)
    (folder / "tatoeba.deu-eng.deu").write_text(GERMAN)
    return folder


def pairs(n: int, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n, 8))
    return first, first + noise * rng.normal(size=(n, 8)) * np.linspace(0.1, 2, n)[:, None]


def test_spearman_is_scipys_and_the_interval_the_plain_bootstraps() -> None:
    scores = np.round(np.linspace(5, 0, 40)).tolist()  # with ties
    base, new = pairs(40, 0, 0.5), pairs(40, 1, 2.0)
    found = similarity_change(base, new, scores, seed=3)
    cosines = [np.array([cosine(u, v) for u, v in zip(*vectors, strict=True)]) for vectors in (base, new)]
    before, after = (spearmanr(part, scores).statistic for part in cosines)
    assert (found.base, found.specialised) == pytest.approx((before, after), abs=1e-4)
    assert found.difference == pytest.approx(after - before, abs=2e-4)
    draws = np.random.default_rng(9).integers(0, 40, (300, 40))
    differences = [
        spearmanr(cosines[1][d], np.array(scores)[d]).statistic
        - spearmanr(cosines[0][d], np.array(scores)[d]).statistic
        for d in draws
    ]
    low, high = np.percentile(differences, [2.5, 97.5])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.06)  # other draws, fewer of them
    assert found.low < found.difference < found.high and found.count == 40


def test_a_fall_of_more_than_two_hundredths_is_flagged() -> None:
    scores = np.linspace(5, 0, 60).tolist()
    good, bad = pairs(60, 0, 0.3), pairs(60, 0, 9.0)
    worse, better, same = (
        similarity_change(*two, scores) for two in ((good, bad), (bad, good), (good, good))
    )
    assert worse.flagged and worse.difference < -0.02
    assert not better.flagged and not same.flagged
    assert same.difference == same.low == same.high == 0


@pytest.mark.parametrize(
    ("scores", "vectors"),
    [
        ([1.0, 1.0, 1.0, 1.0], np.eye(4)),
        ([1.0, 2.0, 3.0, np.nan], np.eye(4)),
        ([1.0, 2.0, 3.0, 4.0], np.arange(16.0).reshape(4, 4) + np.eye(4)),  # each pair is one sentence twice
        ([1.0, 2.0], np.eye(4)[:2]),
        ([1.0, 2.0, 3.0], np.eye(4)),
    ],
)
def test_scores_without_an_order_are_refused(scores: list[float], vectors: np.ndarray) -> None:
    fine = np.arange(16.0).reshape(4, 4)[: len(vectors)] + np.eye(4)[: len(vectors)]
    with pytest.raises(DataError):
        similarity_change((fine, vectors), (fine, vectors), scores)


def test_retrieval_counts_the_own_translation_and_its_like() -> None:
    own = np.eye(5)
    swapped = own[[1, 0, 2, 3, 4]]
    texts = ["a", "b", "c", "d", "e"]
    found = retrieval_change((own, own), (own, swapped), texts)
    assert (found.base, found.specialised, found.difference, found.count) == (100, 60, -40, 5)
    assert found.flagged and found.low < -40 < found.high
    alike = retrieval_change((own, own), (own, swapped), ["a", "a", "c", "d", "e"])
    assert alike.specialised == 100 and not alike.flagged


@pytest.mark.parametrize(("lost", "flagged"), [(2, False), (3, True)])
def test_a_fall_of_more_than_one_point_is_flagged(lost: int, flagged: bool) -> None:
    own = np.eye(200)
    order = np.arange(200)
    order[:lost] = np.roll(order[:lost], 1)
    found = retrieval_change((own, own), (own, own[order]), [str(i) for i in range(200)])
    assert found.difference == pytest.approx(-lost / 2) and found.flagged == flagged


def test_files_are_read_by_language(sts: Path, tatoeba: Path) -> None:
    (sts / "en.test.csv").write_text("One more,Another one,3\n")
    scored = read_scored_pairs(sts)
    assert list(scored) == ["en", "de"]
    assert scored["en"].first[1] == "Hello, I am here" and scored["en"].second[4] == 'The "wifi" is slow'
    assert scored["en"].scores == [4.8, 0.2, 4.5, 1.5, 2.5, 2.0, 3.0] and len(scored["de"].scores) == 6
    (one,) = read_translations(tatoeba)
    assert (one.source, one.target) == ("de", "en")
    assert one.first[1] == "Bitte ein Taxi" and one.second[1] == "A taxi please"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("fr.csv", "a,b,1\na,b\n", r"fr\.csv, row 2: .* 3 .*not 2"),
        ("fr.csv", "a,b,1\na,b,high\n", r"fr\.csv, row 2: .*'high'"),
        ("fr.csv", "a,b,nan\n", r"fr\.csv, row 1: .*'nan'"),
        ("fr.csv", "a,b,1\n ,b,2\n", r"fr\.csv, row 2: .*empty"),
        ("fr.csv", "sentence1,sentence2,score\n", "no sentence pair"),
        ("holiday.csv", "a,b,1\n", r"holiday\.csv .*language"),
    ],
)
def test_a_bad_file_of_scores_is_named_with_its_row(name: str, content: str, message: str, sts: Path) -> None:
    (sts / name).write_text(content)
    with raises(DataError, fix=None, match=message):
        read_scored_pairs(sts)


@pytest.mark.parametrize(
    ("name", "content", "fix", "named"),
    [
        ("x.fra-eng.fra", "Bonjour\n", None, r"no x\.fra-eng\.eng"),
        ("x.fra-eng.eng", "Hello\n", None, r"no x\.fra-eng\.fra"),
        ("tatoeba.deu-eng.deu", "Bitte ein Taxi\n", None, r"1 line and .*\.eng 4"),
        ("tatoeba.deu-eng.eng", "One\n\nThree\nFour\n", Fix("drop_empty", True), r"\.eng: line 2 .* en "),
    ],
)
def test_a_bad_file_of_translations_is_named(
    name: str, content: str, fix: Fix | None, named: str, tatoeba: Path
) -> None:
    (tatoeba / name).write_text(content)
    with raises(DataError, fix=fix, match=named):
        read_translations(tatoeba)


@pytest.mark.slow
def test_what_fell_is_named(run: Run, sts: Path, tatoeba: Path) -> None:
    encoder = load_encoder("use")
    torch.manual_seed(0)
    with torch.no_grad():  # words are mixed up
        encoder.get_parameter("projection_norm.weight").copy_(10 * torch.randn(768))
    shutil.rmtree(run.encoder_folder)
    encoder.save(run.encoder_folder)
    result = forgetting(run.folder, sts=sts, translations=tatoeba, device="cpu")
    fallen = [
        f"{what} {name}"
        for what, part in (("STS", result["sts"]), ("translations", result["translations"]))
        for name, found in part.items()
        if found["specialised"] < found["base"] - (0.02 if what == "STS" else 1)
    ]
    assert result["flagged"] == fallen != []
    card = (run.folder / "README.md").read_text("utf-8")
    assert f"Fell by more than 0.02 or 1 point: {', '.join(fallen)}." in card


@pytest.mark.slow
def test_a_folder_without_data_is_said(tmp_path: Path, run: Run) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("x")
    with raises(DataError, fix=None, match=r"other; .*deu-eng\.deu"):
        read_translations(tmp_path / "other")
    with raises(DataError, fix=None, match=r"\.csv .*other"):
        read_scored_pairs(tmp_path / "other")
    with raises(DataError, fix=None, match="nowhere"):
        read_scored_pairs(tmp_path / "nowhere")
    queued = RunConfig("emu", "small", {}, encoder="use", train_languages=("en",))
    create_run(tmp_path / "queued", queued, LabelledData(small_set(("en",))))
    with raises(RunError, fix=None, match="is queued"):
        forgetting(tmp_path / "queued", sts=tmp_path)


@pytest.mark.slow
def test_without_files_the_small_set_is_taken_that_the_run_was_not_trained_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api, "load_demo", lambda: small_set(("en", "ja")))  # fewer
    monkeypatch.setattr(api, "COMMANDS_MEASURED", 6)
    monkeypatch.setattr(api, "COMMANDS", ("en", "de", "ru"))
    assert "commands to a home" in api.small_set(run)[1]  # it was trained on a part of the demo set
    TrainedOn(np.empty(0, np.uint64)).save(run.encoder_folder)
    write_checksums(run.encoder_folder)
    seen: list[tuple[int, int]] = []
    result = forgetting(run.folder, on_progress=lambda *done: seen.append(done), device="cpu")
    assert result["sts"] == {} and list(result["translations"]) == ["en-ja", "ja-en"]
    assert result["translations"]["en-ja"]["count"] == 108
    assert result["measured_on"].startswith("108 questions of hotel guests in 2 languages")
    assert result["measured_on"] in (run.folder / "README.md").read_text("utf-8")
    assert read_forgetting(run).attrs["measured_on"] == result["measured_on"]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and seen[-1] == (432, 432)

    run.write("data.json", asdict(replace(run.data(), name="Demo")))
    assert main(["forgetting", str(run.folder)]) == 0
    printed = capsys.readouterr().out
    assert "measured on 6 commands to a home in 3 languages" in printed and "translations % en-ru" in printed
    monkeypatch.setattr(
        inputs,
        "available_encoders",
        lambda: [replace(one, languages=("en", "ja")) for one in available_encoders()],
    )
    with raises(DataError, fix="sts", match=r"\(en, de, ru\)"):
        forgetting(run.folder)


@pytest.mark.slow
def test_both_encoders_are_measured_each_text_once(
    run: Run, sts: Path, tatoeba: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[list[str]] = []
    encode = Encoder.encode

    def counted(self: Encoder, texts: list[str], **options: object) -> np.ndarray:
        encoded.append(list(texts))
        return encode(self, texts, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Encoder, "encode", counted)
        result = forgetting(run.folder, sts=sts, translations=tatoeba, device="cpu")
    assert len(encoded) == 2 and all(len(texts) == len(set(texts)) for texts in encoded)

    assert list(result["sts"]) == ["en", "de"] and list(result["translations"]) == ["de-en", "en-de"]
    english, german = ENGLISH.splitlines(), GERMAN.splitlines()
    for name, spec in (("base", "use"), ("specialised", f"run:{run.folder}")):
        model = load_encoder(spec)
        scored = read_scored_pairs(sts)["en"]
        first, second = model.encode(scored.first), model.encode(scored.second)
        expected = spearmanr(
            [cosine(u, v) for u, v in zip(first, second, strict=True)], scored.scores
        ).statistic
        assert result["sts"]["en"][name] == pytest.approx(expected)
        cosines = model.encode(german) @ model.encode(english).T
        lengths = np.linalg.norm(model.encode(english), axis=1)
        right = (cosines / lengths).argmax(axis=1) == np.arange(4)
        assert result["translations"]["de-en"][name] == pytest.approx(100 * right.mean())


def test_the_command_writes_the_run_its_card_and_a_file(
    run: Run, sts: Path, tatoeba: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = (run.folder / "README.md").read_text("utf-8")
    asked = [
        "forgetting",
        str(run.folder),
        "--sts",
        str(sts),
        "--translations",
        str(tatoeba),
        "--device",
        "cpu",
    ]
    assert main([*asked, "--json", str(tmp_path / "f.json")]) == 0
    printed = capsys.readouterr().out
    written = json.loads((run.folder / "forgetting.json").read_text("utf-8"))
    assert json.loads((tmp_path / "f.json").read_text("utf-8")) == {"run": str(run.folder), **written}
    row = next(line for line in printed.splitlines() if line.startswith("translations % de-en"))
    assert f"{written['translations']['de-en']['base']:.1f}" in row
    after = (run.folder / "README.md").read_text("utf-8")
    assert "## Forgetting" in after and "## Forgetting" not in card
    rest = after.replace(after[after.index("## Forgetting") : after.index("## Settings")], "")
    told = next(line for line in rest.splitlines() if "Other tasks: " in line)
    assert rest.replace(told, "Other tasks (similarity scores, translations): not measured.") == card
    assert f"| STS Spearman en | {written['sts']['en']['base']:.3f} |" in after

    assert main([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sts"] == written["sts"]
    assert main([*asked, "--json", str(tmp_path / "new" / "f.json")]) == 0
    assert (tmp_path / "new" / "f.json").read_text("utf-8") == (tmp_path / "f.json").read_text("utf-8")
    capsys.readouterr()
    assert main([*asked, "--json", str(tmp_path / "f.json" / "f.json")]) == 2
    assert str(tmp_path / "f.json" / "f.json") in capsys.readouterr().err
    (sts / "en.dev.csv").write_text("a,b\n")
    assert main(asked) == 2
    assert "en.dev.csv, row 1" in capsys.readouterr().err
