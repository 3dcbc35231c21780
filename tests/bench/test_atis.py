from pathlib import Path

import pytest

from emu_core.bench.emu.atis import PAPER_COUNTS, read_atis, selection
from emu_core.bench.paper import paper_numbers
from emu_core.errors import DataError
from tests.support.bench_cells import run

# English sentences of each intent in the usual files, train and test, of which the paper's selection is made.
SIZES = {
    "atis_flight": (20, 9), "atis_airfare": (6, 5), "atis_airline": (5, 6), "atis_flight#atis_airfare": (7, 5),
    "atis_meal": (9, 4), "atis_cheapest": (3, 8), "atis_quantity": (8, 0),
}  # fmt: skip


def lines(split: int) -> list[tuple[str, str]]:
    return [
        (name, f"{name[5:12]} number {i} please")
        for name, sizes in SIZES.items()
        for i in range(sizes[split])
    ]


def write(folder: Path) -> Path:
    folder.mkdir()
    for split, name in enumerate(("train", "test")):
        rows = lines(split)
        (folder / f"atis_intents_{name}.csv").write_text("".join(f"{i},{t}\n" for i, t in rows))
        iob = [f"BOS {t} EOS\t{' '.join('O' for _ in t.split())} O {i}" for i, t in rows]
        (folder / f"{name}.de.iob").write_text("\n".join(iob).replace("please", "bitte"))
        tsv = "id\tutterance\tslot_labels\tintent\n" + "".join(
            f"{n}\t{t} s'il\tO\t{i[5:]}\n" for n, (i, t) in enumerate(rows)
        )
        (folder / f"{name}_FR.tsv").write_text(tsv)
    (folder / "README.md").write_text("train and test")
    return folder


def test_the_selection_is_the_papers(tmp_path: Path) -> None:
    labelled = read_atis(write(tmp_path / "atis"))
    assert labelled.intents == ("airfare", "airline", "flight+airfare")
    assert selection(labelled) == {"classes": 3, "train": 6 + 5 + 7, "test": 5 + 6 + 5}
    assert labelled.languages == ("en", "de", "fr")
    frame = labelled.frame.set_index(["language", "id"])
    english, german = frame.loc[("en", "test-9")], frame.loc[("de", "test-9")]
    assert english["text"] == "airfare number 0 please" and german["text"] == "airfare number 0 bitte"
    assert english["intent"] == german["intent"] == "airfare"
    assert frame.loc[("fr", "test-9"), "text"] == "airfare number 0 please s'il"
    assert labelled.frame.groupby(["language", "split"]).size().unique().tolist() == [16, 18]


def test_the_usual_counts_give_the_papers() -> None:
    # ATIS-2 and 3, 4,978 and 893 sentences: intents with five or more in both, without flight.
    train = {
        "abbreviation": 147, "aircraft": 81, "airfare": 423, "airline": 157, "airport": 20, "capacity": 16, "city": 19,
        "distance": 20, "flight+airfare": 21, "flight_no": 12, "ground_fare": 18, "ground_service": 255, "meal": 6,
    }  # fmt: skip
    test = {
        "abbreviation": 33, "aircraft": 9, "airfare": 48, "airline": 38, "airport": 18, "capacity": 21, "city": 6,
        "distance": 10, "flight+airfare": 12, "flight_no": 8, "ground_fare": 7, "ground_service": 36, "meal": 6,
    }  # fmt: skip
    counts = {"classes": len(train), "train": sum(train.values()), "test": sum(test.values())}
    assert counts == PAPER_COUNTS == paper_numbers("emu")["table1"]["ATIS"]


def test_it_is_named_where_data_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "atis")
    report = run("emu", tmp_path / "out", f"atis:{folder}", parts=["4"])
    assert report.facts["intents"] == 3
    assert any("ATIS has 3 intents, 18 training and 16 test" in said for said in report.differences)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "atis_intents_test.csv").unlink(), "no English file of split test"),
        (lambda folder: (folder / "atis_test_2.csv").write_text("atis_x,y\n"), "are both test in en"),
        (lambda folder: (folder / "test.de.iob").write_text("BOS a EOS\tO atis_meal"), "has 1 sentences, and the"),
        (lambda folder: (folder / "test.de.iob").write_text("BOS a EOS"), "no slots and intent behind a tab"),
        (lambda folder: (folder / "test_FR.tsv").write_text("a\tb\tc\n1\t2\t3\n"), "no text and intent column"),
        (lambda folder: (folder / "atis_intents_train.csv").write_text("atis_meal,a\natis_city,b\n"), "sentences"),
    ],
)  # fmt: skip
def test_files_that_are_not_atis_are_refused(tmp_path: Path, spoil: object, message: str) -> None:
    folder = write(tmp_path / "atis")
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(DataError, match=message):
        read_atis(folder)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        read_atis(tmp_path / "nowhere")
