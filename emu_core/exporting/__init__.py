"""Encoders as folders for other programs, one file a format; `api.export` is the door."""

from enum import StrEnum


class ExportFormat(StrEnum):
    """The program a folder is for."""

    SENTENCE_TRANSFORMERS = "sentence-transformers"
    ONNX = "onnx"
