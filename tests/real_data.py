"""Files of the data folder that no loader reads."""

from __future__ import annotations

from structune.files.data_sets import DatasetUnavailable, data_folder


def in_data_folder(path):
    """The file; a test with the marker `data` skips where it is missing, see conftest.py."""
    folder = data_folder()
    if folder is None or not (folder / path).is_file():
        raise DatasetUnavailable(f"{path} is not in the data folder ({folder}, see STRUCTUNE_DATA)")
    return folder / path
