"""``structune fold --alignment``."""

from __future__ import annotations

from itertools import chain
from typing import Any

from structune.cli.checks import say
from structune.cli.streams import open_text, standard_input
from structune.errors import CapabilityError
from structune.rna.commands.data import open_folder
from structune.rna.commands.options import Reading, Wanted, Writing
from structune.rna.commands.other_options import refuse_others
from structune.rna.defaults import CONSENSUS_THRESHOLD
from structune.rna.formats.aligned import read_alignments, stockholm_text

_ALLOWED = {"files", "alignment", "model", "contrafold", "max_span", "threshold", "output"}


def run(reading: Reading, wanted: Wanted, writing: Writing, n_jobs: int) -> None:
    """Fold what is read."""
    refuse_others("--alignment", _ALLOWED, reading, wanted, writing)
    folder = open_folder(reading.model, reading.contrafold, **reading.settings).set_params(n_jobs=n_jobs)
    if not folder.has_probabilities:
        raise CapabilityError(
            f"{reading.model}: found a model without probabilities, which --alignment needs"
        )
    threshold = CONSENSUS_THRESHOLD if wanted.threshold is None else wanted.threshold
    sources: list[Any] = [standard_input() if file == "-" else file for file in reading.inputs]
    n_unused = 0
    with open_text(writing.output) as output:
        for alignment in chain.from_iterable(map(read_alignments, sources)):
            structure = folder.predict_alignment(alignment.rows, threshold)
            output.write(stockholm_text(alignment, structure))
            output.flush()
            n_unused += alignment.structure is not None
    if n_unused:
        say(f"{n_unused:,} known structures (SS_cons) are not used: predicted ones replace them")
