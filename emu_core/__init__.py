"""Emu: specialise multilingual sentence encoders on a labelled set, and see what it did to each language.

The verbs of the command are here as functions: `train`, `pretrain`, `resume`, `evaluate`, `predict`, `forgetting`,
`embed` and `export`, with `IntentClassifier`, `suggest_labels`, `Suggester`, `configure` and `load_encoder`. Data is
whatever `read_labelled` takes: files, "demo", data frames, Hugging Face data sets, `(texts, intents)`. Errors are of
`EmuError`, whose sentence says how to fix what is wrong.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from emu_core.version import __version__ as __version__

# Two OpenMP threads that spin while they wait are ten times slower on a busy machine. It must be set before torch is
# imported, and every entry point passes here.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# No usage data through libraries, which read this when they are imported. (Streamlit's is off in `serve`.)
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from emu_core.api.compare import compare as compare
    from emu_core.api.embed import embed as embed
    from emu_core.api.evaluate import evaluate as evaluate
    from emu_core.api.execute import Hooks as Hooks
    from emu_core.api.export import export as export
    from emu_core.api.export import push_to_hub as push_to_hub
    from emu_core.api.export import to_sentence_transformers as to_sentence_transformers
    from emu_core.api.forgetting import forgetting as forgetting
    from emu_core.api.predict import predict as predict
    from emu_core.api.pretrain import pretrain as pretrain
    from emu_core.api.resume import resume as resume
    from emu_core.api.start import start as start
    from emu_core.api.suggest import Suggester as Suggester
    from emu_core.api.suggest import suggest_labels as suggest_labels
    from emu_core.api.train import train as train
    from emu_core.data.audit import labelled_from_frame as labelled_from_frame
    from emu_core.data.demo import load_demo as load_demo
    from emu_core.data.detection import detect_languages as detect_languages
    from emu_core.data.reading import ColumnMapping as ColumnMapping
    from emu_core.data.reading import Reading as Reading
    from emu_core.data.sets import unlabelled_from as unlabelled_from
    from emu_core.encoders.registry import available_encoders as available_encoders
    from emu_core.encoders.registry import load_encoder as load_encoder
    from emu_core.errors import CancelledError as CancelledError
    from emu_core.errors import DataError as DataError
    from emu_core.errors import EmuError as EmuError
    from emu_core.errors import EncoderError as EncoderError
    from emu_core.errors import InputError as InputError
    from emu_core.errors import RunError as RunError
    from emu_core.errors import TrainingError as TrainingError
    from emu_core.evaluation.triples import triple_cosines as triple_cosines
    from emu_core.formats.labelled import read_labelled as read_labelled
    from emu_core.formats.labelled import read_unlabelled as read_unlabelled
    from emu_core.formats.parallel.files import read_parallel as read_parallel
    from emu_core.formats.texts.dialogues import read_dialogues as read_dialogues
    from emu_core.formats.texts.nli import read_nli as read_nli
    from emu_core.formats.texts.running_text import read_running_text as read_running_text
    from emu_core.methods.registry import configure as configure
    from emu_core.processes import join_processes as join_processes
    from emu_core.sklearn.intent_classifier import IntentClassifier as IntentClassifier

_HOMES = {
    "CancelledError": "emu_core.errors",
    "ColumnMapping": "emu_core.data.reading",
    "DataError": "emu_core.errors",
    "EmuError": "emu_core.errors",
    "EncoderError": "emu_core.errors",
    "Hooks": "emu_core.api.execute",
    "InputError": "emu_core.errors",
    "IntentClassifier": "emu_core.sklearn.intent_classifier",
    "Reading": "emu_core.data.reading",
    "RunError": "emu_core.errors",
    "Suggester": "emu_core.api.suggest",
    "TrainingError": "emu_core.errors",
    "available_encoders": "emu_core.encoders.registry",
    "compare": "emu_core.api.compare",
    "configure": "emu_core.methods.registry",
    "detect_languages": "emu_core.data.detection",
    "embed": "emu_core.api.embed",
    "evaluate": "emu_core.api.evaluate",
    "export": "emu_core.api.export",
    "forgetting": "emu_core.api.forgetting",
    "join_processes": "emu_core.processes",
    "labelled_from_frame": "emu_core.data.audit",
    "load_demo": "emu_core.data.demo",
    "load_encoder": "emu_core.encoders.registry",
    "predict": "emu_core.api.predict",
    "pretrain": "emu_core.api.pretrain",
    "push_to_hub": "emu_core.api.export",
    "read_dialogues": "emu_core.formats.texts.dialogues",
    "read_labelled": "emu_core.formats.labelled",
    "read_nli": "emu_core.formats.texts.nli",
    "read_parallel": "emu_core.formats.parallel.files",
    "read_running_text": "emu_core.formats.texts.running_text",
    "read_unlabelled": "emu_core.formats.labelled",
    "resume": "emu_core.api.resume",
    "start": "emu_core.api.start",
    "suggest_labels": "emu_core.api.suggest",
    "to_sentence_transformers": "emu_core.api.export",
    "train": "emu_core.api.train",
    "triple_cosines": "emu_core.evaluation.triples",
    "unlabelled_from": "emu_core.data.sets",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a verb when it is first used: importing torch takes seconds, importing emu_core none."""
    if name not in _HOMES:
        raise AttributeError(f"module 'emu_core' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    if callable(value) and not isinstance(value, type) and not hasattr(value, "__signature__"):
        _show_parameters_without_types(value)
    return value


def _show_parameters_without_types(verb: Any) -> None:
    """Let `help` begin with what a verb does, and not with a page of types, which its documentation has."""
    from inspect import Parameter, Signature, signature

    plain = [
        parameter.replace(annotation=Parameter.empty) for parameter in signature(verb).parameters.values()
    ]
    verb.__signature__ = Signature(plain)


def __dir__() -> list[str]:
    """Return what is public, whether it is imported yet or not, and not what this module needs itself."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
