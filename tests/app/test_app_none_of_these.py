"""Which intents of an uploaded set stand for "none of these"."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app_pages import with_data
from tests.support.small import small_set

pytestmark = pytest.mark.usefixtures("runs")


def taken(app: AppTest) -> list[str]:
    assert not app.exception and not app.error
    (box,) = (box for box in app.multiselect if box.label == "Intents that stand for none of these")
    return list(box.value)


@pytest.mark.slow
def test_a_guess_is_shown_changed_and_kept(runs: Path) -> None:
    frame = small_set(("en",)).frame
    frame = frame.assign(intent=frame["intent"].replace({"pets": "Out of scope"}))
    app = with_data(frame.to_csv(index=False).encode())

    assert taken(app) == ["Out of scope"]
    assert app.metric[1].value == "5" and app.metric[0].value == f"{len(frame):,}"
    assert app.metric[0].delta == f"{(frame['intent'] == 'Out of scope').sum()} of none of the intents"
    (box,) = (box for box in app.multiselect if box.label == "Intents that stand for none of these")
    box.set_value(["taxi"]).run()
    app.button(key="save-none-of-these").click().run()

    assert app.query_params["data"] == "small-v2" and taken(app) == ["taxi"]
    assert app.metric[1].value == "5"
    stored = pd.read_parquet(runs / ".data" / "small-v2" / "rows.parquet")
    assert sorted(stored["intent"].unique()) == sorted(frame["intent"].unique()), "no row is lost or renamed"
    assert any("Changed in this version" in item.value and "taxi" in item.value for item in app.caption)
