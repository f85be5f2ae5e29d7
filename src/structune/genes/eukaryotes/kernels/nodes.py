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
    strand_closing: Any
    site_position: Any  # of starts, stops, donors and acceptors, each once
    site_reverse: Any
    site_signal: Any


class Scores(NamedTuple):
    """Logs. ``prefix`` (n + 1, columns): sums over what each column emits, of coding ones by strand and
    frame, of introns by strand, and phase if they differ, and between genes; ``sites``: of each site;
    ``edges``: of introns by phase, genes, and split codons; ``exons`` (kinds, lengths), the last for longer
    ones; ``introns``: of lengths from ``shortest`` on, the last for those beyond ``longest``."""

    prefix: Any
    sites: Any
    edges: Any
    exons: Any
    introns: Any
    kinds: Any  # (2, 2, 2): kind of exon by strand, and whether its ends are outer
    intron_columns: Any  # (2, 3): by strand and phase
    shortest: Any
    longest: Any


class Sums(NamedTuple):
    """Filled by `forward`: logs of the sums of all paths up to a node, of left ones less their column's
    prefix; of introns by opening (less the prefix of their column), and by closing.

    ``exits`` (openings, types); ``entries`` (closings, types); ``far``: of those from openings far before a
    closing.
    """

    left: Any
    right: Any
    exits: Any
    entries: Any
    far: Any


class Counts(NamedTuple):
    """What `backward` adds to: how often each of `Scores` is used; ``cover`` (n + 1, columns) as differences
    from one position to the next; ``left``: probabilities of left nodes; ``opened``, ``closed``: of
    introns by opening or closing, and type."""

    cover: Any
    sites: Any
    edges: Any
    exons: Any
    introns: Any
    left: Any
    opened: Any
    closed: Any
