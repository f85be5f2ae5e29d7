"""Tables of weights: what they show, and that nothing is left out unsaid."""

import re

import pytest
from sklearn.exceptions import NotFittedError

from structune import SegmentTagger, SequenceTagger
from structune.compat import CRF, show_weights

X = [[{"w": "<b>"}, {"w": "dog"}, {"w": "runs"}], [{"w": "a"}, {"w": "cat"}, {"w": "sits"}]]
Y = [["O", "B-x", "I-x"], ["O", "B-x", "I-x"]]


def test_tables_of_weights():
    crf = CRF(c2=0.1, all_possible_states=True).fit(X, Y)
    tables = show_weights(crf, top=3)
    lines = repr(tables).splitlines()
    assert [line for line in lines if line[:1].strip()] == ["Transitions", "y = O", "y = B-x", "y = I-x"]
    row = next(line.split() for line in lines if line.startswith("  O "))
    assert row == ["O", f"{crf.transition_features_['O', 'B-x']:+.3f}"]  # and nothing to I-x
    part = lines[lines.index("y = O") : lines.index("y = B-x")]
    shown = [line for line in part if re.match(r"  [+-]\d|  +\.\.\.", line)]
    weights = [float(line.split()[0]) for line in shown if "more" not in line]
    assert len(weights) == 3
    assert weights == sorted(weights, reverse=True)
    n_more = sum(int(line.split()[1]) for line in shown if "more" in line)
    assert len(weights) + n_more == crf.num_attributes_
    page = show_weights(crf)._repr_html_()  # without markup of users
    assert "w:&lt;b&gt;" in page
    assert "<b>" not in page
    assert "background-color: #69ff69" in page  # of the largest weight


def test_of_other_taggers():
    assert "(none)" in repr(show_weights(SequenceTagger(penalty=1.0).fit(X, Y)))
    trigrams = show_weights(SequenceTagger(penalty=1.0, order=2).fit(X, Y))[1]
    assert trigrams.title == "Trigrams"
    assert "(none) -> O -> B-x" in trigrams.columns[1].cells
    assert "segment.text=dog runs" in repr(show_weights(SegmentTagger(penalty=1.0).fit(X, Y)))
    with pytest.raises(NotFittedError):
        show_weights(CRF())
    with pytest.raises(ValueError, match="top=0: expected a whole number >= 1"):
        show_weights(CRF().fit(X, Y), top=0)
