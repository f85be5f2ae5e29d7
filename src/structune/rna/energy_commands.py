"""The work of ``structune energy``, and energies of the structures that ``fold`` predicts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structune.cli.files import check_apart, open_text
from structune.cli.terminal import say
from structune.errors import DataError
from structune.files.provenance import json_keys
from structune.files.text import plural, some_of
from structune.rna.energies import Energies, Loop, read_energies
from structune.rna.examples import read_sequences
from structune.rna.folded import with_score
from structune.rna.formats.brackets import bases_of
from structune.rna.options import Energy, Reading

_MOST_NAMED = 5


def energy(files: Sequence[str], reading: Reading, wanted: Energy) -> int:
    """Write the energy of each known structure; returns the exit code."""
    check_apart([*files, wanted.parameters], [None if wanted.output == "-" else Path(wanted.output)])
    energies, unscored = read_energies(wanted.parameters, wanted.temperature), list[str]()
    with open_text(wanted.output) as stream:
        for example in read_sequences(files, "structures", format=reading.input_format):
            record, structure = example.record, example.structure
            total, loops, reason = scored(energies, record.sequence, structure, wanted.circular)
            unscored += [f"{example.called} ({reason})"] if reason else []
            rows = [_row(bases_of(record.sequence), loop) for loop in loops if wanted.loops]
            if wanted.format == "json":
                entries = {"name": record.name, "sequence": record.sequence, "structure": structure}
                numbers = {"energy": _finite(total), "temperature": wanted.temperature}
                told = {"loops": rows} if wanted.loops else {}
                stream.write(json.dumps({**entries, **numbers, **told, **json_keys()}) + "\n")
            else:
                lines = [f">{record.header}", record.sequence, with_score(structure, total), *_table(rows)]
                stream.writelines(f"{line}\n" for line in lines)
            stream.flush()
    tell_unscored(unscored)
    return 0


def scored(
    energies: Energies, sequence: str, structure: str, circular: bool
) -> tuple[float, list[Loop], str]:
    """The energy and the loops of a structure; or inf, the loops if they are known, and the reason."""
    try:
        loops = energies.loops(sequence, structure, circular)
    except DataError as error:
        return math.inf, [], str(error)
    impossible = (loop for loop in loops if loop.energy == math.inf)
    reasons = (f"the {loop.kind} loop {_places(loop.pairs)} is impossible" for loop in impossible)
    return sum(loop.energy for loop in loops), loops, next(reasons, "")


def tell_unscored(unscored: Sequence[str]) -> None:
    """Name the records that have structures without a score, and the reasons."""
    if unscored:
        told = f"structures without a score in {plural(len(unscored), 'record')}"
        say(f"{told}: {some_of(unscored, _MOST_NAMED)}")


def _places(pairs: Sequence[Sequence[int]], first: int = 1) -> str:
    return " ".join(f"{i + first}-{j + first}" for i, j in pairs)


def _row(bases: str, loop: Loop) -> dict[str, Any]:
    """What json says of a loop; positions are from 1."""
    pairs = [[i + 1, j + 1] for i, j in loop.pairs]
    letters = [bases[i] + bases[j] for i, j in loop.pairs]
    return {"loop": loop.kind, "pairs": pairs, "bases": letters, "energy": _finite(loop.energy)}


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """Lines of a table of loops: comments, which readers of dot-bracket files skip."""
    lines = ["# " + "\t".join(rows[0])] if rows else []
    for kind, pairs, letters, value in (row.values() for row in rows):
        shown = "inf" if value is None else f"{value:.2f}"
        lines.append("\t".join([f"# {kind}", _places(pairs, 0), " ".join(letters), shown]))
    return lines


def _finite(value: float) -> float | None:
    return round(value, 2) + 0.0 if math.isfinite(value) else None
