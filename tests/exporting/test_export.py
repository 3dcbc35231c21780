"""Each export is opened by the program that it is for, and has the encoder's vectors."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from emu_core import export, load_encoder
from emu_core.encoders.base import Encoder
from emu_core.encoders.e5 import E5File, E5SmallEncoder, bert, e5_tokenizer, sentence_transformer
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.laser.encoder import LaserEncoder
from emu_core.encoders.onnx_parts import CHECK_TEXTS
from emu_core.errors import EncoderError, RunError
from emu_core.exporting import ExportFormat
from emu_core.methods.head.encoder import HeadEncoder
from emu_core.methods.head.head import IntentHead
from emu_core.runs.run import Run, RunState, Status
from tests.support.exported_readme import readme_vectors
from tests.support.packed import pack
from tests.support.raises import raises

TEXTS = ["pool", "who: poét?", "", "Wo ist der Pool?", "pool " * 50]


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Encoder]:
    """A finished run of a tiny E5 whose weights are no longer the package's."""
    file = E5File(pack().data)
    encoder = E5SmallEncoder(sentence_transformer(bert(file), e5_tokenizer(file)))
    torch.manual_seed(0)
    with torch.no_grad():
        for p in encoder.parameters():
            p.mul_(1 + 0.1 * torch.randn_like(p))
    run = finished_run(tmp_path_factory.mktemp("runs") / "tiny", encoder)
    (run.folder / "README.md").write_text("# tiny\n\nWhat was trained on what.\n", "utf-8")
    return run, encoder


def test_a_transformer_opens_in_sentence_transformers_where_emu_core_is_not(
    transformer: tuple[Run, Encoder], tmp_path: Path
) -> None:
    run, encoder = transformer
    out = export(run, tmp_path / "out", format="sentence-transformers")
    vectors = readme_vectors(out, TEXTS, blocked=["emu_core"])
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), rtol=0, atol=1e-6)
    assert {path.suffix for path in out.rglob("*") if path.is_file()} == {".json", ".safetensors", ".md"}
    readme = (out / "README.md").read_text("utf-8")
    assert "\n---\n\n# tiny\n" in readme and "What was trained on what." in readme
    assert readme.count("# tiny") == 1


def test_what_load_encoder_takes_is_exported_too(transformer: tuple[Run, Encoder], tmp_path: Path) -> None:
    run, encoder = transformer
    out = export(f"hf:{run.encoder_folder / 'model'}", tmp_path / "out")
    model = SentenceTransformer(str(out), device="cpu", local_files_only=True)
    np.testing.assert_allclose(model.encode(TEXTS), encoder.encode(TEXTS), rtol=0, atol=1e-6)
    out = export(f"run:{run.folder}", tmp_path / "other")
    model = SentenceTransformer(str(out), device="cpu", local_files_only=True)
    np.testing.assert_allclose(model.encode(TEXTS), encoder.encode(TEXTS), rtol=0, atol=1e-6)


def opened(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), trust_remote_code=True, device="cpu", local_files_only=True)


def finished_run(folder: Path, encoder: Encoder) -> Run:
    run = Run(folder)
    encoder.save(run.encoder_folder)
    run.write_status(Status(RunState.FINISHED))
    return run


def test_use_opens_in_sentence_transformers_with_emu_core(tmp_path: Path) -> None:
    encoder = load_encoder("use")
    torch.manual_seed(0)
    with torch.no_grad():
        for p in encoder.parameters():
            p.mul_(1 + 0.1 * torch.randn_like(p))
    out = export(finished_run(tmp_path / "run", encoder).folder, tmp_path / "out")
    expected = encoder.encode(TEXTS)
    np.testing.assert_allclose(readme_vectors(out, TEXTS, blocked=[]), expected, rtol=0, atol=1e-5)
    model = opened(out)
    np.testing.assert_allclose(model.encode(TEXTS), expected, rtol=0, atol=1e-5)
    assert model.get_embedding_dimension() == 512
    with pytest.raises(ValueError, match="trust_remote_code"):  # once it opens without, the README can say so
        SentenceTransformer(str(out), device="cpu", local_files_only=True)


def test_the_head_opens_in_sentence_transformers_with_emu_core(
    transformer: tuple[Run, Encoder], tmp_path: Path
) -> None:
    _, base = transformer
    torch.manual_seed(0)
    anchors = torch.nn.functional.normalize(torch.randn(4, base.dim), dim=1)
    tensors = {
        "directions": torch.zeros(0, base.dim),
        "center": torch.zeros(base.dim),
        "anchors": anchors,
        "members": torch.eye(2).repeat(2, 1),
        "weight": 20 * torch.randn(2, base.dim),  # sure: of a share near zero the root enlarges rounding
        "bias": torch.zeros(2),
        "spread": torch.zeros(0, base.dim),  # vectors are left as they are
        "known": torch.zeros(0),
        "intent_vectors": torch.nn.functional.normalize(torch.randn(2, base.dim), dim=1),
    }
    head = IntentHead(
        tensors,
        share=0.5,
        temperature=1.0,
        softening=1.0,
        gate_temperature=1.0,
        gate_at=-1.0,
        gate_slope=0.1,
    )
    encoder = HeadEncoder(base, head)
    out = export(finished_run(tmp_path / "head", encoder), tmp_path / "out")
    np.testing.assert_allclose(opened(out).encode(TEXTS), encoder.encode(TEXTS), rtol=0, atol=1e-5)
    assert {path.suffix for path in out.rglob("*") if path.is_file()} <= {".json", ".safetensors", ".md"}


@pytest.mark.parametrize("format", list(ExportFormat))
def test_a_folder_in_use_is_left_alone(
    format: ExportFormat, transformer: tuple[Run, Encoder], tmp_path: Path
) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "letter.txt").write_text("dear", "utf-8")
    with raises(RunError, fix="out", match="/taken "):
        export(transformer[0], taken, format=format)
    with raises(RunError, fix="out", match=r"/letter\.txt "):
        export(transformer[0], taken / "letter.txt", format=format)
    with raises(RunError, fix="out", match=r"letter\.txt/out: Not a directory"):
        export(transformer[0], taken / "letter.txt" / "out", format=format)
    assert [path.name for path in tmp_path.rglob("*")] == ["taken", "letter.txt"]


def test_an_empty_folder_and_a_new_one_in_a_new_one_are_taken(
    transformer: tuple[Run, Encoder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    for out in (Path("empty"), Path("a/b/c")):
        assert export(transformer[0], out) == out
        assert (out / "modules.json").is_file()
        assert [path.name for path in out.parent.iterdir() if path.name.startswith(".")] == []


def test_a_format_that_is_none_is_refused(transformer: tuple[Run, Encoder], tmp_path: Path) -> None:
    with raises(EncoderError, fix=None, match="'pickle'.* sentence-transformers, onnx$"):
        export(transformer[0], tmp_path / "out", format="pickle")


def test_only_a_finished_run_is_exported(tmp_path: Path) -> None:
    run = Run(tmp_path / "use2")
    run.folder.mkdir()
    run.write_status(Status())
    with raises(RunError, fix=None, match="queued"):
        export(run, tmp_path / "out", format="onnx")
    with raises(RunError, fix=None, match=r"status\.json"):
        export(tmp_path / "use", tmp_path / "out")
    with raises(RunError, fix=None, match=r"status\.json"):
        export("usex", tmp_path / "out")
    with raises(EncoderError, fix=None, match=r"encoder/config\.json"):
        export(f"run:{run.folder}", tmp_path / "out")


def test_laser_opens_in_sentence_transformers_with_emu_core(
    tmp_path: Path, laser_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_LASER_DIR", str(laser_files))
    out = export("laser", tmp_path / "out")
    expected = LaserEncoder.load().encode(TEXTS)
    monkeypatch.delenv("EMU_LASER_DIR")  # the folder is whole without it
    np.testing.assert_allclose(opened(out).encode(TEXTS), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("spec", [False, True])
def test_joined_encoders_are_one_folder(spec: bool, transformer: tuple[Run, Encoder], tmp_path: Path) -> None:
    run, encoder = transformer
    joined = JoinedEncoder([encoder, load_encoder("use")])
    if spec:
        source: Run | str = f"run:{run.folder}+use"
    else:
        source = finished_run(tmp_path / "runs" / "joined", joined)
    out = export(source, tmp_path / "out", format="sentence-transformers")
    texts = [*TEXTS, *CHECK_TEXTS]
    vectors = readme_vectors(out, texts, blocked=[])
    np.testing.assert_allclose(vectors, joined.encode(texts), rtol=0, atol=1e-5)
    model = SentenceTransformer(str(out), device="cpu", local_files_only=True, trust_remote_code=True)
    np.testing.assert_allclose(model.encode(texts), joined.encode(texts), rtol=0, atol=1e-5)
    assert {path.suffix for path in out.rglob("*") if path.is_file()} == {".json", ".safetensors", ".md"}
