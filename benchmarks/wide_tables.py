"""Logistic regression with more features than examples, and fewer: log loss, seconds, honest held-out losses.

    python benchmarks/wide_tables.py          # about ten minutes
    python benchmarks/wide_tables.py --quick  # the two smallest, written nowhere

Five factors say the class; a tenth of the features measure them, the others are noise. Two groups: that tenth
and the others. Beside scikit-learn's LogisticRegressionCV by log loss; both with five folds, one thread.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from common import asked_to_be_quick, keep
from structune import Classifier
from structune.learning import GridTuner

NAME = "wide_tables"
SIZES = ((200, 3000), (200, 20_000), (1000, 5000), (2000, 6000), (3000, 300), (20_000, 50))
N_TEST = 2000


def draw(n: int, p: int) -> Any:
    """Training and test examples; the first tenth of the features measures the factors."""
    rng = np.random.default_rng(0)
    factors, x = rng.normal(size=(n + N_TEST, 5)), rng.normal(size=(n + N_TEST, p))
    x[:, : p // 10] += factors @ rng.normal(scale=0.3, size=(5, p // 10))
    y = factors @ [2.0, 1.5, 1.0, 0.5, 0.5] + rng.normal(size=n + N_TEST) > 0
    return x[:n], y[:n], x[n:], y[n:]


def methods(p: int) -> dict[str, Any]:
    blocks = ["measured"] * (p // 10) + ["noise"] * (p - p // 10)
    return {
        "majorize": Classifier(n_jobs=1),
        "implicit": Classifier(tuning="implicit", n_jobs=1),
        "majorize, two groups": Classifier(groups=blocks, n_jobs=1),
        "implicit, two groups": Classifier(tuning="implicit", groups=blocks, n_jobs=1),
        "LogisticRegressionCV": LogisticRegressionCV(
            Cs=10, cv=5, scoring="neg_log_loss", l1_ratios=(0,), use_legacy_attributes=False
        ),
    }


def off_by(model: Classifier, x: Any, y: Any) -> float:
    """How far the lowest held-out loss that was reported is from that of fits to rounding, relative to it."""
    steps = [record for record in model.history_ if record["stage"] == "implicit"]
    best = min(steps, key=lambda record: record["heldout_loss"])
    again = Classifier(
        tuning=OnePoint(best["log_precision"]), groups=model.groups, cv=model.cv, n_jobs=1
    ).fit(x, y)
    true = again.history_[0]["heldout_loss"]
    return float(best["heldout_loss"] / true - 1.0)


class OnePoint(GridTuner):
    """A grid of one point, a precision a group."""

    def __init__(self, log_precision: list[float]) -> None:
        super().__init__(values=(1.0,), fit_tolerance=1e-8, refit=False)
        self.log_precision = np.array(log_precision)

    def _points(self, problem: Any) -> Any:
        return [(self.log_precision, np.zeros_like(self.log_precision))]


def measure(n: int, p: int) -> dict[str, Any]:
    x, y, x_test, y_test = draw(n, p)
    found: dict[str, Any] = {}
    for name, model in methods(p).items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(x, y)
        found[name] = {
            "seconds": time.perf_counter() - start,
            "log_loss": float(log_loss(y_test, model.predict_proba(x_test))),
            "accuracy": float(np.mean(model.predict(x_test) == y_test)),
        }
        if name.startswith("implicit"):
            found[name] |= {"off_by": off_by(model, x, y), "status": model.status_}
        print(f"{n} x {p}, {name}: {found[name]}", flush=True)
    return found


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    Classifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])  # compiles outside the times
    with threadpool_limits(1):
        sizes = SIZES[::4] if quick else SIZES
        result = {f"{n} x {p}": measure(n, p) for n, p in sizes}
    keep(NAME, quick, {"sizes": result}, "scikit-learn")


if __name__ == "__main__":
    main()
