"""
Label sequences, with a precision for each group of features
============================================================

The simulation of Do, Foo and Ng (2007): two hidden states, and 40 binary features of which only five say
something about the state. A conditional random field that has one precision for all weights must hold back
the useful ones with the useless. With a precision for each group it need not.
"""

import matplotlib.pyplot as plt
import numpy as np

from structune import SequenceTagger
from structune.tagging import hmm_attributes, simulate_hmm

N_RELEVANT = 5


def draw(n, seed):
    """Sequences of ten tokens, and the labels of each."""
    states, x = simulate_hmm(n, N_RELEVANT, random_state=seed)
    return hmm_attributes(x), [["off" if v == 0 else "on" for v in row] for row in states]


X_test, y_test = draw(500, seed=1000)

# %%
# The group of a weight is found by its name. Names look like ``x3=1 : on`` and ``on -> off``.


def kind(weight):
    """One of three groups."""
    if "->" in weight:
        return "transitions"
    return "relevant" if int(weight[1 : weight.index("=")]) < N_RELEVANT else "noise"


# %%
# Train on 10, 20 and 30 sequences, with one precision by grid search, with one by the gradient of the
# held-out loss, and with three. Three draws each.

settings = {
    "one, by grid": {"tuning": "grid", "groups": "single"},
    "one, by gradient": {"tuning": "implicit", "groups": "single"},
    "three, by gradient": {"tuning": "implicit", "groups": kind},
}
sizes = [10, 20, 30]
errors = {name: [] for name in settings}
for n in sizes:
    for name, options in settings.items():
        models = [SequenceTagger(cv=3, **options).fit(*draw(n, seed)) for seed in range(3)]
        errors[name].append(1 - np.mean([model.score(X_test, y_test) for model in models]))

for name, values in errors.items():
    plt.plot(sizes, values, "o-", label=name)
plt.xlabel("training sequences")
plt.ylabel("share of labels wrong")
plt.xticks(sizes)
plt.legend(title="precisions")
plt.show()

# %%
# What was learned, by the last of the models: noise is held back hardest.

for group, precision in zip(models[-1].group_names_, models[-1].penalty_, strict=True):
    print(f"{group:12} {precision:8.2f}")
