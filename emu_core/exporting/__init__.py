"""Encoders as folders for other programs."""

from enum import StrEnum


class ExportFormat(StrEnum):
    """The program a folder is for."""

    SENTENCE_TRANSFORMERS = "sentence-transformers"
    ONNX = "onnx"
