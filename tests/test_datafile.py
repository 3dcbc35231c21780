from pathlib import Path

import pandas as pd
import pytest

from app.datafile import FOLDER, save_data
from emu_core.bench.emu.data import read_machine_translations
from emu_core.data.demo import load_demo
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.load import labelled_from_frame, read_labelled
from emu_core.runs.run import list_runs

TEXTS = [
    "=1+1",
    "a,b;c\td|e",
    'say "hi"',
    "two\nlines",
    "\u2028 inside \u2029 \x85",
    "007",
    "NA",
    "null",
    "\\n",
    "é\u0301🙂",
]


def hostile() -> LabelledSet:
    frame = pd.DataFrame(
        {
            "id": [f"../{i}" for i in range(len(TEXTS))],
            "text": TEXTS,
            "intent": ["=cmd", "{}"] * (len(TEXTS) // 2),
            "language": "en",
            "split": ["train", "test"] * (len(TEXTS) // 2),
            "annotated": [f"[x : {text}]" for text in TEXTS],
        },
        dtype="str",
    )
    return labelled_from_frame(frame, "x")[0]


@pytest.mark.parametrize("labelled", [hostile(), load_demo()], ids=["hostile", "demo"])
def test_a_set_comes_back_as_it_was(labelled: LabelledSet, tmp_path: Path) -> None:
    back, audit = read_labelled([save_data(tmp_path, labelled, labelled.sha256())])
    assert back.sha256() == labelled.sha256()
    assert audit.rows_kept == audit.rows_read == len(labelled)


def test_machine_translations_go_along(tmp_path: Path) -> None:
    labelled = hostile()
    plain = save_data(tmp_path, labelled, labelled.sha256())
    first, *rest = labelled.frame["text"]
    said = {text: f"in English: {text}" for text in rest}
    path = save_data(tmp_path, labelled, labelled.sha256(), said)
    assert path.parent != plain.parent
    assert read_labelled([path])[0].sha256() == labelled.sha256()
    assert read_machine_translations([path]) == {first: "", **said}
    assert read_machine_translations([plain]) == {}


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("hotel.csv", "hotel"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\Zoë\\Ünïcode (1).xlsx", "unicode-1"),
        ("ホテル.csv", "data"),
        ("..", "data"),
        ("-rf", "rf"),
        ("demo", "demo"),
        ("a\0b\n<script>", "a-b-script"),
        ("x" * 300, "x" * 40),
    ],
)
def test_no_name_leaves_the_folder(name: str, stem: str, tmp_path: Path) -> None:
    labelled = LabelledSet(hostile().frame, name)
    path = save_data(tmp_path, labelled, labelled.sha256())
    assert path == tmp_path / FOLDER / labelled.sha256()[:16] / f"{stem}.jsonl"
    assert list(path.parent.iterdir()) == [path]
    assert list_runs(tmp_path) == []


def test_a_set_is_written_once(tmp_path: Path) -> None:
    labelled = hostile()
    path = save_data(tmp_path, labelled, labelled.sha256())
    path.write_text("marked")
    assert save_data(tmp_path, labelled, labelled.sha256()).read_text() == "marked"
