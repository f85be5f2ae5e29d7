"""Mutated files of all kinds: a loader uses or refuses them, and what loads can be used."""

import json
import subprocess

import pytest

import fuzz_targets
from fuzz_targets import FOLDERS, MODELS, READERS, STATES, TARGETS, Target, UndocumentedError, outcome
from mutations import mutate_bytes, parsed
from structune.errors import DataError
from structune.kinds import kinds

CASES, SEED = 100, 1


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "input"


@pytest.mark.parametrize("name", TARGETS)
def test_mutated(name, scratch):
    """A short run, of other cases than the long ones of `make stress`."""
    target = TARGETS[name]
    for data in target.seeds():  # what comes later is imported and compiled
        scratch.write_bytes(data)
        target.use(scratch)
    for k in range(int(CASES * target.share)):
        try:
            outcome(target, target.case(k, SEED), scratch)
        except BaseException as error:
            error.add_note(f"case: python benchmarks/fuzz.py --seed {SEED} --case {name!r}:{k}")
            raise


def test_every_kind_is_fuzzed():
    """A new kind without a target fails here."""
    assert set(MODELS) == set(kinds())
    assert {f"{kind.word} shards" for kind in kinds().values() if kind.shard is not None} == set(FOLDERS)
    assert len(TARGETS) == sum(map(len, (MODELS, READERS, FOLDERS, STATES)))


def test_mutations_come_again_from_their_seeds():
    for target in (MODELS["classifier"], READERS["genbank"]):
        cases = [target.case(k) for k in range(50)]
        assert cases == [target.case(k) for k in range(50)]
        assert len(set(cases)) > 40


def test_mutated_models_get_past_the_checksum(scratch):
    """Most are refused for what is in them."""
    target = MODELS["classifier"]
    refused = []
    for k in range(200):
        scratch.write_bytes(target.case(k))
        try:
            target.use(scratch)
        except ValueError as error:
            refused.append("checksum" in str(error) or "not a model file" in str(error))
    assert 20 < len(refused) < 190
    assert sum(refused) < len(refused) / 2


def test_valid_models_say_what_they_are(scratch):
    for name, target in MODELS.items():
        assert all(parsed(data)[0]["kind"] == name for data in target.seeds())


# --- what the watch sees ------------------------------------------------------------------------------------


def spoiled(action, scratch):
    target = Target("spoiled", lambda: [b"x"], mutate_bytes, action)
    return outcome(target, b"x", scratch)


@pytest.mark.parametrize(
    "action",
    [
        lambda path: eval("1 + 1"),
        lambda path: subprocess.run(["true"], check=True),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
        lambda path: json.loads(path.read_text()),
        lambda path: bytearray(2**62),
        lambda path: [][0],
    ],
)
def test_what_is_not_documented_is_found(action, scratch):
    with pytest.raises((UndocumentedError, MemoryError, IndexError)):
        spoiled(action, scratch)


def test_documented_errors_name_their_file(scratch):
    def refuse(path):
        raise DataError(f"{path}: no")

    def forget(path):
        raise DataError("no")

    assert spoiled(refuse, scratch) == "DataError"
    assert spoiled(lambda path: path.read_bytes(), scratch) == "used"
    with pytest.raises(UndocumentedError, match="does not name input"):
        spoiled(forget, scratch)


def test_nothing_is_watched_in_between(scratch):
    spoiled(lambda path: None, scratch)
    assert not fuzz_targets.is_watching()
    assert eval("1 + 1") == 2
