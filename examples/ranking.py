"""
Rank documents by the measure that counts
=========================================

Documents of a query have relevances from 0 to 4, and what counts is the NDCG at 5: the best documents in the
first places. `Ranker` minimises a ramp loss of it. A regression of the relevances is the simple
alternative; it spends its effort on all documents alike, also on those that nobody will see.
"""

import matplotlib.pyplot as plt
import numpy as np

from structune import Ranker, Regressor
from structune.ranking import ndcg

rng = np.random.default_rng(0)


def draw(n_queries):
    """Queries of 20 documents. One feature tells the fair half from the rest, another the few best."""
    X = rng.normal(size=(20 * n_queries, 10))
    relevance = 1 * (X[:, 0] + 0.3 * rng.normal(size=len(X)) > 0)
    relevance += 3 * (X[:, 1] + 0.3 * rng.normal(size=len(X)) > 1.7)
    return X, relevance, np.repeat(np.arange(n_queries), 20)


X, relevance, queries = draw(30)
X_test, relevance_test, queries_test = draw(500)

# %%
# The penalty is chosen by the NDCG of held-out queries, a third of them.

ranker = Ranker(k=5, cv=0.3).fit(X, relevance, queries)
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
