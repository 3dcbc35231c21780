"""Vectors in Parquet, as pyarrow and pandas read them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emu_core import embed, load_encoder
from emu_core.errors import DataError
from tests.support.raises import raises

ROWS = [
    ("1", "Where is the pool?", "pool", "en"),
    ("1", "Wo ist der Pool?", "pool", "de"),
    ("2", 'Где бассейн, "мама"?', "", "ru"),
    ("", "プール\nはどこ", "pool", "ja"),
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    pd.DataFrame(ROWS, columns=["id", "text", "intent", "language"]).to_csv(path, index=False)
    return path


def test_pyarrow_reads_the_columns_and_their_types(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.api.embed.PART", 3)
    assert embed(rows, out=tmp_path / "v.parquet", device="cpu") == len(ROWS)
    table = pq.read_table(tmp_path / "v.parquet")
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 512)
    texts = [" ".join(text.split()) for _, text, _, _ in ROWS]
    assert [" ".join(text.split()) for text in table.column("text").to_pylist()] == texts
    assert table.column("language").to_pylist() == [language for *_, language in ROWS]
    assert table.column("id").to_pylist() == [number for number, *_ in ROWS]
    expected = load_encoder("use").encode(table.column("text").to_pylist())
    vectors = table.column("vector").combine_chunks().flatten().to_numpy().reshape(-1, 512)
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-6)
    frame = pd.read_parquet(tmp_path / "v.parquet")
    np.testing.assert_array_equal(np.stack(frame["vector"].to_list()), vectors)


def test_a_place_that_can_not_be_written_is_one_sentence(rows: Path, tmp_path: Path) -> None:
    for out in (rows / "v.parquet", tmp_path):
        with raises(DataError, fix="out", match=f"{out}: [A-Z][a-z ]+;"):
            embed(rows, out=out, device="cpu")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
