"""The meters of metrics.json in rows and sentences, for the card, the command and the app."""

from collections.abc import Mapping
from typing import Any

from emu_core.data.languages import language_name
from emu_core.evaluation.guard import Verdict, flagged

GUARD_HEAD = ("language", "difference", "95 % interval", "queries", "verdict")
LEAKAGE_HEAD = ("told by", "base %", "specialised %", "chance %")
FORGETTING_HEAD = ("measure", "base", "specialised", "difference", "95 % interval", "pairs", "")
_SAYS = {
    Verdict.LOSES: "Loses",
    Verdict.MAY_LOSE: "May lose (the estimate is below zero, the interval is not)",
}

Facts = Mapping[str, Any]


def guard_rows(guard: Mapping[str, Facts]) -> list[tuple[str, ...]]:
    """A row for each language, under `GUARD_HEAD`."""
    return [
        (
            language,
            f"{change['difference']:+.1f}",
            f"{change['low']:+.1f} to {change['high']:+.1f}",
            f"{change['queries']:,}",
            change["verdict"],
        )
        for language, change in guard.items()
    ]


def guard_sentences(guard: Mapping[str, Facts]) -> dict[Verdict, str]:
    """For each verdict that a person must be told of, which languages it is of, the worst first; none is good news."""
    return {
        verdict: f"{_SAYS[verdict]}: {', '.join(_named(code, points) for code, points in languages.items())}."
        for verdict, languages in flagged(guard).items()
    }


def leakage_rows(leakage: Mapping[str, Facts]) -> list[tuple[str, ...]]:
    """A row for each way to tell the language, under `LEAKAGE_HEAD`."""
    base, specialised = leakage["base"], leakage["specialised"]
    return [
        (
            what,
            f"{base[name]:.1f}",
            f"{specialised[name]:.1f}",
            f"{base[f'{name}_chance']:.1f}",
        )
        for what, name in (
            ("a linear probe (balanced accuracy)", "probe"),
            ("the nearest neighbours (share in the own language)", "neighbours"),
        )
    ]


def forgetting_rows(forgetting: Facts) -> list[tuple[str, ...]]:
    """A row for each language's similarity and each direction of translation, under `FORGETTING_HEAD`."""
    parts = (("STS Spearman", forgetting["sts"], 3), ("translations %", forgetting["translations"], 1))
    return [
        (
            f"{what} {name}",
            f"{kept['base']:.{places}f}",
            f"{kept['specialised']:.{places}f}",
            f"{kept['difference']:+.{places}f}",
            f"{kept['low']:+.{places}f} to {kept['high']:+.{places}f}",
            f"{kept['count']:,}",
            "fell" if kept["flagged"] else "",
        )
        for what, measured, places in parts
        for name, kept in measured.items()
    ]


def _named(code: str, points: float) -> str:
    return f"{language_name(code)} ({code}, {points:+.1f} points)"
