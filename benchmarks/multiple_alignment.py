"""Multiple alignments of proteins: structune, other programs, and published results, on SABmark and PREFAB.

    python benchmarks/multiple_alignment.py WORK            every 16th set of PREFAB: three hours
    python benchmarks/multiple_alignment.py WORK --every 1  all of it: days
    python benchmarks/multiple_alignment.py WORK --every 200 --sabre-every 8   a look, nothing is written

SABmark's sets, as Edgar made them consistent ("sabre"), are aligned by models that have learned from the
other one of two folds; sets that share a sequence are in one fold. PREFAB 4's are aligned by the model that
ships, which has learned from SABmark alone; some of its chains are in both. muscle, mafft and probcons run if
they are installed (Debian has them), one thread each; what they have made is kept in WORK. With
``--programs mafft`` only that one is run on PREFAB, where others take a minute a set. Published results are
those that came with the collection.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np

from common import mean_difference, write
from structune.alignment import ProteinAlignment, column_scores, load_protein_alignments, read_proteins

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
from families import aligner_for, data, inputs, model

COMMANDS = {
    "probcons": ["probcons"],
    "mafft": ["mafft", "--localpair", "--maxiterate", "1000", "--thread", "1", "--quiet", "--amino"],
    "muscle": ["muscle", "-threads", "1", "-quiet", "-align"],
}
PUBLISHED = {
    "MUMMALS, published": "mummals",
    "ProbCons, published": "pc1.12",
    "MUSCLE 4, published": "mus4",
    "MAFFT L-INS-i, published": "mafft6.603linsi",
}
PARTS: dict[str, dict[str, Any]] = {
    "structune": {},
    "without the matrix": {"matrix": None},
    "without refinement": {"refinements": 0},
    "without consistency": {"consistency": 0},
    "two rounds of consistency": {"consistency": 2},
    "pairs alone": {"matrix": None, "refinements": 0, "consistency": 0},
    "not all pairs": {"all_pairs": 0},
}
ON_PREFAB = ("structune", "without the matrix", "pairs alone", "not all pairs")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--every", type=int, default=16)
    parser.add_argument("--sabre-every", type=int, default=1)
    parser.add_argument("--programs", nargs="*", default=list(COMMANDS), choices=list(COMMANDS))
    given = parser.parse_args()
    for fold in (0, 1):  # before the clock runs
        model(fold)
    result = {
        "sabre": compared("sabre", given.sabre_every, given.work, list(PARTS), list(COMMANDS)),
        "prefab4": compared("prefab4", given.every, given.work, list(ON_PREFAB), given.programs),
    }
    if given.sabre_every == 1 and given.every <= 16:
        write("multiple_alignment", result)
    else:
        print(json.dumps(result, indent=1))


def compared(name: str, every: int, work: Path, parts: list[str], programs: list[str]) -> dict[str, Any]:
    """Mean Q and TC of all, and differences from structune's."""
    sets = dict(list(inputs(name).items())[::every])
    references = load_protein_alignments(name)
    scores: dict[str, Any] = {}
    for label in parts:
        found = {key: aligned(name, key, sequences, PARTS[label]) for key, sequences in sets.items()}
        scores[label] = [column_scores(references[key], found[key]) for key in sets]
        say(f"{name}, {label}: {np.mean(scores[label], axis=0).round(4)}")
    for program in filter(which, programs):
        scores[program] = [
            column_scores(references[key], run(program, work / program / name / key, sequences))
            for key, sequences in sets.items()
        ]
        say(f"{name}, {program}: {np.mean(scores[program], axis=0).round(4)}")
    scores |= published(name, list(sets))
    base = np.array(scores["structune"])
    rows = {
        label: {
            "Q": float(values[:, 0].mean()),
            "TC": float(values[:, 1].mean()),
            "Q of structune, less": mean_difference(values[:, 0], base[:, 0]),
            "TC of structune, less": mean_difference(values[:, 1], base[:, 1]),
        }
        for label, values in ((label, np.array(values)) for label, values in scores.items())
    }
    return {"sets": len(sets), "rows": rows}


# --- structune --------------------------------------------------------------------------------------------


def aligned(name: str, key: str, sequences: dict[str, str], options: dict[str, Any]) -> ProteinAlignment:
    found = aligner_for(name, key).align(list(sequences.values()), **options)
    return ProteinAlignment(list(sequences), found.rows)


# --- others -----------------------------------------------------------------------------------------------


def run(program: str, made: Path, sequences: dict[str, str]) -> ProteinAlignment:
    """What a program makes of a set; kept for the next time."""
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        given, part = made.parent / "input.fa", made.parent / "part"
        given.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in sequences.items()))
        to_file = ["-output", str(part)] if program == "muscle" else []
        with part.open("w") as out:
            command = [*COMMANDS[program], str(given), *to_file]
            subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True)
        part.rename(made)
    rows = {p.name: p.residues for p in read_proteins(made)}
    return ProteinAlignment(list(rows), list(rows.values()))


def published(name: str, sets: list[str]) -> Iterator[tuple[str, Any]]:
    with gzip.open(data(f"{name}_peers.tsv.gz"), "rt") as file:
        known = {row["alignment"]: row for row in csv.DictReader(file, delimiter="\t")}
    for label, column in PUBLISHED.items():
        yield label, [[float(known[key][f"{column} {score}"]) for score in ("Q", "TC")] for key in sets]


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
