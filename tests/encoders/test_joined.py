"""Joined encoders: the spec, the vectors, the folder, and what is known of the parts."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from emu_core import configure, embed, load_encoder, train
from emu_core.api.inputs import languages_of, load_base, reading_notes
from emu_core.cli import main
from emu_core.data.reading import Reading
from emu_core.encoders.base import Encoder, encode_in
from emu_core.encoders.e5 import E5SmallEncoder
from emu_core.encoders.encode import shared_encode
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.onnx_parts import CHECK_TEXTS
from emu_core.encoders.registry import (
    available_encoders,
    encoder_kind,
    has_word_vectors,
    kinds_of,
    open_encoder,
    open_tokens,
)
from emu_core.encoders.specs import parts_of
from emu_core.encoders.use.encoder import UseEncoder
from emu_core.errors import EncoderError
from emu_core.methods.bicvm.encoder import BicvmEncoder
from emu_core.methods.bicvm.settings import BicvmConfig
from emu_core.processes import Processes
from emu_core.runs.trained_on import trained_on, trained_rows
from tests.support.small import small_set
from tests.support.tiny_transformer import tiny_transformer

TEXTS = [*CHECK_TEXTS, "where is the pool? " * 200]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The spec of a transformer whose folder's name has a "+"."""
    return f"hf:{tiny_transformer(tmp_path_factory.mktemp('models') / 'tiny+en', letters=True)}"


@pytest.fixture(scope="module")
def spec(tiny: str) -> str:
    return f"{tiny}+use"


@pytest.fixture(scope="module")
def joined(spec: str) -> JoinedEncoder:
    encoder = load_encoder(spec)
    assert isinstance(encoder, JoinedEncoder)
    return encoder


def tiny_bicvm() -> BicvmEncoder:
    texts = {"en": ["the dog sleeps in the bus"], "de": ["der hund schläft in dem bus"]}
    return BicvmEncoder.of_texts(texts, BicvmConfig(dim=6), seed=0)


def units(encoder: Encoder, texts: list[str]) -> np.ndarray[Any, Any]:
    vectors = encoder.encode(texts).astype(np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("use", ["use"]),
        ("use+e5-small", ["use", "e5-small"]),
        ("e5-small+use+laser", ["e5-small", "use", "laser"]),
        ("hf:org/model+use", ["hf:org/model", "use"]),
        ("run:A+run:B", ["run:A", "run:B"]),
        ("run:/runs/a+b+use+run:C", ["run:/runs/a+b", "use", "run:C"]),
        ("hf:/models/a+b", ["hf:/models/a+b"]),
        ("run:/x/use+use-1", ["run:/x/use+use-1"]),
        ("run:/a+use/run-1", ["run:/a+use/run-1"]),
        ("hf:a+laser2", ["hf:a+laser2"]),
        ("use+", ["use+"]),
    ],
)
def test_a_plus_separates_only_before_the_name_of_a_kind(written: str, parts: list[str]) -> None:
    assert list(parts_of(written)) == parts


def test_a_folder_that_exists_is_not_taken_apart(tmp_path: Path, joined: JoinedEncoder) -> None:
    folder = tmp_path / "a+use"
    assert parts_of(f"run:{folder}") == (f"run:{tmp_path / 'a'}", "use")
    joined.save(folder / "encoder")
    assert parts_of(f"run:{folder}+e5-small") == (f"run:{folder}", "e5-small")
    assert parts_of(f"use+run:{folder}") == ("use", f"run:{folder}")
    np.testing.assert_array_equal(load_encoder(f"run:{folder}").encode(["pool"]), joined.encode(["pool"]))


def test_cosines_are_the_mean_of_the_parts_cosines(joined: JoinedEncoder, tiny: str) -> None:
    vectors = joined.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 16 + 512) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    first, second = (units(load_encoder(name), TEXTS) for name in (tiny, "use"))
    np.testing.assert_allclose(vectors @ vectors.T, (first @ first.T + second @ second.T) / 2, atol=1e-6)
    np.testing.assert_allclose(vectors[:, :16] * np.sqrt(2), first, atol=1e-6)


def test_weights_are_those_of_the_cosines(tiny: str) -> None:
    parts = [load_encoder(tiny), load_encoder("use")]
    first, second = (units(part, TEXTS) for part in parts)
    vectors = JoinedEncoder(parts, [0.2, 0.8]).encode(TEXTS)
    np.testing.assert_allclose(
        vectors @ vectors.T, 0.2 * first @ first.T + 0.8 * second @ second.T, atol=1e-6
    )


@pytest.mark.slow
def test_vectors_depend_neither_on_the_batch_nor_on_the_way_to_compute_them(joined: JoinedEncoder) -> None:
    vectors = joined.encode(TEXTS)
    np.testing.assert_allclose(joined.encode(TEXTS, batch_tokens=64), vectors, atol=1e-6)
    np.testing.assert_allclose(np.concatenate([joined.encode([text]) for text in TEXTS]), vectors, atol=1e-6)
    with torch.no_grad():
        np.testing.assert_allclose(joined(joined.tokenize(TEXTS)).numpy(), vectors, atol=1e-6)
    assert joined.encode([]).shape == (0, joined.dim)


def test_every_part_has_batches_of_its_own(joined: JoinedEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, list[list[int]]] = {}
    ids = joined.ids_of(TEXTS)
    for part in joined.parts:

        def vectors(part_ids: Any, part: Encoder = part, **options: Any) -> torch.Tensor:
            seen[part.spec] = part_ids
            return type(part).vectors(part, part_ids, **options)

        monkeypatch.setattr(part, "vectors", vectors, raising=True)
    joined.encode_ids(ids)
    assert seen == {part.spec: part.ids_of(TEXTS) for part in joined.parts}


def test_progress_counts_the_sentences_once_and_ends_with_all(joined: JoinedEncoder) -> None:
    reports: list[tuple[int, int]] = []
    joined.encode(TEXTS, batch_tokens=256, on_progress=lambda *report: reports.append(report))
    done = [done for done, _ in reports]
    assert done == sorted(done) and reports[-1] == (len(TEXTS), len(TEXTS))
    assert done[0] <= len(TEXTS) // 2


def test_gradients_reach_the_weights_of_all_parts(spec: str) -> None:
    encoder = load_encoder(spec)
    layers = encoder.layers()
    assert sum(map(len, layers)) == sum(len(layer) for part in encoder.parts for layer in part.layers())  # type: ignore[attr-defined]
    encoder.vectors_with_gradient(encoder.ids_of(TEXTS[:4]))[:, 0].sum().backward()
    encoder.vectors_with_gradient(encoder.ids_of(TEXTS[:4]))[:, -1].sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in layers[-1] if weight.ndim > 1)


def test_two_processes_share_the_batches_and_get_the_vectors_of_one(joined: JoinedEncoder) -> None:
    barrier, items = Barrier(2), dict[int, Any]()
    encoded: list[int] = []

    class InThreads(Processes):
        def gather_objects(self, item: Any) -> list[Any]:
            items[self.index] = item
            barrier.wait()
            gathered = [items[0], items[1]]
            barrier.wait()
            encoded.extend(len(vectors) for part in gathered for vectors in part)
            return gathered

    with ThreadPoolExecutor(2) as pool:
        shares = [shared_encode(joined, InThreads(index, 2)) for index in range(2)]
        vectors = list(pool.map(lambda encode: encode(TEXTS), shares))
    for of_process in vectors:
        np.testing.assert_array_equal(of_process, joined.encode(TEXTS))
    assert sum(encoded) == 2 * 2 * len(TEXTS)  # by each of two parts, as seen by each of two processes


def test_a_saved_folder_opens_with_the_same_vectors(joined: JoinedEncoder, tmp_path: Path) -> None:
    weighted = JoinedEncoder(joined.parts, [0.3, 0.7])
    weighted.save(tmp_path)
    opened = open_encoder(tmp_path)
    np.testing.assert_array_equal(opened.encode(TEXTS), weighted.encode(TEXTS))
    assert (opened.dim, opened.languages, opened.max_tokens) == (528, UseEncoder.languages, 64)


def damage_config(**changes: Any) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")

    return damage


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        damage_config(weights=[0.5]),
        damage_config(weights=[0.5, 0.5, 0.5]),
        damage_config(weights=[float("nan"), 0.5]),
        damage_config(weights=[-0.5, 1.5]),
        damage_config(weights="0.5"),
        damage_config(weights=["../0", "../1"]),
        damage_config(weights=[1 / 10**6] * 10**6),
        damage_config(dim=3),
        damage_config(weights=None),
        lambda folder: shutil.rmtree(folder / "parts" / "1"),
        lambda folder: (folder / "parts" / "1" / "model.safetensors").write_bytes(b"nothing"),
        lambda folder: (folder / "parts" / "0" / "config.json").write_text(
            '{"format": 1, "encoder": "joined"}'
        ),
        lambda folder: (folder / "parts" / "0" / "config.json").write_text("[" * 100_000),
        lambda folder: (folder / "config.json").write_bytes(b"\xff"),
    ],
)
def test_a_damaged_folder_is_one_sentence(
    damage: Callable[[Path], object], joined: JoinedEncoder, tmp_path: Path
) -> None:
    joined.save(tmp_path)
    damage(tmp_path)
    with pytest.raises(EncoderError, match="train") as raised:
        open_encoder(tmp_path)
    assert "\n" not in str(raised.value)


def test_a_folder_that_is_its_own_part_is_refused(joined: JoinedEncoder, tmp_path: Path) -> None:
    joined.save(tmp_path)
    shutil.rmtree(tmp_path / "parts" / "0")
    (tmp_path / "parts" / "0").symlink_to(tmp_path)
    with pytest.raises(EncoderError):
        open_encoder(tmp_path)


@pytest.mark.parametrize("twice", ["use+use", "use+e5-small+use", "run:a+run:./a", "hf:x+hf:x"])
def test_an_encoder_is_not_joined_with_itself(twice: str) -> None:
    for function in (load_encoder, kinds_of, open_tokens):
        with pytest.raises(EncoderError, match=r"joins an encoder with itself; name different ones"):
            function(twice)


@pytest.mark.parametrize("unknown", ["use+nothing", "nothing+use", "use+", "+use", "joined", "use+joined"])
def test_an_unknown_part_is_one_sentence_that_lists_what_there_is(unknown: str) -> None:
    with pytest.raises(EncoderError, match=r"no encoder '.*'; there are: use, e5-small.* joined by \+"):
        load_encoder(unknown)


def test_vectors_that_are_not_finite_are_refused(spec: str) -> None:
    encoder = load_encoder(spec)
    with torch.no_grad():
        encoder.parts[0].layers()[-1][-1].fill_(float("inf"))  # type: ignore[attr-defined]
    with pytest.raises(EncoderError, match="not finite numbers"):
        encoder.encode(["pool"])


def test_a_join_with_a_joined_encoder_weighs_it_as_one(joined: JoinedEncoder) -> None:
    other = tiny_bicvm()
    texts = ["the dog sleeps", "der bus", "in the bus"]
    nested = JoinedEncoder([joined, other])
    assert nested.weights == (0.25, 0.25, 0.5) and len(nested.parts) == 3
    first, second = (units(encoder, texts) for encoder in (joined, other))
    vectors = nested.encode(texts)
    np.testing.assert_allclose(vectors @ vectors.T, (first @ first.T + second @ second.T) / 2, atol=1e-6)


def test_a_language_reaches_the_parts_that_tokenise_by_it(joined: JoinedEncoder) -> None:
    other = tiny_bicvm()
    together = JoinedEncoder([joined, other])
    for language in ("en", "de"):
        expected = encode_in(other, ["in dem bus"], language)
        vectors = encode_in(together, ["in dem bus"], language)[:, -6:]
        np.testing.assert_allclose(
            vectors * np.sqrt(2) * np.linalg.norm(expected), expected, rtol=1e-4, atol=1e-6
        )


def test_languages_are_those_in_common_and_word_vectors_none(tiny: str) -> None:
    both = [code for code in UseEncoder.languages if code in E5SmallEncoder.languages]
    assert list(languages_of("use+e5-small")) == both and len(both) > 10
    assert languages_of(f"use+{tiny}") == UseEncoder.languages and languages_of(f"{tiny}+hf:x") == ()
    assert not has_word_vectors("use+e5-small")


def test_the_list_offers_both_published_encoders() -> None:
    (info,) = [info for info in available_encoders() if info.spec == "use+e5-small"]
    assert info.available and info.dim == 896 and info.licence == "Apache-2.0 AND MIT"
    assert info.languages == languages_of("use+e5-small")


def test_the_tokenizers_of_all_parts_open_without_weights(
    spec: str, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [part.ids_of(TEXTS) for part in (load_encoder(tiny), load_encoder("use"))]

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("weights were opened")

    monkeypatch.setattr("emu_core.encoders.transformer.hf.open_model", forbidden)
    monkeypatch.setattr(UseEncoder, "load", forbidden)
    assert [tokens.ids_of(TEXTS) for tokens in open_tokens(spec)] == expected


def test_notes_name_the_part_that_cuts_or_does_not_know(spec: str, tiny: str) -> None:
    rows = pd.DataFrame({"text": ["pool " * 40, "bwawa liko wapi"], "language": ["en", "sw"]})
    notes = reading_notes(spec, rows)
    assert len(notes) == 2
    assert "reads 64 tokens of a sentence: 1 sentence is longer" in notes[0] and tiny[:30] in notes[0]
    assert notes[1].startswith("The encoder use was not trained on Swahili")


def test_embed_writes_the_joined_vectors(spec: str, joined: JoinedEncoder, tmp_path: Path) -> None:
    table = pd.DataFrame({"text": ["Where is the pool?", "Wo ist der Pool?"], "language": ["en", "de"]})
    table.to_csv(tmp_path / "texts.csv", index=False)
    arguments = [
        "embed",
        str(tmp_path / "texts.csv"),
        "--encoder",
        spec,
        "--out",
        str(tmp_path / "v.parquet"),
    ]
    assert main(arguments) == 0
    vectors = np.stack(pd.read_parquet(tmp_path / "v.parquet")["vector"])
    np.testing.assert_allclose(vectors, joined.encode(table["text"].tolist()), atol=1e-6)


@pytest.mark.slow
def test_joined_runs_know_what_each_was_trained_on(tiny: str, tmp_path: Path) -> None:
    whole = small_set(("en", "de"))
    first_half = whole.frame["intent"].isin(["pool", "gym", "taxi"])
    sets = [whole.frame[rows].reset_index(drop=True) for rows in (first_half, ~first_half)]
    runs = [
        train(
            type(whole)(frame, f"half {number}"),
            out=tmp_path / f"run-{number}",
            encoder=encoder,
            method="head",
            config=configure("head", encoder, whitening_factor=1.0),
        )
        for number, (frame, encoder) in enumerate(zip(sets, ("use", tiny), strict=True))
    ]
    spec = "+".join(f"run:{run.folder}" for run in runs)
    assert kinds_of(spec) == ("use", "hf") and encoder_kind(spec) == "joined"
    base = load_base(spec, device="cpu")
    np.testing.assert_array_equal(base.encode(TEXTS), load_encoder(f"use+{tiny}").encode(TEXTS))  # type: ignore[union-attr]
    assert languages_of(spec) == UseEncoder.languages
    known = trained_on(spec)
    assert len(known.hashes) == len(trained_on(f"run:{runs[0].folder}").hashes) + len(
        trained_on(f"run:{runs[1].folder}").hashes
    )
    assert known.unknown == tiny
    rows, _ = trained_rows(spec, whole)
    english = ((whole.frame["language"] == "en") & (whole.frame["split"] == "train")).to_numpy()
    assert rows[english].all() and not rows[(whole.frame["split"] == "test").to_numpy()].any()
    vectors = [load_encoder(f"run:{run.folder}").encode(["Where is the pool?"]) for run in runs]
    expected = np.concatenate([vector / np.linalg.norm(vector) for vector in vectors], axis=1) / np.sqrt(2)
    np.testing.assert_allclose(load_encoder(spec).encode(["Where is the pool?"]), expected, atol=1e-6)
    damaged = runs[1].encoder_folder / "head.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    with pytest.raises(EncoderError, match="differs from what was saved"):
        load_encoder(spec)


def test_embed_takes_a_joined_encoder_in_python(spec: str, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("pool\ntaxi\n", "utf-8")
    assert embed(file, out=tmp_path / "v.parquet", encoder=spec, reading=Reading(language="en")) == 2
