"""Finding the files of data sets, in a data folder or by download, always with checksums verified."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from structune.errors import StructuneError

_CHECKOUT = Path(__file__).parents[3]
_TIMEOUT_SECONDS = 20


class DatasetUnavailable(StructuneError):  # noqa: N818 - it says what happened, as users read it
    """A data set is neither in a data folder nor to be downloaded, or its file is not the expected one."""


@dataclass(frozen=True)
class DataFile:
    """A file of a data set."""

    path: str  # relative to the data folder
    sha256: str
    url: str | None = None  # where it may be downloaded


def find(file: DataFile) -> Path:
    """The file in the data folder or, if it is not there, in the cache of downloads.

    Raises
    ------
    DatasetUnavailable
        Says what was tried, and how to provide the file.
    """
    folder = data_folder()
    if folder is not None and (path := folder / file.path).is_file():
        with path.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
        if found != file.sha256:
            raise DatasetUnavailable(f"{path}: found the SHA-256 checksum {found}, expected {file.sha256}")
        return path
    hint = "set STRUCTUNE_DATA to the folder that holds the data"
    searched = hint if folder is None else f"searched {folder}; {hint}"
    missing = f"{file.path} is not in the data folder ({searched})"
    if file.url is None:
        raise DatasetUnavailable(missing)
    try:
        return _download(file, file.url)
    except (OSError, ValueError) as error:
        raise DatasetUnavailable(f"{missing} and could not be downloaded from {file.url}: {error}") from error


def data_folder() -> Path | None:
    """The folder named by STRUCTUNE_DATA or, when that is unset, ``../shared/data`` beside a checkout."""
    if named := os.environ.get("STRUCTUNE_DATA"):
        return Path(named).expanduser()
    beside = _CHECKOUT.parent / "shared" / "data"
    return beside if (_CHECKOUT / "pyproject.toml").is_file() and beside.is_dir() else None


def _download(file: DataFile, url: str) -> Path:
    import pooch  # here, because it is slow to import and seldom needed

    return Path(
        pooch.retrieve(
            url,
            known_hash=f"sha256:{file.sha256}",
            fname=Path(file.path).name,
            path=Path(pooch.os_cache("structune")) / "data",
            downloader=pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS),
        )
    )
