"""Speed of protein alignments beside parasail, Biopython and ProbCons; of a gradient; of 10,000 residues.

    python benchmarks/alignment_speed.py            the whole table, about five minutes
    python benchmarks/alignment_speed.py --quick    up to 300 residues, under a minute

Needs ``pip install parasail`` and the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the
checkout), and takes the program `probcons`, a Debian package, where it is installed. All programs align the
same pairs of homologues of SABmark, in turns, with one thread. For a given length the homologues of several
families are joined and cut: they align from end to end as long proteins do.

*Best alignment.* parasail's code is SIMD on integers of 8 or 16 bits, for one matrix and affine gaps; that of
Biopython is scalar. Both have BLOSUM62 and gaps of 11 and 1, as structune's "affine" here, and their scores
must be equal. The "full" model is one that parasail and Biopython do not have.

*Probabilities of all matches.* ProbCons' pair model has two gap states, in single precision. It is timed as a
process, less the time of one for ten residues; that it also aligns by these probabilities takes little of it.
Biopython's aligners give no probabilities, and it has no other pair model.

*A gradient* is that of the log loss of 1,000 pairs of 200 residues, all of whose alignments are known. It is
meant to take less than 2 s on two threads.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from common import alternately, parser_of, peak, peak_bytes, write
from structune import SequenceAligner, load
from structune.alignment import Alignment, load_protein_alignments
from structune.alignment.structure.alphabets import PROTEIN
from structune.alignment.structure.rows import residues_of
from structune.learning import LogLoss, Risk
from structune.running import Run, ThreadExecutor

LENGTHS, QUICK = (100, 300, 1000, 3000), (100, 300)
LONG = 10_000
AS_THEY_ARE = "SABmark"
FEATURES = ("affine", "full")
CELLS = 1_000_000  # about as many for each row of the table, in as many pairs as that takes
REPEATS, GRADIENT_REPEATS = 7, 3
GAP_OPEN, GAP_EXTEND = 11, 1
COPIED = 1 << 22  # bytes: from one such array to another, together as large as the tables of a block of rows

Pair = tuple[str, str]


# --- pairs and models -------------------------------------------------------------------------------------


def homologues(seed: int) -> Iterator[Pair]:
    """Rows of two sequences of SABmark drawn at random, and so on for ever."""
    rng, alignments = np.random.default_rng(seed), list(load_protein_alignments("sabre").values())
    while True:
        alignment = alignments[rng.integers(len(alignments))]
        a, b = rng.permutation(len(alignment.rows))[:2]
        yield alignment.pair(a, b)


def proteins(seed: int) -> Iterator[Pair]:
    """Their sequences, without letters that are not one residue: programs score these differently."""
    letters = PROTEIN.residues
    for rows in homologues(seed):
        x, y = residues_of(rows)
        yield "".join(r for r in x.upper() if r in letters), "".join(r for r in y.upper() if r in letters)


def cut(n: int, seed: int = 1) -> Iterator[Pair]:
    """Pairs of n residues each."""
    stream = proteins(seed)
    while True:
        x = y = ""
        while min(len(x), len(y)) < n:
            more = next(stream)
            x, y = x + more[0], y + more[1]
        yield x[:n], y[:n]


def pairs_of(size: int | str) -> list[Pair]:
    if size == AS_THEY_ARE:
        return list(islice(proteins(1), 25))
    return list(islice(cut(int(size)), max(1, CELLS // int(size) ** 2)))


def count_cells(pairs: list[Pair]) -> int:
    return sum(len(x) * len(y) for x, y in pairs)


def fitted(features: str) -> SequenceAligner:
    """A model of a few pairs, from BLOSUM62 on: no good one, but its weights are of the size of theirs."""
    rows = list(islice(homologues(0), 80))
    aligner = SequenceAligner(features=features, penalty=5.0, center="BLOSUM62", run=Run(max_iterations=20))
    return aligner.fit([residues_of(pair) for pair in rows], rows).set_params(n_jobs=1)


def classical() -> SequenceAligner:
    return SequenceAligner.from_matrix("BLOSUM62", GAP_OPEN, GAP_EXTEND).set_params(n_jobs=1)


# --- peers ------------------------------------------------------------------------------------------------


def parasail_best(bits: str) -> Callable[[Pair], int]:
    import parasail

    align = getattr(parasail, f"nw_trace_striped_{bits}")

    def best(pair: Pair) -> int:
        result = align(*pair, GAP_OPEN, GAP_EXTEND, parasail.blosum62)
        assert result.traceback.query
        return result.score

    return best


def biopython_best() -> Callable[[Pair], int]:
    from Bio.Align import PairwiseAligner, substitution_matrices

    aligner = PairwiseAligner(
        mode="global",
        substitution_matrix=substitution_matrices.load("BLOSUM62"),
        open_gap_score=-GAP_OPEN,
        extend_gap_score=-GAP_EXTEND,
    )

    def best(pair: Pair) -> int:
        found = aligner.align(*pair)
        assert next(iter(found)).coordinates.size
        return int(found.score)

    return best


def probcons(files: list[Path]) -> None:
    """One process for each pair; nothing after the probabilities but the alignment."""
    for file in files:
        command = ["probcons", "--consistency", "0", "--iterative-refinement", "0", file]
        subprocess.run(command, capture_output=True, check=True)


def write_pairs(folder: str, name: str, pairs: list[Pair]) -> list[Path]:
    files = [Path(folder, f"{name}{k}.fa") for k in range(len(pairs))]
    for file, (x, y) in zip(files, pairs, strict=True):
        file.write_text(f">x\n{x}\n>y\n{y}\n")
    return files


# --- measurements -----------------------------------------------------------------------------------------


def rates(size: int | str, pairs: list[Pair], seconds: dict[str, float], peers: list[str]) -> dict[str, Any]:
    """Cells a second, and how many times as fast as the peers each model of structune is."""
    cells = count_cells(pairs)
    speed = {name: cells / value for name, value in seconds.items()}
    row: dict[str, Any] = {"residues": size, "pairs": len(pairs), "cells": cells, "cells_per_second": speed}
    row["times_faster"] = {
        f"{ours} than {peer}": speed[ours] / speed[peer] for ours in FEATURES for peer in peers
    }
    print(
        size, *(f"{name} {value / 1e6:.3g} M cells/s" for name, value in speed.items()), sep="  ", flush=True
    )
    print(
        "   ", *(f"{name} {ratio:.2g}" for name, ratio in row["times_faster"].items()), sep="  ", flush=True
    )
    return row


def best(size: int | str, full: SequenceAligner) -> dict[str, Any]:
    pairs, affine = pairs_of(size), classical()
    peers = {f"parasail_{bits}": parasail_best(bits) for bits in ("sat", "16")} | {
        "biopython": biopython_best()
    }
    scores = affine.alignment_.best(affine.coef_, affine.alignment_.encode(pairs))[1]
    assert all([peer(pair) for pair in pairs] == scores.tolist() for peer in peers.values())
    seconds = alternately(
        {
            "affine": lambda: affine.predict_viterbi(pairs),
            "full": lambda: full.predict_viterbi(pairs),
            **{name: lambda f=f: [f(pair) for pair in pairs] for name, f in peers.items()},
        },
        REPEATS,
    )
    return rates(size, pairs, seconds, list(peers))


def posterior(size: int | str, models: dict[str, SequenceAligner]) -> dict[str, Any]:
    pairs, known = pairs_of(size), shutil.which("probcons") is not None
    with tempfile.TemporaryDirectory() as folder:
        functions: dict[str, Callable[[], Any]] = {
            name: lambda a=a: [a.posterior(*pair) for pair in pairs] for name, a in models.items()
        }
        if known:
            files = write_pairs(folder, "pair", pairs)
            tiny = write_pairs(folder, "tiny", [(x[:10], y[:10]) for x, y in pairs])
            functions |= {"probcons": lambda: probcons(files), "tiny": lambda: probcons(tiny)}
        seconds = alternately(functions, REPEATS)
    if known:
        seconds["probcons"] -= seconds.pop("tiny")
    return rates(size, pairs, seconds, ["probcons"] if known else [])


def gradient(aligner: SequenceAligner, n_pairs: int) -> dict[str, Any]:
    """Of known alignments, the best ones by BLOSUM62."""
    pairs, structure, w = list(islice(cut(200), n_pairs)), aligner.alignment_, aligner.coef_
    shard = structure.encode(pairs, classical().predict_viterbi(pairs))
    one, two = (Risk.over(structure, LogLoss(), shard, ThreadExecutor(n)) for n in (1, 2))
    v, product = np.random.default_rng(0).normal(size=w.size), two.linearize(w)
    seconds = alternately(
        {
            "gradient_1": lambda: one.value_and_gradient(w),
            "gradient_2": lambda: two.value_and_gradient(w),
            "hessian_product_2": lambda: product(v),
        },
        GRADIENT_REPEATS,
    )
    row = {"features": aligner.features, "pairs": n_pairs, "weights": w.size, **seconds}
    row["ns_per_cell"] = 1e9 * seconds["gradient_1"] / count_cells(pairs)
    row["two_threads_times_faster"] = seconds["gradient_1"] / seconds["gradient_2"]
    row["gradients_per_hessian_product"] = seconds["hessian_product_2"] / seconds["gradient_2"]
    print({k: round(value, 3) if isinstance(value, float) else value for k, value in row.items()}, flush=True)
    return row


def long_pair(method: str, model: str) -> None:
    """Align two long sequences in this process, and print seconds and megabytes, before and at the peak."""
    aligner = load(model).set_params(n_jobs=1)
    align = {"mea": aligner.predict, "best": aligner.predict_viterbi}[method]
    pair = next(cut(LONG))
    align([(pair[0][:50], pair[1][:50])])  # compiles
    before, start = memory(), time.perf_counter()
    align([pair])
    print(time.perf_counter() - start, before, memory())


def memory() -> float:
    """The most so far, in megabytes."""
    return peak_bytes() / 2**20


def long_pairs(models: dict[str, SequenceAligner]) -> list[dict[str, Any]]:
    rows = []
    for name, aligner in models.items():
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "aligner.structune")
            aligner.save(model)
            for method in ("best", "mea"):
                command = [sys.executable, __file__, "--long", method, str(model)]
                words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                row = dict(zip(("seconds", "before_mb", "peak_mb"), map(float, words), strict=True))
                rows.append({"features": name, "method": method, "residues": LONG, **row})
                print(rows[-1], flush=True)
    return rows


# --- what the sums cost at least --------------------------------------------------------------------------


def work(features: str) -> tuple[int, int]:
    """Floating-point operations and bytes of memory of a cell, for the probabilities of all matches.

    Counted in kernels/alignment.py, L the lengths of gaps with weights of their own. Operations that hang on
    the row or column alone count where the kernels repeat them for each cell; an exponential counts as one.
    """
    space = Alignment(features).feature_set
    L, columns = space.n_steps, space.n_columns
    score = 2 * columns + 3  # the product, both residues' terminal scores, the exponential
    forward = 2 + (4 + 3 * L) + (6 + 2 * L) + (6 + 2 * L)  # match, gaps in x, gaps in y, what it may follow
    backward = 17 + (9 + 12 * L) + (8 + 13 * L)  # match and what it follows, gaps in x, gaps in y
    # tables are written and, but for `start`, read again; the factors of matches are written and read twice;
    # probabilities are written, read, and written to where they belong
    numbers = (2 + 2 * L) + (1 + 2 * L) + 3 + 3
    return score + forward + backward, 8 * numbers


def copying() -> float:
    """Bytes a second, read and written, that one thread copies."""
    source, target = np.ones(COPIED, np.uint8), np.empty(COPIED, np.uint8)
    return 2 * COPIED / alternately({"copy": lambda: np.copyto(target, source)}, 9)["copy"]


def least() -> dict[str, Any]:
    """Nanoseconds a cell if the processor did nothing but multiply and add, or nothing but copy."""
    flops_per_second, bytes_per_second = 2 * peak(), copying()
    models: dict[str, Any] = {}
    for features in FEATURES:
        flops, moved = work(features)
        times = {"flops_ns": 1e9 * flops / flops_per_second, "bytes_ns": 1e9 * moved / bytes_per_second}
        models[features] = {"flops": flops, "bytes": moved, **times}
    print(models, flush=True)
    return {"flops_per_second": flops_per_second, "bytes_per_second": bytes_per_second, "models": models}


def measure(quick: bool) -> None:
    models = {features: fitted(features) for features in FEATURES}
    # first: the peak of a process is at least that of the one that started it, at that time
    long = [] if quick else long_pairs(models)
    warm = next(cut(50))
    for aligner in (*models.values(), classical()):
        aligner.predict_viterbi([warm])
    sizes = (*(QUICK if quick else LENGTHS), AS_THEY_ARE)
    result = {
        "least": least(),
        "best": [best(size, models["full"]) for size in sizes],
        "posterior": [posterior(size, models) for size in sizes],
        "gradient": [gradient(aligner, 100 if quick else 1000) for aligner in models.values()],
        "long": long,
    }
    if not quick:
        write("alignment_speed", result, "parasail", "biopython")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--long", nargs=2, metavar=("METHOD", "MODEL"), help="two long sequences alone")
    arguments = parser.parse_args()
    with threadpool_limits(1):  # of BLAS: each program has one thread
        if arguments.long:
            long_pair(*arguments.long)
        else:
            measure(arguments.quick)


if __name__ == "__main__":
    main()
