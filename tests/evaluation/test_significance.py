import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation.significance import binomial_interval, paired_bootstrap, paired_test, wilcoxon


def z_of(confidence: float) -> float:
    return NormalDist().inv_cdf(1 - (1 - confidence) / 2)


@pytest.mark.parametrize(("correct", "n"), [(0, 10), (10, 10), (1, 1), (81, 168), (167, 168), (5000, 9000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_by_hand(correct: int, n: int, confidence: float) -> None:
    z, share = z_of(confidence), correct / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    margin = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    interval = binomial_interval(correct, n, confidence)
    assert interval.low == pytest.approx(100 * max(0.0, middle - margin), abs=1e-9)
    assert interval.high == pytest.approx(100 * min(1.0, middle + margin), abs=1e-9)


def test_wilson_of_a_textbook() -> None:
    """Newcombe 1998, table I: 81 of 263, method 3."""
    interval = binomial_interval(81, 263)
    assert (round(interval.low, 2), round(interval.high, 2)) == (25.53, 36.62)


@pytest.mark.parametrize(("correct", "n"), [(0, 0), (-1, 5), (6, 5), (0, -1)])
def test_no_such_share(correct: int, n: int) -> None:
    with pytest.raises(DataError, match="can't be right; give"):
        binomial_interval(correct, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, float("nan")])
def test_no_such_confidence(confidence: float) -> None:
    with pytest.raises(DataError, match=r"0\.95 is usual"):
        binomial_interval(1, 2, confidence)
    with pytest.raises(DataError, match=r"0\.95 is usual"):
        paired_test(np.array([True]), np.array([True]), confidence)


def answers(both: int, lost: int, gained: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    base = [True] * both + [True] * lost + [False] * gained + [False] * neither
    other = [True] * both + [False] * lost + [True] * gained + [False] * neither
    order = np.random.default_rng(0).permutation(len(base))
    return np.array(base)[order], np.array(other)[order]


@pytest.mark.parametrize(
    ("both", "lost", "gained", "neither"),
    [(40, 3, 12, 20), (0, 0, 6, 1), (5, 7, 7, 5), (9, 30, 2, 0), (9, 1, 0, 0)],
)
def test_paired_by_hand(both: int, lost: int, gained: int, neither: int) -> None:
    result = paired_test(*answers(both, lost, gained, neither))
    assert (result.gained, result.lost) == (gained, lost)
    n, differing = both + lost + gained + neither, lost + gained
    tail = sum(math.comb(differing, i) for i in range(min(lost, gained) + 1)) / 2**differing
    assert result.p_value == pytest.approx(min(1.0, 2 * tail))
    assert result.difference == pytest.approx(100 * (gained - lost) / n)
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    margin = z_of(0.95) * math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    assert result.low == pytest.approx(100 * max(-1.0, up - down - margin))
    assert result.high == pytest.approx(100 * min(1.0, up - down + margin))
    assert result.low <= result.difference <= result.high


def test_paired_turns_round_with_its_arguments() -> None:
    base, other = answers(40, 3, 12, 20)
    there, back = paired_test(base, other), paired_test(other, base)
    assert there.p_value == back.p_value < 0.05
    assert there.difference == -back.difference > 0
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert there.low > 0


def test_the_same_answers_are_no_difference() -> None:
    result = paired_test(*answers(5, 0, 0, 5))
    assert (result.p_value, result.difference) == (1.0, 0.0)
    assert result.low == -result.high < 0


@pytest.mark.parametrize(("n", "m"), [(0, 0), (2, 3)])
def test_answers_that_are_no_pairs(n: int, m: int) -> None:
    with pytest.raises(DataError, match="measure both encoders on the same sentences"):
        paired_test(np.ones(n, dtype=bool), np.ones(m, dtype=bool))


def test_the_bootstrap_draws_a_sentence_with_its_translations() -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(-1, 2, size=60).astype(float)
    ids = np.arange(60)
    alone = paired_bootstrap([first], [ids])
    # A second direction with the same answers to the same sentences tells nothing new ...
    assert paired_bootstrap([first, first], [ids, ids]) == alone
    # ... and the same answers to other sentences narrow the interval by the root of two.
    others = paired_bootstrap([first, first], [ids, ids + 60])
    assert (alone.high - alone.low) / (others.high - others.low) == pytest.approx(math.sqrt(2), rel=0.1)
    assert alone.points == pytest.approx(100 * first.mean())
    half = NormalDist().inv_cdf(0.975) * 100 * first.std() / math.sqrt(60)
    assert alone.high - alone.low == pytest.approx(2 * half, rel=0.1)


def test_the_bootstrap_is_of_the_mean_over_directions() -> None:
    small, large = np.ones(2), np.zeros(20)
    assert paired_bootstrap([small, large], [np.arange(2), np.arange(20)]).points == pytest.approx(50)
    same = paired_bootstrap([np.zeros(5)], [np.arange(5)])
    assert (same.points, same.low, same.high, same.is_clear) == (0, 0, 0, False)
    assert paired_bootstrap([np.ones(5)], [np.arange(5)]).is_clear
    assert str(paired_bootstrap([np.ones(5)], [np.arange(5)])) == "+100.0 (+100.0 to +100.0)"


@pytest.mark.parametrize(
    ("differences", "sentences"),
    [([], []), ([np.zeros(0)], [np.zeros(0, int)]), ([np.zeros(3)], [np.arange(2)])],
)
def test_the_bootstrap_refuses(differences: list[np.ndarray], sentences: list[np.ndarray]) -> None:
    with pytest.raises(DataError):
        paired_bootstrap(differences, sentences)


def exact_wilcoxon(differences: list[float]) -> float:
    """Every way to give signs to the ranks (equal sizes share theirs), two-sided."""
    sizes = [abs(d) for d in differences]
    ranks = [
        sum(other < size for other in sizes) + (sum(other == size for other in sizes) + 1) / 2
        for size in sizes
    ]
    half = sum(ranks) / 2
    seen = abs(sum(rank for rank, d in zip(ranks, differences, strict=True) if d > 0) - half)
    sums = [sum(itertools.compress(ranks, signs)) for signs in itertools.product((0, 1), repeat=len(ranks))]
    return sum(abs(total - half) >= seen - 1e-9 for total in sums) / len(sums)


@pytest.mark.parametrize(
    "differences",
    [
        [3.1, 4.0, -0.4, 2.2, 1.5, 2.8, 0.9, -1.1, 3.7, 2.0, 1.2],  # 11 directions, as in Table 5
        [1.0, -1.0, 2.0, 2.0, -3.0, 2.0, 5.0],
        [-1.0, -2.0, -3.0, -4.0, -5.0],
        [1.0],
    ],
)
def test_wilcoxon_by_all_signs(differences: list[float]) -> None:
    result = wilcoxon(differences)
    assert result.p_value == pytest.approx(exact_wilcoxon(differences))
    assert result.n == len(differences)


def test_wilcoxon_statistic_by_hand() -> None:
    assert wilcoxon([1.0, -2.0, 3.0, 4.0, -5.0, 6.0]).statistic == 2 + 5


def test_wilcoxon_leaves_zeros_out() -> None:
    assert wilcoxon([0.0, 1.0, 2.0, 0.0, 3.0]) == wilcoxon([1.0, 2.0, 3.0])
    nothing = wilcoxon([0.0, 0.0])
    assert (nothing.p_value, nothing.n) == (1.0, 0)


def test_wilcoxon_sees_equal_differences_of_percentages() -> None:
    computed = [0.3 - 0.2, 0.2 - 0.3, 1.1 - 1.0, 0.8, 0.9]  # three of size 0.1 but for rounding
    assert len({abs(d) for d in computed}) > 3
    assert wilcoxon(computed) == wilcoxon([0.1, -0.1, 0.1, 0.8, 0.9])


@pytest.mark.parametrize("differences", [[], [1.0, float("nan")], [float("inf")]])
def test_wilcoxon_refuses(differences: list[float]) -> None:
    with pytest.raises(DataError, match="one or more finite differences"):
        wilcoxon(differences)
