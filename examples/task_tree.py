"""
Related tasks along a tree
==========================

Four tasks are leaves of a tree: those of one branch have more in common than those of different ones. Each
has few examples. A model of each alone has too little to learn from, one for all ignores how they differ;
along the tree each node is drawn to its parent, as strongly as held-out data say (Görnitz et al., 2011).
"""

import matplotlib.pyplot as plt
import numpy as np

from structune import MultitaskEstimator, SequenceTagger
from structune.tagging import simulate_hmm

TREE = {"all": {"left": ["a", "b"], "right": ["c", "d"]}}
FLIPPED = {"a": [0], "b": [1], "c": [2, 3, 4], "d": [2, 3, 5]}  # features that say the opposite in a task


def draw(task, n, seed):
    """Sequences whose states show in ten features."""
    states, x = simulate_hmm(n, n_relevant=10, n_features=20, agreement=0.65, random_state=seed)
    x[:, :, FLIPPED[task]] ^= 1
    tokens = [[[f"x{j}={v}" for j, v in enumerate(token)] for token in row] for row in x]
    return tokens, [["off" if v == 0 else "on" for v in row] for row in states]


test = {task: draw(task, 200, 1000 + k) for k, task in enumerate(FLIPPED)}

# %%
# Error by number of training sequences of each task: alone, one model for all, and the tree.

sizes = [4, 8, 16]
errors = {"alone": [], "one for all": [], "tree": []}
for n in sizes:
    train = {task: draw(task, n, k) for k, task in enumerate(FLIPPED)}
    tagger = SequenceTagger(penalty=10.0)
    tree = MultitaskEstimator(tagger, TREE, factors=[1.0], cv=3).fit(train)
    alone = MultitaskEstimator(tagger, TREE, factors=[1.0], gammas=[0.0]).fit(train)
    for name, model in (("alone", alone), ("tree", tree)):
        errors[name].append(1 - np.mean([model.score(task, *test[task]) for task in FLIPPED]))
    union = tree.model("all")
    errors["one for all"].append(1 - np.mean([union.score(*test[task]) for task in FLIPPED]))

for name, values in errors.items():
    plt.plot(sizes, values, "o-", label=name)
plt.xlabel("training sequences of each task")
plt.ylabel("share of labels wrong, mean of tasks")
plt.xticks(sizes)
plt.legend()
plt.show()

# %%
# How strongly each node of the last tree is drawn to its parent.

for name, node in tree.nodes_.items():
    print(f"{name:6} gamma {node['gamma']}")
