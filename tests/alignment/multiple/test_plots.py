"""Guide trees as pictures."""

from dataclasses import replace

import numpy as np
import pytest

from structune import SequenceAligner
from structune.alignment import plot_guide_tree
from structune.errors import DataError

MODEL = SequenceAligner.pretrained().set_params(n_jobs=1)


def labels(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_names(tmp_path):
    found = MODEL.align(["MKVLAAGIV", "MKVLAAGIV", "MKIIWAAGV"])
    path = tmp_path / "tree.svg"
    assert sorted(labels(plot_guide_tree(found, ["a$_b$", "c" * 99, "\udce9"], path))) == [
        "?",
        "a$_b$",
        "c" * 39 + "…",
    ]
    assert path.stat().st_size
    assert sorted(labels(plot_guide_tree(found, path=path))) == ["1", "2", "3"]


def test_many_have_no_names(tmp_path):
    found = MODEL.align(["MKVLAAGIV"] * 121, all_pairs=10, refinements=0)
    assert not any(labels(plot_guide_tree(found, path=tmp_path / "tree.png")))


def test_a_tree_as_deep_as_it_has_leaves(tmp_path):
    n = 3000
    chain = [[0, 1, 0.5, 2], *([k, n + k - 2, 0.5, k + 1] for k in range(2, n))]
    found = replace(MODEL.align(["MKV"] * 2), rows=["A"] * n, tree=np.array(chain, float))
    (lines,) = plot_guide_tree(found, path=tmp_path / "tree.png").axes[0].collections
    assert len(lines.get_segments()) == n - 1


def test_what_is_wrong_is_named():
    with pytest.raises(DataError, match="found 1 sequences, expected at least two"):
        plot_guide_tree(MODEL.align(["MKV"]))
    with pytest.raises(DataError, match="found 1 names for 2 sequences"):
        plot_guide_tree(MODEL.align(["MKV", "MKV"]), ["a"])
