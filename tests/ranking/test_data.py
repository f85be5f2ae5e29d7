"""The OHSUMED ranking data."""

import numpy as np
import pytest

from structune.errors import DataError
from structune.ranking.data import load_ohsumed

SIZES = [2570, 3076, 3573, 3538, 3383]
FOLDER = "ohsumed_querylevelnorm"


@pytest.fixture
def tiny(put_data):
    """A data folder in which part S3 has the query 3, and so on."""
    for part in range(1, 6):
        text = f"{part % 3} qid:{part} 1:0.5 2:{part} #docid = {10 * part}\n"
        put_data(f"ranking/{FOLDER}/S{part}.txt.gz", text)


@pytest.mark.parametrize(("fold", "parts"), [(1, "12345"), (5, "51234")])
@pytest.mark.usefixtures("tiny")
def test_folds_rotate(fold, parts):
    train, validation, test = load_ohsumed(fold)
    assert [train.queries, validation.queries, test.queries] == [[*parts[:3]], [parts[3]], [parts[4]]]
    assert train.X.tolist() == [[0.5, float(part)] for part in parts[:3]]
    assert train.relevance.tolist() == [int(part) % 3 for part in parts[:3]]
    assert train.comments == [f"docid = {part}0" for part in parts[:3]]
    assert train.feature_indices.tolist() == [1, 2]


def test_unknown_folds_are_refused():
    for fold in (0, 6, "1"):
        with pytest.raises(DataError, match=f"fold must be a whole number from 1 to 5, not {fold!r}"):
            load_ohsumed(fold)


@pytest.mark.data
@pytest.mark.parametrize("normalised", [True, False])
def test_data(normalised):
    train, validation, test = load_ohsumed(1, normalised)
    assert [len(part) for part in (train, validation, test)] == [sum(SIZES[:3]), *SIZES[3:]]
    assert [len(set(part.queries)) for part in (train, validation, test)] == [63, 21, 22]
    for part in (train, validation, test):
        assert part.feature_indices.tolist() == list(range(1, 46))
        assert set(part.relevance) == {0.0, 1.0, 2.0}
        assert all(comment.startswith("docid = ") for comment in part.comments)
        assert np.isnan(part.X).any() != normalised
        if normalised:
            assert part.X.min() == 0.0
            assert part.X.max() == 1.0
