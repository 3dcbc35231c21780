"""What is refused before workers start, and that nobody imports Ray who does not use it."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from emu_core import IntentClassifier, cluster, train
from emu_core.cli import main
from emu_core.cluster import _reason, _sentences_of, embed_on_cluster, predict_on_cluster
from emu_core.data.reading import Reading
from emu_core.errors import DataError
from tests.support.small import small_set

TEXTS = ["Where is the pool?", "Call me a taxi"]


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    file = tmp_path / "mails" / "mails.parquet"
    file.parent.mkdir()
    pd.DataFrame({"text": TEXTS}).to_parquet(file)
    return file.parent


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)


@pytest.mark.usefixtures("without_ray")
def test_without_ray_the_message_says_how_to_install_it(mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(DataError, match=r'pip install "emu-core\[ray\]"'):
        embed_on_cluster([mails], out=out)
    classifier = IntentClassifier().fit(TEXTS * 2, ["pool", "taxi"] * 2)
    with pytest.raises(DataError, match=r'pip install "emu-core\[ray\]"'):
        predict_on_cluster(classifier, [mails], out=out)
    assert not out.exists()


@pytest.mark.usefixtures("without_ray")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["embed", "{mails}", "--engine", "ray", "--out", "{mails}"],
            "(--out)",
        ),
        (["embed", "{mails}", "--engine", "ray", "--out", "v", "--part", "cls"], "--part"),
        (["embed", "{mails}", "--address", "auto", "--out", "v"], "--engine ray"),
        (["embed", "{table}", "--engine", "ray", "--out", "v"], "can't be read as Parquet"),
        (["embed", "{empty}", "--engine", "ray", "--out", "v"], "holds no Parquet file"),
        (["embed", "{wide}", "--engine", "ray", "--out", "v"], "tables with a sentence a row"),
        (["embed", "{none}", "--engine", "ray", "--out", "v"], "no column 'text'"),
        (["predict", "{mails}", "--engine", "ray", "--pool", "demo"], "--out"),
        (["predict", "{mails}", "--engine", "ray", "--run", "none", "--out", "v"], "not a run"),
        (["predict", "{mails}", "--engine", "ray", "--out", "v"], "no labels to predict from"),
    ],
    ids=[
        "out",
        "part",
        "address",
        "csv",
        "folder without",
        "wide",
        "columns",
        "no out",
        "no run",
        "no labels",
    ],
)
def test_what_a_cluster_can_t_do_is_refused(
    arguments: list[str], message: str, mails: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mails.csv").write_text("text\nWhere is the pool?\n", "utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("nothing", "utf-8")
    pd.DataFrame({"number": [1, 2]}).to_parquet(tmp_path / "none.parquet")
    wide = pd.DataFrame({"intent": ["pool"], "en": ["Where is the pool?"], "de": ["Wo ist der Pool?"]})
    wide.to_parquet(tmp_path / "wide.parquet")
    names = {
        "mails": mails,
        "table": tmp_path / "mails.csv",
        "empty": tmp_path / "empty",
        "none": tmp_path / "none.parquet",
        "wide": tmp_path / "wide.parquet",
    }
    assert main([argument.format(**names) for argument in arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("is_relative", [False, True])
def test_a_worker_predicts_what_a_single_process_does(
    is_relative: bool, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the intents of a run, whose folder a worker has under its whole name, wherever it is started."""
    run = train(small_set(), out=tmp_path / "runs" / "small", method="head", device="cpu")
    steps = list[Any]()
    monkeypatch.setattr(cluster, "_write", lambda step, *_: steps.append(pickle.dumps(step)) or 0)
    monkeypatch.chdir(tmp_path)
    classifier = IntentClassifier.from_run("runs/small" if is_relative else run, device="cpu")
    predict_on_cluster(classifier, [mails], out=tmp_path / "out")
    classifier.predict_file(mails, tmp_path / "whole.parquet")
    monkeypatch.chdir("/")
    step = pickle.loads(steps[0])  # noqa: S301 - our own, above
    found = step(pq.read_table(mails / "mails.parquet"))
    assert found.equals(pq.read_table(tmp_path / "whole.parquet"))
    assert found["intent"].to_pylist() == ["pool", "taxi"]


@pytest.mark.slow
def test_ray_is_imported_by_nobody_who_does_not_use_it() -> None:
    script = "import sys, emu_core.cluster, emu_core.cli.encoders; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_last_error_is_the_reason_not_the_advice_that_follows() -> None:
    text = "Traceback:\nKeyError: 'text'\nThen:\nray.data.Failed.TypeError: no such column\n\nTo change retries: set x."
    assert str(_reason(RuntimeError(text))) == "Ray failed: ray.data.Failed.TypeError: no such column"
    assert str(_reason(RuntimeError("the object\nwas lost\n"))) == "Ray failed: was lost"


def test_parts_without_rows_say_nothing_and_are_no_obstacle(tmp_path: Path) -> None:
    rows = pd.DataFrame({"text": TEXTS, "intent": ["pool", "taxi"], "language": "en"})
    for name, part in {"a_train": rows.head(0), "data": rows, "more_test": rows}.items():
        part.to_parquet(tmp_path / f"{name}.parquet")
    sentences = _sentences_of([tmp_path], Reading())
    assert [Path(file).stem for file in sentences.files] == ["data", "more_test"]
    assert sentences.stated == {} and sentences.count == 4

    rows.to_parquet(tmp_path / "a_train.parquet")
    stated = _sentences_of([tmp_path], Reading()).stated
    assert {Path(file).stem: states.split for file, states in stated.items()} == {
        "a_train": "train",
        "data": "",
        "more_test": "test",
    }


def test_a_cluster_reads_missing_values_as_files_are_read(tmp_path: Path) -> None:
    pd.DataFrame({"text": [*TEXTS, "nan", "#N/A"]}).to_parquet(tmp_path / "mails.parquet")
    batch = pq.read_table(tmp_path / "mails.parquet")
    for missing, texts in ((), [*TEXTS, "nan", ""]), (("usual",), [*TEXTS, "", ""]):
        sentences = _sentences_of([tmp_path], Reading(language="en", missing=missing))
        assert sentences.rows(batch)["text"].tolist() == texts
