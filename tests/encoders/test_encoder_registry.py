"""Encoders of another package, which the registry finds by its entry points."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from emu_core import load_encoder
from emu_core.encoders import specs
from emu_core.encoders.registry import available_encoders, encoder_kinds, has_word_vectors, open_encoder
from emu_core.encoders.saved import write_encoder
from emu_core.errors import EncoderError
from emu_core.exporting.writers import write_onnx

COUNTS = '''
from emu_core.encoders.base import Encoder, EncoderInfo
from emu_core.encoders.saved import opening, read_config, write_encoder

import torch
from torch import nn


class Counts(Encoder):
    """How often each of 256 bytes is in a sentence."""

    spec, dim, languages, max_tokens = "counts", 256, (), 100

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(256))

    @classmethod
    def info(cls):
        return EncoderInfo("counts", "Bytes", 256, (), 0, "MIT", True, "")

    @classmethod
    def load(cls, name=""):
        return cls()

    @classmethod
    def open(cls, folder):
        encoder = cls()
        with opening(folder, cls.spec):
            encoder.weight.data *= read_config(folder)["factor"]
        return encoder

    def save(self, folder):
        write_encoder(folder, {"encoder": self.spec, "factor": self.weight[0, 0].item()})

    def token_ids(self, texts):
        return [list(text.encode())[:100] for text in texts]

    def forward(self, features):
        rows = nn.functional.one_hot(features["input_ids"], 256) * features["attention_mask"].unsqueeze(-1)
        return rows.sum(dim=1).float() @ self.weight

    def embeddings(self):
        return [self.weight]

    def layers(self):
        return []
'''


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with an encoder, and one whose encoder can't be imported."""
    site = tmp_path / "site"
    folder = site / "counts-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: counts\nVersion: 1.0\n", "utf-8")
    points = [
        "counts = counts_of_bytes:Counts",
        "broken = no_such_module:Broken",
        "use = counts_of_bytes:Counts",
    ]
    (folder / "entry_points.txt").write_text("\n".join(["[emu.encoders]", *points]), "utf-8")
    (site / "counts_of_bytes.py").write_text(COUNTS, "utf-8")
    monkeypatch.syspath_prepend(site)
    encoder_kinds.cache_clear()
    yield
    encoder_kinds.cache_clear()


@pytest.mark.usefixtures("installed")
def test_an_encoder_of_another_package_is_listed_loaded_saved_and_opened(tmp_path: Path) -> None:
    listed = {info.spec: info for info in available_encoders()}
    assert (
        list(listed)[:5] == ["use", "e5-small", "use+e5-small", "laser", "hf:"] and listed["counts"].available
    )
    encoder = load_encoder("counts")
    vectors = encoder.encode(["aab", ""])
    assert vectors.shape == (2, 256) and (vectors[0, 97], vectors[0, 98], vectors[1].sum()) == (2, 1, 0)
    encoder.save(tmp_path / "run" / "encoder")
    np.testing.assert_array_equal(load_encoder(f"run:{tmp_path / 'run'}").encode(["aab", ""]), vectors)
    with pytest.raises(
        EncoderError, match="'counts' can't be exported to ONNX; export it for sentence-transformers: format="
    ):
        write_onnx(encoder, tmp_path)


@pytest.mark.usefixtures("installed")
def test_a_broken_package_hides_no_other_and_none_replaces_ours() -> None:
    (broken,) = [info for info in available_encoders() if info.spec == "broken"]
    assert (
        not broken.available and "no_such_module" in broken.reason and "install its package" in broken.reason
    )
    with pytest.raises(EncoderError, match="no_such_module"):
        load_encoder("broken")
    assert encoder_kinds()["use"] == "emu_core.encoders.use.encoder:UseEncoder"


def test_the_entry_points_are_read_once_and_not_for_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(specs, "entry_points", lambda group: read.append(group) or ())
    encoder_kinds.cache_clear()
    try:
        assert available_encoders() == available_encoders()
    finally:
        encoder_kinds.cache_clear()
    assert read == ["emu.encoders"]


@pytest.mark.parametrize(
    ("config", "written", "opener"),
    [
        ({}, "another version in a format without a number", "the version that wrote it"),
        ({"format": 2, "emu_core": "9.1"}, r"emu_core 9\.1 in format 2", r"emu_core 9\.1"),
    ],
)
def test_an_encoder_of_another_format_names_the_version_that_opens_it(
    config: dict[str, object], written: str, opener: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"encoder": "use"} | config), "utf-8")
    reads = f"and this version reads format 1: open it with {opener}, or train it again"
    with pytest.raises(EncoderError, match=f"was written by {written}, {reads}"):
        open_encoder(tmp_path)


def test_a_kind_that_nobody_has(tmp_path: Path) -> None:
    write_encoder(tmp_path, {"encoder": "counts"})
    with pytest.raises(EncoderError, match=r"no kind of encoder 'counts'.* install its package"):
        open_encoder(tmp_path)
    with pytest.raises(
        EncoderError, match="no encoder 'counts'; there are: use, e5-small, laser, hf:NAME_OR_PATH"
    ):
        load_encoder("counts")
    with pytest.raises(EncoderError, match="no encoder 'head'"):  # one that only runs have
        load_encoder("head")


def test_most_encoders_have_no_word_vectors_and_say_so() -> None:
    assert not any(map(has_word_vectors, ("use", "e5-small", "hf:any/model")))
    with pytest.raises(
        EncoderError, match="'use' has no word vectors; choose a run of a method that learns them"
    ):
        load_encoder("use").word_vectors("en")
