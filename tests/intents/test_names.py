"""Names of intents as text."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.intents.names import name_texts, name_vectors


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("book_flight", "book flight"),
        ("flight-status/delay", "flight status delay"),
        ("faq.opening:hours", "faq opening hours"),
        ("bookFlight", "book flight"),
        ("BookFlight", "book flight"),
        ("HTMLPage", "html page"),
        ("top10Songs", "top10 songs"),
        ("  book   flight ", "book flight"),
        ("Tischreservierung", "tischreservierung"),
        ("予約_変更", "予約 変更"),
    ],
)
def test_a_name_is_split_into_words(name: str, text: str) -> None:
    assert name_texts([name]) == {name: text}


def test_words_of_all_names_are_left_out() -> None:
    texts = name_texts(["HassTurnOn", "HassTurnOff", "HassLightSet"])
    assert texts == {"HassTurnOn": "turn on", "HassTurnOff": "turn off", "HassLightSet": "light set"}
    assert name_texts(["Hass", "HassTurnOff"]) == {"Hass": "hass", "HassTurnOff": "turn off"}, (
        "not all of a name"
    )
    assert name_texts(["HassTurnOn"]) == {"HassTurnOn": "hass turn on"}, "a single name shares nothing"


def test_a_name_without_letters_says_nothing() -> None:
    assert name_texts(["17", "3_4", "--", "", "b2"]) == {"b2": "b2"}
    assert name_texts([]) == {}


def test_a_description_stands_for_the_name() -> None:
    given = {"17": "where the pool is", "new": "Wann gibt es Frühstück?", "pool": "  "}
    assert name_texts(["17", "pool", "taxi"], given) == {
        "17": "where the pool is",
        "pool": "pool",
        "taxi": "taxi",
        "new": "Wann gibt es Frühstück?",
    }
    assert name_texts(["17"], {"17": "42"}) == {}


def test_a_name_counts_as_words_and_as_a_sentence_and_a_description_as_it_is() -> None:
    given = {
        "lost luggage": [3, 0, 0],
        "This sentence is about lost luggage": [0, 2, 0],
        "taxi": [0, 0, 1],
        "This sentence is about taxi": [0, 0, 5],
        "where one can swim": [0, 4, 3],
    }

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([given[text] for text in texts], dtype=np.float32)

    vectors = name_vectors(
        encode, ["lost_luggage", "pool", "taxi", "17"], {"pool": "where one can swim", "taxi": " "}
    )
    assert list(vectors) == ["lost_luggage", "pool", "taxi"]
    found = np.stack(list(vectors.values()))
    np.testing.assert_allclose(found, [[0.5, 0.5, 0], [0, 0.8, 0.6], [0, 0, 1]], rtol=1e-6)
    assert name_vectors(encode, ["17", "--"]) == {}
