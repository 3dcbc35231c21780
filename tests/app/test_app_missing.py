"""Words for missing values in an uploaded set, and the button that empties them."""

from pathlib import Path

import pandas as pd
import pytest

from tests.support.app_pages import with_frame
from tests.support.small import small_set

pytestmark = pytest.mark.usefixtures("runs")


@pytest.mark.slow
def test_one_click_treats_words_as_missing_values(runs: Path) -> None:
    frame = small_set(("en",)).frame[["text", "intent", "language", "id"]].copy()
    intents = set(frame["intent"])
    frame.loc[0, "intent"], frame.loc[1, "language"], frame.loc[2, "id"] = "nan", "nan", "NULL"
    frame.loc[3, "intent"] = "#N/A"
    app = with_frame(frame)
    assert not app.exception
    assert any("Words that may be missing values (3)" in box.label for box in app.expander)

    app.button(key="empty-words").click().run()

    assert not app.exception and app.query_params["data"] == "small-v2"
    assert not any("Words that may be missing values" in box.label for box in app.expander)
    stored = pd.read_parquet(runs / ".data" / "small-v2" / "rows.parquet")
    assert len(stored) == len(frame) and set(stored["intent"]) - {""} <= intents
    assert stored.loc[2, "id"] == stored.loc[1, "language"] == ""
