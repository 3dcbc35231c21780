from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from emu_core.bench.emu.quora import QUORA_TEST_SHARE, duplicate_cliques, largest, read_quora
from emu_core.bench.paper import paper_numbers
from emu_core.errors import DataError
from tests.support.bench_cells import run

Pairs = list[tuple[str, str]]


def clique(name: str, size: int) -> Pairs:
    return list(combinations([f"{name} {number}?" for number in range(size)], 2))


def by_reachability(pairs: Pairs) -> set[frozenset[str]]:
    """Find them by powers of the adjacency matrix, and by the number of edges in each group."""
    names = sorted({text for pair in pairs for text in pair})
    at = {text: row for row, text in enumerate(names)}
    beside = np.zeros((len(names), len(names)), dtype=bool)
    for first, second in pairs:
        if first != second:
            beside[at[first], at[second]] = beside[at[second], at[first]] = True
    reached = beside | np.eye(len(names), dtype=bool)
    for _ in names:
        reached = (reached.astype(int) @ reached.astype(int)) > 0
    groups = {frozenset(np.flatnonzero(row).tolist()) for row in reached}
    return {
        frozenset(names[row] for row in rows)
        for rows in groups
        if len(rows) > 1 and beside[np.ix_(list(rows), list(rows))].sum() == len(rows) * (len(rows) - 1)
    }


def test_cliques_are_the_groups_that_lack_no_pair() -> None:
    triangle, square = clique("a", 3), clique("b", 4)
    path, joined = [("p 0?", "p 1?"), ("p 1?", "p 2?")], [*clique("x", 3), *clique("y", 3), ("x 0?", "y 0?")]
    pairs = [*path, *triangle, *square[:-1], *joined, *clique("c", 2)]
    assert duplicate_cliques(pairs) == [("a 0?", "a 1?", "a 2?"), ("c 0?", "c 1?")]
    pairs.append(square[-1])
    assert ("b 0?", "b 1?", "b 2?", "b 3?") in duplicate_cliques(pairs)


def test_random_graphs_give_what_matrices_give() -> None:
    rng = np.random.default_rng(0)
    sizes = set()
    for _ in range(60):
        pairs = [(str(a), str(b)) for a, b in rng.integers(0, 8, size=(int(rng.integers(3, 9)), 2)).tolist()]
        found = duplicate_cliques(pairs)
        assert {frozenset(one) for one in found} == by_reachability(pairs)
        sizes |= {len(one) for one in found}
    assert sizes >= {2, 3}


def test_repeats_spaces_and_blanks_add_nothing() -> None:
    pairs = [("a", "b"), ("b", "a "), (" a", "b"), ("a", "a"), ("", "b"), ("b", " ")]
    assert duplicate_cliques(pairs) == [("a", "b")]


def test_the_largest_below_thirty_are_taken() -> None:
    sizes = [30, 29, *[3] * 40, 5, *[2] * 20]
    cliques = [tuple(f"{place} {number}" for number in range(size)) for place, size in enumerate(sizes)]
    chosen = largest(cliques)
    assert [len(one) for one in chosen] == [29, 5, *[3] * 40, *[2] * 8]
    assert chosen[-8:] == cliques[43:51]


def write(path: Path, pairs: Pairs, others: Pairs = ()) -> Path:  # type: ignore[assignment]
    rows = [(pair, 1) for pair in pairs] + [(pair, 0) for pair in others]
    lines = ["id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate"]
    lines += [f'{n}\t{n}\t{n}\t"{a}"\t"{b}"\t{label}' for n, ((a, b), label) in enumerate(rows)]
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_the_file_is_read_and_cut_as_the_papers_sizes_are(tmp_path: Path) -> None:
    # Questions that are no duplicates join nothing, even where they stand between two cliques.
    path = write(tmp_path / "quora.tsv", [*clique("a", 8), *clique("b", 4)], [("a 0?", "b 0?"), ("c", "d")])
    frame = read_quora(path).frame
    assert frame.groupby(["intent", "split"]).size().to_dict() == {
        ("a 0?", "test"): 2, ("a 0?", "train"): 6, ("b 0?", "test"): 1, ("b 0?", "train"): 3,
    }  # fmt: skip
    assert set(frame["language"]) == {"en"} and frame["id"].is_unique
    printed = paper_numbers("emu")["table1"]["Quora"]
    assert printed["test"] == QUORA_TEST_SHARE * (printed["train"] + printed["test"])


def test_it_is_named_where_data_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "quora.tsv", [*clique("a", 8), *clique("b", 4)])
    report = run("emu", tmp_path / "out", f"quora:{path}", parts=["2"])
    assert report.facts["intents"] == 2
    assert report.facts["sentences_a_language"] == {"en": "9 to train on, 3 measured"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question1\tquestion2\na\tb\n", "no column 'is_duplicate'"),
        ("question1\tquestion2\tis_duplicate\na\tb\tyes\n", "'yes' as is_duplicate"),
        ("question1\tquestion2\tis_duplicate\na\tb\t1\nc\td\t0\n", "has 1 groups of questions"),
    ],
)
def test_what_is_not_quoras_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "other.tsv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_quora(tmp_path / "other.tsv")
