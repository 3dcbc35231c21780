"""Snapshots of a run: which sentences, what is drawn of them, and what is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from emu_core import charts, compare, configure, train
from emu_core.cli import main
from emu_core.errors import EncoderError, RunError
from emu_core.evaluation.film import ACCURACY, TRANSLATIONS, film, frame_on_axes
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.evaluation.projection import sample_together
from emu_core.runs.run import Run
from emu_core.runs.snapshots import BEFORE, STILL, Snapshots, frames_so_far, read_film
from emu_core.runs.stored_data import LabelledData
from tests.support.small import small_file, small_set


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
            # English ones are looked up among those of every language, the others among English ones.
            expected = (found["en-en"] + found["en-de"]) / 2 if code == "en" else found["de-en"]
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


@pytest.mark.parametrize("with_intents", [True, False])
def test_a_frame_is_laid_out_on_the_axes_of_another(with_intents: bool) -> None:
    frame, vectors = drawn()
    frame = frame if with_intents else frame.assign(intent="")
    axes_of = (
        np.random.default_rng(1).normal(size=(24, 9)).astype(np.float32)
    )  # longer: the other is filled up
    places, accuracy = frame_on_axes(frame, axes_of, vectors)
    units = axes_of / np.linalg.norm(axes_of, axis=1, keepdims=True)
    spread = np.stack([units[number::3].mean(axis=0) for number in range(3)]) if with_intents else units
    axes = np.linalg.svd(spread - spread.mean(axis=0))[2][:2].T
    now = np.pad(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), ((0, 0), (0, 3)))
    assert np.abs(places) == pytest.approx(np.abs((now - now.mean(axis=0)) @ axes), abs=1e-5)
    assert accuracy == pytest.approx(film(frame, [vectors], ["a"]).accuracy.iloc[0].to_dict())


def test_frames_are_read_while_the_run_still_trains(tmp_path: Path) -> None:
    run, labelled = Run(tmp_path / "r"), small_set(("en", "de"))
    run.folder.mkdir()
    assert frames_so_far(run) is None
    held_out = labelled.frame.query("split == 'test'")["text"].tolist()
    steps = [np.random.default_rng(seed).normal(size=(len(held_out), 4)) for seed in range(3)]
    stored = Snapshots(run, LabelledData(labelled))
    assert frames_so_far(run) is None  # before the first of them
    stored.take(0, BEFORE, lambda _: steps[0])
    stored.after_epoch(1, 5, lambda _: steps[1])
    so_far = frames_so_far(run)
    assert so_far is not None and so_far.sentences["text"].tolist() == held_out
    read = [so_far.read(number) for number in range(2)]
    assert [title for title, _ in read] == [BEFORE, "epoch 1"]
    assert read[1][1] == pytest.approx(steps[1] / np.linalg.norm(steps[1], axis=1, keepdims=True), abs=STILL)
    for trained, count in ((2 * steps[1], 2), (steps[2], 3)):  # only where a sentence has moved since
        stored.take_trained(lambda _, vectors=trained: vectors)
        assert len(list(run.snapshots_folder.glob("*.safetensors"))) == count
    so_far.files[1].write_bytes(b"no frame")
    with pytest.raises(RunError, match="damaged"):
        so_far.read(1)


@pytest.mark.slow
def test_a_run_plays_its_held_out_sentences(run: Run, data: Path) -> None:
    seen = read_film(run)
    assert [title.removesuffix(" (chosen)") for title in seen.titles] == [BEFORE, "epoch 1", "epoch 2"]
    test = pd.read_csv(data).query("split == 'test'")
    assert sorted(seen.sentences["text"]) == sorted(test["text"])
    metrics = run.metrics()
    for place, accuracy in ((0, metrics.base), (-1, metrics.specialised)):
        for code in ("en", "de"):
            pairs = [accuracy[f"{code}-{pool}"] for pool in (("en", "de") if code == "en" else ("en",))]
            assert seen.accuracy[code].iloc[place] == pytest.approx(np.mean(pairs), abs=3)  # float16
    figure = charts.animation(seen, "language")
    names = [frame.name for frame in figure.frames]
    assert len(names) > len(seen.titles) and len(set(names)) == len(names)
    shown = compare(data, run).animate()
    assert len(shown.frames) == len(names)


@pytest.mark.slow
def test_the_command_writes_pages_that_need_no_network(run: Run, data: Path, tmp_path: Path) -> None:
    pages = {"--animation": tmp_path / "folds.html", "--morph": tmp_path / "morph.html"}
    named = [word for option, page in pages.items() for word in (option, str(page))]
    assert main(["compare", str(data), "--run", str(run.folder), *named]) == 0
    for page in pages.values():
        text = page.read_text("utf-8")
        assert "Content-Security-Policy" in text and "default-src 'none'" in text
        assert "Plotly.addFrames" in text and "http-equiv" in text


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_default_method_shows_its_map_and_its_head(data: Path, tmp_path: Path) -> None:
    seen = read_film(train(data, out=tmp_path / "r", snapshots=True))
    assert seen.titles == (BEFORE, "after the map", "moved towards intents")
    assert seen.accuracy["en"].iloc[-1] > seen.accuracy["en"].iloc[0]
