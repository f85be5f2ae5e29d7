"""``structune train rna`` and ``structune tune rna``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from structune.cli.checks import counted_from_one
from structune.cli.learning import Lesson, learn
from structune.cli.reports import Evaluation
from structune.cli.settings import Results
from structune.cli.shard_data import described, sharded
from structune.cli.tables import names_table, print_tables
from structune.errors import DataError
from structune.rna.commands.data import Example, open_folder, read_families, read_with_structures
from structune.rna.commands.evaluation import evaluate
from structune.rna.folder import RNAFolder
from structune.rna.folder_space import OutsideSpaceWarning, fit_into_space
from structune.rna.formats.dot_bracket import partners
from structune.rna.structure.rna import RNA

_MOST_NAMED = 20
_DECIDED = (
    "--families",
    "--features",
    "--outside",
    "--min-hairpin",
    "--noncanonical",
    "--input-format",
)  # by shard
_Data = tuple[Callable[[], Any], list[tuple[str, str]]]  # how to fit it, and what it is


@dataclass
class _LeftOut:
    """Of the training data what the model cannot produce: sequences, and of others the numbers of pairs."""

    skipped: list[tuple[str, str]] = field(default_factory=list)
    unknotted: list[int] = field(default_factory=list)
    trimmed: list[int] = field(default_factory=list)

    def show(self) -> None:
        """Print the sequences as a table."""
        if self.skipped:
            title = f"Skipped {len(self.skipped):,} sequences with structures outside the model's space"
            print_tables(names_table(title, "sequence", "why", self.skipped))

    def rows(self) -> Iterator[tuple[str, str]]:
        if self.skipped:
            yield "skipped", f"{len(self.skipped):,} sequences"
        for name, dropped in (("pseudoknots", self.unknotted), ("trimmed", self.trimmed)):
            if dropped:
                yield name, f"dropped {sum(dropped):,} pairs of {len(dropped):,} sequences"


def run(
    train: list[Path],
    families: Path | None,
    test: Path | None,
    settings: Mapping[str, Any],
    results: Results,
    plot: Path | None = None,
    *,
    center: str | None = None,
    penalty: Sequence[str] = (),
    input_format: str | None = None,
) -> int:
    """Fit, save, report; returns the exit code."""
    folder = RNAFolder(**settings)
    if center is not None:
        folder.center = open_folder(center)
        folder.gamma, folder.decoding = folder.center.gamma, folder.center.decoding
        if folder.center.rna_.feature_set == "extended":
            folder.features = "extended"
    if penalty:
        folder.penalty = penalties(penalty, folder)

    def read() -> Lesson:
        shards = sharded(train, *_DECIDED)
        fit, data = _of_shards(folder, shards) if shards else _of_files(folder, train, families, input_format)
        known = None if test is None else read_with_structures([test], input_format)
        evaluated = None if known is None else partial(_evaluate, folder, known, folder.n_jobs)
        return Lesson(fit, data, evaluated, told=(OutsideSpaceWarning,))

    return learn(folder, results, [*train, families, test], read, plot)


def _evaluate(folder: RNAFolder, test: Sequence[Example], n_jobs: int | None) -> Evaluation:
    alone = folder.set_params(n_jobs=1)  # threads share the sequences
    return evaluate(alone, test, n_jobs=n_jobs, quiet=not folder.verbose)


def _of_shards(folder: RNAFolder, path: Path) -> _Data:
    return lambda: folder.fit_shards(path), [("data", described(path, "bases"))]


def _of_files(folder: RNAFolder, paths: list[Path], families: Path | None, format: str | None) -> _Data:
    """Tells what is left out."""
    examples = read_with_structures(paths, format)
    groups = None if families is None else read_families(families).of(examples)
    found = left_out(folder, examples)
    found.show()
    sequences = [example.record.sequence for example in examples]
    structures = [example.structure for example in examples]

    def fit() -> RNAFolder:
        return folder.fit(sequences, structures, groups=groups)

    return fit, [*_data(examples), *found.rows()]


def penalties(given: Sequence[str], folder: RNAFolder) -> float | dict[str, float]:
    """The penalty of numbers, which are for all groups, and of texts like ``helix stacking=3``."""
    base, by_name, names = 1.0, {}, folder._weight_groups(_rna(folder)).names
    for text in given:
        name, separator, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise DataError(f"--penalty {text}: expected a number, or GROUP=NUMBER") from None
        if separator and name not in names:
            known = ", ".join([*names[:_MOST_NAMED], *(["..."] if len(names) > _MOST_NAMED else [])])
            raise DataError(f"--penalty {text}: found no group {name!r}, expected one of {known}")
        if separator:
            by_name[name] = value
        else:
            base = value
    return dict.fromkeys(names, base) | by_name if by_name else base


def _rna(folder: RNAFolder) -> RNA:
    return RNA(folder.min_hairpin, folder.noncanonical, folder.features)


def left_out(folder: RNAFolder, examples: Sequence[Example]) -> _LeftOut:
    """What `fit` will leave out, by name."""
    rna, found = _rna(folder), _LeftOut()
    for example in examples:
        try:
            one = fit_into_space(rna, [example.record.sequence], [example.structure], folder.outside)
        except DataError as error:
            raise example.refuse(str(error).removeprefix("sequence 0: ")) from None
        found.skipped += [(example.record.name, counted_from_one(reason)) for _, reason in one.skipped]
        found.unknotted += one.unknotted.values()
        found.trimmed += one.trimmed.values()
    return found


def _data(examples: Sequence[Example]) -> Iterator[tuple[str, str]]:
    n_bases = sum(example.record.n_bases for example in examples)
    n_pairs = sum(int((partners(example.structure) >= 0).sum()) // 2 for example in examples)
    yield "data", f"{len(examples):,} sequences, {n_bases:,} bases, {n_pairs:,} pairs"
