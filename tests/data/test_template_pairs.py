import itertools

import pytest

from emu_core.data.slots.template_pairs import LeftOutReason, template_pairs
from emu_core.data.slots.utterances import Utterance, parse_annotated
from emu_core.errors import DataError

SONGS = [
    "i like [artist : sinatra] songs",
    "i like [artist : taylor swift] songs",
    "play [song : green light] by [artist : lorde] in the [room : kitchen]",
    "[song : hello] please",
    "good night",
    "dim the lamp to [percent : ten]",
]


def said(annotated: str, language: str = "en") -> Utterance:
    text, slots = parse_annotated(annotated)
    return Utterance(text, slots, "intent", annotated[:4], language)


def test_every_slot_gets_another_value_of_its_name_and_nothing_else_changes() -> None:
    given = [said(one) for one in SONGS]
    artists, songs = {"sinatra", "taylor swift", "lorde"}, {"green light", "hello"}
    seen: dict[str, set[str]] = {}
    for seed in range(40):
        pairs = template_pairs(given, seed=seed)
        assert pairs.rows == (0, 1, 3) and pairs.sources == tuple(given[row] for row in pairs.rows)
        assert pairs.left_out == {LeftOutReason.ONE_VALUE: (2, 5), LeftOutReason.NO_SLOT: (4,)}
        assert pairs.source_texts == tuple(one.text for one in pairs.sources)
        for source, (target,) in zip(pairs.sources, pairs.targets, strict=True):
            seen.setdefault(source.text, set()).add(target.text)
            assert target.template == source.template
            assert (target.intent, target.id, target.language) == (source.intent, source.id, source.language)
            for old, new in zip(source.slots, target.slots, strict=True):
                assert old.name == new.name and old.value != new.value
                assert target.text[new.start : new.end] == new.value
    assert seen == {
        "i like sinatra songs": {f"i like {name} songs" for name in artists - {"sinatra"}},
        "i like taylor swift songs": {f"i like {name} songs" for name in artists - {"taylor swift"}},
        "hello please": {f"{name} please" for name in songs - {"hello"}},
    }


def test_several_slots_are_all_filled_anew() -> None:
    given = [
        said(f"put [a : {a}] on [b : {b}] by [a : {c}] now")
        for a, b, c in [("one", "x", "two"), ("three", "y y", "four"), ("two", "z", "one")]
    ]
    others_a, others_b = {"two", "three", "four"}, {"y y", "z"}
    every = {
        f"put {a} on {b} by {c} now"
        for a, b, c in itertools.product(others_a, others_b, {"one", "three", "four"})
    }
    pairs = template_pairs(given[:1] + given[1:], target_count=18)
    assert {one.text for one in pairs.targets[0]} == every and len(every) == 18
    for one in pairs.targets[0]:
        assert [one.text[slot.start : slot.end] for slot in one.slots] == [slot.value for slot in one.slots]


def test_five_targets_differ_and_too_few_are_left_out() -> None:
    given = [said(f"set a timer for [minutes : {number} minutes]") for number in range(6)]
    given += [said(f"louder in the [room : {room}]") for room in ("hall", "attic")]
    pairs = template_pairs(given, target_count=5, seed=2)
    assert pairs.rows == tuple(range(6)) and pairs.left_out == {LeftOutReason.TOO_FEW_VALUES: (6, 7)}
    for row, targets in enumerate(pairs.targets):
        texts = {one.text for one in targets}
        assert texts == {f"set a timer for {number} minutes" for number in range(6)} - {given[row].text}
    assert pairs.target_texts == tuple(one.text for targets in pairs.targets for one in targets)
    assert len(pairs) == 6 and len(pairs.target_texts) == 30


def test_a_template_stands_once_where_that_is_asked_for() -> None:
    given = [said(one) for one in SONGS[:2]] + [said("I like [artist : lorde] songs")]
    given += [said("i like [artist : a] songs", "de"), said("i like [artist : b] songs", "de")]
    pairs = template_pairs(given, distinct_templates=True)
    assert pairs.rows == (0, 3) and pairs.left_out == {LeftOutReason.SAME_TEMPLATE: (1, 2, 4)}
    assert pairs.targets[1][0].text == "i like b songs"  # no language lends its values to another


def test_a_template_whose_first_utterance_has_too_few_values_stands_by_its_second() -> None:
    given = [said("play [x : a] [x : b]"), said("[x : b] twice"), said("go [y : k]"), said("go [y : k]")]
    pairs = template_pairs(given, distinct_templates=True)
    assert pairs.rows == (0, 1) and pairs.left_out == {LeftOutReason.ONE_VALUE: (2, 3)}


def test_values_that_differ_in_case_only_are_one_value() -> None:
    given = [said("play [artist : Lorde]"), said("stop [artist : lorde]")]
    with pytest.raises(DataError, match="2 utterances: one of its slots has no other value"):
        template_pairs(given)


def test_targets_that_read_the_same_count_once() -> None:
    # Both ways to fill the two slots with other values read "a b c" shifted: "x y" + "z" and "x" + "y z".
    given = [said("go [p : q] [r : s]"), said("on [p : x y] [r : z]"), said("off [p : x] [r : y z]")]
    pairs = template_pairs(given, target_count=3, seed=1)
    texts = [one.text for one in pairs.targets[0]]
    assert sorted(texts) == ["go x y y z", "go x y z", "go x z"]  # 4 ways, 2 of which read alike


def test_more_ways_than_a_number_holds_are_no_trouble() -> None:
    name = "abcdefghijkl"
    given = [
        said(" ".join(f"{letter}n [{letter} : {letter} {number}]" for letter in name)) for number in range(60)
    ]
    pairs = template_pairs(given, target_count=2)
    assert len(pairs) == 60 and all(len({one.text for one in of_source}) == 2 for of_source in pairs.targets)


def test_a_value_in_another_spelling_is_no_other_value() -> None:
    given = [
        said("play [song : green light]"),
        said("play [song : Green\u00a0 light\u200b]"),
        said("play [song : hello]"),
    ]
    pairs = template_pairs(given, distinct_templates=True)
    assert pairs.left_out == {LeftOutReason.SAME_TEMPLATE: (1, 2)}
    assert [target.slots[0].value for (target,) in pairs.targets] == ["hello"]


def test_the_seed_decides() -> None:
    given = [said(f"play [song : number {number}]") for number in range(50)]
    first, again, other = (template_pairs(given, seed=seed).target_texts for seed in (1, 1, 2))
    assert first == again != other


def test_wrong_calls() -> None:
    for wrong in ({"target_count": 0}, {"seed": -1}):
        with pytest.raises(DataError, match="give 1 or more"):
            template_pairs([said(SONGS[0])], **wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="there is none"):
        template_pairs([])
