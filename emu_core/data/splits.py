"""Splits, read from every usual way of writing them."""

import re
from collections.abc import Mapping

import pandas as pd

from emu_core.data.cleaning import normal_form

SPLITS = ("train", "dev", "test")
SPLIT_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(
        (
            "dev",
            "devel",
            "development",
            "val",
            "valid",
            "validate",
            "validation",
            "eval",
            "evaluation",
            "tune",
            "tuning",
        ),
        "dev",
    ),
    **dict.fromkeys(("test", "testing", "tst", "holdout", "hold_out", "heldout", "held_out"), "test"),
}
"""The usual names of the splits, with underscores between words -> train, dev, test."""
# Sentences of no intent are often in splits of their own (oos_test), and large splits in numbered shards
# (train-00000-of-00002).
_WITH_MORE = re.compile(r"(?:(?:oos|ood)_)?(.*?)(?:_?[0-9]+(?:_of_[0-9]+)?)?")


def split_code(split: str) -> str:
    """Return train, dev or test for any of its usual names, numbered or not; other names in lower case."""
    plain = normal_form(split)
    name = _WITH_MORE.fullmatch(re.sub(r"[\W_]+", "_", plain).strip("_"))
    return SPLIT_NAMES.get(name[1], plain) if name else plain


def split_codes(values: "pd.Series[str]") -> "pd.Series[str]":
    """Return the `split_code` of each value."""
    return values.map({value: split_code(value) for value in values.unique()}).astype("str")
