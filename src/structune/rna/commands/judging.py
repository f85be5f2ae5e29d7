"""``structune fold --evaluate``: what the model says of structures that are given."""

from __future__ import annotations

from structune.cli.streams import open_text
from structune.errors import CapabilityError, DataError
from structune.rna.commands.data import Example, open_folder, read_sequences
from structune.rna.commands.options import Reading, Wanted, Writing
from structune.rna.commands.other_options import refuse_others
from structune.rna.judgement import Judgement
from structune.running.executors import make_executor

_ALLOWED = {
    "files",
    "evaluate",
    "model",
    "contrafold",
    "max_span",
    "circular",
    "initiation",
    "skip_bad",
    "input_format",
    "output",
}


def run(reading: Reading, wanted: Wanted, writing: Writing, n_jobs: int) -> None:
    """A row for each structure."""
    refuse_others("--evaluate", _ALLOWED, reading, wanted, writing)
    folder = open_folder(reading.model, reading.contrafold, **reading.settings)
    if not folder.has_probabilities:
        raise CapabilityError(f"{reading.model}: found a model without probabilities, which --evaluate needs")

    def of_one(example: Example) -> Judgement:
        structure = example.structure
        try:
            return folder.judge([example.record.sequence], [structure])[0]
        except DataError as error:
            raise example.refuse(str(error).removeprefix("sequence 0: ")) from None

    def row(example: Example) -> str:
        return "\t".join([example.record.name, *(f"{value:.6g}" for value in of_one(example))])

    with open_text(writing.output) as output:
        output.write("\t".join(["name", *Judgement._fields]) + "\n")
        for text in make_executor(n_jobs).map(
            row, read_sequences(reading.inputs, "structures", reading.skip_bad, reading.input_format)
        ):
            output.write(text + "\n")
            output.flush()
