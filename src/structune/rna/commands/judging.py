"""``structune fold --evaluate``: what the model says of structures that are given."""

from __future__ import annotations

from structune.cli.streams import open_text
from structune.errors import CapabilityError, DataError
from structune.rna.commands.data import open_folder, read_sequences
from structune.rna.commands.options import Reading, Wanted, Writing
from structune.rna.commands.other_options import refuse_others
from structune.rna.judgement import Judgement, judge

_ALLOWED = {"files", "evaluate", "model", "contrafold", "max_span", "output"}


def run(reading: Reading, wanted: Wanted, writing: Writing) -> None:
    """A row for each structure."""
    refuse_others("--evaluate", _ALLOWED, reading, wanted, writing)
    folder = open_folder(reading.model, reading.contrafold).set_params(max_span=reading.max_span)
    if not folder.has_probabilities:
        raise CapabilityError(f"{reading.model}: found a model without probabilities, which --evaluate needs")
    with open_text(writing.output) as output:
        output.write("\t".join(["name", *Judgement._fields]) + "\n")
        for example in read_sequences(reading.inputs, below="structures"):
            try:
                found = judge(folder, example.record.sequence, example.structure)
            except DataError as error:
                raise example.refuse(str(error).removeprefix("sequence 0: ")) from None
            output.write("\t".join([example.record.name, *(f"{value:.6g}" for value in found)]) + "\n")
            output.flush()
