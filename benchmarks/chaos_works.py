"""Works of every kind, of seconds at most, that are killed and begun again: of the part `kills`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from structune import (
    Classifier,
    GeneFinder,
    ProkaryoticGeneFinder,
    Ranker,
    Regressor,
    RNAFolder,
    SegmentTagger,
    SequenceAligner,
    SequenceTagger,
)
from structune.files.shards import write_shards
from structune.learning.tuning import GridTuner, MajorizeTuner
from structune.running import Run

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # whose solvers and tuners are all of them

import simulated_genes
import simulated_orfs
import works

Work = Callable[[Any], Any]  # of a checkpoint; gives what was fitted
_GRID = GridTuner((0.1, 1.0, 10.0))
_LOSSES = [{"tuning": None, "loss": loss} for loss in ("log", "margin", "ramp")]
_TUNERS = [{"tuning": tuner} for tuner in ("implicit", "majorize", "direct", _GRID)]
_MARGINS = [{"tuning": tuner, "loss": "margin"} for tuner in ("majorize", _GRID)]


def all_works() -> dict[str, Work]:
    """By what they are called; the sequence tagger and the classifier are those of the tests."""
    found = {f"{_of_tests(name)}: {name}": work for name, (work, _) in works.WORKS.items()}
    for kind, (estimator, data, settings) in _kinds().items():
        for options in settings:
            found[f"{kind}: {_told(options)}"] = _fit(estimator, data, options)
    return found | {"tagger: shards in files": _of_shards()}


def _of_tests(name: str) -> str:
    by_newton = "newton", "planes", "conjugate", "majorize margins"
    return "tree" if "tree" in name else "classifier" if any(n in name for n in by_newton) else "tagger"


def _kinds() -> dict[str, tuple[type, tuple[Any, ...], list[dict[str, Any]]]]:
    """Estimators, their examples, and settings."""
    genes, orfs = simulated_genes.genome(0, 1), simulated_orfs.genome(0, 2, n_genes=6)
    rng = np.random.default_rng(0)
    x, queries = rng.normal(size=(800, 20)), np.repeat(np.arange(100), 8)
    y = x[:, :3] @ [2.0, -1.0, 0.5] + rng.normal(size=800)
    grades = np.digitize(y, [0.0, 2.0]).astype(float)
    segments = [[{"a": "O", "b": "B-x", "c": "B-y"}[label] for label in labels] for labels in works.Y]
    rows = list(_alignments(rng))
    return {
        "segment tagger": (SegmentTagger, (works.X, segments), [*_LOSSES, *_TUNERS[:2]]),
        "RNA folder": (RNAFolder, _hairpins(rng), [*_LOSSES, *_TUNERS, *_MARGINS[:1]]),
        "aligner": (
            SequenceAligner,
            ([tuple(row.replace("-", "") for row in pair) for pair in rows], rows),
            [*_LOSSES, {"loss": "equivalent"}, *_TUNERS],
        ),
        "ranker": (
            Ranker,
            (x, grades, queries),
            [*_LOSSES[1:], {"tuning": None, "loss": "equivalent"}, *_MARGINS],
        ),
        "classifier": (Classifier, (x, grades), [*_LOSSES[2:], *_TUNERS]),
        "regressor": (
            Regressor,
            (x, y),
            [{"tuning": None}, *_TUNERS, {"tuning": MajorizeTuner(calibrated=True)}],
        ),
        "gene finder": (GeneFinder, (genes,), [*_LOSSES, *_TUNERS[1:2]]),
        "prokaryotic gene finder": (ProkaryoticGeneFinder, (orfs,), [*_LOSSES, *_TUNERS[1:]]),
    }


def _told(options: dict[str, Any]) -> str:
    tuning, loss = options.get("tuning"), options.get("loss", "")
    word = tuning if isinstance(tuning, str) else "" if tuning is None else type(tuning).__name__
    word = word.removesuffix("Tuner").lower() + (
        ", calibrated" if getattr(tuning, "calibrated", False) else ""
    )
    return ", ".join(filter(None, (loss, word))) or "newton"


def _fit(estimator: Any, data: tuple[Any, ...], options: dict[str, Any]) -> Work:
    return lambda checkpoint: estimator(n_jobs=1, run=Run(checkpoint=checkpoint), **options).fit(*data)


def _of_shards() -> Work:
    folder = Path(tempfile.mkdtemp()) / "shards"
    write_shards(SequenceTagger(), folder, works.X, works.Y, n_folds=3)
    return lambda checkpoint: SequenceTagger(
        n_jobs=1, run=Run(checkpoint=checkpoint), tuning="implicit"
    ).fit_shards(folder)


def _hairpins(rng: np.random.Generator) -> tuple[list[str], list[str]]:
    stems = ["".join(rng.choice(list("ACGU"), 8)) for _ in range(8)]
    other = str.maketrans("ACGU", "UGCA")
    sequences = [f"{''.join(rng.choice(list('ACGU'), 4))}{s}GAAA{s[::-1].translate(other)}" for s in stems]
    return sequences, ["...." + "(" * 8 + "...." + ")" * 8] * len(sequences)


def _alignments(rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Proteins, and copies with mutations and gaps."""
    residues = list("ARNDCQEGHILKMFPSTWYV")
    for _ in range(8):
        x = rng.choice(residues, 25)
        y = np.where(rng.random(25) < 0.7, x, rng.choice(residues, 25))
        for row in (x, y):
            row[int(rng.integers(2, 20))] = "-"
        both = [(a, b) for a, b in zip(x, y, strict=True) if (a, b) != ("-", "-")]
        yield "".join(a for a, _ in both), "".join(b for _, b in both)
