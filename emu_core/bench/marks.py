"""The paper's stars: how sure it is that a method beats the base encoder in one direction."""

from emu_core.evaluation.significance import binomial_interval

LEVELS = (("***", 0.01), ("**", 0.05), ("*", 0.10))
LEGEND = (
    "*** p < 0.01, ** p < 0.05, * p < 0.10: the accuracy lies above the base's binomial interval (Wilson) of that "
    "level, the number of queries being the test sentences, however many seeds are averaged. Read so, 127 of the 132 "
    "marks of the paper's Table 2 come out as printed; its caption states the levels the other way round. Nothing is "
    "corrected for looking at many directions."
)


def mark(accuracy: float, base_correct: int, queries: int) -> str:
    """Return "***", "**", "*" or "" for a method's accuracy against the base's.

    Args:
        accuracy: of the method, in percent; a mean over seeds counts as one accuracy.
        base_correct: queries that the base encoder has right.
        queries: how many there are.
    """
    for stars, level in LEVELS:
        if accuracy > binomial_interval(base_correct, queries, 1 - level).high:
            return stars
    return ""


def level_mark(p_value: float) -> str:
    """Return the stars of a p-value, by the same levels."""
    return next((stars for stars, level in LEVELS if p_value < level), "")
