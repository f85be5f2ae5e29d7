"""Model files: what is saved comes back bit for bit, and nothing else than a model file loads."""

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file, safe_open, save

import structune
from structune import SequenceTagger
from structune.errors import ModelFileError
from structune.files.models import (
    FORMAT,
    checksum,
    load,
    pack_strings,
    read_model,
    save_model,
    unpack_strings,
)
from structune.learning import ValidationConstraints
from structune.learning.tuning import MajorizeTuner

SHIPPED = sorted(Path(structune.__file__).parent.rglob("*.structune"))
X = [[["w=the", "bias"], ["w=dög", "bias"]], [["w=a"], ["w=cat", {"a": 1}["a"] and "bias"], ["", "w=\0"]]]
Y = [["DET", "NOUN"], ["DET", "NOUN", "x\n"]]
WEIGHTED = [[{"w=the": 0.5, "pos": 2.0}, {"w=new": 1.0}], [{"w": "cat"}]]


def fitted(**options):
    return SequenceTagger(**{"n_jobs": 1, "tuning": None, **options}).fit(X, Y)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model file, as bytes."""
    path = tmp_path_factory.mktemp("models") / "model"
    fitted(tuning="majorize").save(path, {"note": "é"})
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "model"


def parts(data):
    """Header and arrays of a file."""
    scratch = Path(data)
    with safe_open(scratch, framework="numpy") as file:
        return json.loads(file.metadata()["structune"]), load_file(scratch)


def rewrite(scratch, data, header=None, arrays=None, raw_header=None):
    """The file with other entries in its header, or other arrays (None takes one away)."""
    scratch.write_bytes(data)
    old_header, old_arrays = parts(scratch)
    merged = {k: v for k, v in {**old_arrays, **(arrays or {})}.items() if v is not None}
    text = json.dumps({**old_header, **(header or {})}) if raw_header is None else raw_header
    scratch.write_bytes(save(merged, metadata={"structune": text, "sha256": checksum(text, merged)}))
    return scratch


@pytest.mark.parametrize(
    "options",
    [
        {"tuning": "majorize"},
        {"tuning": "direct", "groups": "separate", "boundary": False},
        {"penalty": 0.1, "states": "all", "transitions": "seen", "groups": "single"},
        {"forbidden": [("NOUN", "DET"), (None, "NOUN"), ("x\n", "x\n")]},
        {"order": 2, "transitions": "seen"},
        {"penalty": {"w": 2.0}, "random_state": np.int64(3), "forbidden": [("NOUN", "DET")]},
    ],
)
def test_what_is_saved_comes_back(options, tmp_path):
    model = fitted(**options)
    model.save(tmp_path / "model", {"features": ["a", 1, None]})
    again = structune.load(tmp_path / "model")
    assert type(again) is SequenceTagger
    assert_array_equal(again.coef_.view(np.int64), model.coef_.view(np.int64))
    assert_array_equal(again.penalty_, model.penalty_)
    assert_array_equal(again.group_sizes_, model.group_sizes_, strict=True)
    for name in ("classes_", "group_names_", "history_", "status_", "passes_"):
        assert getattr(again, name) == getattr(model, name), name
    assert again.extra_ == {"features": ["a", 1, None]}
    assert again.chain_.weight_names() == model.chain_.weight_names()
    for data in (X, WEIGHTED):
        assert again.predict(data) == model.predict(data)
        assert again.predict_marginals(data) == model.predict_marginals(data)
        assert again.predict_nbest(data) == model.predict_nbest(data)
    assert again.get_params() == model.get_params()
    assert_array_equal(again.fit(X, Y).coef_, model.coef_)


def test_parameters_that_are_no_data_come_back_as_defaults(tmp_path):
    model = fitted(tuning=MajorizeTuner(max_iterations=1), groups=lambda name: name[0], cv=0.3)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.tuning, again.groups, again.cv) == ("auto", "template", 0.3)
    model.set_params(cv=[[[0], [1, 2]]]).save(tmp_path / "model")  # JSON, but of examples that were there
    assert load(tmp_path / "model").cv is None


def test_constraints_come_back(tmp_path):
    for constraints in ("validation", ValidationConstraints(np.int64(2), 0.5)):
        fitted().set_params(constraints=constraints).save(tmp_path / "model")
        assert load(tmp_path / "model").constraints == constraints


def test_a_new_fit_forgets_what_came_with_the_file(tmp_path):
    fitted().save(tmp_path / "model", {"note": 1})
    again = load(tmp_path / "model")
    assert again.extra_ == {"note": 1}
    assert again.fit(X, Y).extra_ == {}


def refused(path, match=None):
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\xff" * 100, b"\x80\x04K\x01."])
def test_other_files(data, scratch):
    scratch.write_bytes(data)
    refused(scratch, "not a model file, or damaged")


def test_a_header_of_any_length_is_claimed(scratch):
    for length in (2**63, 2**40, 99_999_999):
        scratch.write_bytes(struct.pack("<Q", length) + b"{}")
        refused(scratch, "not a model file, or damaged")


def test_foreign_safetensors(scratch):
    scratch.write_bytes(save({"weight": np.ones(3)}, metadata={"format": "pt"}))
    refused(scratch, "the safetensors file has no structune header")


@pytest.mark.parametrize("version", [0, None, "1", float("inf")])
def test_no_format(version, saved, scratch):
    refused(rewrite(scratch, saved, {"format": version}), "the header is damaged")


def test_what_is_no_file_of_this_format(saved, scratch, tmp_path):
    refused(rewrite(scratch, saved, {"format": FORMAT + 1}), rf"format {FORMAT + 1}, .* reads up to {FORMAT}")
    refused(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"format": 1'])
def test_a_damaged_header(text, saved, scratch):
    refused(rewrite(scratch, saved, raw_header=text), "the header is damaged")


@pytest.mark.parametrize("kind", ["os.system", None, ["tagging"]])
def test_an_unknown_kind(kind, saved, scratch):
    refused(rewrite(scratch, saved, {"kind": kind}), "unknown model type")


def header_names(saved, scratch):
    scratch.write_bytes(saved)
    return parts(scratch)


def test_a_missing_part(saved, scratch):
    header, arrays = header_names(saved, scratch)
    for name in arrays:
        refused(rewrite(scratch, saved, arrays={name: None}), name)
    for name in header.keys() - {"kind", "format", "version"}:
        text = json.dumps({k: v for k, v in header.items() if k != name})
        refused(rewrite(scratch, saved, raw_header=text), name)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["coef", "penalty"])
def test_weights_that_are_no_numbers(name, bad, saved, scratch):
    _, arrays = header_names(saved, scratch)
    broken = arrays[name].copy()
    broken[-1] = bad
    refused(rewrite(scratch, saved, arrays={name: broken}), f"the array '{name}' has shape .* must have")


@pytest.mark.parametrize("changes", [(1, 0), (-100, 100), (2**62, 2**62)])
def test_group_sizes_that_do_not_add_up(changes, saved, scratch):
    sizes = header_names(saved, scratch)[1]["group_sizes"].copy()
    sizes[:2] += changes
    refused(rewrite(scratch, saved, arrays={"group_sizes": sizes}), "the group sizes do not add up")


@pytest.mark.parametrize("name", ["pair_keys", "transitions"])
@pytest.mark.parametrize("change", ["outside", "negative", "repeated", "falling", "too far apart"])
def test_tables_that_point_elsewhere(name, change, saved, scratch):
    keys = header_names(saved, scratch)[1][name].copy()
    places, changed = {
        "outside": (-1, 10**12),
        "negative": (0, -1),
        "repeated": (1, keys[0]),
        "falling": (slice(2), keys[1::-1]),
        "too far apart": (slice(3), (1, -(2**63), -1)),  # for differences to have the right sign
    }[change]
    keys[places] = changed
    refused(rewrite(scratch, saved, arrays={name: keys}), f"the table '{name}' is damaged")


def test_parameters_of_files_of_before_the_first_release(saved, scratch):
    """Those of the fit are left out, and what was held out is told by one name."""
    old = {"hessian": "exact", "max_seconds": 9.0, "tolerance": 1e-3, "holdout": 0.3, "folds": None}
    parameters = header_names(saved, scratch)[0]["parameters"] | old | {"validation_sets": 5, "gamma": 0.2}
    del parameters["cv"]
    constrained = parameters | {"constraints": "validation"}
    model = structune.load(rewrite(scratch, saved, {"parameters": constrained}))
    assert model.constraints == ValidationConstraints(5, 0.2)
    model = structune.load(rewrite(scratch, saved, {"parameters": parameters}))
    assert (model.run, model.cv, model.constraints) == (None, 0.3, None)
    assert model.predict(X) == fitted(tuning="majorize").predict(X)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name + "/" + path.stem)
def test_models_that_come_along_are_written_as_today(path, tmp_path):
    header, arrays = read_model(path)
    model = load(path)
    model.save(tmp_path / "again")
    again, same = read_model(tmp_path / "again")
    assert again == header
    one, other = ({name: array.tobytes() for name, array in all.items()} for all in (same, arrays))
    assert one == other


@pytest.mark.parametrize(
    "header",
    [
        {"labels": ["DET", "NOUN"]},
        {"labels": ["DET", "NOUN", "DET"]},
        {"order": 2},
        {"forbidden": "bioes"},
        {"forbidden": [["DET", "VERB"]]},
        {"history": [1]},
        {"passes": "many"},
        {"parameters": {"colour": 1}},
        {"extra": 3},
    ],
)
def test_a_header_that_does_not_fit(header, saved, scratch):
    refused(rewrite(scratch, saved, header))


def test_a_flipped_bit_in_a_weight_is_found(saved, scratch):
    broken = bytearray(saved)
    broken[saved.index(header_names(saved, scratch)[1]["coef"].tobytes())] ^= 1
    scratch.write_bytes(broken)
    refused(scratch, "checksum")


def test_cut_at_each_boundary(saved, scratch):
    length = struct.unpack("<Q", saved[:8])[0]
    entries = json.loads(saved[8 : 8 + length])
    spans = [entry["data_offsets"] for name, entry in entries.items() if name != "__metadata__"]
    ends = {0, 7, 8, 9, 8 + length, *(8 + length + end for span in spans for end in span)}
    for end in {e + step for e in ends for step in (-1, 0, 1)} & set(range(len(saved))):
        scratch.write_bytes(saved[:end])
        refused(scratch, "not a model file, or damaged")
    scratch.write_bytes(saved + b"\0")
    refused(scratch, "damaged")


@pytest.mark.parametrize(("where", "step"), [(os, "fsync"), (Path, "replace")])
def test_a_failing_write_leaves_the_old_file(where, step, tmp_path, monkeypatch):
    path = tmp_path / "model"
    fitted().save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(where, step, fail)
    with pytest.raises(OSError, match="no space left"):
        fitted(penalty=5.0).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_arrays_of_any_layout(tmp_path):
    arrays = {"t": np.arange(6.0).reshape(2, 3).T, "s": np.arange(10)[::3], "e": np.empty((0, 2))}
    save_model(tmp_path / "model", "tagging", {"a": 1}, arrays)
    header, again = read_model(tmp_path / "model")
    assert (header["kind"], header["format"], header["a"]) == ("tagging", FORMAT, 1)
    assert header["version"] == structune.__version__
    for name, array in arrays.items():
        assert_array_equal(again[name], array)


@given(strings=st.lists(st.text() | st.text("\ud800\udfffé\0")))  # lone surrogates too: JSON can bring them
def test_strings_come_back(strings):
    packed = pack_strings(strings)
    assert packed["bytes"].dtype == np.uint8
    assert unpack_strings(packed["bytes"], packed["ends"]) == strings


@pytest.mark.parametrize(
    ("data", "ends"), [(b"abc", [2, 4]), (b"abc", [2, 1, 3]), (b"abc", [-1, 3]), ("é".encode(), [1, 2])]
)
def test_damaged_strings(data, ends):
    with pytest.raises(ModelFileError, match="the table of names is damaged"):
        unpack_strings(np.frombuffer(data, np.uint8), np.array(ends, np.int64))


def test_types_that_numpy_lacks(saved, scratch):
    length = struct.unpack("<Q", saved[:8])[0]
    entries, body = json.loads(saved[8 : 8 + length]), saved[8 + length :]
    a, b = entries["coef"]["data_offsets"]
    for dtype in ("F8_E4M3", "F8_E5M2", "BF16"):
        entries["coef"] |= {"dtype": dtype, "shape": [(b - a) // (2 if dtype == "BF16" else 1)]}
        text = json.dumps(entries).encode()
        scratch.write_bytes(struct.pack("<Q", len(text)) + text + body)
        refused(scratch)


@pytest.mark.parametrize("given", [{"run": {"executor": "dask"}}, {"run": None}, {"executor": "dask"}])
def test_files_choose_no_machines(given, saved, scratch):
    parameters = header_names(saved, scratch)[0]["parameters"] | given
    refused(rewrite(scratch, saved, {"parameters": parameters}), f"parameter '{next(iter(given))}'")
