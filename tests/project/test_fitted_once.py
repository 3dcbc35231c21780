"""What tests share: a regression that is not fitted again has what a fit would have given, for the same input alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.support.fitted_once import once

FIT = LogisticRegression.fit  # as it is before the first test begins
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 5)), np.arange(40) % 3


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[LogisticRegression]:
    """The regressions that were really fitted."""
    really: list[LogisticRegression] = []

    def fit(self: LogisticRegression, *data: Any, **options: Any) -> LogisticRegression:
        really.append(self)
        return FIT(self, *data, **options)

    monkeypatch.setattr(LogisticRegression, "fit", once(fit))
    return really


def test_the_same_fit_is_done_once_and_gives_the_same(fits: list[LogisticRegression]) -> None:
    first, second = (LogisticRegression(C=3.0, warm_start=True).fit(X, Y) for _ in range(2))
    alone = FIT(LogisticRegression(C=3.0, warm_start=True), X, Y)
    assert fits == [first]
    for name in ("coef_", "intercept_", "classes_", "n_iter_"):
        np.testing.assert_array_equal(getattr(second, name), getattr(alone, name))
    second.coef_[:] = 0  # nobody else's
    assert LogisticRegression(C=3.0, warm_start=True).fit(X, Y).coef_.any()
    # The next fit begins where that one ended.
    again = [FIT(model.set_params(C=9.0), X, Y) for model in (first, alone)]
    np.testing.assert_array_equal(again[0].coef_, again[1].coef_)


@pytest.mark.parametrize(
    "other",
    [
        lambda: LogisticRegression(C=3.1, warm_start=True).fit(X, Y),
        lambda: LogisticRegression(C=3.0, warm_start=True).fit(X, Y[::-1]),
        lambda: LogisticRegression(C=3.0, warm_start=True).fit(X, Y.astype(str)),
        lambda: LogisticRegression(C=3.0, warm_start=True).fit(X[::-1], Y),
        lambda: LogisticRegression(C=3.0, warm_start=True).fit(X.astype(np.float32), Y),
        lambda: LogisticRegression(C=3.0, warm_start=True).fit(X, Y, sample_weight=np.ones(40)),
        lambda: LogisticRegression(C=3.0, warm_start=True).fit(X, Y).fit(X, Y),  # begins at the end
    ],
    ids=["penalty", "labels", "kind-of-labels", "order", "precision", "weights", "beginning"],
)
def test_any_other_fit_is_done(other: Callable[[], object], fits: list[LogisticRegression]) -> None:
    LogisticRegression(C=3.0, warm_start=True).fit(X, Y)
    other()
    assert len(fits) == 2


def test_one_that_does_not_converge_warns_each_time(fits: list[LogisticRegression]) -> None:
    for _ in range(2):
        with pytest.warns(UserWarning, match="converge"):
            LogisticRegression(max_iter=1).fit(X, Y)
    assert len(fits) == 2
