"""What ``structune align`` reads, and whether it aligns pairs or families."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from structune.alignment.commands.data import Sequences, files_of, read_sequences
from structune.alignment.commands.options import Request
from structune.alignment.structure.alphabets import NucleotideWarning
from structune.cli.checks import short_warnings
from structune.errors import DataError

_MOST = 2000  # sequences that are a family if nobody says so
_PAIRS = "--pairs aligns them two by two"


def run(request: Request) -> int:
    """Read, and align two by two or families; returns the exit code."""
    _check(request)
    given = [Path(name) for name in request.files or ["-"]]
    read = [read_sequences(str(path)) for path in files_of(given)]
    if not read:
        raise DataError(f"{given[0]}: found a folder without files, expected one for each family")
    are_families = request.multiple or (not request.are_pairs and _look_like_families(given, read))
    if are_families and not request.multiple:
        _check_guess(request, read)
    with short_warnings(NucleotideWarning):  # is told with the name of the file
        if are_families:  # the one imports what the other does not need
            from structune.alignment.commands import multiple

            return multiple.run(request, read)
        from structune.alignment.commands import aligning

        return aligning.run(request, read[0])


def _check(request: Request) -> None:
    """Refuse options that do not go together, and endings of formats that are not written."""
    assert request.written_as
    if request.multiple:
        for name in ["--pairs"] * request.pairs + request.of_pairs:
            raise DataError(f"found {name} with --multiple: it is for alignments of two sequences")
    files = request.files or []
    if request.are_pairs and (len(files) > 1 or any(Path(file).is_dir() for file in files)):
        raise DataError(
            f"found {', '.join(files)}, expected one file with --pairs or --which; without these each "
            "file is a family"
        )


def _look_like_families(given: Sequence[Path], read: Sequence[Sequences]) -> bool:
    """Whether there are several files, or one of more than two sequences."""
    return len(given) > 1 or given[0].is_dir() or len(read[0].proteins) > 2


def _check_guess(request: Request, read: Sequence[Sequences]) -> None:
    """Tell that the sequences of files are families, where nobody said so; refuse what may not be meant."""
    for file, proteins, _ in read:
        n = len(proteins)
        if n > _MOST:
            raise DataError(
                f"{file}: found {n:,} sequences, expected --multiple or --pairs with more than {_MOST:,}: "
                f"--multiple aligns all as one family, {_PAIRS}"
            )
        if n < 2 and len(read) > 1:
            raise DataError(
                f"{file}: found {n} sequences, expected at least two, for each file is a family. Put the "
                "sequences into one file, or give --multiple"
            )
        for name in request.of_pairs:
            raise DataError(
                f"{file}: found {name} and {n} sequences, which are a family: {name} is for two. {_PAIRS}"
            )
    n_all = f"{len(read[0].proteins):,} sequences" if len(read) == 1 else "the sequences of each file"
    read[0].told.append(f"{n_all} are aligned as a family; {_PAIRS}")
