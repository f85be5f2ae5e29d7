"""What the recursions over a graph of exons read, and what they fill: tuples of arrays.

An exon goes from a left node to a right one of its column, which says strand and frame. Nodes are outer, at
an end of a gene, or inner, beside an intron. Introns go from an opening to a closing of a strand, and are of
`TYPES`: how much of a codon has been read before them, and what of it tells a stop codon, or a start codon
that is not whole. A bit for each type says which introns may be beside an inner node.
"""

from typing import Any, NamedTuple

# Codons that introns split must not be stop codons, and those of starts must be ATG. So an intron remembers
# what has been read of its codon, as far as that matters: of one base whether it is T (TAA, TAG, TGA) or the
# A of a start, of two whether they are TA, TG or the AT of a start.
TYPES = 8  # 0, 1 and 2 bases of a codon; of those with 1: other, T, A of a start; with 2: other, TA, TG, AT
NOTHING = -1e300  # log of 0, of which sums stay finite
SOME = -1e299  # logs above are not those of 0, whatever was added
EDGES = ("intron after 0", "intron after 1", "intron after 2", "gene", "split start", "split stop")
GENE, SPLIT_START, SPLIT_STOP = (EDGES.index(name) for name in EDGES[3:])


class Nodes(NamedTuple):
    """Those of a sequence.

    Left ones are by column, and there by position, but those of exons cut short, which are last;
    ``left_order`` goes through them by position, those of a closing next to each other. Right ones are by
    position; their exons begin at ``right_first:right_last`` of the left ones. Openings and closings are by
    strand, and there by position.
    """

    left_position: Any
    left_column: Any
    left_closing: Any  # -1 for outer ones
    left_mask: Any
    left_site: Any
    left_order: Any
    right_position: Any
    right_column: Any
    right_opening: Any  # -1 for outer ones
    right_mask: Any
    right_site: Any
    right_edge: Any  # a start or stop codon that an intron splits, or -1
    right_first: Any
    right_last: Any
    opening_position: Any
    opening_mask: Any  # of all its nodes
    closing_position: Any
    closing_mask: Any
    strand_opening: Any  # the first of each strand, and the end
    site_position: Any  # of starts, stops, donors and acceptors, each once
    site_reverse: Any
    site_signal: Any


class Scores(NamedTuple):
    """Logs. ``left``: what each left node adds to what comes before it, less its column's sum of emissions;
    ``right``: what each right node adds to the sum over its exons, and ``after``, the sum of emissions of
    what begins there; ``end``: that of what is between genes, at the end; ``exons`` (kinds, lengths), the
    last for longer ones; ``introns``: of lengths from ``shortest`` on, the last for those beyond
    ``longest``."""

    left: Any
    right: Any
    after: Any
    end: Any
    exons: Any
    introns: Any
    kinds: Any  # (2, 2, 2): kind of exon by strand, and whether its ends are outer
    shortest: Any
    longest: Any


class Sums(NamedTuple):
    """Filled by `forward`: logs of the sums of all paths up to a node, of left ones less their column's sum
    of emissions; of introns by opening (less that of their column), and by closing.

    ``exits`` (openings, types); ``entries`` (closings, types); ``far``: of those from openings far before a
    closing.
    """

    left: Any
    right: Any
    exits: Any
    entries: Any
    far: Any


class Counts(NamedTuple):
    """What `backward` fills: probabilities of left and right nodes, how often each length of `Scores` is
    used, and ``opened``, ``closed``: introns by opening or closing, and type."""

    left: Any
    right: Any
    exons: Any
    introns: Any
    opened: Any
    closed: Any
