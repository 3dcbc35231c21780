import random

import pytest

from emu_core.data.slots.utterances import Slot, parse_annotated
from emu_core.errors import DataError


def test_massive_examples() -> None:
    plain, slots = parse_annotated("wake me up at [time : five am] [date : this week]")
    assert plain == "wake me up at five am this week"
    assert slots == (Slot("time", "five am", 14, 21), Slot("date", "this week", 22, 31))


@pytest.mark.parametrize("annotated", ["[time:five am]", "[ time :  five am ]", "[time : five am]"])
def test_spacing_is_free(annotated: str) -> None:
    assert parse_annotated(annotated) == ("five am", (Slot("time", "five am", 0, 7),))


def test_value_keeps_its_colons_and_text_its_spaces() -> None:
    assert parse_annotated(" at [t : 5:30]：now ") == (" at 5:30：now ", (Slot("t", "5:30", 4, 8),))
    assert parse_annotated("朝[time : 七時]に起こして")[0] == "朝七時に起こして"
    assert parse_annotated("") == ("", ())


def test_offsets_point_at_the_values() -> None:
    rng = random.Random(0)
    for _ in range(200):
        pieces: list[str] = []
        expected: list[tuple[str, str]] = []
        for _ in range(rng.randint(0, 6)):
            word = "".join(rng.choices("ab é日:", k=rng.randint(1, 5))).strip(" :") or "x"
            if rng.random() < 0.5:
                pieces.append(f"[n{len(expected)} : {word}]")
                expected.append((f"n{len(expected)}", word))
            else:
                pieces.append(word + " ")
        plain, slots = parse_annotated("".join(pieces))
        assert [(slot.name, slot.value) for slot in slots] == expected
        assert all(plain[slot.start : slot.end] == slot.value for slot in slots)
        assert len(plain) == sum(len(p) for p in pieces if p[0] != "[") + sum(len(v) for _, v in expected)


@pytest.mark.parametrize(
    ("annotated", "fault"),
    [
        ("wake me at [time : five", "character 12 .* not closed"),
        ("wake me at time : five]", "character 23 .* closes no slot"),
        ("[a : [b : c]]", "character 6 .* nested"),
        ("press [OK]", "character 7 .* no name"),
        ("[ : five]", "no name"),
        ("[]", "no name"),
        ("[time : ]", "'time' is empty"),
    ],
)
def test_faults_are_named(annotated: str, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        parse_annotated(annotated)
