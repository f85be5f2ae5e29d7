"""Speed of folding, one thread, against the ViennaRNA wheel; of a gradient over training data; of long input.

    python benchmarks/rna_speed.py            the whole table, about 25 minutes
    python benchmarks/rna_speed.py --quick    up to 300 bases

Needs ``pip install ViennaRNA`` and the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the
checkout). Both programs fold the same random sequences, in turns, in one process: structune with CONTRAfold's
parameters, ViennaRNA as it comes. Both look at loops of at most 30 unpaired bases. Of sequences for which
ViennaRNA takes more than an hour, those of structune are measured alone, on two threads, each in a process of
its own. "virus" is a sequence of random letters of the composition of SARS-CoV-2.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np

from common import alternately, contrafold_parameters, parser_of, peak, peak_bytes, write

LENGTHS, QUICK = (100, 300, 600, 1200, 2400, 4800), (100, 300)
LONG = ("23S", "random", "virus")
RANDOM, VIRUS, COMPOSITION = 9_600, 29_903, (0.299, 0.184, 0.196, 0.321)  # of A, C, G, U
THREADS, MOST_OTHERS = 2, 2400
GENOME, SPAN = 30_000, 300


def fold(n: int, rna: Any, w: np.ndarray, repeats: int) -> dict[str, Any]:
    import RNA as vienna  # noqa: N811

    sequence = "".join(np.random.default_rng(n).choice(list("ACGU"), n))
    shard = rna.encode([sequence])

    # As RNAfold does: without a scale by the least energy, sums of long sequences overflow, and all stops.
    _, least = vienna.fold_compound(sequence).mfe()

    def vienna_pairs() -> None:
        compound = vienna.fold_compound(sequence)
        compound.exp_params_rescale(least)
        _, energy = compound.pf()
        compound.bpp()
        assert -10.0 * n < energy <= least

    seconds = alternately(
        {
            "structune_pairs": lambda: rna.pair_probabilities(w, shard, 0),
            "vienna_pairs": vienna_pairs,
            "structune_best": lambda: rna.best(w, shard),
            "vienna_best": lambda: vienna.fold_compound(sequence).mfe(),
        },
        repeats,
    )
    row = {
        "length": n,
        **seconds,
        "pairs_times_faster": seconds["vienna_pairs"] / seconds["structune_pairs"],
        "best_times_faster": seconds["vienna_best"] / seconds["structune_best"],
        "multiply_adds_per_second": multiply_adds(n) / seconds["structune_pairs"],
    }
    print({k: round(v, 4) for k, v in row.items()}, flush=True)
    return row


def others(n: int, rna: Any, w: np.ndarray, repeats: int) -> dict[str, Any]:
    """Probabilities of all pairs of two strands of n bases together, and of a circle."""
    import RNA as vienna  # noqa: N811

    from structune.rna import RNA

    sequence = "".join(np.random.default_rng(n).choice(list("ACGU"), n))
    strands, ring, settings = f"{sequence[: n // 2]}&{sequence[n // 2 :]}", RNA(circular=True), vienna.md()
    settings.circ = 1
    two, circle = rna.encode([strands]), ring.encode([sequence])

    def vienna_pairs(*given: Any) -> None:
        compound = vienna.fold_compound(*given)
        compound.pf()
        compound.bpp()

    calls = {
        "structune_strands": lambda: rna.pair_probabilities(w, two, 0),
        "vienna_strands": lambda: vienna_pairs(strands),
        "structune_circle": lambda: ring.pair_probabilities(w, circle, 0),
        "vienna_circle": lambda: vienna_pairs(sequence, settings),
    }
    row = {"length": n, **alternately(calls, repeats)}
    print({k: round(v, 4) for k, v in row.items()}, flush=True)
    return row


def genome() -> dict[str, float]:
    """Seconds for all pairs of a long sequence with a limited span, and for ViennaRNA's local folding."""
    import RNA as vienna  # noqa: N811

    sequence = "".join(np.random.default_rng(0).choice(list("ACGU"), GENOME))
    start = time.perf_counter()
    vienna.pfl_fold(sequence, SPAN, SPAN, 0.01)
    return {"length": GENOME, "span": SPAN, "vienna_local": time.perf_counter() - start}


def multiply_adds(n: int) -> float:
    """Of the partition function and all pair probabilities: sizes of loops times stretches, and branches.

    Outside takes twice what inside does; 6 of 16 pairs of random bases can pair.
    """
    return 3 * (496 * n**2 / 2 + 6 / 16 * n**3 / 6)


def long_input(name: str, method: str) -> None:
    """Fold one long sequence in this process, and print seconds and megabytes."""
    from structune import RNAFolder
    from structune.rna import load_rna

    rng = np.random.default_rng(0)
    sequence = "".join(rng.choice(list("ACGU"), RANDOM))
    if name == "virus":
        sequence = "".join(rng.choice(list("ACGU"), VIRUS, p=COMPOSITION))
    if name == "23S":
        data = load_rna("archiveii")
        whole = [s for s, family in enumerate(data.families) if family == "23s"]
        sequence = max((data.sequences[s] for s in whole), key=len)
    folder = RNAFolder.from_contrafold(contrafold_parameters()).set_params(n_jobs=THREADS)
    if name == "genome":
        sequence = "".join(rng.choice(list("ACGU"), GENOME))
        folder.set_params(max_span=SPAN)
    fold = {"pairs": folder.pair_probabilities, "best": lambda x: folder.predict_viterbi([x])}[method]
    fold(sequence[:50])  # compiles
    start = time.perf_counter()
    fold(sequence)
    seconds = time.perf_counter() - start
    print(len(sequence), seconds, peak_bytes() / 2**20)


def long_inputs() -> list[dict[str, Any]]:
    rows, asked = [], [(name, method) for name in LONG for method in ("best", "pairs")]
    for name, method in [*asked, ("genome", "pairs")]:
        command = [sys.executable, __file__, "--long", name, method]
        words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        length, seconds, megabytes = int(words[0]), float(words[1]), float(words[2])
        rows.append(
            {"what": name, "method": method, "length": length, "seconds": seconds, "peak_mb": megabytes}
        )
        if method == "pairs" and name != "genome":
            rows[-1]["multiply_adds_per_second"] = multiply_adds(length) / seconds
        print(rows[-1], flush=True)
    return rows


def gradient(rna: Any, w: np.ndarray) -> dict[str, Any]:
    """Over one fold of S151Rfam: 76 sequences, whether or not their structures lie in the model's space."""
    from structune.learning import LogLoss, Risk
    from structune.rna import load_rna
    from structune.running import ThreadExecutor

    class Partition(LogLoss):
        """Only what costs time: the log-partition and its gradient."""

        def linear(self, structure: Any, shard: Any) -> None:
            return None

        def nonlinear(self, structure: Any, shard: Any, w: Any, gradient: Any) -> Any:
            return shard.weights @ structure.log_partition(w, shard, gradient)

        def linearize(self, structure: Any, shard: Any, w: Any) -> Any:
            return structure.linearize(w, shard)

    order = np.random.default_rng(0).permutation(151)[:76]
    sequences = load_rna("s151rfam").sequences
    shard = rna.encode([sequences[k] for k in order])
    risks = {n: Risk.over(rna, Partition(), shard, ThreadExecutor(n)) for n in (1, 2)}
    v = np.random.default_rng(1).normal(size=w.size)
    products = {n: risk.linearize(w) for n, risk in risks.items()}
    seconds = alternately(
        {
            **{f"gradient_{n}": lambda risk=risk: risk.value_and_gradient(w) for n, risk in risks.items()},
            **{f"hessian_product_{n}": lambda p=p: p(v) for n, p in products.items()},
        },
        9,
    )
    row = {"sequences": len(shard), "bases": shard.n_parts, **seconds}
    row["two_threads_times_faster"] = seconds["gradient_1"] / seconds["gradient_2"]
    print({k: round(value, 4) for k, value in row.items()}, flush=True)
    return row


def main() -> None:
    from structune.rna import RNA, read_contrafold

    parser = parser_of(__doc__)
    parser.add_argument("--long", nargs=2, metavar=("WHAT", "METHOD"), help="one of the long inputs")
    arguments = parser.parse_args()
    if arguments.long:
        long_input(*arguments.long)
        return
    quick, rna = arguments.quick, RNA()
    w = rna.weights_from(read_contrafold(contrafold_parameters()))
    shard = rna.encode(["GGGGAAAACCCC"])
    rna.pair_probabilities(w, shard, 0), rna.best(w, shard), rna.linearize(w, shard)(w)  # compiles
    rows, more = [], []
    for n in QUICK if quick else LENGTHS:
        repeats = 5 if n < 1000 else 3 if n < 2000 else 1
        rows.append(fold(n, rna, w, repeats))
        if n <= MOST_OTHERS:
            more.append(others(n, rna, w, repeats))
    result = {"blas_multiply_adds_per_second": peak(), "folding": rows, "others": more}
    result["s151"] = gradient(rna, w)
    if not quick:
        result["long"], result["genome"] = long_inputs(), genome()
        write("rna_speed", result, "ViennaRNA")


if __name__ == "__main__":
    main()
