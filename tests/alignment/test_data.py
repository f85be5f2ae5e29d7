"""The reference alignments of proteins."""

import io
import tarfile

import pytest

from structune.alignment.data import load_protein_alignments
from structune.errors import DataError
from structune.files.data_sets import DatasetUnavailable


def test_references_are_read(put_data):
    files = {
        "b/sabre/ref/two": ">x\nAC-\n>y\nAcD\n",
        "b/sabre/in/two": ">x\nAC\n",
        "b/sabre/ref/one": ">x\nA\n>y\nA\n",
    }
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    put_data("alignment/bench1.0_sabre.tar.gz", archive.getvalue())
    found = load_protein_alignments("sabre")
    assert list(found) == ["one", "two"]
    assert (found["two"].names, found["two"].rows) == (["x", "y"], ["AC-", "AcD"])


def test_sets_that_are_not_there(monkeypatch, tmp_path):
    with pytest.raises(DataError, match="there is no set 'balibase': name must be one of"):
        load_protein_alignments("balibase")
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path))
    with pytest.raises(DatasetUnavailable, match=r"bench1\.0_prefab4\.tar\.gz is not in"):
        load_protein_alignments("prefab4")


@pytest.mark.data
@pytest.mark.parametrize(("name", "n", "n_pairs"), [("sabre", 423, 8952), ("prefab4", 1681, 1681)])
def test_the_sets(name, n, n_pairs):
    found = load_protein_alignments(name)
    assert len(found) == n
    sizes = [len(alignment.names) for alignment in found.values()]
    assert sum(k * (k - 1) // 2 for k in sizes) == n_pairs
