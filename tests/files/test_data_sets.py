"""Where data files are looked for, and the loaders."""

import pooch
import pytest

from structune.errors import DataError
from structune.files import data_sets
from structune.files.data_sets import DatasetUnavailable
from structune.tagging.data.conll2000 import load_conll2000

FILE, URL = "part/file.txt", "https://example.invalid/file.txt"


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    """A cache folder of its own, and a downloader that fails as one without a network does."""

    def fail(url, output_file, pooch):
        raise OSError("no network")

    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr(pooch, "HTTPDownloader", lambda **options: fail)
    return tmp_path / "cache"


def test_the_data_folder_is_named_by_the_environment(put_data, tmp_path):
    put_data(FILE, "content")
    assert data_sets.find(FILE) == data_sets.data_folder() / FILE == tmp_path / FILE


def test_the_data_folder_lies_beside_a_checkout(monkeypatch, tmp_path):
    monkeypatch.delenv("STRUCTUNE_DATA", raising=False)
    monkeypatch.setattr(data_sets, "_CHECKOUT", tmp_path / "checkout")
    (tmp_path / "checkout").mkdir()
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert data_sets.data_folder() is None  # an installed package is no checkout
    (tmp_path / "checkout" / "pyproject.toml").touch()
    assert data_sets.data_folder() == tmp_path / "shared" / "data"


def test_checksums_are_verified(put_data, tmp_path):
    put_data(FILE, "content")
    (tmp_path / FILE).write_text("something else")
    with pytest.raises(DatasetUnavailable, match=r"file\.txt: the SHA-256 checksum is .* expected"):
        data_sets.find(FILE)


@pytest.mark.data
def test_all_files_are_as_they_were():
    """Their checksums are compared as they are found."""
    for path in data_sets.CHECKSUMS:
        data_sets.find(path)


def test_what_cannot_be_had_is_said(put_data, monkeypatch, tmp_path, no_network):
    put_data(FILE, "content")
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetUnavailable, match=r"searched .*nowhere; set STRUCTUNE_DATA.*no network"):
        data_sets.find(FILE, URL)
    with pytest.raises(DatasetUnavailable, match="set STRUCTUNE_DATA"):
        data_sets.find(FILE)


def test_downloads_are_cached(put_data, tmp_path, no_network):
    put_data(FILE, "content")
    cached = no_network / "data" / "file.txt"
    cached.parent.mkdir(parents=True)
    (tmp_path / FILE).rename(cached)
    assert data_sets.find(FILE, URL) == cached


def test_subsets_are_checked():
    with pytest.raises(DataError, match="subset='dev': expected 'train' or 'test'"):
        load_conll2000("dev")


@pytest.mark.data
@pytest.mark.parametrize(("subset", "sentences", "tokens"), [("train", 8936, 211727), ("test", 2012, 47377)])
def test_conll2000(subset, sentences, tokens):
    data = load_conll2000(subset)
    assert (len(data), data.n_tokens) == (sentences, tokens)
    assert list(data.columns) == ["w", "pos", "y"]
    assert {label[:2] for label in data.columns["y"]} == {"B-", "I-", "O"}
