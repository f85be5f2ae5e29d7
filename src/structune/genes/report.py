"""Genes that were predicted, beside the annotated ones."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from structune.genes.formats.record import Transcript
from structune.genes.plots import plot_genes
from structune.html_reports.page import Block, Fold, Picture, Section, Text
from structune.html_reports.pictures import picture
from structune.html_reports.tables import make_table

Genes = Mapping[str, Sequence[Transcript]]
_MOST_ROWS, _MOST_DRAWN = 300, 12
_FAR = 3_000  # bases between errors of two pictures
_WIDEST = 40_000  # bases of a picture, where one gene is not longer
_MISTAKES = {
    "missed": "an annotated gene, where nothing is predicted on its strand",
    "not annotated": "a predicted gene, where nothing is annotated on its strand",
    "other start": "it ends at the annotated stop codon",
    "other ends or introns": "it overlaps with an annotated gene",
}


@dataclass(frozen=True)
class Error:
    """A gene that was missed, or predicted wrongly."""

    sequence: str
    transcript: Transcript
    mistake: str


def gene_sections(annotated: Genes, predicted: Genes) -> Iterator[Section]:
    """Errors by what they are, and tracks of where most of them are."""
    names = dict.fromkeys([*annotated, *predicted])
    errors = [e for name in names for e in _errors(name, annotated.get(name, ()), predicted.get(name, ()))]
    if not errors:
        yield Section("Errors", [Text("All predicted genes are as annotated.")])
        return
    number = Counter(error.mistake for error in errors)
    mistakes = [(mistake, _MISTAKES[mistake], f"{n:,}") for mistake, n in number.most_common()]
    rows = [
        (e.sequence, e.mistake, e.transcript.strand, f"{e.transcript.start + 1:,}", f"{e.transcript.end:,}")
        for e in errors
    ]
    texts, numbers = ["sequence", "error", "strand"], ["from", "to"]
    every = Fold("All errors, along the sequences", [make_table("", texts, numbers, rows, _MOST_ROWS)])
    of_each = make_table("", ["error", "what it is"], ["transcripts"], mistakes, len(mistakes))
    yield Section("Errors", [of_each, every])
    worst = sorted(_clusters(errors), key=len, reverse=True)[:_MOST_DRAWN]
    tracks: list[Block] = [_tracks(cluster, annotated, predicted) for cluster in worst]
    yield Section("Tracks", [Text(_TOLD), *tracks])


_TOLD = (
    "Where most errors are. Orange are coding parts and introns that the other track does not have. Tips "
    "show the strand."
)


def _errors(name: str, annotated: Iterable[Transcript], predicted: Iterable[Transcript]) -> list[Error]:
    """Those of a sequence, along it. A gene that is predicted otherwise is one error, of the prediction."""
    annotated, predicted = list(annotated), list(predicted)
    found: list[Error] = []
    for strand in "+-":
        # transcripts with the same coding parts count once, as in the scores
        true, told = (
            list({t.exons: t for t in of if t.strand == strand}.values()) for of in (annotated, predicted)
        )
        shapes = {t.exons for t in true}
        stops = {_stop(t) for t in true}
        overlapped, overlapping = _overlapping(true, told), _overlapping(told, true)
        found += [Error(name, t, "missed") for t, hit in zip(true, overlapped, strict=True) if not hit]
        for t, hit in zip(told, overlapping, strict=True):
            if t.exons not in shapes:
                other = "other ends or introns" if hit else "not annotated"
                found.append(Error(name, t, "other start" if hit and _stop(t) in stops else other))
    return sorted(found, key=lambda error: error.transcript.start)


def _stop(t: Transcript) -> int:
    return t.end if t.strand == "+" else t.start


def _overlapping(some: Sequence[Transcript], others: Sequence[Transcript]) -> list[bool]:
    """Whether each of some shares positions with one of the others."""
    starts = [(t.start, t.end) for t in sorted(others, key=lambda t: t.start)]
    furthest = list(accumulate((end for _, end in starts), max))  # of those that start no later
    before = [bisect_left(starts, (t.end, 0)) for t in some]  # how many start before each ends
    return [k > 0 and furthest[k - 1] > t.start for t, k in zip(some, before, strict=True)]


def _clusters(errors: Sequence[Error]) -> Iterator[list[Error]]:
    """Errors that lie near each other."""
    cluster = [errors[0]]
    for error in errors[1:]:
        first, last = cluster[0].transcript, cluster[-1].transcript
        is_near = error.transcript.start - last.end < _FAR and error.transcript.end - first.start < _WIDEST
        if error.sequence == cluster[0].sequence and is_near:
            cluster.append(error)
        else:
            yield cluster
            cluster = [error]
    yield cluster


def _tracks(cluster: Sequence[Error], annotated: Genes, predicted: Genes) -> Picture:
    name = cluster[0].sequence
    start = min(e.transcript.start for e in cluster)
    end = max(e.transcript.end for e in cluster)
    room = max(_FAR // 3, (end - start) // 10)
    start, end = max(0, start - room), end + room
    both = {"annotated": annotated.get(name, ()), "predicted": predicted.get(name, ())}
    place = f"{name}, {start + 1:,} to {end:,}"
    plot = partial(plot_genes, both, start, end)
    return picture(plot, f"annotated and predicted genes of {place}", place, True)
