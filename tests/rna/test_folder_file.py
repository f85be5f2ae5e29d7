"""Model files of RNA folders: what is saved comes back, and what is damaged is refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import structune
from structune import RNAFolder
from structune.errors import ModelFileError
from structune.files.models import pack_strings, read_model, save_model

X = ["GGGAAAACCC", "GGCGAAAGCC", "AAAAAAAA", "GAAC", "GCAAAAGCAUGAAACAU"]
Y = ["(((....)))", "(((....)))", "........", "(..)", "((....))(((...)))"]


@pytest.fixture(scope="module")
def model():
    with pytest.warns(UserWarning, match="skipped 1"):
        return RNAFolder(penalty={"dangles": 0.5}, n_jobs=1, gamma=2.0).fit(X, Y)


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model", {"note": "é"})
    return tmp_path / "model"


def rewritten(path, header=None, arrays=None):
    """The file with other entries in its header, or other arrays (None takes one away)."""
    old_header, old_arrays = read_model(path)
    merged = {name: array for name, array in {**old_arrays, **(arrays or {})}.items() if array is not None}
    save_model(path, "rna", {**old_header, **(header or {})}, merged)
    return path


def refused(path, match=None):
    with pytest.raises(ModelFileError, match=match) as caught:
        structune.load(path)
    assert str(path) in str(caught.value)


def test_what_is_saved_comes_back(saved, model):
    again = structune.load(saved)
    assert type(again) is RNAFolder
    assert again.get_params() == model.get_params()
    assert_array_equal(again.coef_.view(np.int64), model.coef_.view(np.int64))
    assert_array_equal(again.penalty_, model.penalty_)
    assert_array_equal(again.group_sizes_, model.group_sizes_, strict=True)
    for name in ("group_names_", "history_", "status_", "passes_", "skipped_"):
        assert getattr(again, name) == getattr(model, name), name
    assert [s for s, _ in again.skipped_] == [3]
    assert again.extra_ == {"note": "é"}
    assert again.predict(X) == model.predict(X)
    assert again.predict_nbest(X[:2]) == model.predict_nbest(X[:2])


def test_the_space_and_the_features_come_back(tmp_path):
    model = RNAFolder(penalty=1, min_hairpin=2, noncanonical=True, features="extended").fit(X[:3], Y[:3])
    model.save(tmp_path / "model")
    again = structune.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert again.history_ == model.history_
    assert again.rna_.weight_names() == model.rna_.weight_names()
    assert_array_equal(again.log_partition(X), model.log_partition(X))


def test_the_space_is_that_of_the_fit(model, tmp_path):
    model = RNAFolder(tuning=None, min_hairpin=2).fit(X[:3], Y[:3]).set_params(min_hairpin=0)
    model.save(tmp_path / "model")
    again = structune.load(tmp_path / "model")
    assert (again.rna_.min_hairpin, again.min_hairpin) == (2, 0)


def test_weights_that_were_not_fitted_here(model, tmp_path):
    model.to_contrafold(tmp_path / "p")
    RNAFolder.from_contrafold(tmp_path / "p", min_hairpin=0).save(tmp_path / "model")
    again = structune.load(tmp_path / "model")
    assert_array_equal(again.coef_, model.coef_)
    assert (again.status_, again.group_names_, again.penalty_.size) == ("imported", (), 0)
    assert again.min_hairpin == again.rna_.min_hairpin == 0


def test_weights_are_found_by_their_names(saved, model):
    order = np.random.default_rng(0).permutation(model.coef_.size)
    names = pack_strings([model.rna_.weight_names()[i] for i in order])
    arrays = {"coef": model.coef_[order], "weight_bytes": names["bytes"], "weight_ends": names["ends"]}
    assert_array_equal(structune.load(rewritten(saved, arrays=arrays)).coef_, model.coef_)


@pytest.mark.parametrize("change", [lambda names: ["x", *names[1:]], lambda names: [names[1], *names[1:]]])
def test_unknown_weights(change, saved, model):
    names = pack_strings(change(model.rna_.weight_names()))
    arrays = {"weight_bytes": names["bytes"], "weight_ends": names["ends"]}
    refused(rewritten(saved, arrays=arrays), "missing.*base_pair_AA")


@pytest.mark.parametrize(
    "header",
    [
        {"rna": None},
        {"rna": {"min_hairpin": -1, "noncanonical": False, "features": "contrafold"}},
        {"rna": {"min_hairpin": 3, "noncanonical": False, "features": "extended"}},
        {"rna": {"min_hairpin": 3, "noncanonical": False, "features": "turner"}},
        {"skipped": [3]},
        {"rna": {"min_hairpin": 2**63 - 1, "noncanonical": False, "features": "contrafold"}},  # too many
        {"rna": {"min_hairpin": 3, "noncanonical": 2, "features": "contrafold"}},
        {"rna": {"min_hairpin": 3, "noncanonical": False}},
    ],
)
def test_a_header_that_does_not_fit(header, saved):
    refused(rewritten(saved, header))
