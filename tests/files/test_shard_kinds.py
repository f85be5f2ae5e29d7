"""Folders of shards of every kind of structure: the fit is that in memory, and damage is refused."""

import json
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn.base import clone

import simulated_genes
from shard_kinds import EXAMPLES, rewrite, with_array
from structune import GeneFinder, load
from structune.errors import DataError
from structune.files.shards import ShardWriter, _arrays, open_shards
from structune.genes.formats.record import AnnotatedSequence
from structune.kinds import kinds
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.running import Run

UNTIED = {"run": Run(tolerance=1e-8)}


def test_there_are_examples_of_every_kind():
    assert set(EXAMPLES) == {kind.word for kind in kinds().values() if kind.shard is not None}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Of each kind, of two folds."""
    path = tmp_path_factory.mktemp("kinds")
    for name, kind in EXAMPLES.items():
        kind.write(path / name, n_folds=2)
    return path


@pytest.fixture
def copied(folders, tmp_path):
    def copy(name):
        return shutil.copytree(folders / name, tmp_path / name)

    return copy


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_fit_is_that_in_memory(folders, tmp_path, name):
    kind = EXAMPLES[name]
    found = clone(kind.estimator).set_params(**UNTIED).fit_shards(folders / name)
    expected = clone(kind.estimator).set_params(**UNTIED).fit(*kind.data)
    assert_allclose(found.coef_, expected.coef_, atol=1e-6)
    assert found.penalty_.tolist() == expected.penalty_.tolist()
    found.save(tmp_path / "model")
    assert_equal(load(tmp_path / "model").predict(kind.data[0]), found.predict(kind.data[0]))


@pytest.mark.parametrize("name", ["rna", "ranking"])
def test_a_margin_fit_is_that_in_memory(folders, name):
    kind = EXAMPLES[name]
    options = {**UNTIED, "loss": kind.losses[-1], "run": Run(max_iterations=5, tolerance=1e-8)}
    found = clone(kind.estimator).set_params(**options).fit_shards(folders / name)
    expected = clone(kind.estimator).set_params(**options).fit(*kind.data)
    assert_allclose(found.coef_, expected.coef_, atol=1e-6)


@pytest.mark.parametrize("name", ["tagging", "rna", "regressor"])
def test_whole_shards_are_held_out(folders, name):
    """The held-out loss of a tuner is that of the one shard after a fit to the other."""
    estimator = clone(EXAMPLES[name].estimator).set_params(tuning="grid", **UNTIED)
    tuned = estimator.fit_shards(folders / name)
    record = next(r for r in tuned.history_ if r["stage"] == "grid")
    data, groups = open_shards(folders / name), estimator._weight_groups(tuned._structure)
    structure = data.model._structure
    train, heldout = (Risk(structure, tuned._make_loss(), data.of_folds([fold])) for fold in (1, 0))
    precision = GroupedL2(groups, np.array(record["log_precision"])).precision
    fit = fit_l2(train, precision, center=tuned._origin(structure), tolerance=1e-8)
    assert_allclose(record["heldout_loss"], heldout.heldout_loss(fit.w), rtol=1e-4)


def test_the_space_is_that_of_the_folder(folders, tmp_path):
    """Whatever the parameters say: the model is saved as what it is."""
    finder = GeneFinder(tuning=None, features="paper", strands="forward").fit_shards(folders / "genes")
    finder.save(tmp_path / "model")
    found = load(tmp_path / "model")
    assert (found.features, found.strands) == ("full", "both")
    assert_array_equal(found.coef_, finder.coef_)


@pytest.mark.parametrize("name", ["genes", "prokaryotic-genes"])
def test_blocks_of_genomes(tmp_path, name):
    """As a file that is read sequence by sequence gives them, some without a gene."""
    kind = EXAMPLES[name]
    (genomes,), nothing = kind.data, AnnotatedSequence("empty", "ACGT" * 10, ())
    finder = clone(kind.estimator).set_params(run=Run(max_iterations=10))

    def blocks():
        return iter([genomes[:1], [nothing, "ACGT"], genomes[1:]])

    written = finder.write_blocks(blocks, ShardWriter(tmp_path / "f", 2))
    found = finder.fit_shards(tmp_path / "f")
    assert len(written) == sum(open_shards(tmp_path / "f").n_examples)
    assert_allclose(found.coef_, clone(finder).fit(*kind.data).coef_, atol=1e-6)
    with pytest.raises(DataError, match="there are no genes to train on"):
        finder.write_blocks(lambda: iter([[nothing]]), ShardWriter(tmp_path / "g"))


def test_parts_that_tables_leave_out_are_drawn_over_all_blocks(tmp_path):
    genomes = simulated_genes.genome(1, 5)
    finder = GeneFinder(flank=30, tuning=None, n_jobs=1, random_state=3, run=Run(max_iterations=10))
    finder.write_blocks(lambda: iter([genomes[:1], genomes[1:4], genomes[4:]]), ShardWriter(tmp_path / "f"))
    expected = clone(finder).fit(genomes)
    assert_allclose(clone(finder).fit_shards(tmp_path / "f").coef_, expected.coef_, atol=1e-6)
    given = iter([genomes, genomes[:2]])
    with pytest.raises(DataError, match="returned 15 training genes at first, but 6 later"):
        finder.write_blocks(lambda: iter([next(given)]), ShardWriter(tmp_path / "g"))


def _beyond(array):
    """With a last number that is too large, or not one."""
    out = array.copy()
    flat = (out.view(np.uint8) if out.dtype == bool else out).reshape(-1)
    flat[-1:] = np.nan if flat.dtype.kind == "f" else np.iinfo(flat.dtype).max
    return out


DAMAGES = {"shorter": lambda a: a[1:], "of another type": lambda a: a.astype(np.float32), "beyond": _beyond}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_arrays_that_kernels_must_not_see(folders, copied, name, damage):
    sound = open_shards(folders / name)
    for array_name, array in _arrays(sound.shards[0]):
        if not array.ndim:
            continue
        changed = DAMAGES[damage](array)
        if (changed.dtype, changed.shape) == (array.dtype, array.shape) and np.array_equal(changed, array):
            continue
        folder = copied(name)
        rewrite(folder, with_array(sound.shards[0], array_name, changed))
        with pytest.raises(DataError, match=r"shard-00000\.bin: the shard is damaged"):
            _ = known(folder, sound.model).shards
        shutil.rmtree(folder)


def known(folder, model):
    """A folder whose model need not be loaded again."""
    found = open_shards(folder)
    vars(found)["model"] = model
    return found


@pytest.mark.parametrize("wrong", [np.float64(1.0), np.int64(-1)])
@pytest.mark.parametrize("path", ["n_scores", "design.bias", "design.matrix.columns"])
def test_numbers_that_are_none(copied, path, wrong):
    """Or are those of another structure."""
    folder = copied("classifier")
    header = json.loads((folder / "shards.json").read_text())
    layout, file = header["shards"][0]["layout"], folder / "shard-00000.bin"
    start = -(-file.stat().st_size // 64) * 64
    with file.open("ab") as opened:
        opened.write(b"\0" * (start - opened.tell()) + wrong.tobytes())
    found = [each for each in layout if each[0] == path]
    found[0][1] = [wrong.dtype.str, wrong.shape, start]
    (folder / "shards.json").write_text(json.dumps(header))
    with pytest.raises(DataError, match=r"shard-00000\.bin: (the shard is damaged|the file does not match)"):
        _ = open_shards(folder).shards


WRONG = [
    ("classifier", "design.matrix.indptr", lambda a: a[::-1], "offsets, which begin with 0"),
    ("classifier", "design.matrix.indices", lambda a: a.astype(np.float64), "columns of float64"),
    ("ranking", "outputs", lambda a: a[::-1], "positions do not sort documents by gain"),
    ("ranking", "ideal", lambda a: 2.0 * a, "do not fit the ideal DCG"),
    ("ranking", "gains", lambda a: a - 1.0, "gains are below 0"),
    ("ranking", "offsets", lambda a: np.where(a == a[1], 0, a), "a query has no documents"),
    ("rna", "partners", lambda a: np.roll(a, 1), "no matching|not nested|cannot pair"),
    ("rna", "partners", lambda a: np.where(a >= 0, a[::-1], a), "no matching|not nested"),
    ("rna", "letters", lambda a: np.zeros_like(a), "they cannot pair"),
    ("rna", "forced", lambda a: a + 1e6, "forced scores"),
    ("genes", "letters", lambda a: (a + 1) % 4, "the words do not match"),
    ("genes", "words", lambda a: a[::-1], "the words do not match"),
    ("genes", "nodes.left_position", lambda a: a[::-1], "left_position do not match the bases"),
    ("genes", "paths", lambda a: (a + 1) % 5, "the model cannot have a gene"),
    ("prokaryotic-genes", "bounds", lambda a: a + 3, "left_position"),
    ("prokaryotic-genes", "bounds", lambda a: a + np.arange(2), "whole codons|ends behind"),
    ("prokaryotic-genes", "bounds", lambda a: a[::-1], "ends beyond|whole codons|order of their starts"),
    ("prokaryotic-genes", "right_of", lambda a: a[::-1], "right_of|add up"),
    ("prokaryotic-genes", "right_position", lambda a: a * 0, "right_position"),
    ("prokaryotic-genes", "left_position", lambda a: a[::-1], "left_position"),
    ("prokaryotic-genes", "reverse", lambda a: ~a, "not share out|reverse|bounds|frame|codons"),
    ("prokaryotic-genes", "skipped", lambda a: a * 0, "skipped"),
    ("prokaryotic-genes", "n_words", lambda a: a[::-1], "add up|n_words"),
    ("prokaryotic-genes", "n_candidates", lambda a: a[::-1], "add up|frame"),
    ("prokaryotic-genes", "chosen", lambda a: a * 0 + 1, "overlaps the one before"),
    ("alignment", "partners", lambda a: a[::-1], "must be in the order of both sequences"),
    ("alignment", "partners", lambda a: np.full_like(a, 3), "must be in the order of both sequences"),
    ("alignment", "scored", lambda a: ~a, "must be in the order of both sequences"),
    ("alignment", "starts", lambda a: np.where(np.arange(a.size), a[-1], 0), "parts differ from the lengths"),
]


@pytest.mark.parametrize("k", range(len(WRONG)))
def test_what_does_not_belong_together(copied, k):
    name, array, change, message = WRONG[k]
    folder = copied(name)
    rewrite(folder, lambda shard: with_array(shard, array, change))
    with pytest.raises(DataError, match=rf"^[^:]*shard-00000\.bin: the shard is damaged: .*({message})"):
        clone(EXAMPLES[name].estimator).fit_shards(folder)


def test_alignments_beyond_the_band(copied):
    folder = copied("alignment")
    model = open_shards(folder).model.set_params(band=1)
    (folder / "structure.structune").unlink()
    model.save(folder / "structure.structune")
    with pytest.raises(DataError, match=r"the shard is damaged: .*more than band=1"):
        _ = open_shards(folder).shards


@pytest.mark.parametrize("name", ["tagging", "classifier"])
def test_another_structure(folders, copied, name):
    """That of another kind, whether the list of shards says so or not."""
    other = "rna" if name == "tagging" else "tagging"
    folder = copied(name)
    shutil.copy(folders / other / "structure.structune", folder)
    kind = json.loads((folders / other / "shards.json").read_text())["kind"]
    header = json.loads((folder / "shards.json").read_text())
    for said in (header["kind"], kind):
        (folder / "shards.json").write_text(json.dumps(header | {"kind": said}))
        with pytest.raises(DataError, match=r"the model is of type|does not match the list"):
            _ = open_shards(folder).shards
