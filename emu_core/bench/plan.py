"""Which cells the tables asked for are made of, each once."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import combinations

from emu_core.bench.cells import BASE, PAPER_ORDER, TRANSLATION, Cell, Kind, Peer, Rate, methods
from emu_core.config import Method
from emu_core.data.languages import ordered
from emu_core.errors import DataError


class Part(StrEnum):
    """A part of the report."""

    TABLE_2 = "2"
    TABLE_3 = "3"
    TABLE_4 = "4"
    TABLE_5 = "5"
    PEERS = "peers"
    FIGURE_2 = "figure2"


FIGURE_METHODS = ("softmax", "emu-without-ld", "emu")  # Figure 2 (b) to (d)
_ABLATION = ("emu", "emu-without-ld", "emu-without-ld-cl")
_TABLE_3 = ("en", "de", "fr")


def plan(
    parts: Iterable[Part],
    languages: Sequence[str],
    train_languages: Sequence[str],
    seeds: Sequence[int],
    *,
    translated: bool = False,
) -> tuple[Cell, ...]:
    """Every cell that the parts need, each once, the base encoder first.

    Args:
        parts: the parts of the report.
        languages: of the labelled set.
        train_languages: whose labels Tables 2, 4 and 5, the figure and the peers are trained on.
        seeds: one cell each, of all that draws.
        translated: whether the set holds machine translations.

    Raises:
        DataError: a training language is not in the set.
    """
    if missing := [code for code in train_languages if code not in languages]:
        raise DataError(
            f"no sentence in {missing[0]}; there are: {', '.join(languages)}. Choose one with --train-language"
        )
    wanted, train = set(parts), tuple(train_languages)
    cells = [BASE]
    if Part.TABLE_2 in wanted:
        cells += [TRANSLATION] * translated + _trained(methods(), train, seeds)
    if Part.TABLE_3 in wanted:
        for chosen in training_sets(languages):
            cells += _trained(["emu-without-ld"], chosen, seeds)
    if Part.TABLE_4 in wanted:
        cells += _trained(["emu-without-ld"], train, seeds)
    if Part.TABLE_5 in wanted:
        cells += _trained(_ABLATION, train, seeds)
    if Part.FIGURE_2 in wanted:
        cells += _trained(FIGURE_METHODS, train, seeds[:1])
    if Part.PEERS in wanted:
        cells += _trained(compared_with_peers(), train, seeds)
        for peer in Peer:
            if peer.is_frozen:
                cells.append(Cell(Kind.PEER, peer, train))
            else:
                rates = (Rate.THEIRS, Rate.OURS)
                cells += [Cell(Kind.PEER, peer, train, seed, rate) for seed in seeds for rate in rates]
    return tuple(dict.fromkeys(cells))


def compared_with_peers() -> tuple[Method, ...]:
    """The paper's Emu, and every method that is not the paper's."""
    return tuple(method for method in methods() if method == "emu" or method not in PAPER_ORDER)


def training_sets(languages: Sequence[str]) -> list[tuple[str, ...]]:
    """The languages that Table 3 trains on: English, German and French, or else the set's first three, in every mix."""
    there = set(_TABLE_3) <= set(languages)
    three = _TABLE_3 if there else ordered(languages)[:3]
    return [mix for size in (1, 2, 3) for mix in combinations(three, size)]


def _trained(names: Iterable[Method], languages: tuple[str, ...], seeds: Sequence[int]) -> list[Cell]:
    return [Cell(Kind.METHOD, name.value, languages, seed) for name in names for seed in seeds]
