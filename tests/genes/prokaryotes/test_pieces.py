"""Sequences cut at gaps."""

import pytest

from structune.genes.formats.record import AnnotatedSequence
from structune.genes.prokaryotes.orf_finder import known_pieces


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("N" * 500, []),
        ("ACGT", [(0, 4)]),
        ("ACGT" + "N" * 9 + "ACGT", [(0, 17)]),
        ("ACGT" + "n" * 10 + "ACGT", [(0, 4), (14, 18)]),
        ("N" * 20 + "ACGT" + "NRYK" * 5, [(20, 24)]),
    ],
)
def test_pieces(text, expected):
    found = list(known_pieces(AnnotatedSequence("c", text), 3))
    assert [(piece.start, piece.start + piece.letters.size) for piece in found] == expected
    assert all(piece.sequence == 3 for piece in found)
