"""The CoNLL-2000 chunking task (Tjong Kim Sang & Buchholz 2000)."""

from __future__ import annotations

from zipfile import ZipFile

from structune.errors import DataError
from structune.files.data_sets import find
from structune.tagging.conll import ConllData, read_conll

_FILE = "sequence/conll2000.zip"
_URL = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/conll2000.zip"


def load_conll2000(subset: str = "train") -> ConllData:
    """Load the CoNLL-2000 chunking data: columns ``w`` (word), ``pos`` (part of speech), ``y`` (chunk label).

    Parameters
    ----------
    subset : {"train", "test"}
        "train": 8,936 sentences with 211,727 tokens, sections 15-18 of the Wall Street Journal corpus.
        "test": 2,012 sentences with 47,377 tokens, section 20.

    Raises
    ------
    DatasetUnavailable
        The file is not in the data folder (see STRUCTUNE_DATA) and cannot be downloaded.
    """
    if subset not in ("train", "test"):
        raise DataError(f"subset={subset!r}: expected 'train' or 'test'")
    with ZipFile(find(_FILE, _URL)) as archive, archive.open(f"conll2000/{subset}.txt") as file:
        return read_conll(file, ("w", "pos", "y"))
