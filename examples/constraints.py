"""
Hold a model to validation sets
===============================

Constraints say that the best labels of parts of the training data are to be the annotated ones, almost
(Chen et al., 2009). They bound the size of weights where labels are noisy, without a penalty to choose.
"""

import matplotlib.pyplot as plt

from structune import SequenceTagger
from structune.tagging import hmm_attributes, simulate_hmm


def draw(n, seed):
    """Sequences whose labels cannot all be told from their features."""
    states, x = simulate_hmm(n, n_relevant=5, n_features=30, agreement=0.65, random_state=seed)
    return hmm_attributes(x), [["off" if v == 0 else "on" for v in row] for row in states]


X, y = draw(15, seed=0)
X_test, y_test = draw(500, seed=1)

# %%
# Accuracy over the penalty, with and without constraints. Where the penalty is low, the plain model fits
# noise, and constraints help a little. A tuned penalty helps more.

penalties = [2.0**k for k in range(-10, 9, 3)]
plain = [SequenceTagger(penalty=c).fit(X, y) for c in penalties]
held = [SequenceTagger(penalty=c, constraints="validation").fit(X, y) for c in penalties]
tuned = SequenceTagger(tuning="implicit", groups="single", cv=5).fit(X, y)

plt.plot(penalties, [model.score(X_test, y_test) for model in plain], "o-", label="plain")
plt.plot(penalties, [model.score(X_test, y_test) for model in held], "o-", label="constrained")
plt.plot(tuned.penalty_, tuned.score(X_test, y_test), "k*", markersize=12, label="tuned, plain")
plt.xscale("log", base=2)
plt.xlabel("penalty")
plt.ylabel("labels right")
plt.legend()
plt.show()

# %%
# No weights label these data right, so the only way to meet the constraints is to shrink: best labels mean
# something then, probabilities do not.

print("largest weight:", f"plain {abs(plain[0].coef_).max():.3f}, constrained {abs(held[0].coef_).max():.5f}")
print("constraints:", held[0].status_, held[0].constraint_values_.round(3))
probability = [token["on"] for token in held[0].predict_marginals(X_test)[0]]
print("probabilities of a sequence:", [round(p, 3) for p in probability])
