"""What annotation tools export: who labelled a sentence, who left it out, and where annotators disagree."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from emu_core.data.reading import Reading
from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled, read_unlabelled
from tests.support.exports import Files, cells, folder_of, rows_of, tables_of


def intents(files: Files) -> dict[str, str]:
    """Return the intent of each sentence."""
    rows = rows_of(files)
    return dict(zip(rows["text"], rows["intent"], strict=True))


def left_out(files: Files) -> list[str]:
    """Return what the audit says about sentences that are left out."""
    return [note.partition(", ")[2] for note in tables_of(files)[1] if note.startswith("Left out of")]


def lines(*records: Mapping[str, Any]) -> str:
    """Return records as JSON Lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


def annotation(*choices: str, question: str = "intent", **keys: object) -> dict[str, object]:
    """Return an annotation of Label Studio."""
    return {"result": [{"from_name": question, "value": {"choices": list(choices)}}] * bool(choices), **keys}


def task(text: str, *annotations: dict[str, object], **data: str) -> dict[str, object]:
    """Return a task of Label Studio."""
    return {"data": {"text": text, **data}, "annotations": list(annotations)}


def studio(*tasks: dict[str, object]) -> Files:
    """Return an export of Label Studio."""
    return {"export.json": list(tasks)}


def test_label_studio_leaves_out_and_counts() -> None:
    files = studio(
        task("hi", annotation("greet"), annotation("greet")),
        task("hey", annotation("greet"), annotation("bye")),
        task("yo", annotation("greet", "bye")),
        task("hm", annotation("greet", was_cancelled=True)),
        task("er", annotation("bye", was_cancelled=True), annotation("greet")),
        task("so", annotation("bye"), annotation("greet", ground_truth=True)),
        task("what"),
        task("who", annotation()),
    )

    assert intents(files) == {"hi": "greet", "er": "greet", "so": "greet"}
    assert left_out(files) == [
        "annotators disagree: 1 sentence.",
        "several intents: 1 sentence.",
        "cancelled: 1 sentence.",
        "without an annotation: 2 sentences.",
    ]


def test_the_question_of_intents_is_read_and_others_are_named() -> None:
    both = {
        "result": [
            {"from_name": "mood", "value": {"choices": ["glad"]}},
            {"from_name": "intent", "value": {"choices": ["greet"]}},
        ]
    }
    files = studio(task("hi", both), task("bye", annotation("bye")))

    assert intents(files) == {"hi": "greet", "bye": "bye"}
    assert "The intents are those of 'intent'; not read: mood." in tables_of(files)[1]


def test_the_sentence_of_a_task_is_the_text_with_the_most_words() -> None:
    data = {
        "image": "https://example.com/a-very-long-address.png",
        "ref": "4711-4711-4711-4711",
        "x": "hi Ann",
    }
    first = {"data": data, "annotations": [annotation("greet")]}

    assert intents(studio(first, {**first, "data": {**data, "x": "I say hello"}})) == {
        "hi Ann": "greet",
        "I say hello": "greet",
    }


def test_a_span_that_quotes_another_text_is_not_marked() -> None:
    def marked(text: str, start: int, end: int) -> dict[str, object]:
        span = {"value": {"start": start, "end": end, "text": "Ann", "labels": ["name"]}}
        return task(text, {"result": [*annotation("greet")["result"], span]})  # type: ignore[misc]

    # Label Studio counts an emoji as two.
    assert cells(studio(marked("hi Ann", 3, 6), marked("🙂 Ann", 3, 6)), "annotated") == [
        ("hi [name : Ann]",),
        ("",),
    ]


def test_the_data_of_a_task_state_language_split_and_id() -> None:
    files = studio(task("hi", annotation("greet"), lang="en", split="test", id="a7"))

    assert cells(files, "id", "language", "split") == [("a7", "en", "test")]


@pytest.mark.parametrize(
    "content",
    [
        {"tasks": [task("hi", annotation("greet"))], "total": 1},
        {"data": {"text": "hi"}, "completions": [annotation("greet")]},
        {"id": 3, "task": task("hi"), **annotation("greet")},
        lines(task("hi", annotation("greet"))),
        [{"data": {"text": "hi"}, "annotations": [{"result": [{"value": {"taxonomy": [["greet"]]}}]}]}],
    ],
)
def test_other_files_of_label_studio(content: object) -> None:
    assert cells({"x.json": content}, "title", "text", "intent") == [("Label Studio", "hi", "greet")]


def test_choices_in_a_taxonomy_have_the_names_of_their_branches() -> None:
    result = {"result": [{"from_name": "t", "value": {"taxonomy": [["travel", "book"]]}}]}

    assert intents(studio(task("to Rome", result))) == {"to Rome": "travel/book"}


FLAT = [
    ("hi", 1, "greet", 1),
    ("hi", 1, "greet", 2),
    ("hey", 2, "greet", 3),
    ("hey", 2, "bye", 4),
    ("see you soon", 3, {"choices": ["bye", "later"]}, 5),
    ("so long my friend", 4, "bye", 6),
    ("what", 5, "", 7),
]


def flat(question: str, is_sorted: bool) -> list[dict[str, Any]]:
    """Return the annotations as JSON-MIN has them."""
    records = [
        {
            "text": text,
            "source": "web",
            "id": id,
            question: choice,
            "annotator": 1,
            "annotation_id": at,
            "lead_time": 2,
        }
        for text, id, choice, at in FLAT
    ]
    return [dict(sorted(record.items())) if is_sorted else record for record in records]


def as_csv(records: list[dict[str, Any]]) -> str:
    """Return records as CSV, with objects as JSON."""
    quoted = [
        [json.dumps(cell) if isinstance(cell, dict) else str(cell) for cell in record.values()]
        for record in records
    ]
    rows = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in quoted]
    return "\n".join([",".join(records[0]), *rows]) + "\n"


@pytest.mark.parametrize("question", ["intent", "what"])
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("is_csv", [True, False])
def test_flat_exports_of_label_studio_have_a_row_for_each_annotation(
    question: str, is_sorted: bool, is_csv: bool
) -> None:
    records = flat(question, is_sorted)
    files = {"x.csv": as_csv(records)} if is_csv else {"x.json": records}

    assert intents(files) == {"hi": "greet", "so long my friend": "bye"}
    assert left_out(files) == [
        "annotators disagree: 1 sentence.",
        "several intents: 1 sentence.",
        "without an annotation: 1 sentence.",
    ]


@pytest.mark.parametrize("is_sorted", [True, False])
def test_the_answers_of_a_flat_export_are_not_other_data(is_sorted: bool) -> None:
    records = [record for record in flat("what", is_sorted) if isinstance(record["what"], str)]

    assert set(intents({"x.csv": as_csv(records)}).values()) == {"greet", "bye"}


@pytest.mark.parametrize("is_csv", [True, False])
def test_flat_exports_mark_spans(is_csv: bool) -> None:
    spans = [{"start": 3, "end": 6, "text": "Ann", "labels": ["name"]}]
    records = [
        {**record, "slots": spans if record["text"] == "hi Ann" else []} for record in flat("intent", False)
    ]
    records[0] |= {"text": "hi Ann", "id": 9, "slots": spans}
    for record in records:
        if is_csv:
            record["slots"] = json.dumps(record["slots"])
    files = {"x.csv": as_csv(records)} if is_csv else {"x.json": records}

    assert ("hi Ann", "hi [name : Ann]") in cells(files, "text", "annotated")


def test_prodigy_leaves_out_and_counts() -> None:
    files = {
        "x.jsonl": lines(
            {"text": "hi", "label": "greet", "answer": "accept"},
            {"text": "hi", "label": "bye", "answer": "reject"},
            {"text": "hey", "label": "bye", "answer": "reject"},
            {"text": "hm", "label": "bye", "answer": "ignore"},
            {"text": "er", "label": "bye", "_input_hash": 1, "_task_hash": 2},
        )
    }

    assert intents(files) == {"hi": "greet"}
    assert left_out(files) == [
        "rejected: 1 sentence.",
        "ignored: 1 sentence.",
        "without an answer: 1 sentence.",
    ]


def test_annotators_of_prodigy_must_agree() -> None:
    def answers(text: str, *labels: str, answer: str = "accept") -> list[dict[str, object]]:
        return [
            {"text": text, "label": label, "answer": answer, "_session_id": f"db-{at}"}
            for at, label in enumerate(labels)
        ]

    denied = {"text": "yo", "label": "greet", "answer": "reject", "_session_id": "db-9"}
    same = [
        {"text": "so", "label": label, "answer": "accept", "_session_id": "db-1"}
        for label in ("greet", "bye")
    ]
    files = {
        "x.jsonl": lines(
            *answers("hi", "greet", "greet"),
            *answers("hey", "greet", "bye"),
            *answers("yo", "greet"),
            denied,
            *same,
        )
    }

    assert intents(files) == {"hi": "greet"}
    assert left_out(files) == ["annotators disagree: 2 sentences.", "several intents: 1 sentence."]


@pytest.mark.parametrize(("id", "intent"), [("greet", "greet"), (1, "Say hello")])
def test_options_of_prodigy_are_called_by_their_id_unless_it_is_a_number(id: object, intent: str) -> None:
    options = [{"id": id, "text": "Say hello"}]
    record = {"text": "hi", "options": options, "accept": [id], "answer": "accept", "meta": {"lang": "en"}}

    assert cells({"x.jsonl": lines(record)}, "text", "intent", "language") == [("hi", intent, "en")]


def response(label: str | None, user: str = "a", status: str = "submitted") -> dict[str, object]:
    """Return a response as Argilla's server has it."""
    return {"values": {"topic": {"value": label}} if label else {}, "status": status, "user_id": user}


ARGILLA = [
    ("hi", [("greet", "a", "submitted"), ("greet", "b", "submitted")]),
    ("hey", [("greet", "a", "submitted"), ("bye", "b", "submitted")]),
    ("yo", [("greet", "a", "draft")]),
    ("hm", [(None, "a", "discarded")]),
    ("so long", [("bye", "a", "submitted"), (None, "b", "discarded")]),
    ("what", []),
]


def as_list(text: str, answers: Any) -> dict[str, Any]:
    return {
        "fields": {"text": text},
        "responses": [response(*answer) for answer in answers],
        "metadata": {"lang": "en"},
    }


def as_flat(text: str, answers: Any) -> dict[str, Any]:
    parts = [list(part) for part in zip(*answers, strict=True)] or [[], [], []]
    keys = ("topic.responses", "topic.responses.users", "topic.responses.status")
    return {"id": "x", "status": "pending", "text": text, **dict(zip(keys, parts, strict=True)), "lang": "en"}


def as_column(text: str, answers: Any) -> dict[str, Any]:
    values = [dict(zip(("value", "user_id", "status"), answer, strict=True)) for answer in answers]
    return {"text": text, "topic": values, "topic-suggestion": "bye", "lang": "en"}


@pytest.mark.parametrize("shape", [as_list, as_flat, as_column])
def test_argilla_leaves_out_and_counts(shape: Any) -> None:
    files = {"records.json": [shape(*record) for record in ARGILLA]}

    assert cells(files, "title", "text", "intent", "language") == [
        ("Argilla", "hi", "greet", "en"),
        ("Argilla", "so long", "bye", "en"),
    ]
    assert left_out(files) == [
        "annotators disagree: 1 sentence.",
        "without an annotation: 2 sentences.",
        "discarded: 1 sentence.",
    ]


@pytest.mark.parametrize(
    "record",
    [
        {
            "fields": {"text": "hi"},
            "responses": {},
            "suggestions": {"topic": {"value": "greet", "score": 0.9}},
        },
        {"fields": {"text": "hi"}, "suggestions": [{"question_name": "topic", "value": "greet"}]},
        {"text": "hi", "topic.responses": None, "topic.responses.status": None, "topic.suggestion": "greet"},
        {"text": "hi", "topic": [], "topic-suggestion": "greet", "topic-suggestion-metadata": {"score": 1}},
    ],
)
def test_suggestions_are_read_where_nobody_responded(record: dict[str, object]) -> None:
    assert intents({"records.json": [record]}) == {"hi": "greet"}
    assert any("no response of an annotator" in note for note in tables_of({"records.json": [record]})[1])


def test_a_suggestion_beside_responses_is_none() -> None:
    suggested = {"fields": {"text": "hey"}, "responses": {}, "suggestions": {"topic": {"value": "greet"}}}

    assert intents({"records.json": [suggested, as_list("hi", [("bye", "a", "submitted")])]}) == {"hi": "bye"}


def test_records_of_argilla_1_that_are_discarded_or_predicted_are_left_out() -> None:
    files = {
        "records.json": [
            {"text": "hi", "annotation": "greet", "status": "Validated", "metadata": {"split": "test"}},
            {"text": "hey", "annotation": "greet", "status": "Discarded"},
            {"text": "yo", "annotation": None, "prediction": [["greet", 1.0]], "status": "Default"},
            {"text": "so", "annotation": ["greet", "bye"], "status": "Validated", "multi_label": True},
        ]
    }

    assert cells(files, "text", "intent", "split") == [("hi", "greet", "test")]
    assert left_out(files) == [
        "discarded: 1 sentence.",
        "without an annotation: 1 sentence.",
        "several intents: 1 sentence.",
    ]


def test_doccano_reads_labels_entities_and_what_stands_beside() -> None:
    files = {
        "all.jsonl": lines(
            {"id": 7, "data": "hi", "label": ["greet"], "language": "en", "Comments": []},
            {"id": 8, "data": "to Rome", "label": [[3, 7, "city"]]},
            {"id": 9, "data": "hey", "label": ["greet", "bye"], "meta": {"lang": "en"}},
        )
    }

    assert cells(files, "id", "text", "intent", "language", "annotated") == [
        ("7", "hi", "greet", "en", ""),
        ("8", "to Rome", "", "", "to [city : Rome]"),
    ]
    assert left_out(files) == ["several intents: 1 sentence."]


@pytest.mark.parametrize(
    "records",
    [
        [{"text": "hi", "intent": "greet", "labels": ["O"]}],
        [{"text": "hi", "label": "greet"}],
        [{"text": "hi", "label": ["greet"]}, {"text": "hey", "label": "bye"}],
        [{"text": "hi", "labels": [3]}],
    ],
)
def test_other_tables_with_labels_are_not_doccano(records: list[dict[str, object]]) -> None:
    assert set(rows_of({"x.jsonl": lines(*records)})["title"]) == {""}


def test_a_cell_of_doccano_may_hold_several_labels() -> None:
    files = {"all.csv": "id,data,label\n1,hi,greet\n2,hey,bye#greet\n3,so long,bye\n4,in C,C#\n"}

    assert intents(files) == {"hi": "greet", "so long": "bye", "in C": "C#"}
    assert left_out(files) == ["several intents: 1 sentence."]


def test_a_table_is_not_doccano_and_keeps_its_labels() -> None:
    [table], _ = tables_of({"x.csv": "id,text,label\n1,in C,c#\n2,hi,a#b\n"})

    assert table.frame["label"].tolist() == ["c#", "a#b"]


def test_lines_of_fasttext_hold_labels_and_a_sentence() -> None:
    content = "__label__greet  hi  there \n\n__label__a __label__b both\nno label\n see you __label__bye\n"
    files = {"train.txt": f"{content}__label__c x\n"}

    assert intents(files) == {"hi  there": "greet", "see you": "bye", "x": "c"}
    assert left_out(files) == ["several intents: 1 sentence.", "lines without a label: 1 sentence."]


def test_text_that_mentions_a_label_is_no_fasttext() -> None:
    tables, _ = tables_of({"x.csv": "text,intent\nwhat is __label__x,ask\n__label__y,ask\n"})

    assert [table.recognised for table in tables] == [""]


def test_categories_of_spacy_hold_above_one_half() -> None:
    files = {
        "x.jsonl": lines(
            {"text": "hi", "cats": {"greet": 0.9, "bye": 0.4}},
            {"text": "hm", "cats": {"greet": 0.1}},
            {"text": "so", "cats": {"greet": True, "bye": 1}},
        )
    }

    assert intents(files) == {"hi": "greet", "hm": ""}
    assert left_out(files) == ["several intents: 1 sentence."]


def test_json_tables_beside_an_annotated_file_are_data(tmp_path: Path) -> None:
    files = {
        "en.json": [{"text": "hi", "label": ["greet"]}, {"text": "see you", "label": ["bye"]}],
        "de.json": [{"text": "hallo", "label": "greet"}, {"text": "tschüss", "label": "bye"}],
    }
    labelled, _ = read_labelled(folder_of(tmp_path, files))

    assert sorted(labelled.languages) == ["de", "en"]
    assert len(labelled) == 4


def test_an_export_without_answers_says_why() -> None:
    with pytest.raises(
        DataError, match=r"x.json \(Label Studio\) holds no sentences .*without an annotation"
    ):
        tables_of({"x.json": [task("hi"), task("hey")]})


UNCERTAIN: list[Files] = [
    studio(task("hi", annotation("greet"), annotation("bye")), task("hey", annotation("a", "b")), task("yo")),
    {"x.json": [{"data": {"text": text}, "predictions": []} for text in ("hi", "hey", "yo")]},
    {
        "x.jsonl": lines(
            *({"text": text, "label": "greet", "answer": "reject"} for text in ("hi", "hey", "yo"))
        )
    },
    {"x.json": [as_flat(text, []) for text in ("hi", "hey", "yo")]},
    {"x.jsonl": lines(*({"text": text, "label": ["greet", "bye"]} for text in ("hi", "hey", "yo")))},
    {
        "x.txt": "__label__a __label__b hi\n__label__a __label__b hey\n__label__a __label__b x\n__label__a u\nyo\n"
    },
]


@pytest.mark.parametrize("files", UNCERTAIN, ids=range(len(UNCERTAIN)))
def test_sentences_without_a_certain_intent_are_sentences_where_none_is_needed(
    files: Files, tmp_path: Path
) -> None:
    [path] = [folder_of(tmp_path, files) / name for name in files]

    assert set(read_unlabelled(path, reading=Reading(language="en")).frame["text"]) >= {"hi", "hey", "yo"}
