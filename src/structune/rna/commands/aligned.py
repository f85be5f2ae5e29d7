"""``structune fold --alignment``."""

from __future__ import annotations

import os
from dataclasses import fields
from itertools import chain
from typing import Any

from structune.cli.streams import open_text, standard_input
from structune.errors import CapabilityError, DataError
from structune.rna.commands.data import open_folder
from structune.rna.commands.options import Decoding, Reading, Wanted, Writing
from structune.rna.consensus import consensus
from structune.rna.formats.aligned import read_alignments, stockholm_text


def run(reading: Reading, wanted: Wanted, writing: Writing, n_jobs: int) -> int:
    """Fold what is read; returns the exit code."""
    _check(reading, wanted, writing)
    folder = open_folder(reading.model, reading.contrafold).set_params(n_jobs=n_jobs)
    if not folder.has_probabilities:
        raise CapabilityError(
            f"{reading.model}: found a model without probabilities, which --alignment needs"
        )
    gamma = folder.gamma if wanted.gamma is None else wanted.gamma
    sources: list[Any] = [standard_input() if file == "-" else file for file in reading.inputs]
    with open_text(writing.output) as output:
        for alignment in chain.from_iterable(map(read_alignments, sources)):
            structure = consensus(folder, alignment.rows, gamma).structure
            output.write(stockholm_text(alignment, structure))
            output.flush()
    return 0


def _check(reading: Reading, wanted: Wanted, writing: Writing) -> None:
    """Refuse options that say something of single sequences."""
    allowed = {"files", "alignment", "model", "contrafold", "gamma", "method", "output"}
    for options in (reading, wanted, writing):
        for field in fields(options):
            given = getattr(options, field.name)
            if field.name not in allowed and given != field.default:
                raise DataError(
                    f"found --{field.name.replace('_', '-')} and --alignment, expected one of them"
                )
    if wanted.method is not Decoding.mea:
        raise DataError(f"found --method {wanted.method} and --alignment, expected --method mea")
    if os.path.isdir(writing.output):
        raise DataError(f"{writing.output}: found a folder, expected a file with --alignment")
