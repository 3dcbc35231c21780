"""Exports go to a stand-in of the hub if that is asked for; its errors become one sentence without the token."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub import ModelCard
from sentence_transformers import SentenceTransformer

from emu_core import export, push_to_hub
from emu_core.cli import main
from emu_core.errors import RunError
from tests.support.hub import TOKEN, Hub, hub

COMMIT = "0" * 40


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield served


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export("use", tmp_path_factory.mktemp("exports") / "use")


def test_a_pushed_encoder_is_the_exported_folder_and_private(
    served: Hub, exported: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "use", "--push", "acme/hotel"]) == 0
    printed = capfd.readouterr()
    assert f"{served.address}/acme/hotel" in printed.out and TOKEN not in printed.out + printed.err
    assert served.repositories["acme/hotel"]["visibility"] == "private"
    files = served.files["acme/hotel"]
    expected = {path.relative_to(exported).as_posix(): path for path in exported.rglob("*") if path.is_file()}
    assert files.keys() == expected.keys()
    assert all(files[name] == path.read_bytes() for name, path in expected.items())
    card = ModelCard(files["README.md"].decode())
    assert card.data.license == "apache-2.0" and "de" in card.data.language
    assert not any(TOKEN.encode() in content for content in files.values())


def test_public_is_asked_for_and_an_exported_folder_is_pushed_as_it_is(
    served: Hub, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert push_to_hub(exported, "hotel", public=True) == f"{served.address}/ann/hotel"
    assert served.repositories["ann/hotel"]["visibility"] == "public"
    out = tmp_path / "out"
    assert main(["export", "use", "--out", str(out), "--push", "ann/second", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"folder": str(out), "pushed": f"{served.address}/ann/second"}
    assert served.files["ann/second"].keys() == {
        p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()
    }


def test_nothing_is_pushed_unless_it_is_asked_for(served: Hub, tmp_path: Path) -> None:
    export("use", tmp_path / "out")
    assert main(["export", "use", "--out", str(tmp_path / "other")]) == 0
    assert served.repositories == {}


def refusal(repo: str, source: str | Path) -> str:
    with pytest.raises(RunError) as error:
        push_to_hub(source, repo)
    assert TOKEN not in str(error.value)
    return str(error.value)


def test_a_repository_that_exists_is_left_alone(served: Hub, exported: Path) -> None:
    push_to_hub(exported, "ann/hotel")
    before = dict(served.files["ann/hotel"])
    assert "ann/hotel is on the hub already" in refusal("ann/hotel", "e5-small")
    assert served.files["ann/hotel"] == before


def test_errors_of_the_hub_are_sentences(
    served: Hub, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "'a b' is no name of a repository" in refusal("a b", exported)
    served.may_write = False
    assert "may not write to ann/hotel" in refusal("ann/hotel", exported)
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    assert "does not accept the token; run hf auth login" in refusal("ann/hotel", exported)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    assert "there is no token" in refusal("ann/hotel", exported)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert "can't be reached" in refusal("ann/hotel", exported)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE forbids" in refusal("ann/hotel", exported)
    assert served.repositories == {}


def test_an_export_needs_a_folder_or_a_repository(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "use"]) == 2
    assert "--out" in (said := capsys.readouterr().err) and "--push" in said


def test_an_encoder_opens_by_its_name_on_the_hub(exported: Path, tmp_path: Path) -> None:
    """As far as that goes without a download: from the hub's cache."""
    repository = tmp_path / "models--acme--hotel"
    shutil.copytree(exported, repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT, "utf-8")
    model = SentenceTransformer(
        "acme/hotel", trust_remote_code=True, cache_folder=str(tmp_path), local_files_only=True, device="cpu"
    )
    expected = SentenceTransformer(str(exported), trust_remote_code=True, local_files_only=True, device="cpu")
    np.testing.assert_array_equal(model.encode(["pool"]), expected.encode(["pool"]))
