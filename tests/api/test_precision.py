"""In which precision vectors are computed, from the command and the library to the run that states it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import emu_core
from emu_core.api.pretrain import plan_pretraining
from emu_core.api.train import plan_training
from emu_core.batches import Embed
from emu_core.bench.experiment import fixed_of
from emu_core.bench.papers import PAPERS
from emu_core.cli import main
from emu_core.data.texts.tasks import Tasks
from emu_core.devices import Precision
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.remembered import close_encoders, opened_encoder
from emu_core.encoders.transformer.encoder import PROBE_TEXT
from emu_core.errors import Fix, TrainingError
from emu_core.runs.run import Run
from emu_core.sklearn import IntentClassifier, SentenceEncoder
from tests.support.pretrained_set import parallel
from tests.support.raises import raises
from tests.support.small import small_file, small_set
from tests.support.tiny_transformer import tiny_transformer

TEXTS = ["where is the pool", "call me a taxi", "when is breakfast"]
pytestmark = pytest.mark.filterwarnings("ignore:.*no instructions for bf16:UserWarning")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The spec of a transformer over letters."""
    return f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'), letters=True)}"


@pytest.fixture(scope="module")
def by_precision(tiny: str) -> dict[str, FloatArray]:
    return {name: load_encoder(tiny, device=f"cpu:{name}").encode(TEXTS) for name in Precision}


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that multiplies in bfloat16, and nobody who names a precision."""
    monkeypatch.delenv("EMU_PRECISION")
    for module in ("devices", "encoders.registry"):
        monkeypatch.setattr(f"emu_core.{module}.has_bf16", lambda device: True)


def embedded(file: Path) -> FloatArray:
    return np.stack(pq.read_table(file)["vector"].to_pylist()).astype(np.float32)


@pytest.mark.parametrize(
    ("options", "precision"),
    [([], "fp32"), (["--precision", "bf16"], "bf16"), (["--device", "cpu:bf16"], "bf16")],
)
def test_embed_writes_vectors_of_the_precision_that_is_named(
    options: list[str],
    precision: str,
    tiny: str,
    by_precision: dict[str, FloatArray],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, out = tmp_path / "texts.txt", tmp_path / "v.parquet"
    file.write_text("\n".join(TEXTS), "utf-8")
    assert main(["embed", str(file), "--encoder", tiny, "--out", str(out), "--json", *options]) == 0
    np.testing.assert_array_equal(embedded(out), by_precision[precision])
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert ("The vectors are computed in bfloat16." in notes) == (precision == "bf16")


@pytest.mark.slow
def test_predict_takes_the_precision_too(
    tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = str(small_file(tmp_path, ("en",)))
    command = ["predict", *TEXTS, "--pool", pool, "--encoder", tiny, "--threshold", "-1", "--json"]
    cosines = {}
    for name in ("fp32", "bf16"):
        assert main([*command, "--precision", name]) == 0
        told = json.loads(capsys.readouterr().out)
        assert any("bfloat16" in note for note in told["notes"]) == (name == "bf16")
        cosines[name] = [row["nearest_1_cosine"] for row in told["predictions"]]
    assert cosines["bf16"] != cosines["fp32"]
    assert cosines["bf16"] == pytest.approx(cosines["fp32"], abs=1e-3)
    close_encoders()


@pytest.mark.usefixtures("native")
def test_a_processor_with_bf16_computes_in_it_unless_fp32_is_named(
    tiny: str, by_precision: dict[str, FloatArray], tmp_path: Path
) -> None:
    assert not np.array_equal(by_precision["fp32"], by_precision["bf16"])
    np.testing.assert_array_equal(load_encoder(tiny).encode(TEXTS), by_precision["bf16"])
    for device, name in (("cpu", "bf16"), ("cpu:fp32", "fp32")):
        emu_core.embed(TEXTS, out=tmp_path / f"{name}.parquet", encoder=tiny, device=device)
        np.testing.assert_array_equal(embedded(tmp_path / f"{name}.parquet"), by_precision[name])
    # Workers on other machines may have no bfloat16.
    batch = Embed(tiny, device="cpu")({"text": TEXTS})
    np.testing.assert_array_equal(batch["vector"], by_precision["fp32"])
    batch = Embed(tiny, device="cpu:bf16")({"text": TEXTS})
    np.testing.assert_array_equal(batch["vector"], by_precision["bf16"])
    close_encoders()


@pytest.mark.slow
@pytest.mark.usefixtures("native")
def test_measurements_say_that_vectors_are_in_bf16(tiny: str) -> None:
    small = small_set(("en",))
    for device, count in (("cpu", 1), ("cpu:fp32", 0)):
        measured = emu_core.evaluate(small, encoder=tiny, split="test", device=device)
        compared = emu_core.compare(small, encoder=["use", tiny], device=device)
        classifier = IntentClassifier(tiny, device=device).fit(small)
        for notes in (measured["notes"], compared.notes, classifier.facts["notes"]):
            assert sum("bfloat16" in note for note in notes) == count
    close_encoders()


@pytest.mark.slow
@pytest.mark.usefixtures("native")
def test_a_run_states_its_precision_and_measures_in_it(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    encode = Encoder.encode

    def watched(self: Encoder, texts: list[str], **options: Any) -> FloatArray:
        if texts != [PROBE_TEXT]:  # by which a saved encoder is checked
            seen.append(self.precision)
        return encode(self, texts, **options)

    monkeypatch.setattr(Encoder, "encode", watched)
    runs = {}
    for name, expected in (("fp32", "fp32"), ("auto", "bf16")):
        seen.clear()
        small, out = small_set(("en", "de")), tmp_path / name
        runs[name] = emu_core.train(
            small, out=out, encoder=tiny, device="cpu", precision=name, share_factor=2.0
        )
        assert set(seen) == {expected}
    assert [run.config().precision for run in runs.values()] == ["fp32", "bf16-vectors"]
    card = (tmp_path / "auto" / "README.md").read_text("utf-8")
    assert "| precision | bf16-vectors |" in card
    live = runs["auto"].to_sentence_transformers()  # as an export would open
    vectors = load_encoder(f"run:{runs['auto'].folder}", device="cpu:fp32").encode(TEXTS)
    np.testing.assert_allclose(live.encode(TEXTS), vectors, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("native")
def test_a_step_is_in_bf16_only_if_that_is_named(tiny: str, tmp_path: Path) -> None:
    losses: dict[str, list[float]] = {}
    for name in ("fp32", "auto", "bf16"):
        run = emu_core.train(
            small_set(("en", "de")),
            out=tmp_path / name,
            method="n-pair",
            encoder=tiny,
            device="cpu",
            precision=name,
            epochs=1,
        )
        losses[name] = [record.loss for record in Run(run.folder).history() if record.is_step]
        assert run.config().precision == {"auto": "bf16-vectors"}.get(name, name)
    assert losses["auto"] == losses["fp32"] != losses["bf16"]
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=0.1)


def test_the_options_of_train_and_of_the_device_mean_the_same(tiny: str) -> None:
    small = small_set(("en", "de"))
    for device, precision, expected in (
        ("cpu", None, "fp32"),
        ("cpu:bf16", None, "bf16-vectors"),
        ("cpu:bf16", "fp32", "fp32"),
    ):
        plan, _ = plan_training(small, encoder=tiny, device=device, precision=precision)
        assert (plan.device, plan.precision) == ("cpu", expected)


def test_what_is_trained_from_scratch_computes_in_float32() -> None:
    tasks = Tasks(parallel(("en", "de")))
    plan, _ = plan_pretraining(tasks, device="cpu:fp32")
    assert (plan.device, plan.precision) == ("cpu", "fp32")
    with raises(TrainingError, fix=Fix("device", "cpu")):
        plan_pretraining(tasks, device="cpu:bf16")


@pytest.mark.usefixtures("native")
def test_cells_in_another_precision_are_others() -> None:
    small = small_set(("en", "de"))
    plans = [PAPERS["emu"].plan(small, device=device)[0] for device in ("cpu:fp32", "cpu")]
    assert [(plan.device, plan.precision) for plan in plans] == [("cpu", "fp32"), ("cpu", "bf16-vectors")]
    facts: Any = SimpleNamespace(sha256="of the data")
    assert [fixed_of(plan, facts)["device"] for plan in plans] == ["cpu", "cpu:bf16"]


def test_a_saved_classifier_asks_in_the_precision_that_it_learnt_in(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = small_set(("en",))
    monkeypatch.setenv("EMU_PRECISION", "bf16")
    fitted = IntentClassifier(tiny, device="cpu").fit(small)
    expected = fitted.explain(TEXTS)
    folder = fitted.save(tmp_path / "classifier")
    encoder = SentenceEncoder(tiny, device="cpu").fit(TEXTS)
    other = encoder.save(tmp_path / "encoder")
    assert IntentClassifier.load(folder).device == "cpu"
    monkeypatch.setenv("EMU_PRECISION", "fp32")  # as if on another machine
    opened = IntentClassifier.load(folder)
    assert opened.device == "cpu:bf16"
    pd.testing.assert_frame_equal(opened.explain(TEXTS), expected)
    assert SentenceEncoder.load(other).device == "cpu:bf16"
    assert IntentClassifier.load(folder, device="cpu").device == "cpu:bf16"
    close_encoders()


def test_the_memory_of_open_encoders_knows_the_precision(tiny: str) -> None:
    close_encoders()
    first, second = (opened_encoder(tiny, device) for device in ("cpu:fp32", "cpu:bf16"))
    assert (first.precision, second.precision) == ("fp32", "bf16")
    close_encoders()
