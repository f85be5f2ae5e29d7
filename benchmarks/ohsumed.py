"""Rankings of OHSUMED: the ramp loss, its convex bound, standard rankers (figure 1 of Chapelle et al. 2008).

    python benchmarks/ohsumed.py            # about an hour on one core
    python benchmarks/ohsumed.py --quick    # one fold and few settings, into a temporary folder

LETOR 3.0, features normalised within queries, its five folds, its gains and discounts: NDCG@1 .. NDCG@10,
mean over the 106 test queries. As LETOR prescribes, models are fitted to the training part (63 queries), and
their settings chosen on the validation part (21): the one of the highest mean NDCG over k = 1 .. 10. All
penalties come from one grid. What a choice by NDCG@10 would have given stands beside it.

- ramp: of the cost 1 - NDCG@k, with k of 5, 10, 20, 40 or all positions, chosen like the penalty; "k = ..."
  has one of them. "Cross-validated": `Ranker()` as it comes, which takes 1 - NDCG@10 as cost, and chooses
  the penalty on five folds of the training part.
- margin: its convex bound, relative to one order by relevance, in which ties stay as in the files.
- equivalent: the least such bound over all orders by relevance.
- regression: of the gains, within queries, with the penalty that majorisation chooses: the weights with which
  the ramp loss begins. It has no setting to choose.
- pairwise SVM: scikit-learn's LinearSVC (squared hinge) on the differences of all pairs of documents of a
  query that differ in relevance.
- LambdaMART: LightGBM, its number of trees chosen too.

Where all weights are 0 documents stay as they lie in the files; "random" is the expectation over orders.
Differences are in the mean over k, paired by query, with bootstraps over queries. A query validates in one
fold and is tested in another: that the ramp loss begins with a regression was decided on the
validation parts of all folds, and so with a look at the relevances of queries that other folds test.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from common import asked_to_be_quick, folder_for, mean_difference, write
from structune import Ranker
from structune.ranking import LetorData, Ranking, load_ohsumed, ndcg
from structune.ranking.first_weights import ridge_regression
from structune.ranking.structure.queries import Ndcg, check_queries, ratio

NAME = "ohsumed"
N_FOLDS = 5
KS = range(1, 11)
COST_KS = (5, 10, 20, 40, None)
PENALTIES = tuple(4.0**k for k in range(-3, 5))
SVM_C = tuple(10.0**k for k in range(-6, 2))
LEAVES, RATES, TREES = (4, 8, 16, 31), (0.03, 0.1), tuple(range(5, 301, 5))


class Candidate(NamedTuple):
    """A fitted model: its setting, its scores of documents, and the norm of its weights."""

    setting: Any
    scores: Callable[[Any], Any]
    norm: float | None = None


Method = Callable[[int, bool], Iterator[Candidate]]  # of the fold, and whether to be quick


def linear(setting: Any, w: Any) -> Candidate:
    return Candidate(setting, lambda X: X @ w, float(np.linalg.norm(w)))


def ranker(loss: str, *ks: int | None) -> Method:
    def fits(fold: int, quick: bool) -> Iterator[Candidate]:
        for k in ks[:2] if quick else ks:
            for penalty in PENALTIES[1::4] if quick else PENALTIES:
                yield linear({"k": k, "penalty": penalty}, weights(loss, k, penalty, fold))

    return fits


@cache  # k = 10 and the like are among the settings of "ramp"
def weights(loss: str, k: int | None, penalty: float, fold: int) -> Any:
    train = load_ohsumed(fold).train
    model = Ranker(loss=loss, k=k, tuning=None, penalty=penalty, n_jobs=1)
    return model.fit(train.X, train.relevance, train.queries).coef_


def cross_validated(fold: int, quick: bool) -> Iterator[Candidate]:
    train = load_ohsumed(fold).train
    model = Ranker(cv=2 if quick else 5, n_jobs=1).fit(train.X, train.relevance, train.queries)
    yield linear(float(model.penalty_[0]), model.coef_)


def regression(fold: int, quick: bool) -> Iterator[Candidate]:
    train = load_ohsumed(fold).train
    structure = Ranking([f"x{j}" for j in train.feature_indices])
    yield linear(None, ridge_regression([structure.encode((train.X, train.queries), train.relevance)]))


def pairwise_svm(fold: int, quick: bool) -> Iterator[Candidate]:
    train = load_ohsumed(fold).train
    differences = np.vstack(list(pairs(train)))
    signs = np.where(np.arange(len(differences)) % 2, 1, -1)  # two classes, as the SVM wants them
    for c in SVM_C[2:3] if quick else SVM_C:
        svm = LinearSVC(C=c, dual=False, fit_intercept=False)
        yield linear(c, svm.fit(differences * signs[:, None], signs).coef_[0])


def pairs(data: LetorData) -> Iterator[Any]:
    """Features of the more relevant document minus those of the other."""
    offsets = check_queries(data.queries)[1]
    for start, end in itertools.pairwise(offsets):
        X, relevance = data.X[start:end], data.relevance[start:end]
        better, worse = np.nonzero(relevance[:, None] > relevance)
        yield X[better] - X[worse]


def lambda_mart(fold: int, quick: bool) -> Iterator[Candidate]:
    train = load_ohsumed(fold).train
    from lightgbm import LGBMRanker

    sizes = np.diff(check_queries(train.queries)[1])
    for leaves, rate in itertools.product(LEAVES[:1] if quick else LEAVES, RATES[1:] if quick else RATES):
        options = {"n_estimators": TREES[-1], "num_leaves": leaves, "learning_rate": rate}
        model = LGBMRanker(n_jobs=1, deterministic=True, random_state=0, verbose=-1, **options)
        model.fit(train.X, train.relevance.astype(int), group=sizes)
        for trees in TREES:
            yield Candidate(
                {"leaves": leaves, "rate": rate, "trees": trees},
                lambda X, model=model, trees=trees: model.predict(X, num_iteration=trees),
            )


METHODS: dict[str, Method] = {
    "ramp": ranker("ramp", *COST_KS),
    "ramp, k = 10": ranker("ramp", 10),
    "ramp, k = 20": ranker("ramp", 20),
    "ramp, all positions": ranker("ramp", None),
    "ramp, cross-validated": cross_validated,
    "margin, k = 10": ranker("margin", 10),
    "margin, all positions": ranker("margin", None),
    "equivalent, k = 10": ranker("equivalent", 10),
    "equivalent, all positions": ranker("equivalent", None),
    "regression": regression,
    "pairwise SVM": pairwise_svm,
    "LambdaMART": lambda_mart,
}
SHOWN = ("ramp", "margin, k = 10", "margin, all positions", "regression", "pairwise SVM", "LambdaMART")


def curves(data: LetorData, scores: Any) -> Any:
    """NDCG of each k and query, shape (10, n_queries)."""
    return np.array([ndcg(data.relevance, scores, data.queries, k) for k in KS])


def random_curves(data: LetorData) -> Any:
    """Expected NDCG of each k and query over all orders of the documents."""
    ids, offsets = check_queries(data.queries)
    sizes, rows = np.diff(offsets), []
    for k in KS:
        measure = Ndcg("letor", k)
        gains = measure.gains(data.relevance, ids)
        means = np.add.reduceat(gains, offsets[:-1]) / sizes
        positions = [
            np.argsort(np.argsort(-gains[a:b], kind="stable")) for a, b in itertools.pairwise(offsets)
        ]
        ideal = measure.dcg(gains, np.concatenate(positions), offsets)
        rows.append(ratio(means * [measure.discounts(size).sum() for size in sizes], ideal))
    return np.array(rows)


def fold_of(method: Method, fold: int, quick: bool) -> dict[str, Any]:
    """All settings of a method on a fold, and the test queries under the chosen ones."""
    _, validation, test = load_ohsumed(fold)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weights that are all 0
        for candidate in method(fold, quick):
            found = curves(validation, candidate.scores(validation.X)).mean(axis=1)
            rows.append((candidate, found))
    by_mean = max(rows, key=lambda row: row[1].mean())[0]
    by_last = max(rows, key=lambda row: row[1][-1])[0]
    return {
        "chosen": by_mean.setting,
        "validation": [[c.setting, round(float(found.mean()), 6)] for c, found in rows]
        if len(rows) < 50
        else None,
        "norms": [c.norm for c, _ in rows] if by_mean.norm is not None else None,
        "test": curves(test, by_mean.scores(test.X)),
        "test_by_ndcg10": curves(test, by_last.scores(test.X)),
    }


def run(name: str, folds: range, quick: bool) -> tuple[dict[str, Any], Any]:
    """What a method reaches on all folds, and the mean over k of each test query."""
    found = [fold_of(METHODS[name], fold, quick) for fold in folds]
    test, by_last = (np.hstack([row.pop(what) for row in found]) for what in ("test", "test_by_ndcg10"))
    result = {**summary(test), "mean_by_ndcg10": float(by_last.mean()), "folds": found}
    print(f"{name}: mean over k {result['mean']:.4f}", file=sys.stderr, flush=True)
    return result, test.mean(axis=0)


def summary(test: Any) -> dict[str, Any]:
    return {"ndcg": test.mean(axis=1).tolist(), "mean": float(test.mean())}


def collapse(methods: dict[str, Any]) -> dict[str, Any]:
    """The largest norm of the weights over penalties and folds, of each bound."""
    names = [name for name in methods if name.startswith(("margin", "equivalent"))]
    return {name: max(max(row["norms"]) for row in methods[name]["folds"]) for name in names}


def plot(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for name in filter(result["methods"].__contains__, SHOWN):
        norm = result["largest_norm_of_weights"].get(name)
        label = name if norm is None or norm > 1e-3 else f"{name}: w = 0"
        style = {"linestyle": "-" if name == "ramp" else "--", "marker": "o", "markersize": 4}
        axes.plot(KS, result["methods"][name]["ndcg"], label=label, **style)
    axes.plot(KS, result["random"]["ndcg"], label="random order", color="grey", linestyle=":")
    axes.set(title="OHSUMED, test queries of five folds", xlabel="k", ylabel="NDCG@k", xticks=KS)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 0.08))
    figure.savefig(path, dpi=150)


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    folder = folder_for(NAME, quick)
    folds = range(1, 2 if quick else N_FOLDS + 1)
    has_lightgbm = importlib.util.find_spec("lightgbm") is not None
    names = [name for name in METHODS if name != "LambdaMART" or has_lightgbm]
    if not has_lightgbm:
        print("LambdaMART is left out: lightgbm is not installed", file=sys.stderr)
    with threadpool_limits(1):
        found = {name: run(name, folds, quick) for name in names}
    methods = {name: result for name, (result, _) in found.items()}
    by_query = {name: values for name, (_, values) in found.items()}
    result = {
        "n_queries": by_query["ramp"].size,
        "criterion": "mean NDCG@1..10 on the validation part",
        "methods": methods,
        "random": summary(np.hstack([random_curves(load_ohsumed(fold).test) for fold in folds])),
        "largest_norm_of_weights": collapse(methods),
        "differences": {
            f"ramp minus {name}": mean_difference(by_query[name], by_query["ramp"], n=10_000)
            for name in names
            if name != "ramp"
        },
    }
    write(str(folder / NAME), result, "scikit-learn", *(["lightgbm"] if has_lightgbm else []))
    plot(result, folder / f"{NAME}.png")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
