"""Sentences of one's own, compared by one encoder or two: typed, picked on a map, or triples of a file."""

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.workbench.compare_sentences import _verdict
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation.significance import accuracy_interval
from emu_core.evaluation.triples import Triple
from emu_core.formats.tables.formats import FILE_ENDINGS
from tests.support.app_pages import compare, explore, press
from tests.support.bound_widgets import bound, unkept
from tests.support.workbench_pages import TRIPLE, Trained, figures, numbers

BOX = "own-sentences"
RIGHT, WRONG = Triple(0.2, 0.8, 0.1, (1, 3)), Triple(0.8, 0.2, 0.1, (1, 2))


def try_page(app: AppTest, **state: str) -> AppTest:
    app.switch_page("views/try.py")
    for key, value in state.items():
        app.session_state[key] = value
    app.run()
    assert not app.exception
    return app


def typed(app: AppTest, *texts: str) -> AppTest:
    app.text_area(key=BOX).set_value("\n".join(texts)).run()
    assert not app.exception
    return app


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def matrices(app: AppTest, size: int) -> list[np.ndarray]:
    heat_maps = [trace for spec in figures(app) for trace in spec["data"] if trace["type"] == "heatmap"]
    return [np.reshape(numbers(trace["z"]), (size, size)) for trace in heat_maps]


def test_a_verdict_says_who_is_wrong() -> None:
    assert _verdict({"A": WRONG, "B": WRONG}) == "Both encoders are wrong."
    assert _verdict({"A": RIGHT, "B": RIGHT}) == "Both encoders are right."
    assert _verdict({"A": WRONG, "B": RIGHT}) == "A is wrong, B is right."
    assert _verdict({"A": RIGHT}) == "A is right."


def test_a_triple_has_a_verdict_and_the_cosines_of_both_encoders(app: AppTest, trained: Trained) -> None:
    typed(try_page(app), *TRIPLE)
    table = next(frame.value for frame in app.dataframe if "Change" in frame.value)
    closer = {}
    for name, spec in (("A", "use"), ("B", f"run:{trained[0].folder}")):
        a, b, c = load_encoder(spec).encode(list(TRIPLE))
        assert table[name].tolist() == pytest.approx([cosine(a, b), cosine(a, c), cosine(b, c)], abs=1e-5)
        closer[name] = cosine(a, c) > cosine(a, b)
    # Rounded to what is shown, so that no change is never "-0.000".
    assert table["Change"].tolist() == pytest.approx((table["B"] - table["A"]).tolist(), abs=5.01e-4)
    [said] = app.success if closer["B"] else app.error
    assert ("wrong" in said.value) == (not all(closer.values()))
    base, other, difference = matrices(app, 3)
    np.testing.assert_allclose(other - base, difference, atol=1e-6)
    assert BOX in bound(app) and not unkept(app)


def test_a_link_holds_the_sentences_which_keep_their_order_and_one_encoder_suffices(app: AppTest) -> None:
    texts = ["Where is the bar?", "A towel, please", "Wo ist die Bar?", "Where is the bar?"]
    app.query_params[BOX], app.query_params["b"] = "\n".join(texts), "none"
    try_page(app)
    assert app.dataframe[-1].value["Sentence"].tolist() == texts
    [only] = matrices(app, 4)
    assert only[0, 3] == pytest.approx(1, abs=1e-5) and only[0, 2] == only[2, 0] > only[0, 1]
    typed(app, "Where is the bar?", "Wo ist die Bar?")
    assert [metric.value for metric in app.metric] == [f"{only[0, 2]:.3f}"]
    typed(app, "Where is the bar?")
    assert app.info[0].value == "Type two sentences or more."


def test_picked_sentences_arrive(app: AppTest, trained: Trained) -> None:
    explore(app)
    texts = trained[1].frame["text"].iloc[[4, 9]].tolist()
    app.query_params["picked"] = f"{trained[1].sha256()[:8]}.4-9"
    app.run()
    press(app, "Compare these sentences")
    assert app.title[0].value == "Try" and app.text_area(key=BOX).value == "\n".join(texts)
    typed(try_page(app), "Something else", "and more")
    press(app, "Take the 2 sentences picked on the map")
    assert app.text_area(key=BOX).value == "\n".join(texts)


def test_a_suggested_triple_is_one_that_the_base_encoder_gets_wrong(app: AppTest, trained: Trained) -> None:
    explore(app)  # which encodes the data
    try_page(app).selectbox(key="triple-pick").set_value("0").run()
    texts = app.text_area(key=BOX).value.split("\n")
    frame = trained[1].frame.drop_duplicates("text").set_index("text")
    first, second, third = (frame.loc[text, "intent"] for text in texts)
    assert first == third != second
    [said] = [*app.success, *app.error]
    assert said.value.startswith(("**A is wrong", "**Both encoders are wrong"))


def test_triples_of_a_file_give_each_encoder_a_score_with_its_interval(
    app: AppTest, trained: Trained
) -> None:
    try_page(app, **{"own-from": "A file of sentence triples"})
    assert tuple(app.file_uploader[0].allowed_type) == FILE_ENDINGS
    table = pd.DataFrame([TRIPLE, TRIPLE[::-1]], columns=["S1", "s2", "s3"]).assign(language=["en", "de"])
    app.file_uploader[0].set_value([("triples.csv", table.to_csv(index=False).encode(), "")])
    app.run()
    assert not app.exception and not app.error
    shown = next(frame.value for frame in app.dataframe if "A s1-s2" in frame.value)
    for number, (name, spec) in enumerate((("A", "use"), ("B", f"run:{trained[0].folder}"))):
        for row, three in zip(shown.to_dict("records"), (TRIPLE, TRIPLE[::-1]), strict=True):
            a, b, c = load_encoder(spec).encode(list(three))
            assert row[f"{name} s1-s3"] == pytest.approx(cosine(a, c), abs=1e-5)
            assert row[f"{name} right"] == (cosine(a, c) > cosine(a, b))
        right = shown[f"{name} right"].to_numpy()
        share = accuracy_interval(right)
        assert app.metric[number].value == f"{right.sum()} of 2"
        assert f"{share.low:.1f} to {share.high:.1f}" in app.metric[number].delta
    for content, told in ((b"s1,s2\na,b\n", "has no column s3"), (b"s1,s2,s3\na,b,\n", "Row 1 of")):
        app.file_uploader[0].set_value([("triples.csv", content, "")])
        app.run()
        assert told in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("tab", ["Sentence triples", "Similarity"])
def test_addresses_of_the_old_tabs_lead_here(app: AppTest, tab: str) -> None:
    assert compare(app, tab).title[0].value == "Try"
    assert app.text_area(key=BOX).value
