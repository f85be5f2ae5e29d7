"""Ten million tokens on one machine within 4 GB: encoded from a text file, and a tagger fitted to the shards.

    python benchmarks/large_tagging.py            some ten minutes, 2 GB of disk
    python benchmarks/large_tagging.py --quick    200,000 tokens, to a temporary folder

The text is simulated: sentences of 20 words, drawn by a hidden Markov model with 12 labels and Zipf's law for
the 100,000 words. Each stage is a process of its own. Where control groups (version 1) can be made, as root
in a container, the kernel holds it to 4 GB, files in its cache included; elsewhere its memory is measured
only. Resident memory counts the pages of shards that are mapped. The held-out loss and the share of tokens
labelled right are of as many tokens as a hundredth, simulated with another seed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import asked_to_be_quick, keep, memory_group, peak_bytes, staged, succeed

NAME = "large_tagging"
N_TOKENS, QUICK = 10_000_000, 200_000
N_LABELS, N_WORDS, LENGTH = 12, 100_000, 20
TEMPLATES = "w[-2..2] w[0].prefix2 w[0].suffix3"
LIMIT = 4 * 10**9
TOLERANCE, MOST_ITERATIONS = 1e-3, 100
BATCH = 50_000  # sentences that are simulated at a time


# --- data -------------------------------------------------------------------------------------------------


def simulate(path: Path, n_tokens: int, seed: int) -> None:
    """Write a column file of words and labels."""
    words, moves, rng = language()
    with path.open("w") as file:
        for start in range(0, n_tokens // LENGTH, BATCH):
            n = min(BATCH, n_tokens // LENGTH - start)
            labels = np.empty((n, LENGTH), np.int64)
            labels[:, 0] = np.random.default_rng([seed, start]).integers(N_LABELS, size=n)
            rng = np.random.default_rng([seed, start, 1])
            for t in range(1, LENGTH):
                labels[:, t] = (rng.random(n)[:, None] > moves[labels[:, t - 1]]).sum(axis=1)
            ranks = np.minimum(rng.zipf(1.3, labels.shape) - 1, N_WORDS // N_LABELS - 1)
            strangers = rng.integers(N_LABELS, size=labels.shape)  # a fifth of the words are of another label
            own = np.where(rng.random(labels.shape) < 0.8, labels, strangers)
            file.writelines(
                "".join(f"{words[N_LABELS * r + o]} L{y}\n" for r, o, y in zip(*rows, strict=True)) + "\n"
                for rows in zip(ranks.tolist(), own.tolist(), labels.tolist(), strict=True)
            )


def language() -> tuple[list[str], Any, Any]:
    """Words, and cumulated probabilities of the next label: the same for every text."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    spelled = letters[rng.integers(26, size=(N_WORDS, 4))]
    words = [f"{''.join(row)}{k % 997}" for k, row in enumerate(spelled)]
    return words, rng.dirichlet(np.full(N_LABELS, 0.3), size=N_LABELS).cumsum(axis=1)[:, :-1], rng


# --- stages, each in a process of its own -----------------------------------------------------------------


def stage_shard(folder: Path) -> dict[str, Any]:
    from structune import open_shards

    succeed("shard", "tagging", folder / "train.txt", folder / "shards", "--templates", TEMPLATES, "--quiet")
    data = open_shards(folder / "shards")
    return {"tokens": sum(data.n_parts), "shards": len(data.fold), "bytes": data.n_bytes}


def stage_fit(folder: Path) -> dict[str, Any]:
    from structune import SequenceTagger
    from structune.running import Run
    from structune.tagging import read_conll
    from structune.tagging.conll import Reader

    tagger = SequenceTagger(tuning=None, run=Run(max_iterations=MOST_ITERATIONS, tolerance=TOLERANCE))
    start = time.perf_counter()
    tagger.fit_shards(folder / "shards")
    seconds = time.perf_counter() - start
    reader = Reader.of_header(tagger.extra_, folder)
    test = read_conll(folder / "test.txt", reader.columns)
    labels = reader.labels(test)
    found = tagger.predict(reader.attributes(test))
    right = np.mean([a == b for x, y in zip(found, labels, strict=True) for a, b in zip(x, y, strict=True)])
    return {
        "weights": tagger.coef_.size,
        "passes": tagger.passes_,
        "status": tagger.status_,
        "fit seconds": seconds,
        "right": float(right),
    }


STAGES = {"shard": stage_shard, "fit": stage_fit}


def main() -> None:
    if "--stage" in sys.argv:
        stage, folder = sys.argv[sys.argv.index("--stage") + 1 :][:2]
        told = STAGES[stage](Path(folder))
        told["peak bytes"] = peak_bytes()
        print(json.dumps(told))
        return
    quick = asked_to_be_quick(__doc__)
    n_tokens = QUICK if quick else N_TOKENS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        simulate(folder / "train.txt", n_tokens, seed=1)
        simulate(folder / "test.txt", n_tokens // 100, seed=2)
        text_bytes = (folder / "train.txt").stat().st_size
        with memory_group(LIMIT) as group:
            found = {stage: staged([__file__, "--stage", stage, str(folder)], group) for stage in STAGES}
    fit, tokens = found["fit"], found["shard"]["tokens"]
    result = {
        "templates": TEMPLATES,
        "limit in bytes, kept by the kernel": LIMIT if group else None,
        "text bytes": text_bytes,
        **found,
        "tokens a second and pass": tokens * fit["passes"] / fit["fit seconds"],
        "tokens a second of encoding": tokens / found["shard"]["seconds"],
    }
    print(json.dumps(result, indent=1))
    keep(NAME, quick, result)


if __name__ == "__main__":
    main()
