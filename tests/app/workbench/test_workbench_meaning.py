"""A search by meaning on the maps: the nearest sentences of every language, by the run's own encoder."""

import numpy as np
from streamlit.testing.v1 import AppTest

from emu_app.workbench.maps import NEAREST
from emu_core.encoders.registry import load_encoder
from tests.support.app_pages import explore
from tests.support.workbench_pages import Trained

WORDS = "Badeanstalt"  # of no sentence


def test_the_nearest_sentences_of_each_language_are_found_beside_those_with_the_words(
    app: AppTest, trained: Trained
) -> None:
    run, labelled, _ = trained
    explore(app)
    next(box for box in app.text_input if box.label == "Search").set_value(WORDS).run()
    assert any("No sentence passes" in note.value for note in app.info)
    next(toggle for toggle in app.toggle if toggle.label == "Search by meaning").set_value(True).run()
    assert not app.exception
    table = next(table.value for table in app.dataframe if "cosine" in table.value)
    encoder, frame = load_encoder(f"run:{run.folder}"), labelled.frame
    vectors, [word] = encoder.encode(frame["text"].tolist()), encoder.encode([WORDS])
    cosines = vectors @ word / np.linalg.norm(vectors, axis=1) / np.linalg.norm(word)
    for language in labelled.languages:
        best = np.sort(cosines[(frame["language"] == language).to_numpy()])[::-1][:NEAREST]
        found = np.sort(table["cosine"][frame["language"].iloc[table["row"]].to_numpy() == language])[::-1]
        np.testing.assert_allclose(found, best, atol=1e-3)
    assert table["cosine"].is_monotonic_decreasing
    [pick] = [button for button in app.button if button.label.startswith("Pick all")]
    pick.click().run()
    assert sorted(app.session_state["explore-picked"][1]) == sorted(table["row"])
