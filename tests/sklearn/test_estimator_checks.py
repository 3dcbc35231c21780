"""scikit-learn's own checks of estimators, on rows of numbers that are made sentences; see the stand-in."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from emu_core.methods.head import fit
from tests.support.paths import DOCS
from tests.support.rows_as_sentences import (
    KIND,
    RowsIntentClassifier,
    RowsSentenceEncoder,
    RowsSpecialisedEncoder,
    rows_encoder,
)

pytestmark = pytest.mark.slow

ESTIMATORS = [
    RowsSentenceEncoder(KIND, device="cpu"),
    RowsSpecialisedEncoder(KIND, device="cpu"),
    RowsIntentClassifier(KIND, reject_option=None, device="cpu"),
]
# The table on the page "From scikit-learn".
SKIPPED = {
    "check_array_api_input": "sentences are no arrays of numbers",
    "check_complex_data": "no number in a sentence is complex",
    "check_dtype_object": "expects an array of objects to hold numbers",
    "check_estimators_empty_data_messages": "expects a message on columns; sentences have none",
    "check_estimators_nan_inf": "expects a message on NaN among numbers; a missing sentence has a message of its own",
    "check_fit2d_predict1d": "expects a message on columns; sentences are one-dimensional",
    "check_n_features_in": "sentences have no columns to count",
    "check_n_features_in_after_fitting": "sentences have no columns to count",
    "check_sample_weight_equivalence_on_dense_data": "repeats a sentence, and a repeat is left out",
}


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(fit, "INVERSE_PENALTIES", (1.0,))  # choosing one is most of the time that a fit takes
    with rows_encoder(monkeypatch):
        yield


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _estimator: SKIPPED, xfail_strict=True)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_page_lists_the_checks_that_are_skipped() -> None:
    page = (DOCS / "how-to" / "scikit-learn.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `(check_\w+)` \| (.+) \|$", page, re.MULTILINE)) == SKIPPED
