"""Random transcripts for the tests of genes."""

from itertools import pairwise

from hypothesis import strategies as st

from structune.genes.formats.record import Transcript

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def transcripts(draw, contigs=("a", "b"), length=60, max_exons=4):
    ends = draw(
        st.lists(st.integers(0, length), min_size=2, max_size=2 * max_exons, unique=True).filter(
            lambda ends: len(ends) % 2 == 0
        )
    )
    ends.sort()
    exons = tuple(list(pairwise(ends))[::2])
    return Transcript(
        draw(st.sampled_from(contigs)),
        draw(st.sampled_from("+-")),
        exons,
        draw(names),
        draw(st.sampled_from("gh")),
        draw(st.none() | st.floats(allow_nan=False)),
    )


def reverse_complement(transcript, length=60):
    """The same transcript on the other strand of its sequence."""
    exons = tuple((length - b, length - a) for a, b in reversed(transcript.exons))
    strand = "-" if transcript.strand == "+" else "+"
    return Transcript(transcript.contig, strand, exons, transcript.name, transcript.gene, transcript.score)
