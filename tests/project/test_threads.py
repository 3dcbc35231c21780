"""What takes many small products runs on one thread."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

from emu_core.bench.peers import Peer, frozen_peer
from emu_core.devices import available_devices
from emu_core.evaluation.leakage import language_leakage
from emu_core.methods.head.fit import Examples, fit_head
from emu_core.methods.head.settings import HeadConfig
from tests.support.small import small_set

VECTORS = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
LABELS = [row % 3 for row in range(60)]


def head() -> None:
    fit_head(Examples(VECTORS, LABELS), HeadConfig(language_directions=0, centering=0.0))


def leakage() -> None:
    language_leakage(VECTORS, ["en" if row % 2 else "de" for row in range(60)], [""] * 60)


def peer() -> None:
    english = small_set().select(languages=["en"])
    draws = np.random.default_rng(0)
    frozen_peer(Peer.LOGISTIC, lambda texts: draws.normal(size=(len(texts), 8)), english)


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "fits"),
    [(LogisticRegression, head), (LogisticRegression, leakage), (LogisticRegression, peer)],
)
def test_logistic_regressions_are_fitted_on_one_thread(
    kind: type[Any], fits: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, fit = [], kind.fit

    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(blas_threads())
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(kind, "fit", watched)
    with threadpool_limits(limits=2, user_api="blas"):
        assert blas_threads() == {2}
        fits()
        assert blas_threads() == {2}
    assert seen and all(threads == {1} for threads in seen)


def test_the_cpus_label_counts_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for threads, label in ((1, "CPU, 1 thread"), (8, "CPU, 8 threads")):
        monkeypatch.setattr("torch.get_num_threads", lambda threads=threads: threads)
        assert available_devices()[-1].label == label
