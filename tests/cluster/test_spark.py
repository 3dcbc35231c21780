"""`emu_core.batches` on local Spark: the rows of a single process, also after a worker dies."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from emu_core import load_demo, load_encoder
from emu_core.batches import Predict
from tests.support.dying_worker import EmbedAndDie
from tests.support.paths import ROOT

pytest.importorskip("pyspark", reason="only make cluster installs Spark")
pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")

TEXTS = "id string, text string, language string"
ANSWERS = (
    "intent string, confidence float, margin float, nearest_1 string, nearest_1_intent string, "
    "nearest_1_language string, nearest_1_cosine float"
)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"], os.environ["OMP_NUM_THREADS"] = str(ROOT), "1"
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 100).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rows = load_demo().frame[["text", "language"]].head(1200)
    return rows.assign(id=[f"{number:04}" for number in range(len(rows))])[["id", "text", "language"]]


def test_a_worker_dies_in_the_middle(spark: Any, frame: pd.DataFrame, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    rows = spark.createDataFrame(frame).repartition(4)
    embedded = rows.mapInArrow(EmbedAndDie(str(mark)), f"{TEXTS}, vector array<float>").toPandas()
    assert mark.exists()
    embedded = embedded.sort_values("id")
    assert embedded["id"].tolist() == frame["id"].tolist()
    expected = load_encoder("use").encode(frame["text"].tolist())
    np.testing.assert_allclose(np.stack(embedded["vector"].to_list()), expected, atol=1e-6)


def test_predictions_are_those_of_one_process(spark: Any, frame: pd.DataFrame) -> None:
    predict = Predict(None, "demo", n_neighbors=1)
    rows = spark.createDataFrame(frame).repartition(4)
    predicted = rows.mapInPandas(predict, f"{TEXTS}, {ANSWERS}").toPandas().sort_values("id")
    expected = predict(frame)
    for name in expected:
        if expected[name].dtype == np.float32:
            left, right = predicted[name].to_numpy(float), expected[name].to_numpy(float)
            np.testing.assert_allclose(left, right, atol=1e-6, err_msg=name)
        else:
            assert predicted[name].tolist() == expected[name].tolist(), name
