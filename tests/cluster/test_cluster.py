"""What is refused before workers start, and that nobody imports Ray who does not use it."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from emu_core import IntentClassifier
from emu_core.cli import main
from emu_core.cluster import _reason, embed_on_cluster, predict_on_cluster
from emu_core.errors import DataError

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
    ],
    ids=["out", "part", "address", "csv", "folder without", "wide", "columns", "no out"],
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


def test_ray_is_imported_by_nobody_who_does_not_use_it() -> None:
    script = "import sys, emu_core.cluster, emu_core.cli.encoders; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_last_error_is_the_reason_not_the_advice_that_follows() -> None:
    text = "Traceback:\nKeyError: 'text'\nThen:\nray.data.Failed.TypeError: no such column\n\nTo change retries: set x."
    assert str(_reason(RuntimeError(text))) == "Ray failed: ray.data.Failed.TypeError: no such column"
    assert str(_reason(RuntimeError("the object\nwas lost\n"))) == "Ray failed: was lost"
