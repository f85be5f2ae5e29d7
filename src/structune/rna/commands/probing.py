"""``structune fold --shape``: reactivities as log odds beside what else is known of a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from structune.cli.checks import say
from structune.errors import DataError
from structune.files.text import shown
from structune.rna.commands.choices import ShapeMethod
from structune.rna.commands.data import Example
from structune.rna.formats.reactivities import read_reactivities
from structune.rna.probing import ReactivityModel, deigan_log_odds
from structune.rna.structure.constraints import Constraints
from structune.structure import FloatArray


def with_reactivities(
    examples: Iterator[Example], path: Path, method: ShapeMethod, quiet: bool
) -> Iterator[Example]:
    """The same examples with their reactivities, found by name; tells which have none."""
    known, table = read_reactivities(path), None
    if method is not ShapeMethod.deigan:
        table = ReactivityModel.pretrained()
    if "" not in known:
        for example in examples:
            if (values := known.get(example.record.name)) is not None:
                yield _probed(example, values, table)
            else:
                if not quiet:
                    say(f"{path}: found no reactivities of {shown(example.record.name)}")
                yield example
        return
    for example in examples:  # a table has no name, and is that of the one sequence
        if example.index:
            raise DataError(
                f"{path}: found reactivities without a name, expected lines '>name' with several sequences"
            )
        yield _probed(example, known[""], table)


def _probed(example: Example, values: FloatArray, table: ReactivityModel | None) -> Example:
    sequence = example.record.sequence
    n = example.record.n_bases
    if values.size > n:
        raise example.refuse(f"found {values.size} reactivities for {n} bases")
    row = np.full(n, np.nan)
    row[: values.size] = values
    paired = deigan_log_odds(row) if table is None else table.paired(sequence, row)
    notation = example.constraints if isinstance(example.constraints, str) else ""
    return replace(example, constraints=Constraints(notation, paired=paired))
