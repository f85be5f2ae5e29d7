"""Find the files of data sets in a data folder or download them; checksums are always verified."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from structune.errors import StructuneError

# of all files of data sets, by their paths in the data folder, as sha256sum writes and checks them
_LINES = Path(__file__).with_name("data.sha256").read_text().splitlines()
CHECKSUMS = {path: sha256 for sha256, path in map(str.split, _LINES)}
_CHECKOUT = Path(__file__).parents[3]
_TIMEOUT_SECONDS = 20


class DatasetUnavailable(StructuneError):  # noqa: N818 - it says what happened, as users read it
    """A data set was not found and cannot be downloaded, or its file has the wrong checksum."""


def find(file: str, url: str | None = None) -> Path:
    """Path of a data file: in the data folder, or else in the cache of downloads, if it has a URL.

    Raises
    ------
    DatasetUnavailable
        The file was not found; the message says what was tried, and how to provide it.
    """
    folder = data_folder()
    if folder is not None and (path := folder / file).is_file():
        with path.open("rb") as content:
            found, expected = hashlib.file_digest(content, "sha256").hexdigest(), CHECKSUMS[file]
        if found != expected:
            raise DatasetUnavailable(
                f"{path}: the SHA-256 checksum is {found}, but {expected} is expected; replace the file"
            )
        return path
    hint = "set STRUCTUNE_DATA to the folder that holds the data"
    searched = hint if folder is None else f"searched {folder}; {hint}"
    missing = f"{file} is not in the data folder ({searched})"
    if url is None:
        raise DatasetUnavailable(missing)
    try:
        return _download(file, url)
    except (OSError, ValueError) as error:
        raise DatasetUnavailable(f"{missing} and could not be downloaded from {url}: {error}") from error


def data_folder() -> Path | None:
    """The folder named by STRUCTUNE_DATA or, when that is unset, ``../shared/data`` beside a checkout."""
    if named := os.environ.get("STRUCTUNE_DATA"):
        return Path(named).expanduser()
    beside = _CHECKOUT.parent / "shared" / "data"
    return beside if (_CHECKOUT / "pyproject.toml").is_file() and beside.is_dir() else None


def _download(file: str, url: str) -> Path:
    import pooch  # here, because it is slow to import and seldom needed

    return Path(
        pooch.retrieve(
            url,
            known_hash=f"sha256:{CHECKSUMS[file]}",
            fname=Path(file).name,
            path=Path(pooch.os_cache("structune")) / "data",
            downloader=pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS),
        )
    )
