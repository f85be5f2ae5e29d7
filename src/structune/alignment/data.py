"""Structure-based reference alignments of proteins, from the collection of Edgar (bench 1.0)."""

from __future__ import annotations

import io
import tarfile
from pathlib import PurePosixPath

from structune.alignment.formats import ProteinAlignment, read_protein_alignments
from structune.errors import DataError
from structune.files.data_sets import find

_SETS = ("sabre", "prefab4")


def load_protein_alignments(name: str) -> dict[str, ProteinAlignment]:
    """Load a set of reference alignments: a dict from name to alignment, each of two or more sequences.

    Columns in upper case are the ones to score. The files have no licence for redistribution, so structune
    cannot download them: put them into the data folder.

    Parameters
    ----------
    name : {"sabre", "prefab4"}
        "sabre": 423 alignments of SABmark 1.65 (Van Walle et al. 2005), 8,952 pairs, remote homologues.
        "prefab4": 1,681 pairs of PREFAB 4 (Edgar 2004).

    Raises
    ------
    DataError
        There is no set of this name.
    DatasetUnavailable
        A file is missing from the data folder (see STRUCTUNE_DATA), or differs from the expected one.
    """
    if name not in _SETS:
        raise DataError(f"there is no set {name!r}: name must be one of {list(_SETS)}")
    path = find(f"alignment/bench1.0_{name}.tar.gz")
    found = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member) if PurePosixPath(member.name).parent.name == "ref" else None
            if file is not None:
                (alignment,) = read_protein_alignments(io.BytesIO(file.read()))
                found[PurePosixPath(member.name).name] = alignment
    return dict(sorted(found.items()))
