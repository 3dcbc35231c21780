import csv
import io

import pandas as pd

from emu_core.data.export_csv import safe_csv
from emu_core.formats.tables.read import read_table

FORMULAS = ["=1+1", "+1+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"]


def test_formulas_are_neutralised_and_the_rest_is_as_it_was() -> None:
    plain = ["a=b", "", 'ä, "b"\nc', "プール", "'x", "1-2"]
    frame = pd.DataFrame({"text": FORMULAS + plain, "=n": range(len(FORMULAS + plain)), "x": -1.5})
    payload = safe_csv(frame)
    assert payload.startswith(b"\xef\xbb\xbf")
    header, *rows = csv.reader(io.StringIO(payload.decode("utf-8-sig"), newline=""))
    assert header == ["text", "'=n", "x"]
    assert [row[0] for row in rows] == ["'" + text for text in FORMULAS] + plain
    assert [row[1] for row in rows] == [str(n) for n in range(len(rows))]
    assert {row[2] for row in rows} == {"-1.5"}


def test_what_is_written_is_read_again() -> None:
    frame = pd.DataFrame({"text": ["a;b", "c\td", 'e "f"'], "intent": ["x", "", "y"]}, dtype="str")
    assert read_table(safe_csv(frame), "x.csv").equals(frame)


def test_mixed_categories_and_repeated_names() -> None:
    frame = pd.DataFrame([["=a", None, 1], ["b", "@c", -2]], columns=["x", "x", "y"], index=[3, 3])
    frame["z"] = pd.Categorical(["=p", "q"])
    assert safe_csv(frame).decode("utf-8-sig") == "x,x,y,z\r\n'=a,,1,'=p\r\nb,'@c,-2,q\r\n"
    assert safe_csv(frame.iloc[:0]).decode("utf-8-sig") == "x,x,y,z\r\n"


def test_signed_figures_stay_figures_and_what_computes_does_not() -> None:
    cells = ["+1.45", "-3.2 ± 0.1", "+1.4***", "-1 (2–3)", "+1+A1", "-2+3", "+cmd|x", "-", "+"]
    lines = safe_csv(pd.DataFrame({"x": cells})).decode("utf-8-sig").splitlines()[1:]
    assert lines == [*cells[:4], *(f"'{cell}" for cell in cells[4:])]
