"""The header of a card is what huggingface_hub reads, and says what was measured in each language."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard, metadata_load

from emu_core.evaluation.run_metrics import Metrics, RankingMetrics
from emu_core.reports.card import model_card
from emu_core.reports.card_header import encoder_header, onnx_header, split_header
from emu_core.runs.config import Plan
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.run import Run, RunState, Status

CONFIG = Plan("emu", "small", {}, encoder="use", train_languages=("en",), unlabelled_languages=("zh-tw",))
DATA = LabelledFacts(name="Our: hotel's #1", labelled=9, intents=2)
CHANGE = {"base": 30.0, "specialised": 35.04, "difference": 5.0, "low": 1.0, "high": 9.0, "queries": 9}
MEASURED = {
    "split": "test", "languages": ["en", "zh-tw"],
    "base": {"en-en": 50.0, "en-zh-tw": 40.0, "zh-tw-en": 30.0, "zh-tw-zh-tw": 20.0},
    "specialised": {"en-en": 60.0, "en-zh-tw": 50.0, "zh-tw-en": 40.0, "zh-tw-zh-tw": 30.04},
    "counts": {"en-en": 9, "en-zh-tw": 9, "zh-tw-en": 9, "zh-tw-zh-tw": 9},
    "mean_base": 35.0, "mean_specialised": 45.0, "mean_over": "all directions",
    "similar_sentences": {"overall": CHANGE, "by_language": {"en": CHANGE | {"specialised": 55.0}, "zh-tw": CHANGE}},
}  # fmt: skip


def card(name: str = "r", config: Plan = CONFIG, **metrics: object) -> ModelCard:
    measured = Metrics.from_json(json.loads(json.dumps(MEASURED | metrics)))
    return ModelCard(model_card(name, config, DATA, measured))


def test_the_hub_reads_languages_licence_base_and_metrics_by_language() -> None:
    data = card().data
    assert (data.language, data.license, data.base_model) == (["en", "zh"], "apache-2.0", None)
    assert (data.library_name, data.pipeline_tag) == ("sentence-transformers", "sentence-similarity")
    values = {result.dataset_config: result.metric_value for result in data.eval_results}
    assert values == {"en": 55.0, "zh-tw": 35.0}
    (english, _) = data.eval_results
    assert (english.dataset_name, english.dataset_type) == ("Our: hotel's #1", "our-hotel-s-1")
    assert english.metric_name == "Similar sentences in English, percent" and english.dataset_split == "test"


def test_the_licences_of_joined_encoders_and_a_model_of_the_hub_are_named(tmp_path: Path) -> None:
    data = card(config=replace(CONFIG, encoder="use+e5-small")).data
    assert (data.license, data.license_name) == ("other", "apache-2.0-and-mit")
    assert data.base_model == ["intfloat/multilingual-e5-small"]
    assert card(config=replace(CONFIG, encoder="hf:acme/tiny")).data.base_model == ["acme/tiny"]
    header, _ = split_header(str(card(config=replace(CONFIG, encoder=f"hf:{tmp_path}"))))
    assert header and "license" not in header
    assert str(tmp_path) not in header  # a folder of this machine is nobody's business
    assert "base_model" not in split_header(str(card(config=replace(CONFIG, encoder="run:gone"))))[0]


def test_a_run_without_held_out_sentences_has_no_results() -> None:
    text = model_card("r", CONFIG, DATA, Metrics(note="no rows", leakage=None))
    assert "model-index" not in text and ModelCard(text).data.language == ["en", "zh"]


def test_an_encoder_from_scratch_has_its_translation_ranking() -> None:
    ranking = RankingMetrics(81.25, 90.0, 95.0, 70.0, 90.0, 100, trained=True)
    config = Plan("bicvm", "x", {}, languages=("en", "de"), pairs=(("en", "de"),))
    text = model_card(
        "r", config, DATA, Metrics(measured_on="held-out pairs", translation={"de-en": ranking})
    )
    (result,) = ModelCard(text).data.eval_results
    assert (result.dataset_config, result.metric_value) == ("de-en", 81.2)


@pytest.mark.parametrize("name", ["hotel", "2024", "no"])
def test_a_renamed_run_has_its_new_name_in_the_header(name: str, tmp_path: Path) -> None:
    run = Run(tmp_path / name)
    run.folder.mkdir()
    run.write_status(Status(RunState.FINISHED))
    (run.folder / "README.md").write_text(str(card(name)), "utf-8")
    assert card(name).data.model_name == name
    text = (run.rename("other-1.0").folder / "README.md").read_text("utf-8")
    assert ModelCard(text).data.model_name == "other-1.0" and "\n# other-1.0\n" in text


def test_an_export_without_a_run_has_what_is_known_of_its_encoder(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(encoder_header("e5-small"), "utf-8")
    values = metadata_load(path)
    assert values["license"] == "mit" and values["base_model"] == ["intfloat/multilingual-e5-small"]
    assert {"de", "zh", "sw"} <= set(values["language"])
    assert "license" not in encoder_header("another's")


def test_a_graph_is_listed_as_one() -> None:
    header, _ = split_header(str(card()))
    data = ModelCard(onnx_header(header)).data
    assert data.library_name == "onnx" and "sentence-transformers" not in data.tags
    assert data.eval_results == card().data.eval_results
    assert onnx_header("---\n: {\n---\n\n") == "---\n: {\n---\n\n"
