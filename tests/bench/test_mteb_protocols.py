"""MTEB's own code measures an encoder on local sentences; its numbers are computed here once more."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from emu_core import export, load_encoder
from emu_core.bench import mteb_protocols
from emu_core.bench.mteb_protocols import BITEXT, CLASSIFICATION, mteb_scores
from emu_core.cli import main
from emu_core.data.languages import tag_of
from emu_core.errors import DataError, EncoderError
from tests.support.small import small_file, small_set


@pytest.mark.slow
def test_the_numbers_are_those_of_the_protocols(tmp_path: Path) -> None:
    scores = mteb_scores(
        export("use", tmp_path / "use"), small_file(tmp_path, ("en", "de")), out=tmp_path / "out"
    )
    assert scores[["task", "subset", "sentences"]].values.tolist() == [
        [CLASSIFICATION, "en", 36],
        [CLASSIFICATION, "de", 36],
        [BITEXT, "de-en", 36],
    ]
    test = small_set(("en", "de")).select(splits=["test"]).frame.drop_duplicates(["id", "language"])
    german, english = (test[test["language"] == code].set_index("id")["text"] for code in ("de", "en"))
    ids = sorted(english.index)
    encoder = load_encoder("use")
    queries, corpus = encoder.encode(list(german[ids])), encoder.encode(list(english[ids]))
    hits = (queries @ corpus.T).argmax(axis=1) == np.arange(len(ids))
    assert scores["accuracy"].iloc[2] == pytest.approx(hits.mean())
    written = json.loads((tmp_path / "out" / f"{CLASSIFICATION}.json").read_text("utf-8"))
    german_scores = next(row for row in written["scores"]["test"] if row["hf_subset"] == "de")
    assert german_scores["languages"] == ["deu-Latn"]
    assert len(german_scores["scores_per_experiment"]) == 10
    drawn = [experiment["accuracy"] for experiment in german_scores["scores_per_experiment"]]
    assert scores["accuracy"].iloc[1] == pytest.approx(np.mean(drawn)) and len(set(drawn)) > 1
    assert scores["main_score"].tolist() == [*scores["accuracy"][:2], scores["f1"].iloc[2]]


@pytest.mark.slow
def test_the_command_prints_them_for_a_spec_and_parallel_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bare.csv"
    rows = small_set(("en",)).frame[["text", "intent", "language"]]  # neither splits nor translations
    rows.to_csv(file, index=False)
    for code, lines in {
        "de": ["Wo ist der Pool?", "Ein Taxi, bitte."],
        "en": ["A taxi, please.", "The pool?"],
    }.items():
        (tmp_path / f"some.{code}").write_text("\n".join(lines), "utf-8")
    parallel = [str(tmp_path / f"some.{code}") for code in ("de", "en")]
    assert main(["bench", "mteb", "use", str(file), "--parallel", *parallel]) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and "LocalBitextMining" in printed.out
    assert main(["bench", "mteb", "use", str(file), "--json", "--parallel", *parallel]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(row["task"], row["subset"]) for row in answer["scores"]] == [
        (CLASSIFICATION, "en"),
        (BITEXT, "de-en"),
    ]
    assert answer["scores"][1]["accuracy"] == 0  # its lines are not each other's translations
    assert answer["means"][CLASSIFICATION]["accuracy"] > 0.7


def test_data_that_has_nothing_to_measure_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "train.csv"
    frame = pd.DataFrame(
        {"text": ["a pool", "a taxi"], "intent": ["pool", "taxi"], "language": "en", "split": "train"}
    )
    frame.to_csv(file, index=False)
    with pytest.raises(DataError, match="no language with sentences to learn from and sentences held out"):
        mteb_scores("use", file)


def test_an_onnx_export_is_not_taken_for_a_damaged_one(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").touch()
    with pytest.raises(EncoderError, match="is an ONNX graph, which MTEB's package does not open"):
        mteb_scores(tmp_path, small_file(tmp_path, ("en", "de")))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mteb_protocols, "find_spec", lambda name: None)
    with pytest.raises(EncoderError, match=r'pip install "emu-core\[mteb\]"'):
        mteb_scores("use")


@pytest.mark.parametrize(
    ("code", "tag"),
    [
        ("de", "deu-Latn"),
        ("zh", "zho-Hans"),
        ("zh-tw", "zho-Hant"),
        ("ja", "jpn-Jpan"),
        ("ber", "ber"),
        ("ru", "rus-Cyrl"),
    ],
)
def test_languages_have_mtebs_tags(code: str, tag: str) -> None:
    assert tag_of(code) == tag
