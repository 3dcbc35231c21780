"""Snapshots of a run: which sentences, what is drawn of them, and what is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from emu_core import charts, compare, configure, train
from emu_core.cli import main
from emu_core.errors import EncoderError, RunError
from emu_core.evaluation.film import ACCURACY, TRANSLATIONS, film
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.evaluation.projection import sample_together
from emu_core.runs.run import Run
from emu_core.runs.snapshots import BEFORE, read_film
from tests.support.small import small_file


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_file(tmp_path_factory.mktemp("data"), ("en", "de"))


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    config = configure("emu", "use", epochs=2)
    folder = tmp_path_factory.mktemp("runs") / "folds"
    return train(data, out=folder, method="emu", config=config, snapshots=True)


def turned(vectors: np.ndarray, seed: int) -> np.ndarray:
    return vectors @ np.linalg.qr(np.random.default_rng(seed).normal(size=(vectors.shape[1],) * 2))[0]


def drawn(n: int = 24, dim: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.DataFrame(
        {
            "text": [f"sentence {row}" for row in range(n)],
            "intent": [f"intent {row % 3}" for row in range(n)],
            "language": ["en" if row < n // 2 else "de" for row in range(n)],
            "id": [str(row % (n // 2)) for row in range(n)],
        }
    )
    return frame, np.random.default_rng(0).normal(size=(n, dim)).astype(np.float32)


def test_a_space_that_only_turns_does_not_move() -> None:
    frame, vectors = drawn()
    seen = film(frame, [vectors, turned(vectors, 1), 3 * turned(vectors, 2)], ["a", "b", "c"])
    assert seen.places.shape == (3, 24, 2)
    assert seen.places[0] == pytest.approx(seen.places[1], abs=1e-4)
    assert seen.places[0] == pytest.approx(seen.places[2], abs=1e-4)
    moved = film(frame, [vectors, np.roll(vectors, 1, axis=0)], ["a", "b"])
    assert np.abs(moved.places[0] - moved.places[1]).max() > 0.1


def test_accuracy_is_leave_one_outs_in_each_frame() -> None:
    frame, vectors = drawn()
    other = np.random.default_rng(5).normal(size=(24, 9)).astype(np.float32)  # longer: the first is filled up
    seen = film(frame, [vectors, other], ["a", "b"])
    assert seen.measure == ACCURACY and list(seen.accuracy) == ["en", "de"]
    for row, vectors_then in enumerate((vectors, other)):
        columns = (frame[name].tolist() for name in ("intent", "language", "id"))
        found = leave_one_out(vectors_then, *columns).accuracy
        for code in ("en", "de"):
            expected = (found[f"{code}-en"] + found[f"{code}-de"]) / 2
            assert seen.accuracy[code].iloc[row] == pytest.approx(expected)


def test_without_intents_translations_are_what_is_found() -> None:
    frame, vectors = drawn()
    vectors[12:] = vectors[:12]
    shifted = np.concatenate([vectors[:12], np.roll(vectors[12:], 3, axis=0)])
    seen = film(frame.assign(intent=""), [vectors, shifted], ["a", "b"])
    assert seen.measure == TRANSLATIONS
    assert seen.accuracy.iloc[0].tolist() == [100.0, 100.0] and seen.accuracy.iloc[1].max() < 100


def test_translations_are_drawn_together() -> None:
    languages = [code for code in ("en", "de", "fr") for _ in range(100)]
    ids = [str(row) for _ in range(3) for row in range(100)]
    intents = [f"intent {int(one) % 7}" for one in ids]
    rows = sample_together(languages, intents, ids, 50)
    assert len(rows) <= 50 and len(rows) > 40
    drawn_ids = np.array(ids)[rows]
    assert all((drawn_ids == one).sum() == 3 for one in set(drawn_ids))
    assert rows.tolist() == sample_together(languages, intents, ids, 50).tolist()
    assert sample_together(languages, intents, ids, 300).tolist() == list(range(300))


@pytest.mark.slow
def test_a_run_plays_its_held_out_sentences(run: Run, data: Path) -> None:
    seen = read_film(run)
    assert [title.removesuffix(" (chosen)") for title in seen.titles] == [BEFORE, "epoch 1", "epoch 2"]
    test = pd.read_csv(data).query("split == 'test'")
    assert sorted(seen.sentences["text"]) == sorted(test["text"])
    metrics = run.metrics()
    for place, accuracy in ((0, metrics.base), (-1, metrics.specialised)):
        for code in ("en", "de"):
            pairs = [accuracy[f"{code}-{pool}"] for pool in ("en", "de")]
            assert seen.accuracy[code].iloc[place] == pytest.approx(np.mean(pairs), abs=3)  # float16
    figure = charts.animation(seen, "language")
    names = [frame.name for frame in figure.frames]
    assert len(names) > len(seen.titles) and len(set(names)) == len(names)
    shown = compare(data, run).animate()
    assert len(shown.frames) == len(names)


def test_the_command_writes_pages_that_need_no_network(run: Run, data: Path, tmp_path: Path) -> None:
    pages = {"--animation": tmp_path / "folds.html", "--morph": tmp_path / "morph.html"}
    named = [word for option, page in pages.items() for word in (option, str(page))]
    assert main(["compare", str(data), "--run", str(run.folder), *named]) == 0
    for page in pages.values():
        text = page.read_text("utf-8")
        assert "Content-Security-Policy" in text and "default-src 'none'" in text
        assert "Plotly.addFrames" in text and "http-equiv" in text


def test_damage_is_said(run: Run, data: Path, tmp_path: Path) -> None:
    bare = train(data, out=tmp_path / "bare")
    with pytest.raises(RunError, match="has no snapshots; train it again with snapshots=True"):
        compare(data, bare).animate()
    frame = run.snapshots_folder / "000000001.safetensors"
    kept = frame.read_bytes()
    frame.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    try:
        with pytest.raises(EncoderError):
            read_film(run)
    finally:
        frame.write_bytes(kept)


def test_the_default_method_shows_its_map_and_its_head(data: Path, tmp_path: Path) -> None:
    seen = read_film(train(data, out=tmp_path / "r", snapshots=True))
    assert seen.titles == (BEFORE, "after the map", "trained")
    assert seen.accuracy["en"].iloc[-1] > seen.accuracy["en"].iloc[0]
