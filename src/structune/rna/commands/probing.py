"""``structune fold --shape``: reactivities as log odds beside what else is known of a sequence."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from structune.cli.checks import say
from structune.errors import DataError
from structune.files.text import shown, some_of
from structune.rna.commands.choices import ShapeMethod
from structune.rna.commands.data import Example
from structune.rna.formats.reactivities import Reactivities, check_letters, read_reactivities
from structune.rna.probing import ReactivityModel, deigan_log_odds
from structune.rna.structure.constraints import Constraints

_MOST_NAMED = 5


def with_reactivities(examples: Iterator[Example], path: Path, method: ShapeMethod) -> Iterator[Example]:
    """The same examples with their reactivities, found by name; tells which have none."""
    known, table = read_reactivities(path), None
    if method is not ShapeMethod.deigan:
        table = ReactivityModel.pretrained()
    if "" not in known:
        yield from _by_name(examples, path, known, table)
        return
    for example in examples:  # a table has no name, and is that of the one sequence
        if example.index:
            raise DataError(
                f"{path}: found reactivities without a name, expected lines '>name' with several sequences"
            )
        yield _probed(example, known[""], table, path)


def _by_name(
    examples: Iterator[Example],
    path: Path,
    known: dict[str, Reactivities],
    table: ReactivityModel | None,
) -> Iterator[Example]:
    unused, without = {name for name, values in known.items() if values.size}, list[str]()
    for example in examples:
        name = example.record.name
        values = known.get(name)
        if values is None or not values.size:
            without.append(name)
            yield example
            continue
        unused.discard(name)
        yield _probed(example, values, table, path)
    if without:
        say(f"{path}: found no reactivities for {len(without):,} of the sequences: {_some(without)}")
    if unused:
        say(f"{path}: did not use the rows of {len(unused):,} other sequences: {_some(unused)}")


def _some(names: Collection[str]) -> str:
    return some_of([shown(name) for name in sorted(names)], _MOST_NAMED)


def _probed(example: Example, values: Reactivities, table: ReactivityModel | None, path: Path) -> Example:
    sequence = example.record.sequence
    n = example.record.n_bases
    if values.size > n:
        raise example.refuse(f"found {values.size} reactivities for {n} bases")
    try:
        check_letters(sequence, values)
    except DataError as error:
        raise example.refuse(f"{path}: {error}") from None
    if values.size < n:
        say(f"{path}: found {values.size} reactivities of {shown(example.record.name)}, which has {n} bases")
    row = np.full(n, np.nan)
    row[: values.size] = values
    paired = deigan_log_odds(row) if table is None else table.paired(sequence, row)
    notation = example.constraints if isinstance(example.constraints, str) else ""
    return replace(example, constraints=Constraints(notation, paired=paired))
