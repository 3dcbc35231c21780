"""Whatever an export holds, it is read or refused in one sentence, and slots stand where the text has them."""

import json
import random
from collections.abc import Callable
from copy import deepcopy
from pathlib import PurePosixPath
from typing import Any

import pytest
import yaml

from emu_core.data.slots.utterances import parse_annotated
from emu_core.errors import DataError
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.formats import format_of_collection
from emu_core.formats.collections.rows import marked_text
from emu_core.formats.source_files import SourceFile, source_files
from emu_core.formats.source_tables import read_tables
from tests.support.exports import EXPORTS, Files, payload_of, rows_of

pytestmark = pytest.mark.slow

ROUNDS = 30
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 3, 1.5, 10**30, "", "3", "x", "\ud800", "[a](b", "{@a={b=c}", " \u2028\t", "🙂 [x]"),
    *([], {}, [[]], [{}], [None], ["x"], {"text": "x"}, {"": {}}, {"data": [{"text": 1}]}, [["a", "b"]]),
)
NOISE = (*'[]{}():=@#-\n\t \\"|\0é🙂', "&a", "*a")


def branches(tree: Any) -> list[tuple[Any, Any]]:
    """Return each list or object within a tree with each of its positions or keys."""
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    return [(tree, key) for key in keys] + [pair for key in keys for pair in branches(tree[key])]


def changed_tree(tree: Any, chance: random.Random) -> Any:
    """Return a copy of a tree with values replaced, removed or moved, and keys renamed."""
    root = [deepcopy(tree)]
    for _ in range(chance.randint(1, 3)):
        parent, key = chance.choice(branches(root))
        other, other_key = chance.choice(branches(root))
        kind = chance.randrange(4)
        if kind == 0 and isinstance(parent, dict):
            del parent[key]
        elif kind == 1 and isinstance(parent, dict):
            parent[str(chance.choice(VALUES))] = parent.pop(key)
        elif kind == 2:
            parent[key] = deepcopy(other[other_key])
        else:
            parent[key] = deepcopy(chance.choice(VALUES))
    return root[0]


def changed_text(text: str, chance: random.Random) -> str:
    """Return a text with pieces removed, repeated or replaced by characters that have a meaning."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randint(0, len(text))
        end = start + chance.choice((0, 0, 1, 1, 2, 9))
        text = text[:start] + chance.choice((*NOISE, text[start:end] * 2, "")) + text[end:]
    return text


def changed_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return a copy of binary data with bytes replaced, or the end cut off."""
    damaged = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return bytes(damaged[: chance.choice((len(damaged), len(damaged), chance.randrange(len(damaged))))])


def changed(files: Files, chance: random.Random) -> Files:
    """Return an export of which one file is changed."""
    path = chance.choice(list(files))
    content, suffix = files[path], PurePosixPath(path).suffix
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {**files, path: changed_bytes(content, chance)}
    if suffix == ".json":
        text = json.dumps(changed_tree(json.loads(text), chance))
    elif suffix in (".yml", ".yaml") and chance.random() < 0.5:
        documents = [changed_tree(document, chance) for document in yaml.safe_load_all(text)]
        text = yaml.safe_dump_all(documents, allow_unicode=True)
    elif suffix == ".jsonl" and chance.random() < 0.7:
        records = changed_tree([json.loads(line) for line in text.splitlines()], chance)
        text = "\n".join(map(json.dumps, records if isinstance(records, list) else [records]))
    else:
        text = changed_text(text, chance)
    return {**files, path: text.encode("utf-8", "replace")}


@pytest.mark.parametrize("title", EXPORTS)
def test_changed_exports_are_read_or_refused(title: str) -> None:
    chance = random.Random(title)
    read = 0
    for _ in range(ROUNDS):
        files = changed(EXPORTS[title], chance)
        try:
            rows = rows_of(files)
        except DataError as error:
            assert len(str(error)) < 600 and str(error).isprintable()
            continue
        read += 1
        for text, annotated in rows.loc[rows["annotated"] != "", ["text", "annotated"]].to_numpy():
            assert parse_annotated(annotated)[0] == text
    assert read > ROUNDS / 10


@pytest.mark.parametrize("seed", range(20))
def test_marked_text_says_the_text_again(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        text = "".join(chance.choices("ab  :é🙂[", k=chance.randint(0, 12)))
        spans = [
            (
                chance.randint(-2, 13),
                chance.randint(-2, 13),
                chance.choice(("a", "a:b", " ", "[", None, 3, {})),
            )
            for _ in range(chance.randint(0, 3))
        ]
        annotated = marked_text(text, spans)
        assert not annotated or parse_annotated(annotated)[0] == text


def nested(opening: str, closing: str, levels: int = 3_000) -> str:
    return opening * levels + closing * levels


BOMBS: dict[str, Callable[[], str]] = {
    "aliases": lambda: "nlu:\n- &a {intent: greet, examples: '- hi'}\n- *a\n",
    "growing aliases": lambda: "a: &a [x, x]\nb: &b [*a, *a]\nnlu:\n- intent: greet\n  examples: [*b, *b]\n",
    "deep lists": lambda: f"nlu:\n- intent: greet\n  examples: {nested('[', ']')}\n",
    "deep blocks": lambda: "nlu:\n" + "".join(f"{' ' * depth}- intent:\n" for depth in range(2_000)),
    "deep JSON": lambda: f'{{"rasa_nlu_data": {{"common_examples": {nested("[", "]", 200_000)}}}}}',
    "blanks": lambda: "nlu:\n" + " " * 300_000 + "\n- intent: greet\n",
    "blank lines": lambda: "\n" * 300_000 + "nlu:\n- 3\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_expands_or_nests_is_no_collection(name: str) -> None:
    payload = payload_of(BOMBS[name]())
    document = Document(SourceFile("nlu.yml", payload))

    assert document.yaml is None or not format_of_collection(document)
    with pytest.raises(DataError):
        read_tables(source_files([("nlu.yml", payload)]))


LONG = 300_000


@pytest.mark.parametrize(
    "line",
    [
        "- " + "[" * LONG,
        "- [](" * (LONG // 5),
        "- []{" * (LONG // 5),
        "- [](" + "a" * LONG,
        "- [a](b:" + "c" * LONG,
        "- {a=" * (LONG // 5),
        "- {a" + " " * LONG + "b",
        "- a" + " " * LONG + "b}",
        "-" + " " * LONG,
        "-" * LONG,
        "#" * LONG,
        "# " + " " * LONG + "x",
        "@ ml" + " " * LONG,
        "$" + "a" * LONG,
        "> !# @app.culture" + " " * LONG,
    ],
    ids=range(15),
)
@pytest.mark.parametrize(
    "head", ["# a\n- b\n", "## intent: a\n- b\n", "type: intent\nutterances:\n- a\n", "intent: a\n"]
)
def test_long_lines_take_no_square_of_their_length(head: str, line: str) -> None:
    for name in ("x.lu", "x.md", "x.yml"):
        try:
            rows_of({name: head + line + "\n", "other.txt": ""})
        except DataError as error:
            assert str(error)
