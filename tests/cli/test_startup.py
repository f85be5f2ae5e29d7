"""What a first prediction waits for: nothing is imported that only learning needs, nor another kind."""

import subprocess
import sys

import pytest

from commands import succeed
from shard_kinds import EXAMPLES

# what takes longer to import than most predictions, and what only learning needs
LEARNING = ["risk", "penalties", "fitting", "solvers", "tuning"]
HEAVY = ["sklearn", "scipy.sparse", "scipy.optimize", "scipy.linalg", "scipy.stats", "scipy.special"]
HEAVY += ["matplotlib", "pandas", "dask", "distributed", "rich", "structune.html_reports", "structune.plots"]
HEAVY += [f"structune.learning.{module}" for module in LEARNING]
ROOMS = ["alignment", "flat", "genes", "ranking", "rna", "tagging", "trees"]

SCRIPT = """
import sys
from structune.cli import run
try:
    run(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print("\\n".join(sys.modules), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small files, and models of the kinds that come with none."""
    found = tmp_path_factory.mktemp("startup")
    (found / "rna.fa").write_text(">a\nGGGGAAAACCCC\n")
    (found / "proteins.fa").write_text(">a\nMKTAYIAKQR\n>b\nMKTAYIKQR\n")
    (found / "words.txt").write_text("the\nnew\ncat\n")
    (found / "dna.fa").write_text(">a\n" + "ATGGCATTAGCGTAA" * 40 + "\n")
    (found / "train.txt").write_text("the DET\ncat NOUN\n\na DET\ndog NOUN\n")
    queries = [f"{k % 2} qid:{q} 1:{(k + q) % 2}.5 2:{k}" for q in range(4) for k in range(3)]
    (found / "documents.txt").write_text("\n".join(queries) + "\n")
    for word, train in (("tagging", "train.txt"), ("ranking", "documents.txt")):
        succeed("train", word, found / train, "-m", found / f"{word}.model", "--penalty", 1, "-q")
    EXAMPLES["genes"].estimator.fit(*EXAMPLES["genes"].data).save(found / "genes")
    return found


@pytest.mark.parametrize(
    ("command", "rooms"),
    [
        ("fold rna.fa", {"rna"}),
        ("align proteins.fa", {"alignment"}),
        ("predict tagging.model words.txt", {"tagging"}),
        ("rank ranking.model documents.txt", {"ranking", "flat"}),
        ("genes dna.fa --model genes", {"genes", "trees"}),
        ("genes dna.fa --model pretrained", {"genes", "trees"}),
    ],
)
def test_predictions_import_what_they_need(folder, command, rooms, monkeypatch):
    monkeypatch.chdir(folder)
    succeed(*command.split())  # else the process may have to compile, with all that numba imports to do so
    started = [sys.executable, "-c", SCRIPT, *command.split()]
    done = subprocess.run(started, capture_output=True, text=True, check=True)
    assert done.stdout
    loaded = set(done.stderr.splitlines())
    assert loaded.intersection(HEAVY) == set()
    assert {room for room in ROOMS if f"structune.{room}" in loaded} == rooms
    assert ("numba" in loaded) == (not command.startswith("rank"))  # which takes half of a start
