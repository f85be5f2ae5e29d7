"""Training examples of a gene finder without introns: annotated genomes cut between their genes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from structune.genes.examples import Examples
from structune.genes.formats.dna import without_u
from structune.genes.formats.record import (
    AnnotatedSequence,
    CodingProblem,
    Skipped,
    Transcript,
    by_position,
    coding_problems,
)
from structune.genes.prokaryotes.structure import candidates
from structune.genes.prokaryotes.structure.candidates import CANDIDATES, Gene, OrfRules, OrfShard

_GENES = 5  # of an example, if there is room between them
_Item = tuple[int, int, Any]  # start, end, and the gene if it can be learned from; or genes


@dataclass
class OrfExamples(Examples):
    """Some neighboring genes each, with what is between them."""

    genes: list[list[Gene]] = field(default_factory=list)  # of each example, within it
    sources: list[int] = field(default_factory=list)  # which of the annotated sequences each is from


def cut_genomes(annotated: Iterable[AnnotatedSequence], rules: OrfRules) -> OrfExamples:
    """Cut examples of about five genes each, in the middle between genes that do not overlap.

    Genes that are not candidates are skipped, with those that they overlap or touch. Of several genes with
    the same stop codon the longest valid one counts. Sequences without genes are skipped, because they may
    not have been annotated.
    """
    found = OrfExamples()
    for s, sequence in enumerate(annotated):
        bases = without_u(sequence.sequence)
        found.skipped += sequence.skipped
        problems = _problems(sequence.transcripts, bases, rules)
        items: list[_Item] = [(t.start, t.end, None if problem else t) for t, problem in problems.items()]
        unread = [one.span for one in sequence.skipped if one.span is not None]
        # of those across the origin, what lies behind it
        unread += [(0, end - len(bases)) for start, end in unread if start < len(bases) < end]
        items += [(start, end, None) for start, end in unread]
        kept = set[Transcript]()
        for start, end, genes in _pieces(sorted(items, key=lambda item: item[:2]), len(bases)):
            found.sequences.append(bases[start:end])
            found.genes.append([(t.start - start, t.end - start, t.strand) for t in genes])
            found.sources.append(s)
            kept.update(genes)
        for t, problem in problems.items():
            if t not in kept:
                reason = problem or "overlaps or touches a skipped gene"
                found.skipped.append(Skipped(sequence.name, t.gene, reason, (t.start, t.end)))
    return found


def cut_between(shard: OrfShard) -> OrfShard:
    """Cut encoded sequences, all genes of which are known, in the same way."""
    pieces = list[tuple[int, int, int]]()
    for s in range(len(shard)):
        part = shard.part(s, CANDIDATES)
        genes = shard.bounds[part][shard.chosen[part] > 0]
        items = [(a, b, True) for a, b in genes[np.argsort(genes[:, 0], kind="stable")].tolist()]
        pieces += [(s, start, end) for start, end, _ in _pieces(items, int(shard.n_bases[s]))]
    return candidates.cut(shard, np.array(pieces, np.int64).reshape(-1, 3))


def _problems(transcripts: Iterable[Transcript], bases: str, rules: OrfRules) -> dict[Transcript, str]:
    """Why each transcript cannot be used for training, or ""; by position, one for each stop codon."""
    of_stop: dict[tuple[str, int], list[tuple[bool, int, Transcript, str]]] = {}
    # Of one stop codon the longest transcript without a problem counts; where all have one, the longest.
    # Other starts at the same stop say nothing against it.
    for t in transcripts:
        stop, problem = t.end if t.strand == "+" else t.start, _problem(t, bases, rules)
        of_stop.setdefault((t.strand, stop), []).append((bool(problem), -t.length, t, problem))
    chosen = [min(of, key=lambda one: one[:2]) for of in of_stop.values()]
    reasons = {t: problem for *_, t, problem in chosen}
    found = {t: reasons[t] for t in by_position(reasons)}
    sound = [t for t, problem in found.items() if not problem]
    # neighbours by start: a gene within the longest overlap of the one before can be learned from
    for a, b in pairwise(sound):
        if b.start < a.end - rules.overlap:
            found[a] = found[b] = f"overlaps another gene by more than {rules.overlap} bases"
    return found


def _problem(t: Transcript, bases: str, rules: OrfRules) -> str:
    if any(t.partial):
        return "incomplete"
    if len(t.exons) > 1:
        return "in several parts"
    if t.length < rules.shortest:
        return f"shorter than {rules.shortest} bases"
    problem = next(map(str, coding_problems(t, bases, rules.code, candidates.STARTS)), "")
    if problem == CodingProblem.STOP_WITHIN and not coding_problems(
        t, bases, candidates.WITHOUT_TGA, candidates.STARTS
    ):
        return f"{problem}, but none with genetic code {candidates.WITHOUT_TGA}"
    return problem


def _pieces(items: Iterable[_Item], n_bases: int) -> Iterator[_Item]:
    """Cut a sequence midway between genes into parts with some genes each; items are sorted by start."""
    blocks, cuts, last = list[list[Any]](), list[int](), 0
    for start, end, gene in items:
        if blocks and start <= last:
            blocks[-1].append(gene)
        else:
            cuts.append((last + start) // 2 if blocks else 0)
            blocks.append([gene])
        last = max(last, end)
    # A cut in the middle between two runs of genes: the bases between are shared out, and no example begins
    # or ends within a gene. A run with a gene that cannot be learned from is no example, and nor are its
    # bases.
    whole: _Item | None = None
    for (start, end), genes in zip(pairwise([*cuts, n_bases]), blocks, strict=True):
        if whole and (not all(genes) or len(whole[2]) >= _GENES):
            yield whole
            whole = None
        if all(genes):
            whole = (whole[0], end, whole[2] + genes) if whole else (start, end, genes)
    if whole:
        yield whole
