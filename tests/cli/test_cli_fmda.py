"""The command's flags for FMDA, its pairs, its embeddings and its benchmark."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from emu_core import load_encoder
from emu_core.cli import main
from emu_core.methods.fmda.encoder import DisentangledEncoder
from emu_core.methods.fmda.parts import Part
from emu_core.runs.run import Run
from tests.support.bench_cells import drawn
from tests.support.fmda_set import fmda_set
from tests.support.tiny_transformer import tiny_transformer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with slots.csv in English, German and Spanish, and a transformer in tiny/."""
    folder = tmp_path_factory.mktemp("fmda")
    fmda_set().frame.to_csv(folder / "slots.csv", index=False)
    tiny_transformer(folder / "tiny")
    return folder


def trained(folder: Path, name: str, *arguments: str) -> list[str]:
    command = ["train", str(folder / "slots.csv"), "--encoder", f"hf:{folder / 'tiny'}", "--device", "cpu"]
    return [*command, "--epochs", "1", "--out", str(folder / "runs" / name), *arguments]


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    """A run of FMDA in two stages on one pair, whose second language is named first."""
    assert main(trained(folder, "fmda", "--method", "fmda", "--pair", "de-en", "--two-stage")) == 0
    return Run(folder / "runs" / "fmda")


@pytest.fixture(scope="module")
def baseline(folder: Path) -> Run:
    """A run of the baseline."""
    chosen = ["--method", "meaning-language", "--attraction-weight", "0"]
    assert main(trained(folder, "baseline", *chosen)) == 0
    return Run(folder / "runs" / "baseline")


@pytest.mark.slow
def test_the_run_is_of_the_pair_and_the_settings_named(run: Run, baseline: Run) -> None:
    assert run.config().pairs == (("de", "en"),)
    assert run.config().hyperparameters["two_stage"] is True
    assert run.config().hyperparameters["epochs"] == 1
    assert baseline.config().pairs == (("en", "de"), ("en", "es"))
    assert baseline.config().hyperparameters["attraction_weight"] == 0


@pytest.mark.slow
def test_what_each_embedding_finds_is_printed(
    folder: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--method", "fmda", "--pair", "de-en", "--two-stage"]
    assert main(trained(folder, "again", *asked, "--full")) == 0
    parts = Run(folder / "runs" / "again").metrics().parts
    assert parts == run.metrics().parts
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if line.startswith("Embedding"))
    assert " ".join(head.split()) == "Embedding de → en en → de Templates de Templates en Language probe"
    table = lines[lines.index(head) + 1 :]
    for line, part in zip(table, Part, strict=False):
        measured = parts.embeddings[part]
        numbers = [*measured.translation.values(), *measured.template.values(), measured.probe]
        assert line.split() == [part, *(f"{number:.1f}" for number in numbers)]
    assert main(trained(folder, "json", *asked, "--json")) == 0
    assert json.loads(capsys.readouterr().out)["parts"] == parts.to_json()


@pytest.mark.slow
def test_a_measure_for_which_the_sentences_do_not_do_is_a_note(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = fmda_set(("en", "de")).frame
    whole, plain = tmp_path / "slots.csv", frame["split"] == "test"
    # No slot in the test split: nothing to fill, and nothing that is a template.
    frame.assign(annotated=frame["annotated"].mask(plain, "")).to_csv(whole, index=False)
    command = trained(folder, "plain", "--method", "fmda", "--full")
    command[1] = str(whole)
    assert main(command) == 0
    parts, printed = Run(folder / "runs" / "plain").metrics().parts, capsys.readouterr().out
    assert parts.notes and all(note in " ".join(printed.split()) for note in parts.notes)
    assert "Templates en" not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "fmda", "--pair", "german"], "'german' "),
        (["--method", "fmda", "--pair", "en-fr"], "'en-fr' "),
        (["--method", "emu", "--pair", "en-de"], "the method emu learns from no language pairs; leave out --pair"),
        (["--method", "emu", "--two-stage"], "--two-stage is a setting of the method fmda, and"),
        (["--method", "meaning-language", "--hidden", "3"], "--hidden is a setting of the method fmda"),
        (["--method", "fmda", "--negatives", "0"], "--negatives "),
    ],
)  # fmt: skip
def test_what_can_not_be_is_one_sentence(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(trained(folder, "wrong", *arguments, "--json")) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith(f"emu: {message}") and printed.err.count("\n") == 1
    assert not (folder / "runs" / "wrong").exists()


@pytest.mark.slow
def test_embed_writes_the_part_that_is_named(
    folder: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.api.embed.PART", 50)
    texts = fmda_set().frame["text"].tolist()
    encoder = load_encoder(f"run:{run.folder}")
    assert isinstance(encoder, DisentangledEncoder)
    expected = encoder.parts(texts)
    command = ["embed", str(folder / "slots.csv"), "--run", str(run.folder), "--device", "cpu", "--out"]
    for part in Part:
        out = tmp_path / f"{part}.parquet"
        assert main([*command, str(out), "--part", part]) == 0
        table = pq.read_table(out)
        assert table.column("text").to_pylist() == texts
        vectors = np.array(table.column("vector").to_pylist(), dtype=np.float32)
        np.testing.assert_allclose(vectors, expected[part], atol=1e-5)
        assert pq.ParquetFile(out).num_row_groups == -(-len(texts) // 50)
    assert main([*command, str(tmp_path / "none.parquet")]) == 0
    whole = np.array(pq.read_table(tmp_path / "none.parquet").column("vector").to_pylist(), dtype=np.float32)
    np.testing.assert_allclose(whole, encoder.encode(texts), atol=1e-5)
    assert np.abs(expected[Part.TEMPLATE] - expected[Part.MEANING]).max() > 1e-2


@pytest.mark.slow
def test_a_part_that_is_not_there_is_said(
    folder: Path, run: Run, baseline: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "v.parquet"
    command = ["embed", str(folder / "slots.csv"), "--device", "cpu", "--out", str(out), "--part"]
    for arguments, message in (
        (
            ["template", "--encoder", f"hf:{folder / 'tiny'}"],
            "fmda or meaning-language",
        ),
        (["tempalte", "--run", str(run.folder)], "'tempalte'; there are: cls, mean,"),
        (["template", "--run", str(baseline.folder)], "cls, mean, language, meaning."),
    ):
        assert main([*command, *arguments]) == 2
        said = capsys.readouterr().err.splitlines()[-1]
        assert said.startswith("emu: ") and message in said
    assert list(tmp_path.iterdir()) == []


def test_names_that_the_help_spells_out_are_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    for command, option, names in ((["embed"], "--part PART", list(Part)),):
        with pytest.raises(SystemExit):
            main([*command, "--help"])
        said = capsys.readouterr().out.partition(f"\n  {option}")[2].partition("\n  --")[0]
        assert f" {', '.join(names)}" in " ".join(said.split())


@pytest.mark.slow
def test_the_benchmark_prints_its_tables_or_one_object(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.bench.job.in_process", drawn)
    out = folder / "bench"
    # As the app writes it: no value can be taken for an option.
    command = [
        "bench",
        "fmda",
        f"--out={out}",
        "--device=cpu",
        "--pair=en-de",
        "--pair=es-en",
        "--tables",
        "2",
        "--",
    ]
    assert main([*command, str(folder / "slots.csv")]) == 0
    printed = capsys.readouterr()
    assert "cross-lingual semantic retrieval" in printed.out and f"{out / 'report.html'}" in printed.out
    assert "cells are done" in printed.err
    more = ["bench", "fmda", str(folder / "slots.csv"), *command[2:-1], "--json", "--seeds", "0", "1"]
    assert main(more) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["folder"] == str(out) and "table2" in report["tables"] and report["seeds"] == [0, 1]
    with pytest.raises(SystemExit, match="2"):
        main([*more[:-3], "--tables", "2", "seven"])
    assert "invalid choice: 'seven'" in capsys.readouterr().err


@pytest.mark.slow
def test_generate_prints_what_it_wrote_and_the_weak_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["generate", "--languages", "en, de", "--pairs", "40", "--out"]
    assert main([*asked, str(tmp_path / "first")]) == 0
    printed = capsys.readouterr()
    for code in ("en", "de"):
        frame = pd.read_csv(tmp_path / "first" / f"{code}.csv")
        counts = [str((frame["split"] == split).sum()) for split in ("train", "dev", "test")]
        row = next(line for line in printed.out.splitlines() if line.startswith(f"{code} "))
        assert row.split() == [code, *counts] and len(frame) == 40
    assert "note:" not in printed.out and printed.err.splitlines() == ["generating", "finished"]
    monkeypatch.setattr("emu_core.data.commands.generate._MIN_SHARED_GROUPS", 1.01)  # now every pair is weak
    assert main([*asked, str(tmp_path / "second"), "--seed", "1"]) == 0
    assert "note: English and German share " in capsys.readouterr().out
    assert main([*asked, str(tmp_path / "third"), "--seed", "1", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["folder"] == str(tmp_path / "third") and made["seed"] == 1 and len(made["weak"]) == 1
    same, other = ((tmp_path / name / "en.csv").read_bytes() for name in ("second", "third"))
    assert same == other != (tmp_path / "first" / "en.csv").read_bytes()
    assert main(["generate", "--languages", "en,xx", "--out", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("emu: no commands in xx")
