"""Convex bound and ramp loss on classes with wrong labels: table 1 of Chapelle et al. 2008.

    python benchmarks/noisy_classes.py                   # about three hours on one core
    python benchmarks/noisy_classes.py --quick           # two small sets, two folds, into a temporary folder
    python benchmarks/noisy_classes.py --only segment    # these sets anew, the others as they are

A fraction of the examples of every class have their labels shuffled, before anything is split: test labels
are wrong, too, as the published accuracies under noise suggest; beside them the accuracy on the true labels
of the same test examples. Ten folds; in each the penalty is chosen by the accuracy on a fifth of the training
part, held out once, along a path from the strongest penalty on that starts every fit at the one before and
ends when two penalties in turn were worse than the best (of several equal ones the strongest); then a path on
all of the training part ends at the best. At most 3000 examples of a set, drawn at random, stratified.
Features are standardised on the training part, with that fifth. Fits that ran out of passes are counted.
Intervals are paired bootstraps over the test examples of all folds.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from common import folder_for, mean_difference, parser_of, write
from structune import Classifier
from structune.flat import load_uci
from structune.running import Run

NAME = "noisy_classes"
SETS = ("segment", "satimage", "letter", "shuttle", "dna", "usps")
NOISE, FOLDS, MOST, HOLDOUT, PATIENCE = (0.0, 0.1, 0.2), 10, 3000, 0.2, 2
PENALTIES = tuple(4.0**k for k in range(5, -3, -1))
LOSSES = {"convex": "margin", "ramp": "ramp"}
MOST_PASSES = 1500  # of one convex minimisation
PUBLISHED = {  # accuracy and its standard deviation at each level of noise
    "dna": {
        "convex": ((95.2, 1.1), (88.9, 1.5), (83.1, 2.4)),
        "ramp": ((95.1, 0.8), (89.1, 1.3), (83.5, 2.2)),
    },
    "letter": {
        "convex": ((76.8, 0.9), (64.6, 0.7), (50.1, 1.4)),
        "ramp": ((78.6, 0.8), (70.8, 0.8), (63.0, 1.5)),
    },
    "satimage": {
        "convex": ((85.1, 0.9), (77.0, 1.6), (66.4, 1.3)),
        "ramp": ((85.4, 1.2), (78.1, 1.6), (70.7, 1.0)),
    },
    "segment": {
        "convex": ((95.4, 0.9), (84.8, 2.3), (73.8, 2.1)),
        "ramp": ((95.2, 1.0), (85.9, 2.1), (77.5, 2.0)),
    },
    "shuttle": {
        "convex": ((97.4, 0.2), (89.5, 0.2), (83.8, 0.2)),
        "ramp": ((97.1, 0.2), (90.6, 0.8), (88.1, 0.3)),
    },
    "usps": {
        "convex": ((95.1, 0.7), (85.3, 1.3), (76.5, 1.4)),
        "ramp": ((95.1, 0.9), (86.1, 1.6), (77.6, 1.4)),
    },
}
Data = tuple[Any, Any, Any]  # inputs, labels as given, true labels


def load(name: str, noise: float) -> Data:
    """All examples of a set, or 3000 of them, with some labels shuffled."""
    data = load_uci(name)
    X, y = data.X, data.y
    if data.test is not None:
        X = sp.vstack([X, data.test[0]]).tocsr() if sp.issparse(X) else np.vstack([X, data.test[0]])
        y = np.concatenate([y, data.test[1]])
    X = X.toarray() if sp.issparse(X) else X
    if y.size > MOST:
        X, _, y, _ = train_test_split(X, y, train_size=MOST, stratify=strata(y), random_state=0)
    return X, shuffled(y, noise, np.random.default_rng(0)), y


def strata(y: Any) -> Any:
    """The labels, or nothing where a class has a single example, as one of shuttle has."""
    return y if np.unique(y, return_counts=True)[1].min() > 1 else None


def shuffled(y: Any, noise: float, rng: np.random.Generator) -> Any:
    """A fraction of the examples of every class, their labels permuted among all of these."""
    chosen = np.concatenate(
        [
            rng.permutation(np.flatnonzero(y == label))[: round(noise * np.sum(y == label))]
            for label in np.unique(y)
        ]
    )
    noisy = y.copy()
    noisy[chosen] = y[rng.permutation(chosen)]
    return noisy


def path(loss: str, X: Any, y: Any, penalties: tuple[float, ...]) -> Any:
    """Models from the strongest penalty on; each starts at the one before, and is the same object."""
    model = Classifier(loss=loss, tuning=None, warm_start=True, run=Run(max_iterations=MOST_PASSES), n_jobs=1)
    for penalty in penalties:
        yield model.set_params(penalty=penalty).fit(X, y)


def chosen_penalty(loss: str, X: Any, y: Any, fold: int) -> tuple[float, int]:
    """The penalty of the best accuracy on a held-out part, and how many fits ran out of passes."""
    X_fit, X_held, y_fit, y_held = train_test_split(
        X, y, test_size=HOLDOUT, stratify=strata(y), random_state=fold
    )
    scores: list[float] = []
    unfinished = 0
    for model in path(loss, X_fit, y_fit, PENALTIES):
        scores.append(model.score(X_held, y_held))
        unfinished += model.status_ != "converged"
        if max(scores[-PATIENCE:]) < max(scores):
            break
    return PENALTIES[int(np.argmax(scores))], unfinished


def fold_of(loss: str, data: Data, train: Any, test: Any, fold: int) -> dict[str, Any]:
    """Accuracies of one loss on one fold, and the test examples that it got right."""
    start = time.perf_counter()
    X, y, true = data
    scaler = StandardScaler().fit(X[train])
    X_train = scaler.transform(X[train])
    penalty, unfinished = chosen_penalty(loss, X_train, y[train], fold)
    *_, model = path(loss, X_train, y[train], PENALTIES[: PENALTIES.index(penalty) + 1])
    predicted = model.predict(scaler.transform(X[test]))
    return {
        "penalty": penalty,
        "unfinished": unfinished,
        "status": model.status_,
        "seconds": round(time.perf_counter() - start, 2),
        "right": (predicted == y[test]).tolist(),
        "truly_right": (predicted == true[test]).tolist(),
    }


def run(name: str, noise: float, folds: int) -> dict[str, Any]:
    """Both losses on all folds of a set at one level of noise."""
    data = load(name, noise)
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data[0], data[2])
    rows: dict[str, list[dict[str, Any]]] = {loss: [] for loss in LOSSES}
    for fold, (train, test) in zip(range(folds), splits, strict=False):
        for loss, of_library in LOSSES.items():
            rows[loss].append(fold_of(of_library, data, train, test, fold))
    record: dict[str, Any] = {"n": int(data[1].size)}
    for labels in ("right", "truly_right"):
        found = {loss: [np.array(row[labels], float) for row in kept] for loss, kept in rows.items()}
        record[labels] = {
            loss: {"mean": 100 * float(np.mean(each)), "sd": 100 * float(np.std(each, ddof=1))}
            for loss, parts in found.items()
            for each in [[part.mean() for part in parts]]
        }
        pooled = {loss: 100 * np.concatenate(parts) for loss, parts in found.items()}
        record[labels]["ramp minus convex"] = mean_difference(pooled["convex"], pooled["ramp"])
    for what in ("penalty", "unfinished", "status", "seconds"):
        record[what] = {loss: [row[what] for row in kept] for loss, kept in rows.items()}
    return record


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", nargs="+", metavar="SET", choices=SETS, default=None)
    arguments = parser.parse_args()
    folder = folder_for(NAME, arguments.quick)
    file = folder / f"{NAME}.json"
    names = arguments.only or (("segment", "dna") if arguments.quick else SETS)
    found = json.loads(file.read_text())["sets"] if file.exists() and arguments.only else {}
    with threadpool_limits(1):
        for name in names:
            found[name] = {}
            for noise in NOISE:
                record = found[name][f"{noise:g}"] = run(name, noise, 2 if arguments.quick else FOLDS)
                print(f"{name} {noise:g}: {record['right']}", file=sys.stderr, flush=True)
                settings = {"folds": FOLDS, "most_examples": MOST, "penalties": PENALTIES}
                write(
                    str(file.with_suffix("")),
                    {"settings": settings, "published": PUBLISHED, "sets": found},
                    "scikit-learn",
                )
    print(f"written to {file}")


if __name__ == "__main__":
    main()
