"""Triples of sentences, scored by both encoders."""

import re

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_core.encoders.registry import load_encoder
from emu_core.formats.tables.formats import FILE_ENDINGS
from tests.support.app_pages import compare
from tests.support.workbench_pages import TRIPLE, Trained


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def test_a_typed_triple_has_the_cosines_of_both_encoders(app: AppTest, trained: Trained) -> None:
    compare(app, "Sentence triples")
    for place, text in enumerate(TRIPLE):
        app.text_area[place].set_value(text)
    app.run()
    table = app.dataframe[0].value
    for name, spec in (("A", "use"), ("B", f"run:{trained[0].folder}")):
        a, b, c = load_encoder(spec).encode(list(TRIPLE))
        cosines = [cosine(a, b), cosine(a, c), cosine(b, c)]
        assert table[name].tolist() == pytest.approx(cosines, abs=1e-5)
    # Rounded to what is shown, so that no change is never "-0.000".
    assert table["Change"].tolist() == pytest.approx((table["B"] - table["A"]).tolist(), abs=5.01e-4)
    app.text_area[1].set_value("  ").run()
    assert app.info[0].value == "Type all three sentences."


def test_a_suggested_triple_is_one_that_the_base_encoder_gets_wrong(app: AppTest, trained: Trained) -> None:
    compare(app, "Sentence triples")
    pick = next(box for box in app.selectbox if box.key == "triple-pick")
    pick.set_value("0").run()
    texts = [area.value for area in app.text_area]
    frame = trained[1].frame.drop_duplicates("text").set_index("text")
    first, second, third = (frame.loc[text, "intent"] for text in texts)
    assert first == third != second
    table = app.dataframe[0].value
    assert table["A"].iloc[0] > table["A"].iloc[1]
    closest = {name: table["Sentences"].iloc[int(table[name].argmax())] for name in ("A", "B")}
    said = app.markdown[-1].value
    assert re.findall(r"\*\*(.+?)\*\*", said) == list(dict.fromkeys(closest.values()))


def test_triples_of_a_file_are_scored_by_both_encoders(app: AppTest, trained: Trained) -> None:
    compare(app, "Sentence triples", **{"triples-from": "From a file"})
    assert tuple(app.file_uploader[0].allowed_type) == FILE_ENDINGS
    table = pd.DataFrame([TRIPLE, TRIPLE[::-1]], columns=["S1", "s2", "s3"]).assign(language=["en", "de"])
    app.file_uploader[0].set_value([("triples.csv", table.to_csv(index=False).encode(), "")])
    app.run()
    assert not app.exception and not app.error
    shown = next(frame.value for frame in app.dataframe if "A s1-s2" in frame.value)
    for name, spec in (("A", "use"), ("B", f"run:{trained[0].folder}")):
        for row, three in zip(shown.to_dict("records"), (TRIPLE, TRIPLE[::-1]), strict=True):
            a, b, c = load_encoder(spec).encode(list(three))
            assert row[f"{name} s1-s3"] == pytest.approx(cosine(a, c), abs=1e-5)
            assert row[f"{name} right"] == (cosine(a, c) > cosine(a, b))
    right = {name: int(shown[f"{name} right"].sum()) for name in "AB"}
    assert any(f"**A** {right['A']}, **B** {right['B']}" in line.value for line in app.markdown)
    for content, told in ((b"s1,s2\na,b\n", "has no column s3"), (b"s1,s2,s3\na,b,\n", "Row 1 of")):
        app.file_uploader[0].set_value([("triples.csv", content, "")])
        app.run()
        assert told in app.error[0].value.replace("\\", "")
