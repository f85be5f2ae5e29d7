"""Sequences and labels in Series of pandas or Polars, and tables, which are refused."""

import pytest

from structune import SequenceTagger
from structune.compat import CRF
from structune.errors import DataError

ROWS = {"s": [0, 0, 1], "w": ["the", "dog", "cats"], "n": [1, 2, 3], "y": ["D", "N", "N"]}
MODELS = [CRF(c2=0.1), SequenceTagger(penalty=0.1)]


def pandas_parts():
    frame = pytest.importorskip("pandas").DataFrame(ROWS)
    parts = [part for _, part in frame.groupby("s")]
    rows = [part[["w", "n"]].to_dict("records") for part in parts]
    series = type(frame["y"])
    X = [series(rows), [series(row) for row in rows], rows]
    y = [
        frame.groupby("s")["y"].agg(list),
        [part["y"] for part in parts],
        [part["y"].astype("category") for part in parts],
    ]
    return X, y, [frame, frame.groupby("s"), parts]


def polars_parts():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(ROWS)
    grouped = frame.group_by("s", maintain_order=True).agg("y", polars.struct("w", "n").alias("x"))
    parts = frame.partition_by("s")
    X = [grouped["x"], list(grouped["x"]), [part.select("w", "n").to_dicts() for part in parts]]
    return X, [grouped["y"], [part["y"] for part in parts]], [frame, frame.lazy(), frame.group_by("s"), parts]


@pytest.mark.parametrize("parts", [pandas_parts, polars_parts])
@pytest.mark.parametrize("model", MODELS, ids=["crf", "tagger"])
def test_series_and_tables(parts, model):
    X, y, tables = parts()
    plain = [[{"w": "the", "n": 1}, {"w": "dog", "n": 2}], [{"w": "cats", "n": 3}]]
    expected = model.fit(plain, [["D", "N"], ["N"]]).state_features_
    for form in X:
        for labels in y:
            assert model.fit(form, labels).state_features_ == expected
        assert model.predict(form) == [["D", "N"], ["N"]]
    for table in tables:
        with pytest.raises(DataError, match=r"list of (sequences|tokens), not (one )?\w*(Frame|GroupBy)"):
            model.fit(table, y[0])
