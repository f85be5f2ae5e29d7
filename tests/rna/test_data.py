"""The RNA data sets."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from structune.errors import DataError
from structune.rna import data as rna
from structune.rna.data import RNAData, load_rna
from structune.rna.formats.brackets import partners

TEXT = "id\tfamily\tsequence\tdotbracket\na\tf1\tGGAAACC\t((...))\nb\tf2\tACGN\t([)]\n"


@pytest.fixture
def put(monkeypatch, put_data):
    """Makes the data set "tiny" from the text of its file."""
    monkeypatch.setitem(rna._FILES, "tiny", "tiny.tsv.gz")
    return lambda text: put_data("tiny.tsv.gz", text)


def test_probed_sequences(put_data, monkeypatch):
    put_data(
        "rna/eterna_1m7.tsv.gz",
        "set\tproject\tsequence\tfirst\treactivities\nr\tp 1\tACGUACGU\t2\t0.5,-1,2\n",
    )
    monkeypatch.setattr(rna, "_PRIMER", 5)
    found = rna.load_probed()
    assert (len(found), found.projects, found.sequences) == (1, ["p 1"], ["ACGUACGU"])
    assert_array_equal(found.reactivities[0], [np.nan, 0.5, -1.0, *[np.nan] * 5])


def test_what_a_file_holds(put):
    put(TEXT)
    expected = RNAData(["a", "b"], ["f1", "f2"], ["GGAAACC", "ACGN"], ["((...))", "([)]"])
    assert load_rna("tiny") == expected
    assert len(expected) == 2


def test_other_columns_are_refused(put):
    put(TEXT.replace("dotbracket", "structure"))
    with pytest.raises(DataError, match=r"tiny\.tsv\.gz:1: the columns are .* expected"):
        load_rna("tiny")


def test_unknown_names_are_refused():
    with pytest.raises(DataError, match=r"'S151Rfam' is not a data set; choose one of .*'s151rfam'"):
        load_rna("S151Rfam")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n", "n_knotted"),
    [
        ("s151rfam", 151, 0),
        ("tornado_train_a", 3166, 0),
        ("tornado_test_a", 697, 77),
        ("rfam1359", 1359, 0),
        ("archiveii", 3975, None),
        ("andronescu_test", 974, 0),
    ],
)
def test_data_sets(name, n, n_knotted):
    data = load_rna(name)
    assert len(data) == len(data.families) == len(data.sequences) == len(data.structures) == n
    if n_knotted is not None:
        assert sum("[" in structure for structure in data.structures) == n_knotted
    for sequence, structure in zip(data.sequences, data.structures, strict=True):
        assert partners(structure).size == len(sequence)
