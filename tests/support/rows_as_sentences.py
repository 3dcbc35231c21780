"""The scikit-learn estimators for rows of numbers, which scikit-learn's own checks pass: each row is made a sentence.

A row becomes a sentence such as "0:3 1:-12", the number of each column in steps, and a small encoder makes numbers of
it again. Only the number of columns is checked here; what is no table of numbers goes to the estimator as it is.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from emu_core.encoders import specs
from emu_core.encoders.base import Encoder, EncoderInfo, Features, TokenIds
from emu_core.encoders.saved import WEIGHTS, opening, write_encoder
from emu_core.sklearn import IntentClassifier, SentenceEncoder, SpecialisedEncoder

KIND = "rows"
_NUMBER = re.compile(r"(\d+):(-?\d+)")
_COLUMNS, _STEPS, _STEP, _DIM = 64, 4096, 1 / 128, 16


class RowsEncoder(Encoder):
    """The numbers in a sentence, and a one, by a matrix: (B, 16)."""

    spec: ClassVar[str] = KIND
    dim = _DIM
    max_tokens = _COLUMNS
    languages = ()

    def __init__(self) -> None:
        super().__init__()
        columns = np.eye(_COLUMNS, _DIM - 1)  # the first columns stay apart, for checks with few of them
        columns[_DIM - 1 :] = np.random.default_rng(0).normal(0, 0.3, (_COLUMNS - _DIM + 1, _DIM - 1))
        self.columns = nn.Parameter(torch.tensor(columns, dtype=torch.float32))
        self.last = nn.Linear(_DIM, _DIM)
        with torch.no_grad():
            self.last.weight.copy_(torch.eye(_DIM))
            self.last.bias.zero_()

    @classmethod
    def info(cls) -> EncoderInfo:
        return EncoderInfo(KIND, KIND, _DIM, (), 0, "", available=True, reason="")

    @classmethod
    def load(cls, name: str = "") -> Self:
        return cls()

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        return [[_token(*map(int, number)) for number in _NUMBER.findall(text)] for text in texts]

    def forward(self, features: Features) -> Tensor:
        tokens, mask = features["input_ids"], features["attention_mask"]
        values = (tokens % _STEPS - _STEPS // 2) * _STEP * mask  # (B, T)
        numbers = torch.einsum("bt,btd->bd", values, self.columns[tokens // _STEPS])
        out: Tensor = self.last(torch.cat([numbers, torch.ones_like(numbers[:, :1])], dim=1))
        return out

    def embeddings(self) -> list[nn.Parameter]:
        return [self.columns]

    def layers(self) -> list[list[nn.Parameter]]:
        return [list(self.last.parameters())]

    def save(self, folder: Path) -> None:
        write_encoder(folder, {"encoder": KIND}, self.state_dict())

    @classmethod
    def open(cls, folder: Path) -> Self:
        encoder = cls()
        with opening(folder, KIND):
            encoder.load_state_dict(load_file(folder / WEIGHTS))
        return encoder


class _OfRows:
    """Makes sentences of rows before the estimator sees them, and compares their columns with those of `fit`."""

    _columns: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string, tags.input_tags.two_d_array = False, True
        return tags

    def fit(self, X: Any, y: Any = None, **others: Any) -> Self:  # noqa: N803
        self._columns = None
        sentences = self._sentences(X)
        return super().fit(sentences, y, **others)  # type: ignore[misc, no-any-return]

    def _sentences(self, X: Any) -> Any:  # noqa: N803
        rows = X.to_numpy() if isinstance(X, pd.DataFrame) else np.asarray(X)
        if rows.ndim != 2 or rows.dtype.kind not in "biuf" or not np.isfinite(rows).all():
            return X
        if self._columns not in (None, rows.shape[1]):
            raise ValueError(f"{rows.shape[1]} columns and not {self._columns}")
        self._columns = rows.shape[1]
        sentences = [
            " ".join(f"{column}:{step}" for column, step in enumerate(row))
            for row in np.round(rows / _STEP).astype(int).tolist()
        ]
        return pd.Series(sentences, index=X.index) if isinstance(X, pd.DataFrame) else sentences


class _TransformerOfRows(_OfRows):
    def transform(self, X: Any) -> Any:  # noqa: N803
        return super().transform(self._sentences(X))  # type: ignore[misc]


class RowsSentenceEncoder(_TransformerOfRows, SentenceEncoder):
    """Encodes rows of numbers."""


class RowsSpecialisedEncoder(_TransformerOfRows, SpecialisedEncoder):
    """Specialises an encoder on rows of numbers."""


class RowsIntentClassifier(_OfRows, IntentClassifier):
    """Classifies rows of numbers."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: N803
        return super().fit(X, y, sample_weight=sample_weight)

    def predict(self, X: Any) -> Any:  # noqa: N803
        return super().predict(self._sentences(X))

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return super().predict_proba(self._sentences(X))


@contextmanager
def rows_encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the encoder under its name."""
    with monkeypatch.context() as patch:
        patch.setitem(specs._PUBLISHED, KIND, f"{__name__}:{RowsEncoder.__name__}")
        specs.encoder_kinds.cache_clear()
        yield
    specs.encoder_kinds.cache_clear()


def _token(column: int, step: int) -> int:
    return column % _COLUMNS * _STEPS + min(max(step + _STEPS // 2, 0), _STEPS - 1)
