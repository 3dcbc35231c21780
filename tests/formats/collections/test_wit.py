"""wit.ai's apps, new and old."""

from tests.support.exports import cells, tables_of

COLUMNS = ("text", "intent", "language", "annotated")
APP = {"version": 20200513, "data": {"name": "trip", "lang": "es"}}


def test_utterances() -> None:
    utterances = [
        {
            "text": "Rome to Bern",
            "intent": "book",
            "entities": [
                {"entity": "wit$location:to", "start": 8, "end": 12, "body": "Bern", "entities": []},
                {"entity": "wit$location:wit$location", "start": 0, "end": 4, "body": "Rome", "entities": []},
            ],
            "traits": [{"trait": "wit$sentiment", "value": "neutral"}],
        },
        {"text": "hm", "entities": [], "traits": []},
    ]
    files = {
        "trip/app.json": APP,
        "trip/intents/book.json": {"name": "book"},
        "trip/entities/city.json": {"name": "city", "roles": ["city"], "lookups": ["free-text"]},
        "trip/utterances/utterances-1.json": {"utterances": utterances},
        "trip/utterances/utterances-2.json": {"utterances": utterances[1:]},
    }

    assert cells(files, *COLUMNS) == [
        ("Rome to Bern", "book", "es", "[location : Rome] to [to : Bern]"),
        ("hm", "out_of_scope", "es", ""),
        ("hm", "out_of_scope", "es", ""),
    ]


def test_expressions() -> None:
    def expression(text: str, *values: object) -> dict[str, object]:
        return {"text": text, "entities": [{"entity": "intent", "value": value} for value in values]}

    city = {"entity": "city", "value": '"Rome"', "start": 3, "end": 7}
    book = expression("to Rome", '"book"')
    files = {
        "app.json": APP,
        "actions.json": {"data": [{"id": "a", "type": "template", "template": "ok"}]},
        "expressions.json": {
            "data": [
                {**book, "entities": [*book["entities"], city]},
                expression("hi", "greet"),
                expression("hm", '""'),
                expression("oh"),
                expression("ah", '"broken'),
                expression("eh", 3),
            ]
        },
        "stories.json": {"data": [{"name": "", "turns": [{"user": "hi", "entities": [city]}]}]},
    }

    assert cells(files, *COLUMNS) == [
        ("to Rome", "book", "es", "to [city : Rome]"),
        ("hi", "greet", "es", ""),
        ("hm", "", "es", ""),
        ("oh", "", "es", ""),
        ("ah", '"broken', "es", ""),
        ("eh", "3", "es", ""),
    ]


def test_other_objects_are_not_wit() -> None:
    for rows in (
        [{"text": "hi", "intent": "a"}, {"text": "bye", "intent": "b"}],
        [{"text": "hi", "entities": []}],
    ):
        tables, _ = tables_of({"x.json": {"data": rows}})
        assert not tables[0].recognised.startswith("wit")
