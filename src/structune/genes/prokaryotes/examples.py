"""Training examples of a gene finder without introns: annotated genomes cut between their genes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structune.genes.examples import Examples
from structune.genes.formats.checks import CodingProblem, coding_problems
from structune.genes.formats.dna import without_u
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript, by_position
from structune.genes.prokaryotes.structure.assembly import Gene, cut
from structune.genes.prokaryotes.structure.candidates import STARTS, WITHOUT_TGA, OrfRules
from structune.genes.prokaryotes.structure.shard import CANDIDATES, OrfShard

_GENES = 5  # of an example, if there is room between them
_Item = tuple[int, int, Transcript | None]  # start, end, and the gene if it can be learned from


@dataclass
class OrfExamples(Examples):
    """Some neighbouring genes each, with what is between them.

    Attributes
    ----------
    sequences : list of str
    genes : list of lists of (int, int, str)
        Start, end and strand, within the example.
    sources : list of int
        Which of the annotated sequences each is from.
    skipped : list of Skipped
    """

    genes: list[list[Gene]] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)


class _Span(NamedTuple):
    """Part of a sequence between genes: the genes in it, none if it cannot be learned from."""

    start: int
    end: int
    genes: list[Any]


def cut_genomes(annotated: Iterable[AnnotatedSequence], rules: OrfRules) -> OrfExamples:
    """Examples of about five genes each, cut in the middle between genes that do not overlap.

    Left out are genes that are no candidates, with those that they overlap or touch. Of several that end at
    one stop codon the longest counts that makes sense, and the others are no matter. Sequences without genes
    are left out, too: nobody may have looked for them.
    """
    found = OrfExamples()
    for s, sequence in enumerate(annotated):
        bases = without_u(sequence.sequence)
        found.skipped += sequence.skipped
        problems = _problems(sequence.transcripts, bases, rules)
        spans = _spans(sequence, problems)
        found.skipped += _skipped(sequence.name, spans, problems)
        for span in _merged(spans):
            found.sequences.append(bases[span.start : span.end])
            found.genes.append([(t.start - span.start, t.end - span.start, t.strand) for t in span.genes])
            found.sources.append(s)
    return found


def cut_between(shard: OrfShard) -> OrfShard:
    """The same of sequences whose genes are all known, and encoded already."""
    pieces = list[tuple[int, int, int]]()
    for s in range(len(shard)):
        part = shard.part(s, CANDIDATES)
        genes = shard.bounds[part][shard.chosen[part] > 0]
        items: list[_Item] = [(a, b, None) for a, b in genes[np.argsort(genes[:, 0], kind="stable")].tolist()]
        blocks = _blocks(items)
        cuts = _cuts(blocks, int(shard.n_bases[s]))
        spans = (_Span(*ends, block) for ends, block in zip(pairwise(cuts), blocks, strict=False))
        pieces += [(s, span.start, span.end) for span in _merged(spans)]
    return cut(shard, np.array(pieces, np.int64).reshape(-1, 3))


def _problems(transcripts: Iterable[Transcript], bases: str, rules: OrfRules) -> dict[Transcript, str]:
    """What keeps transcripts from being learned from, or nothing; by position, one for each stop codon."""
    of_stop: dict[tuple[str, int], list[tuple[bool, int, Transcript, str]]] = {}
    for t in transcripts:
        stop, problem = t.end if t.strand == "+" else t.start, _problem(t, bases, rules)
        of_stop.setdefault((t.strand, stop), []).append((bool(problem), -t.length, t, problem))
    chosen = [min(of, key=lambda one: one[:2]) for of in of_stop.values()]
    reasons = {t: problem for *_, t, problem in chosen}
    found = {t: reasons[t] for t in by_position(reasons)}
    sound = [t for t, problem in found.items() if not problem]
    for a, b in pairwise(sound):
        if b.start < a.end - rules.overlap:
            found[a] = found[b] = f"overlaps another gene by more than {rules.overlap} bases"
    return found


def _problem(t: Transcript, bases: str, rules: OrfRules) -> str:
    if any(t.partial):
        return "not whole"
    if len(t.exons) > 1:
        return "in several parts"
    if t.length < rules.shortest:
        return f"shorter than {rules.shortest} bases"
    problem = next(map(str, coding_problems(t, bases, rules.code, STARTS)), "")
    if problem == CodingProblem.STOP_WITHIN and not coding_problems(t, bases, WITHOUT_TGA, STARTS):
        return f"{problem}, by the genetic code {WITHOUT_TGA} none"
    return problem


def _spans(sequence: AnnotatedSequence, problems: dict[Transcript, str]) -> list[_Span]:
    """The sequence, cut wherever there is a base between genes."""
    n_bases = len(sequence.sequence)
    items: list[_Item] = [(t.start, t.end, None if problem else t) for t, problem in problems.items()]
    unread = [one.span for one in sequence.skipped if one.span is not None]
    unread += [(0, end - n_bases) for start, end in unread if start < n_bases < end]  # across the origin
    items += [(start, end, None) for start, end in unread]
    blocks = _blocks(sorted(items, key=lambda item: item[:2]))
    cuts = _cuts(blocks, n_bases)
    genes = [[t for *_, t in block if t] for block in blocks]
    return [
        _Span(a, b, some if len(some) == len(block) else [])
        for (a, b), some, block in zip(pairwise(cuts), genes, blocks, strict=False)
    ]


def _blocks(items: Iterable[_Item]) -> list[list[_Item]]:
    """Runs of items that overlap or touch; they come by start."""
    found: list[list[_Item]] = []
    end = 0
    for item in items:
        if found and item[0] <= end:
            found[-1].append(item)
        else:
            found.append([item])
        end = max(end, item[1])
    return found


def _cuts(blocks: Sequence[list[_Item]], n_bases: int) -> list[int]:
    """In the middle between blocks, and both ends."""
    return [0, *((_end(a) + b[0][0]) // 2 for a, b in pairwise(blocks)), n_bases]


def _end(block: Iterable[_Item]) -> int:
    return max(end for _, end, _ in block)


def _skipped(name: str, spans: Sequence[_Span], problems: dict[Transcript, str]) -> Iterator[Skipped]:
    kept = {t for span in spans for t in span.genes}
    for t, problem in problems.items():
        if t not in kept:
            reason = problem or "overlaps or touches a gene that was left out"
            yield Skipped(name, t.gene, reason, (t.start, t.end))


def _merged(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Neighbours in one, until there are enough genes."""
    whole: _Span | None = None
    for span in spans:
        if whole and (not span.genes or len(whole.genes) >= _GENES):
            yield whole
            whole = None
        if span.genes:
            whole = _Span(whole.start, span.end, whole.genes + span.genes) if whole else span
    if whole:
        yield whole
