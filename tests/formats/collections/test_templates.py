"""Templates of sentences stand for all that they say, up to a limit."""

import pytest

from emu_core.formats.collections.templates import MAX_SENTENCES, expanded

TEMPLATES = {
    "hello": ["hello"],
    "(turn|switch) on [the] {lamp}": [
        *("turn on {lamp}", "turn on the {lamp}", "switch on {lamp}", "switch on the {lamp}"),
    ],
    "a|b c": ["a", "b c"],
    "[a|b] c": ["c", "a c", "b c"],
    "(a|) b": ["a b", "b"],
    "turn(ed|ing|)": ["turned", "turning", "turn"],
    "(a (b|c)|d) e": ["a b e", "a c e", "d e"],
    "{a|b} (c)": ["{a|b} c"],
    "[please]": ["please"],
    "a (a|a)": ["a a"],
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_a_template_stands_for(template: str) -> None:
    assert expanded(template) == (TEMPLATES[template], 0)


@pytest.mark.parametrize("template", ["(a|b", "a) b", "[a (b] c)", "(" * 30 + "a" + ")" * 30, "(a|b) " * 400])
def test_what_is_no_template_stays_as_it_is(template: str) -> None:
    assert expanded(template) == ([template], 0)


@pytest.mark.parametrize("groups", [2, 3, 300])
def test_of_more_sentences_as_many_are_taken_from_all(groups: int) -> None:
    sentences, left_out = expanded("(a|b|c|d|e|f|g|h) " * groups if groups < 300 else "(a|b)" * groups)
    count = 8**groups if groups < 300 else 2**groups
    assert len(sentences) == len(set(sentences)) == MAX_SENTENCES and left_out == count - MAX_SENTENCES
    assert {sentence[0] for sentence in sentences} == set("abcdefgh" if groups < 300 else "ab")
