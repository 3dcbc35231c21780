"""Languages that are not stated."""

import pytest

from emu_core.data.detection import detected_or_stated, unstated_note

GERMAN = ["Wo ist der Pool?", "Ich brauche ein Taxi zum Flughafen", "Kann ich meinen Hund mitbringen?"]
DANISH = [
    "Hvor er swimmingpoolen henne?",
    "Jeg skal bruge en taxa til lufthavnen",
    "Må jeg tage min hund med?",
]


def test_what_is_stated_stays_and_the_rest_is_detected() -> None:
    codes, note = detected_or_stated([*GERMAN, "Where is it?", "?"], ["", "fr", "", "en", ""])
    assert codes == ["de", "fr", "de", "en", ""]
    assert note == (
        "The language of 3 sentences is not stated. By their letters: German (2); not sure (1). "
        "A column `language` states it."
    )
    assert detected_or_stated(GERMAN, ["de"] * 3) == (["de"] * 3, "")
    assert detected_or_stated([], []) == ([], "")
    assert detected_or_stated(GERMAN, ())[0] == ["de"] * 3


@pytest.mark.parametrize(
    ("known", "stated", "times", "found"),
    [
        (("en", "de"), [], 1, ""),  # a few sentences in a language that is not read are a mistake
        (("en", "de"), [], 10, "da"),
        (("en", "de"), ["da"], 1, "da"),
        (("en", "da"), [], 1, "da"),
        ((), [], 1, "da"),
    ],
)
def test_a_language_that_the_encoder_does_not_read_is_believed_of_many_sentences(
    known: tuple[str, ...], stated: list[str], times: int, found: str
) -> None:
    texts = [*("Ja" for _ in stated), *DANISH * times]
    codes, note = detected_or_stated(texts, [*stated, *[""] * (3 * times)], known)
    assert codes[len(stated) :] == [found] * (3 * times)
    assert ("Danish" in note) == bool(found) and (f"not sure ({3 * times})" in note) == (not found)


def test_a_note_counts_the_sentences_without_a_language() -> None:
    assert unstated_note(["en", ""]) == (
        "The language of 1 sentence is not stated. They are answered as if in that of the labels. "
        "A column `language` states it."
    )
    assert unstated_note(["en"]) == "" == unstated_note([])
