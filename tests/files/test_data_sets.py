"""Where data files are looked for, and the loaders."""

import hashlib

import pooch
import pytest

from structune.errors import DataError
from structune.files import data_sets as _files
from structune.files.data_sets import DatasetUnavailable
from structune.tagging.data.conll2000 import load_conll2000

CONTENT = b"content"
FILE = _files.DataFile(
    "part/file.txt", hashlib.sha256(CONTENT).hexdigest(), "https://example.invalid/file.txt"
)


def put(folder, content=CONTENT):
    path = folder / FILE.path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    """A cache folder of its own, and a downloader that fails as one without a network does."""

    def fail(url, output_file, pooch):
        raise OSError("no network")

    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr(pooch, "HTTPDownloader", lambda **options: fail)
    return tmp_path / "cache"


def test_the_data_folder_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path))
    assert _files.data_folder() == tmp_path
    path = put(tmp_path)
    assert _files.find(FILE) == path


def test_the_data_folder_lies_beside_a_checkout(monkeypatch, tmp_path):
    monkeypatch.delenv("STRUCTUNE_DATA", raising=False)
    monkeypatch.setattr(_files, "_CHECKOUT", tmp_path / "checkout")
    (tmp_path / "checkout").mkdir()
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert _files.data_folder() is None  # an installed package is no checkout
    (tmp_path / "checkout" / "pyproject.toml").touch()
    assert _files.data_folder() == tmp_path / "shared" / "data"


def test_checksums_are_verified(monkeypatch, tmp_path):
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path))
    put(tmp_path, b"something else")
    with pytest.raises(DatasetUnavailable, match=r"file\.txt: found the SHA-256 checksum .* expected"):
        _files.find(FILE)


def test_what_cannot_be_had_is_said(monkeypatch, tmp_path, no_network):
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetUnavailable, match=r"searched .*nowhere; set STRUCTUNE_DATA.*no network"):
        _files.find(FILE)
    with pytest.raises(DatasetUnavailable, match="set STRUCTUNE_DATA"):
        _files.find(_files.DataFile(FILE.path, FILE.sha256))


def test_downloads_are_cached(monkeypatch, tmp_path, no_network):
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path))
    cached = no_network / "data" / "file.txt"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT)
    assert _files.find(FILE) == cached


def test_subsets_are_checked():
    with pytest.raises(DataError, match="found the subset 'dev', expected 'train' or 'test'"):
        load_conll2000("dev")


@pytest.mark.data
@pytest.mark.parametrize(("subset", "sentences", "tokens"), [("train", 8936, 211727), ("test", 2012, 47377)])
def test_conll2000(subset, sentences, tokens):
    data = load_conll2000(subset)
    assert (len(data), data.n_tokens) == (sentences, tokens)
    assert list(data.columns) == ["w", "pos", "y"]
    assert {label[:2] for label in data.columns["y"]} == {"B-", "I-", "O"}
