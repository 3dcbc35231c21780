"""The header of a model card: what the Hugging Face hub reads of it, in YAML."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaml import YAMLError

from emu_core.data.languages import ordered
from emu_core.encoders.registry import available_encoders, kinds_of
from emu_core.errors import EncoderError
from emu_core.evaluation.run_metrics import Metrics
from emu_core.reports.figures import hub_results
from emu_core.runs.config import RunConfig
from emu_core.runs.data_facts import DataFacts

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

_HEADER = re.compile(r"---\n.*?\n---\n\n?", re.DOTALL)
_CODE = re.compile("[a-z]{2,3}")  # of ISO 639, which is all that the hub takes
_TAGS = ("sentence-transformers", "sentence-similarity", "feature-extraction", "emu")


def split_header(card: str) -> tuple[str, str]:
    """Return a card's header, or "" if it has none, and what follows it."""
    header = _HEADER.match(card)
    return (header[0], card[header.end() :]) if header else ("", card)


def run_header(name: str, config: RunConfig, data: DataFacts, metrics: Metrics) -> str:
    """Return the header of a run's card: languages, base, the base's licence, and metrics by language."""
    languages = (
        *config.languages,
        *config.train_languages,
        *config.unlabelled_languages,
        *metrics.languages,
        *(code for pair in config.pairs for code in pair),
    )
    return _header(name, _kinds(config.encoder) if config.encoder else (), languages, _results(data, metrics))


def encoder_header(spec: str) -> str:
    """Return the header of the export of a published encoder, or of one that is not known."""
    languages = next((info.languages for info in available_encoders() if info.spec == spec), ())
    return _header(spec, _kinds(spec), languages, [])


def onnx_header(header: str) -> str:
    """Return a header for the same encoder as an ONNX graph; one that was edited and is no longer YAML, as it is."""
    from huggingface_hub import ModelCard

    with suppress(ValueError, YAMLError):
        facts: Any = ModelCard(header).data
        facts.library_name, facts.tags = "onnx", ["onnx", *_TAGS[1:]]
        return f"---\n{facts.to_yaml()}\n---\n\n"
    return header


def _header(name: str, kinds: Sequence[str], languages: Iterable[str], results: "list[EvalResult]") -> str:
    from huggingface_hub import ModelCardData

    infos = {info.spec: info for info in available_encoders()}
    licences = {infos[kind].licence if kind in infos else "" for kind in kinds}
    bases = [infos[kind].hub_name if kind in infos else _hub_name(kind) for kind in kinds]
    known_licences = sorted(licence.lower() for licence in licences if licence)
    licence: dict[str, Any] = {}
    if len(known_licences) == len(licences) == 1:
        licence = {"license": known_licences[0]}
    elif known_licences:
        licence = {"license": "other", "license_name": "-and-".join(known_licences)}
    codes = (code.partition("-")[0] for code in ordered(languages))
    card = ModelCardData(
        language=list(dict.fromkeys(code for code in codes if _CODE.fullmatch(code))) or None,
        base_model=[base for base in bases if base] or None,
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity",
        tags=list(_TAGS),
        model_name=name if results else None,
        eval_results=results or None,
        metrics=["accuracy"] if results else None,
        **licence,
    )
    return f"---\n{card.to_yaml()}\n---\n\n"


def _kinds(spec: str) -> tuple[str, ...]:
    """Return the kind of each part of an encoder; none if the run that made it is not here."""
    with suppress(EncoderError):
        return kinds_of(spec)
    return ()


def _hub_name(kind: str) -> str:
    """Return the name on the hub of the model of `hf:NAME`, which may be a folder of this machine."""
    name = kind.removeprefix("hf:")
    is_name = name != kind and re.fullmatch(r"[\w.-]+/[\w.-]+", name) and not Path(name).exists()
    return name if is_name else ""


def _results(data: DataFacts, metrics: Metrics) -> "list[EvalResult]":
    """Return what was measured on held-out sentences, as the hub shows it."""
    from huggingface_hub import EvalResult

    return [
        EvalResult(
            task_type="sentence-similarity",
            task_name=result.task,
            dataset_type=re.sub(r"[^a-z0-9]+", "-", data.name.lower()).strip("-") or "local",
            dataset_name=data.name,
            dataset_config=result.subset,
            dataset_split=result.split,
            metric_type="accuracy",
            metric_name=result.metric,
            metric_value=round(result.percent, 1),
        )
        for result in hub_results(metrics)
    ]
