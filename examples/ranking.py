"""
Rank documents by the measure that counts
=========================================

Documents of a query have relevances 0, 1 and 2, and what counts is the NDCG at 5: good documents in the
first places. `Ranker` minimises a ramp loss of it. A regression of the relevances is the simple
alternative; it spends its effort on all documents alike.
"""

import matplotlib.pyplot as plt
import numpy as np

from structune import Ranker, Regressor
from structune.metrics import ndcg

rng = np.random.default_rng(0)


def draw(n_queries):
    """Queries of 12 documents. The second feature matters only where it is high, as in the best ones."""
    X = rng.normal(size=(12 * n_queries, 10))
    signal = X[:, 0] + np.maximum(X[:, 1], 0.0) + 0.6 * rng.normal(size=len(X))
    return X, np.digitize(signal, [1.0, 2.5]), np.repeat(np.arange(n_queries), 12)


X, relevance, queries = draw(30)
X_test, relevance_test, queries_test = draw(500)

# %%
# The penalty is chosen by the NDCG of held-out queries.

ranker = Ranker(k=5, folds=3).fit(X, relevance, queries)
regression = Regressor().fit(X, relevance)
print(f"penalty {ranker.penalty_[0]:g}")

# %%
# NDCG at each position, with the standard error over queries.

models = {"Ranker": ranker, "regression": regression, "random": None}
positions = np.arange(1, 11)
for name, model in models.items():
    scores = rng.normal(size=len(X_test)) if model is None else model.predict(X_test)
    values = np.array([ndcg(relevance_test, scores, queries_test, int(k)) for k in positions])
    plt.errorbar(positions, values.mean(axis=1), values.std(axis=1) / values.shape[1] ** 0.5, label=name)
plt.xlabel("k")
plt.ylabel("NDCG@k on test queries")
plt.legend()
plt.show()
