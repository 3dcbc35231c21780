"""Parallel text, dialogues, running text and NLI pairs written where a training process finds them."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

import pandas as pd

from app.datafile import FOLDER
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import LABELS, Nli
from emu_core.data.texts.running_text import RunningText

Text = ParallelText | Dialogues | RunningText | Nli


def save_text(root: Path, text: Text) -> Path:
    """Write a text to a file of its own under `root`, once, and return the file.

    The readers give back every sentence as it is here; of the text's name only harmless letters go into the file's.

    Args:
        root: the folder of runs.
        text: what was read.
    """
    path = root / FOLDER / text_key(text) / _file_name(text)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(_content(text))
        Path(file.name).replace(path)
    return path


def text_key(text: Text) -> str:
    """Return what tells a text from every other; the name of the folder that it is saved in."""
    digest = hashlib.sha256(type(text).__name__.encode())
    match text:
        case ParallelText():
            parts: Iterable[object] = (text.languages, text.documents, text.first, text.second)
        case Dialogues():
            parts = (text.language, text.comments, text.responses)
        case RunningText():
            parts = (text.language, text.documents)
        case Nli():
            parts = (text.language, text.premises, text.hypotheses, text.labels.tolist())
    for part in parts:
        digest.update(json.dumps(part).encode())
    return digest.hexdigest()[:16]


def _content(text: Text) -> bytes:
    match text:
        case ParallelText():
            rows = list(zip(text.first, text.second, strict=True))
            for start in reversed(text.documents[1:]):
                rows.insert(start, ("", ""))  # a document begins after it
            return _parquet(pd.DataFrame(rows, columns=list(text.languages)))
        case Dialogues():
            return _parquet(pd.DataFrame({"comment": text.comments, "response": text.responses}))
        case RunningText():
            return "\n\n".join("\n".join(document) for document in text.documents).encode()
        case Nli():
            lines = (
                {
                    "sentence1": first,
                    "sentence2": second,
                    "gold_label": LABELS[label],
                    "language": text.language,
                }
                for first, second, label in zip(
                    text.premises, text.hypotheses, text.labels.tolist(), strict=True
                )
            )
            return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _parquet(frame: pd.DataFrame) -> bytes:
    content: bytes = frame.to_parquet(index=False)
    return content


def _file_name(text: Text) -> str:
    """A name that says the languages as the readers want it."""
    match text:
        case ParallelText():
            return f"{_slug(text.name)}-{text.source}-{text.target}.parquet"
        case Dialogues():
            return f"{_slug(text.name)}.{text.language}.parquet"
        case RunningText():
            return f"{_slug(text.name)}.{text.language}.txt"
        case Nli():
            return f"{_slug(text.name)}.jsonl"


def _slug(name: str) -> str:
    first = re.split(r"[.,(]", name.replace("\\", "/").rsplit("/", 1)[-1])[0]
    plain = unicodedata.normalize("NFKD", first).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:40].strip("-") or "text"
