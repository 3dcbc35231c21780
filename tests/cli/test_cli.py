import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

from emu_core import embed, export, load_encoder
from emu_core.api.train import plan_training
from emu_core.cli import READER_GONE, main
from emu_core.encoders import registry
from emu_core.errors import DataError, EncoderError, RunError
from emu_core.reports.verdict import run_verdict
from emu_core.runs.run import Run, RunState, create_run
from tests.support.fake_runs import until
from tests.support.processes import command, started
from tests.support.raises import raises
from tests.support.small import INTENTS, small_file, small_set

TRAIN = ["--method", "emu", "--device", "cpu", "--epochs", "1", "--critic-steps", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small.csv, and a run of it in runs/small."""
    folder = tmp_path_factory.mktemp("cli")
    assert main(["train", str(small_file(folder)), "--out", str(folder / "runs" / "small"), *TRAIN]) == 0
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("arguments", [["--help"], ["encoders"]])
def test_a_reader_that_ends_first_is_no_error(arguments: list[str], buffered: bool) -> None:
    """As `head` ends before `emu doctor` has printed all. argparse ignores it where nothing is buffered."""
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
    emu = [sys.executable, "-c", "import sys, emu_core.cli; sys.exit(emu_core.cli.main())", *arguments]
    child = subprocess.run(
        emu, check=False, stdout=writing, stderr=subprocess.PIPE, text=True, env=environment
    )
    os.close(writing)
    is_noticed = buffered or arguments != ["--help"]
    assert (child.returncode, child.stderr) == (READER_GONE if is_noticed else 0, "")


def test_another_broken_pipe_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise BrokenPipeError("to a worker")

    monkeypatch.setattr(registry, "available_encoders", broken)
    with pytest.raises(BrokenPipeError, match="to a worker"):
        main(["encoders"])


@pytest.mark.slow
def test_train_prints_one_json_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "runs" / "json"
    assert main(["train", str(folder / "small.csv"), "--out", str(out), *TRAIN, "--json"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert result["run"] == str(out)
    assert result["specialised"] == Run(out).metrics().specialised
    assert "training" in printed.err and "finished" in printed.err


@pytest.mark.slow
def test_train_prints_the_verdict_and_with_full_every_figure(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "runs" / "table"
    assert main(["train", str(folder), "--out", str(out), *TRAIN]) == 0
    metrics, printed = Run(out).metrics(), capsys.readouterr().out
    assert len(printed.splitlines()) <= 25 and f"emu predict FILE --run {out}" in printed
    assert run_verdict(metrics).sentence in " ".join(printed.split())
    assert "ja-en" not in printed
    assert main(["resume", str(out), "--full"]) == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("ja-en")).split()
    change = metrics.specialised["ja-en"] - metrics.base["ja-en"]
    assert row[1:6] == [
        f"{metrics.base['ja-en']:.1f}",
        "%",
        f"{metrics.specialised['ja-en']:.1f}",
        "%",
        f"{change:+.1f}",
    ]
    found = metrics.similar_sentences.by_language["ja"]
    section = lines[lines.index("Similar sentences") :]
    row = next(line for line in section if line.startswith("Japanese  "))
    assert f"{found.difference:+.1f}" in row and row.endswith(found.verdict)
    probe = next(line for line in lines if line.startswith("a linear probe"))
    both = metrics.leakage.base, metrics.leakage.specialised
    assert probe.split()[-3:] == [f"{leakage.probe:.1f}" for leakage in both] + ["33.3"]


@pytest.mark.slow
def test_evaluate_compares_a_run_with_its_base(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, data = folder / "runs" / "small", str(folder / "small.csv")
    asked = ["evaluate", data, "--split", "test", "--device", "cpu"]
    assert main([*asked, "--json"]) == 0
    assert "changes" not in json.loads(capsys.readouterr().out)
    assert main([*asked, "--run", str(run), "--pool", data, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert main([*asked, "--pool", data, "--json"]) == 0
    base = json.loads(capsys.readouterr().out)
    for language, change in result["changes"].items():
        gained = result["by_language"][language] - base["by_language"][language]
        assert change["difference"] == pytest.approx(gained)
    # A run whose base is gone is measured all the same, and says what it could not do.
    shutil.copytree(run, tmp_path / "r")
    config = Run(run).config().to_json()
    for encoder, reason in ((f"run:{tmp_path / 'gone'}", "no encoder in"), (None, "config.json is damaged")):
        Run(tmp_path / "r").write("config.json", config | {"encoder": encoder})
        assert main([*asked, "--run", str(tmp_path / "r"), "--json"]) == 0
        measured = json.loads(capsys.readouterr().out)
        assert measured["changes"] is None and reason in measured["changes_note"]
    assert main([*asked, "--run", str(tmp_path / "r")]) == 0
    assert "Not compared with the base encoder: " in capsys.readouterr().out


@pytest.mark.slow
def test_evaluate_leaves_out_what_the_run_was_trained_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def evaluated(data: Path, run: str, *options: str) -> tuple[dict[str, Any], str]:
        asked = ["evaluate", str(data), "--run", str(folder / "runs" / run), "--device", "cpu", "--json"]
        assert main([*asked, *options]) == 0
        printed = capsys.readouterr()
        return json.loads(printed.out), printed.err

    data = folder / "small.csv"
    metrics = Run(folder / "runs" / "small").metrics()
    found, said = evaluated(data, "small")
    assert found["accuracy"] == metrics.specialised and found["counts"] == metrics.counts
    assert (
        found["left_out"] == 3 * 72
        and "Left out: 216 sentences that the run small was trained on" in found["notes"][0]
    )
    assert f"note: {found['notes'][0]}" in said
    # What is asked for is measured; a warning says what it is worth.
    asked, _ = evaluated(data, "small", "--split", "all", "--languages", "en,de")
    assert asked["counts"]["en-de"] == 108 and asked["left_out"] == 0
    assert "was trained on 144 of these 216 sentences" in asked["notes"][0]
    # In another file, the same sentences are known; the base encoder was trained on neither.
    other = folder / "other.csv"
    small_set(("en", "de")).frame.drop(columns="split").to_csv(other, index=False)
    asked, _ = evaluated(other, "small")
    assert asked["left_out"] == 144 and asked["accuracy"]["en-de"] == found["accuracy"]["en-de"]
    pool = folder / "pool.csv"
    small_set(("en",)).select(splits=["train"]).frame.to_csv(pool, index=False)
    asked, _ = evaluated(other, "small", "--pool", str(pool), "--split", "all")
    assert "The run small was trained on 72 of the pool's 72 sentences." in asked["notes"]
    assert main(["evaluate", str(data), "--languages", "en,de", "--device", "cpu", "--json"]) == 0
    base = json.loads(capsys.readouterr().out)
    assert (base["counts"]["en-de"], base["left_out"], base["notes"]) == (108, 0, [])


@pytest.mark.slow
def test_evaluate_warns_where_all_was_trained_on(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, run = tmp_path / "bare.csv", str(tmp_path / "bare")
    frame = small_set(("en", "de")).frame
    frame[frame["intent"].isin(INTENTS[:3])].drop(columns="split").to_csv(data, index=False)
    assert main(["train", str(data), "--out", run, "--method", "head", "--device", "cpu"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(data), "--run", run, "--device", "cpu", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["left_out"], found["counts"]["de-en"]) == (0, 54)
    assert "was trained on these sentences" in found["notes"][0]
    # With a share held out, the same file is divided again as it was.
    assert (
        main(
            ["train", str(data), "--out", f"{run}-2", "--device", "cpu", "--hold-out", "0.25", "--seed", "3"]
        )
        == 0
    )
    capsys.readouterr()
    assert main(["evaluate", str(data), "--run", f"{run}-2", "--device", "cpu", "--json"]) == 0
    held_out = json.loads(capsys.readouterr().out)
    assert held_out["accuracy"] == Run(Path(f"{run}-2")).metrics().specialised
    assert "Left out: " in held_out["notes"][0] and held_out["counts"]["de-en"] < 54
    assert main(["train", str(data), "--out", f"{run}-3", "--hold-out", "1.5"]) == 2
    assert "--hold-out" in capsys.readouterr().err


def test_evaluate_has_the_contract(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["evaluate", str(folder / "small.csv"), "--languages", "en,de", "--split", "test", "--json"]
    assert main([*asked, "--run", str(folder / "runs" / "small"), "--device", "cpu"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["protocol"] == "leave-one-out"
    assert list(result["accuracy"]) == ["en-en", "en-de", "de-en", "de-de"]
    assert result["mean"] == pytest.approx(sum(result["accuracy"].values()) / 4)
    metrics = Run(folder / "runs" / "small").metrics()
    assert result["accuracy"]["en-de"] == metrics.specialised["en-de"]
    low, high = result["intervals"]["en-de"]
    assert low <= result["accuracy"]["en-de"] <= high


@pytest.mark.slow
def test_evaluate_against_a_pool(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries, pool = tmp_path / "queries.de.csv", tmp_path / "pool.en.csv"
    small_set(("de",)).frame[["text", "intent"]].to_csv(queries, index=False)
    small_set(("en",)).frame[["text", "intent"]].to_csv(pool, index=False)
    assert main(["evaluate", str(queries), "--pool", str(pool), "--device", "cpu", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["protocol"] == "pool" and list(result["accuracy"]) == ["de-en"]
    encoder = load_encoder("use")
    cosines = (
        encoder.encode(small_set(("de",)).frame["text"].tolist())
        @ encoder.encode(small_set(("en",)).frame["text"].tolist()).T
    )
    intents = small_set(("en",)).frame["intent"].to_numpy()
    right = intents[cosines.argmax(axis=1)] == small_set(("de",)).frame["intent"].to_numpy()
    assert result["accuracy"]["de-en"] == pytest.approx(100 * right.mean())
    assert "this is classification" in result["notes"][0]
    # Beside it a classifier on the same vectors: on this set, a scikit-learn one with the C that is told.
    beside = result["classifier"]
    fitted = LogisticRegression(C=beside["C"], max_iter=3000, tol=1e-6).fit(
        encoder.encode(small_set(("en",)).frame["text"].tolist()), intents
    )
    told = fitted.score(
        encoder.encode(small_set(("de",)).frame["text"].tolist()), small_set(("de",)).frame["intent"]
    )
    assert beside["by_language"] == {"de": pytest.approx(100 * told)} and beside["mean"] == pytest.approx(
        100 * told
    )


def test_a_pool_with_other_intents_is_no_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries, pool, mixed = tmp_path / "queries.en.csv", tmp_path / "pool.en.csv", tmp_path / "mixed.en.csv"
    frame = small_set(("en",)).frame[["text", "intent"]]
    frame.to_csv(queries, index=False)
    frame.assign(intent="hotel/" + frame["intent"]).to_csv(pool, index=False)
    lacking = frame["intent"] == frame["intent"].iloc[0]
    frame.assign(intent=frame["intent"].mask(lacking, "other")).to_csv(mixed, index=False)
    given = ["--device", "cpu", "--pool"]
    assert main(["evaluate", str(queries), *given, str(pool)]) == 0
    printed = capsys.readouterr()
    assert "hotel/" in printed.err and "0.0" not in printed.out
    assert main(["evaluate", str(queries), *given, str(pool), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["mean"] is None and result["accuracy"] == {} == result["counts"]
    assert main(["evaluate", str(queries), *given, str(mixed), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert f"{lacking.sum()} queries of {len(frame)} can't be right" in result["notes"][0]


def test_embed_writes_a_row_for_each_row(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.api.embed.PART", 50)
    out = tmp_path / "deep" / "vectors.parquet"
    assert main(["embed", str(folder / "small.csv"), "--out", str(out), "--device", "cpu"]) == 0
    table = pq.read_table(out)
    frame = small_set().frame
    assert table.column("text").to_pylist() == frame["text"].tolist()
    assert table.column("intent").to_pylist() == frame["intent"].tolist()
    vectors = np.array(table.column("vector").to_pylist(), dtype=np.float32)
    expected = load_encoder("use").encode(frame["text"].tolist())
    assert np.abs(vectors - expected).max() < 1e-6
    assert pq.ParquetFile(out).num_row_groups == 7
    assert list(out.parent.iterdir()) == [out]


def test_embed_takes_plain_text_and_leaves_nothing_half(tmp_path: Path) -> None:
    lines = tmp_path / "lines.de.gz"
    lines.write_bytes(gzip.compress(b"Guten Tag\nGuten Tag\n"))
    assert embed(lines, out=tmp_path / "v.parquet", device="cpu") == 2
    table = pq.read_table(tmp_path / "v.parquet")
    assert table.column("language").to_pylist() == ["de", "de"]
    (tmp_path / "taken.parquet").mkdir()
    with raises(DataError, fix="out", match="taken"):
        embed(lines, out=tmp_path / "taken.parquet", device="cpu")
    assert not list(tmp_path.glob(".*"))


def test_the_export_opens_in_sentence_transformers_with_the_same_vectors(folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    out = folder / "exported"
    assert main(["export", str(folder / "runs" / "small"), "--out", str(out)]) == 0
    assert not [path for path in out.rglob("*") if path.suffix in (".py", ".bin", ".pt", ".pkl")]
    model = SentenceTransformer(str(out), trust_remote_code=True, device="cpu", local_files_only=True)
    texts = [
        "Where is the pool?",
        "Wo kann man hier schwimmen und danach etwas essen?",
        "プールはどこですか？",
    ]
    ours = load_encoder(f"run:{folder / 'runs' / 'small'}").encode(texts)
    assert np.abs(model.encode(texts) - ours).max() < 1e-5
    assert model.get_embedding_dimension() == 512
    with raises(RunError, fix="out", match="exported"):
        export(folder / "runs" / "small", out)


def test_only_a_finished_run_is_exported(tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", *plan_training(small_set()))
    with raises(RunError, fix=None, match="queued"):
        export(run, tmp_path / "out")
    with raises(RunError, fix=None, match=r"status\.json"):
        export(tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["train", "nowhere.csv"], "nowhere.csv"),
        (["evaluate", "demo", "--languages", "en,xx", "--device", "cpu"], "xx"),
        (["evaluate", "demo", "--split", "summer", "--device", "cpu"], "summer"),
        (["evaluate", "demo", "--run", "nowhere"], "nowhere"),
        (["train", "demo", "--out", "Ünsafe name"], "'Ünsafe name'"),
        (["train", "demo", "--method", "emu", "--epochs", "0"], "--epochs"),
        (["export", "nowhere", "--out", "x"], "nowhere"),
    ],
)
def test_a_users_error_is_one_sentence_and_exit_code_2(
    command: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*command, "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err and printed.err.startswith("emu: ") and printed.err.count("\n") == 1


def test_a_folder_that_is_not_an_encoder_of_ours_is_refused(tmp_path: Path) -> None:
    encoder = tmp_path / "encoder"
    encoder.mkdir()
    for content in ("{", "[]", "{}", '{"encoder": "pickle"}'):
        (encoder / "config.json").write_text(content)
        with pytest.raises(EncoderError):
            load_encoder(f"run:{tmp_path}")


def test_sigterm_leaves_a_cancelled_run(folder: Path) -> None:
    out = folder / "runs" / "stopped"
    options = ["--method", "emu", "--device", "cpu", "--epochs", "500"]
    process = started(command, "train", str(folder / "small.csv"), "--out", str(out), *options)
    until(lambda: (out / "status.json").exists() and Run(out).status().phase == "training")
    process.terminate()
    process.join()
    assert process.exitcode == 130
    assert Run(out).status().state is RunState.CANCELLED
    assert not Run(out).encoder_folder.exists()


def test_no_help_imports_what_takes_long() -> None:
    code = """if True:
        import contextlib, sys
        from emu_core.cli import main
        for command in ("", "train", "train --method emu", "embed", "bench", "generate"):
            with contextlib.suppress(SystemExit):
                main([*command.split(), "--help"])
        print(*({"torch", "pandas", "scipy", "pyarrow"} & sys.modules.keys()))
    """
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "--critic-steps" in said and said.splitlines()[-1] == ""


def test_the_threads_are_set_before_torch() -> None:
    check = "import os, emu_core; print(os.environ['OMP_WAIT_POLICY'])"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    said = subprocess.run(
        [sys.executable, "-c", check], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "PASSIVE"


@pytest.mark.slow
def test_intents_are_merged_and_findings_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = small_set(("en", "de")).frame
    data, pool, run = tmp_path / "data.csv", tmp_path / "pool.csv", str(tmp_path / "run")
    frame = frame.assign(intent=frame["intent"] + "-" + frame["language"])
    frame.to_csv(data, index=False)
    frame.assign(intent=frame["intent"].str.upper(), id="").to_csv(pool, index=False)
    asked = ["evaluate", str(data), "--split", "test", "--device", "cpu", "--json"]
    assert main(asked) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["accuracy"]["en-de"] == 0  # no intent is in both
    assert any(note.startswith("No intent occurs in two languages;") for note in result["notes"])
    assert main([*asked, "--merge-intents", "language"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"]["en-de"] > 50
    assert main([*asked, "--pool", str(pool), "--merge-intents", "case,language"]) == 0
    assert 50 < json.loads(capsys.readouterr().out)["accuracy"]["en-de"] < 100
    assert main([*asked, "--merge-intents", "colour"]) == 2
    assert "'colour'" in (said := capsys.readouterr().err) and "case, language" in said
    assert (
        main(["train", str(data), "--out", run, "--merge-intents", "language", "--device", "cpu", "--json"])
        == 0
    )
    assert "data: Intents merged by language: 6 instead of 12." in capsys.readouterr().err


@pytest.mark.slow
def test_rows_of_none_of_the_intents_are_no_queries_and_no_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = small_set(("en", "de")).frame
    taken = {"pets": "out_of_scope", "taxi": "chit chat"}
    data = tmp_path / "data.csv"
    frame.assign(intent=frame["intent"].replace(taken)).to_csv(data, index=False)
    asked = ["evaluate", str(data), "--split", "test", "--device", "cpu", "--json"]

    def queries(*options: str) -> int:
        assert main([*asked, *options]) == 0
        result = json.loads(capsys.readouterr().out)
        notes.extend(result["notes"])
        return int(result["counts"]["en-de"])

    notes: list[str] = []
    each = int(((frame["intent"] == "pets") & (frame["language"] == "en") & (frame["split"] == "test")).sum())
    assert queries() == 5 * each
    assert any(note.startswith("36 rows labelled out_of_scope have none of the intents") for note in notes)
    assert queries("--no-intent", "Chit Chat") == 4 * each
    assert queries("--real-intent", "out_of_scope") == 6 * each
    run = str(tmp_path / "run")
    trained = ["train", str(data), "--out", run, "--no-intent", "chit chat", "--device", "cpu", "--json"]
    assert main(trained) == 0
    assert "labelled chit chat, out_of_scope have none of the intents" in capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "data.json").read_text())["intents"] == 4
