"""The genetic code of sequences: that which is given, or found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from structune.cli.batches import UntilError
from structune.cli.checks import say
from structune.errors import DataError
from structune.genes.commands.data import Finder, Learner
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.prokaryotes.orf_finder import OrfFinder
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.genes.prokaryotes.structure.candidates import WITHOUT_TGA, OrfRules
from structune.genes.prokaryotes.suitable_model import ENOUGH, surer_code


def with_code(finder: Finder, code: int | None, model: str) -> Finder:
    """A finder for the code that is given, if one is; `model` is for errors."""
    if code is None:
        return finder
    if not isinstance(finder, OrfFinder):
        raise DataError(f"{model}: found a model with introns, expected no --code")
    return finder.with_code(code)


def told_of_code(
    finder: OrfFinder, sequences: list[AnnotatedSequence], name: str, is_free: bool
) -> OrfFinder:
    """A finder for the code that suits, if it `is_free` to be chosen; which other one suits is said."""
    better = surer_code(finder, sequences) if finder.has_probabilities else None
    if better is None:
        return finder
    code, gain = better
    if is_free:
        is_stop = "no" if code == WITHOUT_TGA else "a"
        say(f"{name}: found that TGA is {is_stop} stop codon, as by --code {code}")
        return finder.with_code(code)
    say(f"{name}: the model is sure of {gain - 1:.0%} more bases by --code {code} than by code {finder.code}")
    return finder


def learn_by_code_of(finder: Learner, genomes: Iterable[AnnotatedSequence], name: str) -> None:
    """Set the genetic code to that which most genes of a file have, if they have one of other stop codons."""
    if not isinstance(finder, ProkaryoticGeneFinder):
        return
    codes = Counter(t.code for each in genomes for t in each.transcripts if t.code is not None)
    for code, n in codes.most_common(1):
        if not OrfRules(finder.code).has_stops(code):
            say(f"{name}: found transl_table={code} of {n:,} genes, learned by that genetic code")
            finder.set_params(code=code)


def looked_ahead(
    sequences: Iterable[AnnotatedSequence],
) -> tuple[list[AnnotatedSequence], Iterator[AnnotatedSequence]]:
    """The first sequences, enough to tell codes apart by, and all of them; errors come where they are."""
    source, first, n = UntilError(sequences), list[AnnotatedSequence](), 0
    while n < ENOUGH and (each := next(source, None)) is not None:
        first.append(each)
        n += len(each.sequence)
    return first, _all(first, source)


def _all(
    first: list[AnnotatedSequence], source: UntilError[AnnotatedSequence]
) -> Iterator[AnnotatedSequence]:
    yield from first
    yield from source
    source.check()
