import pytest

from emu_core.bench.cells import BASE, TRANSLATION, Cell, Kind, Peer, Rate, methods
from emu_core.bench.data import bench_data
from emu_core.bench.plan import Part, plan
from emu_core.bench.setting import Setting
from emu_core.data.labelled import LabelledSet
from emu_core.errors import DataError
from emu_core.methods.registry import configure
from tests.bench_set import bench_set

SIX = ("en", "de", "es", "fr", "ja", "zh")


def test_table_2_needs_the_base_once_and_every_method_for_each_seed() -> None:
    cells = plan([Part.TABLE_2], SIX, ["en"], [0, 1, 2])
    assert cells[0] == BASE
    assert set(cells[1:]) == {
        Cell(Kind.METHOD, m.value, ("en",), s) for m in set(Method) - set(DISENTANGLING) for s in (0, 1, 2)
    }
    assert [cell.name for cell in cells[1::3]][:7] == [
        "contrastive", "n-pair", "softmax", "emu", "emu-without-ld", "emu-without-ld-cl", "emu-parallel",
    ]  # fmt: skip
    assert set(methods()) == set(Method) - set(DISENTANGLING)


def test_translations_are_a_cell_only_where_there_are_some() -> None:
    assert TRANSLATION not in plan([Part.TABLE_2], SIX, ["en"], [0])
    assert TRANSLATION in plan([Part.TABLE_2], SIX, ["en"], [0], translated=True)


def test_tables_share_their_cells() -> None:
    apart = sum(len(plan([part], SIX, ["en"], [0, 1])) for part in Part)
    cells = plan(list(Part), SIX, ["en"], [0, 1])
    assert len(set(cells)) == len(cells) < apart
    assert len({cell.key for cell in cells}) == len(cells)
    mixes = {cell.train_languages for cell in cells if cell.name == "emu-without-ld"}
    assert mixes == {("en",), ("de",), ("fr",), ("en", "de"), ("en", "fr"), ("de", "fr"), ("en", "de", "fr")}
    assert set(plan([Part.TABLE_5, Part.FIGURE_2, Part.TABLE_4], SIX, ["en"], [0, 1])) <= set(cells)


def test_table_3_takes_other_languages_where_the_papers_are_not_there() -> None:
    cells = plan([Part.TABLE_3], ("ja", "ko", "th", "zh"), ["ja"], [0])
    assert {code for cell in cells for code in cell.train_languages} == {"ja", "ko", "th"}
    assert len(cells) == 1 + 7


def test_peers_that_train_are_run_with_both_rates_and_the_frozen_once() -> None:
    cells = [cell for cell in plan([Part.PEERS], SIX, ["en"], [0, 1]) if cell.kind is Kind.PEER]
    for peer in Peer:
        own = [(cell.seed, cell.rate) for cell in cells if cell.name == peer]
        if peer in (Peer.LDA, Peer.LOGISTIC):
            assert own == [(0, Rate.NONE)]
        else:
            assert own == [(0, Rate.THEIRS), (0, Rate.OURS), (1, Rate.THEIRS), (1, Rate.OURS)]


def test_a_language_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="no sentence in ko; there are: en, de"):
        plan([Part.TABLE_2], ("en", "de"), ["ko"], [0])


def test_a_hostile_language_stays_in_the_folder() -> None:
    cell = Cell(Kind.METHOD, "emu", ("../../etc/passwd", "a b"))
    assert "/" not in cell.key and ".." not in cell.key
    assert cell.key != Cell(Kind.METHOD, "emu", ("../../etc/passwd", "a c")).key


def test_the_budget_of_the_peers_is_emus() -> None:
    setting = Setting("e5-small", "cpu", "x", "y")
    emu = configure("emu", "e5-small")
    ours = setting.hyperparameters(Cell(Kind.PEER, Peer.COSENT, ("en",), 0, Rate.OURS))
    assert ours == {
        "epochs": emu.epochs,
        "batch_size": emu.batch_size,
        "learning_rate": emu.learning_rate,
    }
    theirs = setting.hyperparameters(Cell(Kind.PEER, Peer.COSENT, ("en",), 0, Rate.THEIRS))
    assert theirs == ours | {"learning_rate": 2e-5}


def test_a_fingerprint_changes_with_all_that_is_measured() -> None:
    cell = Cell(Kind.METHOD, "emu", ("en",))
    settings = [
        Setting("use", "cpu", "x", "y"),
        Setting("e5-small", "cpu", "x", "y"),
        Setting("use", "cpu", "x", "z"),
        Setting("use", "cpu", "x", "y", epochs=2),
        Setting("use", "cpu", "x", "y", "t"),
    ]
    assert len({setting.fingerprint(cell) for setting in settings}) == len(settings)
    assert settings[0].fingerprint(cell) != settings[0].fingerprint(Cell(Kind.METHOD, "emu", ("en",), 1))
    assert settings[0].fingerprint(cell) == Setting("use", "cpu", "x", "y").fingerprint(cell)


def test_test_rows_are_measured_and_dev_rows_left_out() -> None:
    frame = bench_set().frame
    frame.loc[frame["id"].str.endswith("3"), "split"] = "dev"
    data = bench_data(LabelledSet(frame, "x"))
    assert set(data.train.frame["id"].str[-1]) == {"0", "1", "2"}
    assert set(data.test.frame["id"].str[-1]) == {"4", "5"}
    without_test = frame[frame["split"] != "test"].reset_index(drop=True)
    data = bench_data(LabelledSet(without_test, "x"))
    assert set(data.test.frame["id"].str[-1]) == {"3"} and set(data.test.frame["split"]) == {"test"}
    assert "split dev" in data.note


def test_a_set_without_splits_is_cut_by_id() -> None:
    frame = bench_set(("en", "de", "ja")).frame.assign(split="")
    data = bench_data(LabelledSet(frame, "x"))
    train, test = set(data.train.frame["id"]), set(data.test.frame["id"])
    assert not train & test and len(train | test) == 18
    # 30 % of the six of each intent are two, in each of three languages.
    assert data.test.frame.groupby("intent")["id"].nunique().tolist() == [2, 2, 2]
    assert len(data.test) == 18 and "no splits" in data.note
    again = bench_data(LabelledSet(frame, "x"))
    assert again.whole.sha256() == data.whole.sha256()


def test_rows_without_an_id_are_cut_in_each_language() -> None:
    frame = bench_set().frame.assign(split="", id="")
    data = bench_data(LabelledSet(frame, "x"))
    counts = data.test.frame.groupby(["language", "intent"]).size()
    assert counts.tolist() == [2] * 6 and len(data.train) + len(data.test) == 36


def test_splits_that_do_not_serve_are_refused() -> None:
    frame = bench_set().frame.replace({"split": {"test": "later"}})
    with pytest.raises(DataError, match="measures split test or dev, and there are: later, train"):
        bench_data(LabelledSet(frame, "x"))
